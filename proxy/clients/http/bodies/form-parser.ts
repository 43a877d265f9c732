// The parser of multipart bodies with the limits of their parts, and the boundary that it needs.
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import { Refusal } from '../../../turn/errors/refusal.ts';
import { mediaTypeOf } from '../../../turn/json/media-type.ts';

/** The most headers of a part, and their bytes. */
const PART_HEADERS = { headerSize: 16_384, headerPairs: 32 };

/** The characters of a boundary in RFC 2046, without the space, which clients do not use. */
const BOUNDARY = /^[0-9A-Za-z'()+_,./:=?-]{1,70}$/;

export interface FormLimits {
  readonly parts: number;
  /** The most bytes of a field. */
  readonly fieldSize: number;
  /** The most bytes of a file; absent if the whole body is limited. */
  readonly fileSize?: number;
}

export const formParser = (boundary: string, limits: FormLimits): BusboyInstance =>
  new Busboy({
    headers: { 'content-type': `multipart/form-data; boundary="${boundary}"` },
    limits: { ...limits, ...PART_HEADERS },
  });

export const malformedForm = (what: string): Refusal => new Refusal('invalid_request', { message: `The multipart body ${what}.` });

/** @throws Refusal `unsupported_media_type` if the body is not a form, `invalid_request` if its boundary is not valid */
export function boundaryOf(contentType: string | undefined): string {
  const type = mediaTypeOf(contentType);
  if (type?.essence !== 'multipart/form-data')
    throw new Refusal('unsupported_media_type', { message: 'The body must be a form: send `Content-Type: multipart/form-data`.' });
  const boundary = type.params.get('boundary');
  if (boundary === null || !BOUNDARY.test(boundary)) throw malformedForm('has no proper boundary');
  return boundary;
}
