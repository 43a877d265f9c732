// The media type that a Content-Type states.
import { MIMEType } from 'node:util';

/** Undefined for a header that is missing or malformed. */
export function mediaTypeOf(contentType: string | undefined): MIMEType | undefined {
  try {
    return contentType === undefined ? undefined : new MIMEType(contentType);
  } catch {
    return undefined;
  }
}

export const isForm = (contentType: string | undefined): boolean => mediaTypeOf(contentType)?.essence === 'multipart/form-data';
