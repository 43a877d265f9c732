// Simulates images: one tiny PNG for every prompt, the tool call that contains it, and the answers of the native image routes.
import { isObject, type JsonObject } from '../../turn/json/json.ts';
import { eventsAnswer, jsonAnswer, type SimulatedAnswer } from '../delivery/answer.ts';
import { missingParameter } from '../request-refusals.ts';

/** A transparent image of one pixel. */
export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

/** The beginning of the same file, sent as a partial image. */
export const PARTIAL_PNG = PNG.slice(0, 32);

/** Whether a prompt asks for no image, which simulates a model's refusal. */
export const drawsNothing = (prompt: string): boolean => /^\s*draw nothing\s*$/im.test(prompt);

/** The tokens of an image. Four bytes of the prompt count as one token. */
export function imageUsageOf(prompt: string): JsonObject {
  const input = Math.ceil(prompt.length / 4);
  return {
    input_tokens: input,
    input_tokens_details: { image_tokens: 0, text_tokens: input },
    output_tokens: 272,
    output_tokens_details: { image_tokens: 272, text_tokens: 0 },
    total_tokens: input + 272,
  };
}

/** The members that the image and its call have in common. */
export function imageMembers({ background, output_format, quality, size }: JsonObject): JsonObject {
  return {
    background: background ?? 'opaque',
    output_format: output_format ?? 'png',
    quality: quality ?? 'low',
    size: size ?? '1024x1024',
  };
}

/**
 * The answer of `POST …/images/generations` and `/edits`. The parts of a form are not checked.
 * @param body undefined for a form
 * @throws SimulatedError if the body lacks what the route needs
 */
export function nativeImageAnswer(body: JsonObject | undefined, route: 'generations' | 'edits', createdAt: number): SimulatedAnswer {
  if (body) check(body, route);
  const prompt = typeof body?.prompt === 'string' ? body.prompt : '';
  const members = imageMembers(body ?? {});
  const usage = imageUsageOf(prompt);
  if (body?.stream === true) {
    const family = route === 'edits' ? 'image_edit' : 'image_generation';
    const image = { b64_json: PNG, created_at: createdAt, ...members };
    const partial = { type: `${family}.partial_image`, partial_image_index: 0, ...image };
    return eventsAnswer([partial, { type: `${family}.completed`, ...image, usage }], {});
  }
  const data = drawsNothing(prompt) ? [] : [{ b64_json: PNG, revised_prompt: `A rehearsal of: ${prompt}` }];
  return jsonAnswer(200, { created: createdAt, data, ...members, usage });
}

function check(body: JsonObject, route: 'generations' | 'edits'): void {
  if (typeof body.prompt !== 'string') throw missingParameter('prompt');
  const [source] = Array.isArray(body.images) ? body.images : [body.image];
  if (route === 'edits' && typeof source !== 'string' && !isObject(source)) throw missingParameter('images');
}
