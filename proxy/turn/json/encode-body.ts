// The bytes of an attempt's body: JSON, or a multipart form if the client sent one that is passed on.
import { randomUUID } from 'node:crypto';
import type { Body, Turn } from '../turn.ts';
import { isBodyFile } from './body-file.ts';
import { FormEncoding, LINE_BREAK } from './form-encoding.ts';
import type { Json } from './json.ts';
import { writeLargeJson } from './large-json-writer.ts';

export interface EncodedBody {
  readonly contentType: string;
  /** As bytes, which the connection holds until the reply is complete: of a string it would hold both the string and its bytes. */
  readonly bytes: Buffer;
}

export const encodeJson = (body: Body): EncodedBody => ({ contentType: 'application/json', bytes: Buffer.from(JSON.stringify(body)) });

/** The JSON of a turn's body; a promise if the turn is large, and is written in parts. */
export const turnBytes = (body: Body, { bodyBytes, key, large }: Pick<Turn, 'bodyBytes' | 'key' | 'large'>): Buffer | Promise<Buffer> =>
  large ? writeLargeJson(body, { key: key.id, bytes: bodyBytes }) : Buffer.from(JSON.stringify(body));

/** Written again from its parts, so that the account reads the same form as the rules did. */
export function encodeForm(body: Body): EncodedBody {
  const form = new FormEncoding(`form-${randomUUID()}`);
  const pieces = Object.entries(body).flatMap(([name, values]) => [values].flat().flatMap((value) => partOf(form, name, value)));
  return { contentType: form.contentType, bytes: Buffer.concat([...pieces, form.end]) };
}

const partOf = (form: FormEncoding, name: string, value: Json | undefined): readonly Buffer[] =>
  isBodyFile(value)
    ? [form.fileHead(name, value.filename, value.media_type), Buffer.from(value.data, 'base64'), LINE_BREAK]
    : [form.field(name, String(value))];
