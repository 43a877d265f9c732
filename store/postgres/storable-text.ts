// Texts that PostgreSQL stores: it has no NUL, and no halves of surrogate pairs. Each becomes the replacement character.

/** Of a value; the client library replaces the halves when it encodes it. */
export const storable = (text: string): string => (text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text);

/** Of a JSON text, in which both are escapes. The pattern reads escapes in pairs: a backslash that is escaped escapes nothing. */
export function storableJson(json: string): string {
  if (!json.includes('\\u0000') && !json.includes('\\ud')) return json;
  return json.replace(/\\(?:u0000|ud[89a-f][0-9a-f]{2}|.)/g, (found) => (/^\\u(?:0000|d)/.test(found) ? '\\ufffd' : found));
}
