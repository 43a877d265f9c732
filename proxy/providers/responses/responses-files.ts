// The files of Responses accounts. One form with the file and its purpose is answered with the file object (AA37).
import { randomUUID } from 'node:crypto';
import type { EncodedBody } from '../../turn/json/encode-body.ts';
import { FormEncoding, LINE_BREAK } from '../../turn/json/form-encoding.ts';
import { asCount, asString } from '../../turn/json/json.ts';
import { fileType } from '../../turn/json/media-type.ts';
import type { ProviderFiles } from '../../turn/provider/reads.ts';
import type { Work } from '../../turn/turn.ts';

/** A file id that can be used as a path segment, as for agent backends. */
const FILE_ID = /^[\w-]{1,200}$/;

export const responsesFiles: ProviderFiles = {
  idOf({ id }) {
    const text = asString(id);
    return text !== undefined && FILE_ID.test(text) ? text : undefined;
  },
  sizeOf: ({ bytes }) => asCount(bytes),
  expiryOf: ({ expires_at }) => {
    const seconds = asCount(expires_at);
    return seconds === undefined ? null : seconds * 1000;
  },
};

/** The form of an upload. The metadata in the body becomes fields of the form (Q21). */
export function encodedFileForm({ body, file }: Work): EncodedBody {
  if (!file) throw new Error('a file without bytes');
  const form = new FormEncoding(`form-${randomUUID()}`);
  const pieces = [
    form.field('purpose', asString(body.use_case) ?? 'user_data'),
    form.fileHead('file', asString(body.file_name), fileType(file.mediaType)),
    file.bytes,
    LINE_BREAK,
    form.end,
  ];
  return { contentType: form.contentType, bytes: Buffer.concat(pieces) };
}
