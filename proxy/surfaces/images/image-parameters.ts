// Checks the parameters of images on /v1: those that the image tool takes too, and those that must have a neutral value (Q22).
import { invalidRequest } from '../../turn/errors/invalid-request.ts';
import { Refusal } from '../../turn/errors/refusal.ts';
import { isBodyFile } from '../../turn/json/body-file.ts';
import { isAbsent, isText, type Json } from '../../turn/json/json.ts';
import type { Body } from '../../turn/turn.ts';
import { imagesIn, imageTypeOf, SOURCE_MEMBERS } from './image-sources.ts';

/** Texts that are passed to the tool. The provider checks their values. */
export const TOOL_TEXTS = ['size', 'quality', 'background', 'input_fidelity', 'output_format', 'moderation'] as const;

/** The values with which a parameter can be removed without loss. In a form every value is a text. */
const NEUTRAL: ReadonlyMap<string, ReadonlySet<Json>> = new Map<string, ReadonlySet<Json>>([
  ['n', new Set([1, '1'])],
  ['response_format', new Set(['b64_json'])],
  ['stream', new Set([false, 'false'])],
  ['partial_images', new Set([0, '0'])],
]);

const TAKEN: ReadonlySet<string> = new Set(['model', 'prompt', 'user', 'output_compression', ...TOOL_TEXTS]);

/** Parameters of the public API that an answer may name. Any other name is text of the client. */
const NAMED: ReadonlySet<string> = new Set([...NEUTRAL.keys(), ...SOURCE_MEMBERS, 'style', 'images']);

/** @param edits whether the request edits images, which it then has to contain @throws Refusal */
export function checkParameters(body: Body, { edits }: { readonly edits: boolean }): void {
  for (const [name, value] of Object.entries(body)) {
    if (isAbsent(value)) continue;
    const taken = NEUTRAL.get(name)?.has(value) ?? (TAKEN.has(name) || (edits && SOURCE_MEMBERS.has(name)));
    if (!taken) throw unsupported(name);
  }
  if (!isText(body.prompt)) throw invalidRequest('prompt', 'must be a text');
  for (const param of TOOL_TEXTS) {
    if (!isAbsent(body[param]) && !isText(body[param])) throw invalidRequest(param, 'must be a text');
  }
  if (compressionOf(body) === 'malformed') throw invalidRequest('output_compression', 'must be an integer from 0 to 100');
  if (edits) checkSources(body);
}

function checkSources(body: Body): void {
  const images = imagesIn(body);
  if (images.length === 0) throw invalidRequest('image', 'must be a file');
  for (const { value, path } of images) refuseUnlessImage(value, path);
  if (!isAbsent(body.mask)) refuseUnlessImage(body.mask, 'mask');
}

function refuseUnlessImage(value: Json, path: string): void {
  if (!isBodyFile(value)) throw invalidRequest(path, 'must be one file');
  if (imageTypeOf(value.data) === undefined) throw invalidRequest(path, 'must be a PNG, JPEG, WebP or GIF image');
}

function unsupported(name: string): Refusal {
  if (NAMED.has(name)) {
    return new Refusal('unsupported_parameter', { param: name, message: `\`${name}\` is not supported with this value on this endpoint.` });
  }
  return new Refusal('unsupported_parameter', { message: `This endpoint accepts only the parameters ${[...TAKEN].join(', ')}.` });
}

/** `output_compression` as a number; undefined if it is absent. */
export function compressionOf({ output_compression: value }: Body): number | undefined | 'malformed' {
  if (isAbsent(value)) return undefined;
  const percent = typeof value === 'string' && /^\d{1,3}$/.test(value) ? Number(value) : value;
  return typeof percent === 'number' && Number.isInteger(percent) && percent >= 0 && percent <= 100 ? percent : 'malformed';
}
