// Translates an image request on /v1 into a Responses turn of the Pool's host model, which has to call the image tool (D10, Q22).

import type { BodyFile } from '../../proxy/turn/json/body-file.ts';
import { isAbsent, type Json, type JsonObject } from '../../proxy/turn/json/json.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import type { Body } from '../../proxy/turn/turn.ts';
import { TRANSLATED_IMAGES } from '../route-groups.ts';
import { compressionOf, TOOL_TEXTS } from './image-options.ts';
import { imagesIn } from './image-sources.ts';
import { IMAGE_TOOL } from './image-tool.ts';
import { imageTypeOf } from './image-type.ts';

/** From here on the body is that of any other turn: dialects, mapping and dropped fields apply to it. */
export const imageRequest = rule({
  name: 'image-request',
  routes: TRANSLATED_IMAGES,
  request(work, turn) {
    const { body } = work;
    const images = imagesIn(body).map(({ value }) => ({ type: 'input_image', image_url: dataUrl(value) }));
    const content: Json = [{ type: 'input_text', text: body.prompt }, ...images];
    work.body = {
      ...(turn.model ? { model: turn.model.id } : {}),
      input: [{ type: 'message', role: 'user', content }],
      tools: [toolOf(body)],
      tool_choice: 'required',
    };
  },
});

function toolOf(body: Body): JsonObject {
  const tool: Record<string, Json | undefined> = { type: IMAGE_TOOL, model: body.model };
  for (const name of TOOL_TEXTS) if (!isAbsent(body[name])) tool[name] = body[name];
  const compression = compressionOf(body);
  if (compression !== undefined) tool.output_compression = compression;
  if (!isAbsent(body.mask)) tool.input_image_mask = { image_url: dataUrl(body.mask) };
  return tool;
}

/** `image-parameters` has checked that it is an image. */
function dataUrl(value: Json): string {
  const { data } = value as BodyFile;
  return `data:${imageTypeOf(data)};base64,${data}`;
}
