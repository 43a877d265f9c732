// The bytes of an attempt's body: JSON, or a multipart form where the client sent one that is passed on.
import { randomUUID } from 'node:crypto';
import { isBodyFile } from '../../turn/json/body-file.ts';
import type { Json } from '../../turn/json/json.ts';
import type { Body } from '../../turn/turn.ts';

export interface EncodedBody {
  readonly contentType: string;
  /** As bytes, which the connection holds until the reply is complete: of a string it would hold both the string and its bytes. */
  readonly bytes: Buffer;
}

export const encodeJson = (body: Body): EncodedBody => ({ contentType: 'application/json', bytes: Buffer.from(JSON.stringify(body)) });

/** Written again from its parts, so that the account reads the same form as the rules did. */
export function encodeForm(body: Body): EncodedBody {
  const boundary = `form-${randomUUID()}`;
  const pieces = Object.entries(body).flatMap(([name, values]) => [values].flat().flatMap((value) => partOf(name, value, boundary)));
  const bytes = Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]);
  return { contentType: `multipart/form-data; boundary=${boundary}`, bytes };
}

function partOf(name: string, value: Json | undefined, boundary: string): readonly Buffer[] {
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="${escaped(name)}"`;
  if (!isBodyFile(value)) return [Buffer.from(`${head}\r\n\r\n${value}\r\n`)];
  const filename = value.filename === undefined ? '' : `; filename="${escaped(value.filename)}"`;
  const type = `\r\nContent-Type: ${escaped(value.media_type)}`;
  return [Buffer.from(`${head}${filename}${type}\r\n\r\n`), Buffer.from(value.data, 'base64'), Buffer.from('\r\n')];
}

/** As browsers write names: a quote or a line break in one would end its header. */
const escaped = (text: string): string => text.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
