// Images of Responses accounts with the paths of the Images API. A turn with the image tool becomes a request of that API, and its answer
// becomes the events of the turn (AA35).
import { randomUUID } from 'node:crypto';
import { type EncodedBody, encodeForm, encodeJson } from '../../turn/json/encode-body.ts';
import { asList, isObject, isText, type Json, type JsonObject } from '../../turn/json/json.ts';
import { type Emit, type EventHandler, UnreadableReply } from '../../turn/provider/provider-replies.ts';
import { ReplyEvent } from '../../turn/reply/reply-event.ts';
import type { Body } from '../../turn/turn.ts';

const GENERATIONS = '/images/generations';
const EDITS = '/images/edits';

/** Members of the tool that have the same names in the Images API. */
const TOOL_MEMBERS = ['size', 'quality', 'background', 'output_format', 'output_compression', 'moderation'] as const;

export interface ImageRequest extends EncodedBody {
  readonly path: string;
}

/** @param body the translated turn: one message with the prompt and the images, and the image tool (Q22) */
export function imageRequest(body: Body, tools: readonly Json[]): ImageRequest {
  const tool = tools.find((one): one is JsonObject => isObject(one) && one.type === 'image_generation') ?? {};
  const parts = asList(body.input)
    .flatMap((item) => (isObject(item) ? asList(item.content) : []))
    .filter(isObject);
  const prompt = parts.find(({ type }) => type === 'input_text')?.text ?? '';
  const images = parts.flatMap(({ type, image_url }) => (type === 'input_image' && isText(image_url) ? [image_url] : []));
  const sent: Body = { model: tool.model, prompt, n: 1 };
  for (const name of TOOL_MEMBERS) if (tool[name] !== undefined) sent[name] = tool[name];
  if (images.length === 0) return { path: GENERATIONS, ...encodeJson(sent) };
  if (tool.input_fidelity !== undefined) sent.input_fidelity = tool.input_fidelity;
  sent['image[]'] = images.map((url, i) => fileOf(url, `image-${i}`));
  const mask = isObject(tool.input_image_mask) ? tool.input_image_mask.image_url : undefined;
  if (isText(mask)) sent.mask = fileOf(mask, 'mask');
  return { path: EDITS, ...encodeForm(sent) };
}

/** A file for a form, from the data URL into which the translation put the client's file. */
function fileOf(url: string, name: string): JsonObject {
  const [, media_type = 'image/png', data = ''] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? [];
  return { type: 'form_file', filename: `${name}.${media_type.split('/')[1]}`, media_type, data };
}

/** The path of a native image request. */
export const nativeImagePath = (upstream: string): string => (upstream.endsWith(EDITS) ? EDITS : GENERATIONS);

/** Turns the answer of the Images API into the events of a turn that called the image tool. */
export class ImageEvents implements EventHandler {
  event(event: ReplyEvent, emit: Emit): void {
    if (!event.hasData) return;
    const data = event.json();
    if (!data) throw new UnreadableReply();
    if (isObject(data.error)) {
      emit(ReplyEvent.of({ ...data, type: 'error' }));
      return;
    }
    const [image] = asList(data.data);
    const { created, usage, size, quality, background, output_format } = data;
    const { b64_json: result, revised_prompt } = isObject(image) ? image : {};
    const item: JsonObject = {
      id: `ig_${randomUUID().replaceAll('-', '')}`,
      type: 'image_generation_call',
      status: isText(result) ? 'completed' : 'failed',
      ...(isText(result) ? { result } : {}),
      ...(isText(revised_prompt) ? { revised_prompt } : {}),
      size,
      quality,
      background,
      output_format,
    };
    const response = { id: `resp_${randomUUID().replaceAll('-', '')}`, object: 'response', created_at: created ?? null, output: [] };
    emit(ReplyEvent.of({ type: 'response.created', sequence_number: 0, response: { ...response, status: 'in_progress' } }));
    emit(ReplyEvent.of({ type: 'response.output_item.done', sequence_number: 1, output_index: 0, item }));
    const ended = { ...response, status: 'completed', output: [item], usage: usage ?? null };
    emit(ReplyEvent.of({ type: 'response.completed', sequence_number: 2, response: ended }));
  }
}
