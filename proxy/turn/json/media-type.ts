// The media type that a Content-Type states.
import { MIMEType } from 'node:util';

/** Undefined if the header is missing or malformed. */
export function mediaTypeOf(contentType: string | undefined): MIMEType | undefined {
  try {
    return contentType === undefined ? undefined : new MIMEType(contentType);
  } catch {
    return undefined;
  }
}

/** A Content-Type in lower case, also a malformed one; empty if the header is missing. */
export const lowerType = (contentType: string | undefined): string => (contentType ?? '').trimStart().toLowerCase();

const ESSENCE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/;

/** The media type of a file as a client stated it, without parameters. If that is not valid, the type for arbitrary bytes. */
export const fileType = (stated: string): string => (ESSENCE.test(stated) ? stated : 'application/octet-stream');

export const isForm = (contentType: string | undefined): boolean => mediaTypeOf(contentType)?.essence === 'multipart/form-data';
