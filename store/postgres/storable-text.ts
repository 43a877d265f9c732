// Texts that PostgreSQL can store. It accepts no NUL and no lone surrogate: each becomes the replacement character.

/** A storable text. The client library replaces lone surrogates when it encodes the text. */
export const storable = (text: string): string => (text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text);

/**
 * A storable JSON text, in which NUL and lone surrogates are escapes. The pattern reads escapes in pairs, because an escaped backslash
 * begins no escape.
 */
export function storableJson(json: string): string {
  if (!json.includes('\\u0000') && !json.includes('\\ud')) return json;
  return json.replace(/\\(?:u0000|ud[89a-f][0-9a-f]{2}|.)/g, (found) => (/^\\u(?:0000|d)/.test(found) ? '\\ufffd' : found));
}
