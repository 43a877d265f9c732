// The answer of an image request on /v1: the image that the host's tool call made, in the shape of the Images API (D10, Q22).

import { Refusal } from '../../proxy/turn/errors/refusal.ts';
import { asList, isObject, isText, type Json, type JsonObject } from '../../proxy/turn/json/json.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import { TRANSLATED_IMAGES } from '../route-groups.ts';
import { imageUsage } from './image-usage.ts';

export const imageAnswer = rule({
  name: 'image-answer',
  routes: TRANSLATED_IMAGES,
  answer(response, _memory, { at }) {
    // One image was asked for; a further call would be the model's own idea.
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
  },
});

const isImage = (item: Json): item is JsonObject => isObject(item) && item.type === 'image_generation_call' && isText(item.result);
