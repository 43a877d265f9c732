// Determines the media type of an image from its first bytes, because the type that a client states may be wrong.

const HEAD_BYTES = 12;

const isAscii = (head: Buffer, at: number, text: string): boolean => head.toString('latin1', at, at + text.length) === text;

const TYPES: readonly { readonly type: string; readonly matches: (head: Buffer) => boolean }[] = [
  { type: 'image/png', matches: (head) => isAscii(head, 0, '\x89PNG\r\n\x1a\n') },
  { type: 'image/jpeg', matches: (head) => isAscii(head, 0, '\xff\xd8\xff') },
  { type: 'image/webp', matches: (head) => isAscii(head, 0, 'RIFF') && isAscii(head, 8, 'WEBP') },
  { type: 'image/gif', matches: (head) => isAscii(head, 0, 'GIF8') },
];

/** @param base64 the whole file @returns undefined if the bytes are not an image of these types */
export function imageTypeOf(base64: string): string | undefined {
  const head = Buffer.from(base64.slice(0, (HEAD_BYTES / 3) * 4), 'base64');
  return TYPES.find(({ matches }) => matches(head))?.type;
}
