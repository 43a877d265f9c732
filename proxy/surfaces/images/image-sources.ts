// The images and the mask of an edit, in the parts of its form (Q22); and the media type of an image, from its first bytes,
// because the type that a client states may be wrong.
import type { Json } from '../../turn/json/json.ts';
import type { Body } from '../../turn/turn.ts';

/** The names of a part with an image. SDKs send one image as `image`, and several as `image[]`. */
const IMAGE_MEMBERS = ['image', 'image[]'] as const;

export const SOURCE_MEMBERS: ReadonlySet<string> = new Set([...IMAGE_MEMBERS, 'mask']);

/** All parts with an image, with their paths. */
export function imagesIn(body: Body): readonly { readonly value: Json; readonly path: string }[] {
  const values = IMAGE_MEMBERS.flatMap((name) => [body[name] ?? []].flat());
  return values.map((value: Json, i) => ({ value, path: values.length === 1 ? 'image' : `image.${i}` }));
}

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
