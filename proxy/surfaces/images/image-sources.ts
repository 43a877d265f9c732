// The images and the mask of an edit, in the parts of its form (Q22).
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
