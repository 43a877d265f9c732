// A multipart form as a Body for rules. Fields are strings, files are base64, and several parts of one name are a list.
import { Refusal } from '../../../turn/errors/refusal.ts';
import type { BodyFile } from '../../../turn/json/body-file.ts';
import type { FormPart } from '../../../turn/json/form.ts';
import type { Json } from '../../../turn/json/json.ts';
import type { Body } from '../../../turn/turn.ts';

/** @throws Refusal `invalid_request` for a name that a body must not have */
export function bodyOfForm(parts: readonly FormPart[]): Body {
  const members = new Map<string, Json[]>();
  for (const part of parts) {
    if (part.name === '__proto__') throw new Refusal('invalid_request', { message: 'The request body has a forbidden member name.' });
    const values = members.get(part.name);
    if (values) values.push(memberOf(part));
    else members.set(part.name, [memberOf(part)]);
  }
  return Object.fromEntries([...members].map(([name, values]) => [name, values.length === 1 ? values[0] : values]));
}

function memberOf(part: FormPart): string | BodyFile {
  if (part.kind === 'field') return part.value;
  const { filename, mediaType, bytes } = part;
  return { type: 'form_file', filename, media_type: mediaType, data: bytes.toString('base64') };
}
