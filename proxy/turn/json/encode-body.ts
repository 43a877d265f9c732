// The bytes of an attempt's body: JSON, or a multipart form if the client sent a form that is passed on.
import { randomUUID } from 'node:crypto';
import { lastingBytes } from '../../base/bytes/lasting-bytes.ts';
import type { Body, Turn } from '../turn.ts';
import { isBodyFile } from './body-file.ts';
import { FormEncoding, LINE_BREAK } from './form-encoding.ts';
import type { Json } from './json.ts';
import { writeLargeJson } from './large-json-writer.ts';

export interface EncodedBody {
  readonly contentType: string;
  /** The connection holds the body until the reply is complete. From a string it would hold both the string and its bytes. */
  readonly bytes: Buffer;
}

export const encodeJson = (body: Body): EncodedBody => ({ contentType: 'application/json', bytes: Buffer.from(JSON.stringify(body)) });

/** The JSON of a turn's body. It is a promise for a large turn, whose body is written in parts. */
export const turnBytes = (body: Body, { bodyBytes, key, large }: Pick<Turn, 'bodyBytes' | 'key' | 'large'>): Buffer | Promise<Buffer> =>
  large ? writeLargeJson(body, { key: key.id, bytes: bodyBytes }) : lastingBytes(JSON.stringify(body));

/** Writes a form from the parts that the rules read, so that the account reads the same form as the rules. */
export function encodeForm(body: Body): EncodedBody {
  const form = new FormEncoding(`form-${randomUUID()}`);
  const stated = Object.entries(body).filter(([, values]) => values !== undefined);
  const pieces = stated.flatMap(([name, values]) => [values].flat().flatMap((value) => partOf(form, name, value)));
  return { contentType: form.contentType, bytes: Buffer.concat([...pieces, form.end]) };
}

const partOf = (form: FormEncoding, name: string, value: Json | undefined): readonly Buffer[] =>
  isBodyFile(value)
    ? [form.fileHead(name, value.filename, value.media_type), Buffer.from(value.data, 'base64'), LINE_BREAK]
    : [form.field(name, String(value))];
