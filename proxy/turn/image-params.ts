// The members of the Responses request of an image under the names that the Images API has for them (Q22).

/** Of the image tool. It has all others under the names of the Images API. */
const TOOL_MEMBERS: ReadonlyMap<string, string | null> = new Map([
  ['input_image_mask', 'mask'],
  ['type', null],
]);

const TOOL = /^tools(?:\[0\]|\.0)\.([a-z_]+)/;
const PART = /^input(?:\[\d+\]|\.\d+)\.content(?:\[(\d+)\]|\.(\d+))/;

/** Null for what the client wrote nothing of, such as the choice of the tool. */
export function imageParam(param: string): string | null {
  if (param === 'model') return param;
  const [, member] = TOOL.exec(param) ?? [];
  if (member !== undefined) return TOOL_MEMBERS.has(member) ? (TOOL_MEMBERS.get(member) ?? null) : member;
  const [, bracketed, dotted] = PART.exec(param) ?? [];
  // The one message has the prompt, and behind it the images.
  const part = Number(bracketed ?? dotted ?? 0);
  return /^input(?!\w)/.test(param) ? (part === 0 ? 'prompt' : 'image') : null;
}
