// The names that the Images API has for members of the Responses request of an image (Q22).
import type { MemberNames } from '../../turn/surface.ts';

/** The members of the image tool that have other names in the Images API. */
const TOOL_MEMBERS: ReadonlyMap<string, string | null> = new Map([
  ['input_image_mask', 'mask'],
  ['type', null],
]);

const TOOL = /^tools(?:\[0\]|\.0)\.([a-z_]+)/;
const PART = /^input(?:\[\d+\]|\.\d+)\.content(?:\[(\d+)\]|\.(\d+))/;

export class ImageNames implements MemberNames {
  readonly #images: readonly string[];

  /** @param images the members that contain the images, in order */
  constructor(images: readonly string[]) {
    this.#images = images;
  }

  /** Null for members that come from nothing in the client's request, such as the choice of the tool. */
  nameOf(param: string): string | null {
    if (param === 'model') return param;
    const [, member] = TOOL.exec(param) ?? [];
    if (member !== undefined) return TOOL_MEMBERS.has(member) ? (TOOL_MEMBERS.get(member) ?? null) : member;
    const [, bracketed, dotted] = PART.exec(param) ?? [];
    // The single message has the prompt first, then the images.
    const part = Number(bracketed ?? dotted ?? 0);
    return /^input(?!\w)/.test(param) ? (part === 0 ? 'prompt' : (this.#images[part - 1] ?? 'image')) : null;
  }
}
