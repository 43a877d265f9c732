// The decoded size of a base64 text, computed without decoding it.

/**
 * The number of bytes; undefined if the text is not standard base64 with padding. A text of more than `limit` bytes is measured by its
 * length and not checked, because the caller refuses it for its size.
 */
export function decodedBytes(text: string, limit: number): number | undefined {
  if (text.length === 0 || text.length % 4 !== 0) return undefined;
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  const bytes = (text.length / 4) * 3 - padding;
  if (bytes > limit) return bytes;
  const end = text.search(/[^A-Za-z0-9+/]/);
  return end === (padding > 0 ? text.length - padding : -1) ? bytes : undefined;
}
