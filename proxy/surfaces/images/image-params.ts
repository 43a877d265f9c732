// The members of the Responses request of an image under the names that the Images API has for them (Q22).

/** The members of the image tool that the Images API names otherwise. All others have the same names. */
const TOOL_MEMBERS: ReadonlyMap<string, string | null> = new Map([
  ['input_image_mask', 'mask'],
  ['type', null],
]);

const TOOL = /^tools(?:\[0\]|\.0)\.([a-z_]+)/;
const PART = /^input(?:\[\d+\]|\.\d+)\.content(?:\[(\d+)\]|\.(\d+))/;

/** Returns null for members that were made from nothing in the client's request, such as the choice of the tool. */
export function imageParam(param: string): string | null {
  if (param === 'model') return param;
  const [, member] = TOOL.exec(param) ?? [];
  if (member !== undefined) return TOOL_MEMBERS.has(member) ? (TOOL_MEMBERS.get(member) ?? null) : member;
  const [, bracketed, dotted] = PART.exec(param) ?? [];
  // The single message has the prompt first, then the images.
  const part = Number(bracketed ?? dotted ?? 0);
  return /^input(?!\w)/.test(param) ? (part === 0 ? 'prompt' : 'image') : null;
}
