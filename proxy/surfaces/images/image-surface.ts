// The surface of images on /v1. It is addressed like the compatible surface, has its own requests and answers, and never streams (D10,
// Q22).
import { Refusal } from '../../turn/errors/refusal.ts';
import { asList, isObject, isText, type Json, type JsonObject } from '../../turn/json/json.ts';
import { imageUsage } from '../../turn/reply/image-usage.ts';
import { surface } from '../../turn/surface.ts';
import type { Turn } from '../../turn/turn.ts';
import { publicSurface } from '../public/public-surface.ts';
import { decodeImages } from './image-request.ts';

export const imageSurface = surface({ ...publicSurface, name: 'images', decode: decodeImages, answer: imageAnswer });

/** @throws Refusal if no image was made */
function imageAnswer(response: JsonObject, { at }: Pick<Turn, 'at'>): JsonObject {
  // Only the first call counts, because the request asked for one image.
  const call = asList(response.output).find(isImage);
  if (!call) throw new Refusal('image_generation_failed');
  const { created_at, usage } = response;
  const { result, revised_prompt } = call;
  const used = imageUsage(response) ?? usage;
  return {
    created: Number.isInteger(created_at) ? created_at : Math.floor(at / 1000),
    data: [{ b64_json: result, ...(isText(revised_prompt) ? { revised_prompt } : {}) }],
    ...(isObject(used) ? { usage: used } : {}),
  };
}

const isImage = (item: Json): item is JsonObject => isObject(item) && item.type === 'image_generation_call' && isText(item.result);
