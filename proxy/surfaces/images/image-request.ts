// Translates an image request on /v1 into a Responses turn of the Pool's host model, which must call the image tool (D10, Q22).
import type { BodyFile } from '../../turn/json/body-file.ts';
import { isAbsent, type Json, type JsonObject } from '../../turn/json/json.ts';
import { dispatchedKind } from '../../turn/routes/kinds.ts';
import type { Decoded, MemberNames } from '../../turn/surface.ts';
import type { Body, Turn, Work } from '../../turn/turn.ts';
import { checkParameters, compressionOf, TOOL_TEXTS } from './image-parameters.ts';
import { imagesIn, imageTypeOf } from './image-sources.ts';

/** @throws Refusal that names parameters of the Images API */
export function decodeImages(work: Work, { model, route }: Turn): Decoded<undefined> {
  const { body } = work;
  checkParameters(body, { edits: dispatchedKind(route.kind)?.payload === 'form' });
  const images = imagesIn(body);
  const sent = images.map(({ value }) => ({ type: 'input_image', image_url: dataUrl(value) }));
  const content: Json = [{ type: 'input_text', text: body.prompt }, ...sent];
  work.body = {
    ...(model ? { model: model.id } : {}),
    input: [{ type: 'message', role: 'user', content }],
    tools: [toolOf(body)],
    tool_choice: 'required',
  };
  return { names: new ImageNames(images.map(({ path }) => path)), memory: undefined };
}

function toolOf(body: Body): JsonObject {
  const tool: Record<string, Json | undefined> = { type: 'image_generation', model: body.model };
  for (const name of TOOL_TEXTS) if (!isAbsent(body[name])) tool[name] = body[name];
  const compression = compressionOf(body);
  if (compression !== undefined) tool.output_compression = compression;
  if (!isAbsent(body.mask)) tool.input_image_mask = { image_url: dataUrl(body.mask) };
  return tool;
}

/** The data URL of a file that was checked to be an image. */
function dataUrl(value: Json): string {
  const { data } = value as BodyFile;
  return `data:${imageTypeOf(data)};base64,${data}`;
}

/** The members of the image tool that have other names in the Images API. */
const TOOL_MEMBERS: ReadonlyMap<string, string | null> = new Map([
  ['input_image_mask', 'mask'],
  ['type', null],
]);

const TOOL = /^tools(?:\[0\]|\.0)\.([a-z_]+)/;
const PART = /^input(?:\[\d+\]|\.\d+)\.content(?:\[(\d+)\]|\.(\d+))/;

/** The names that the Images API has for members of the Responses request of an image (Q22). */
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
