// The output items of a simulated turn, with the events that stream each item.
import type { JsonObject } from '../../turn/json/json.ts';
import type { SimulatedAccount } from '../account/simulated-account.ts';
import type { IdSequence } from './id-sequence.ts';
import { CHARACTERS_PER_TOKEN, deltasOf, type OutputPart } from './output-plan.ts';
import { imageMembers, PARTIAL_PNG, PNG } from './simulated-image.ts';

export interface ItemContext {
  readonly ids: IdSequence;
  readonly account: SimulatedAccount;
  /** Appends an event with the next sequence number. */
  emit(type: string, members: JsonObject): void;
}

export interface OutputItem {
  readonly item: JsonObject;
  /** Output tokens. */
  readonly tokens: number;
}

const tokensOf = (text: string): number => Math.ceil(text.length / CHARACTERS_PER_TOKEN);

/** A reasoning item. Its ciphertext belongs to the account, so another account refuses it. */
export function reasoningItem(
  context: ItemContext,
  index: number,
  options: { readonly summary: boolean; readonly ciphertext: boolean; readonly thought: string },
): OutputItem {
  const id = context.ids.next('rs');
  const at = { item_id: id, output_index: index, summary_index: 0 };
  const part = { type: 'summary_text', text: options.thought };
  context.emit('response.output_item.added', { output_index: index, item: { id, type: 'reasoning', summary: [] } });
  if (options.summary) {
    context.emit('response.reasoning_summary_part.added', { ...at, part: { ...part, text: '' } });
    for (const delta of deltasOf(part.text)) context.emit('response.reasoning_summary_text.delta', { ...at, delta });
    context.emit('response.reasoning_summary_text.done', { ...at, text: part.text });
    context.emit('response.reasoning_summary_part.done', { ...at, part });
  }
  const ciphertext = options.ciphertext ? { encrypted_content: context.account.bind('enc', context.ids.nextNumber()) } : {};
  const item = { id, type: 'reasoning', summary: options.summary ? [part] : [], ...ciphertext };
  context.emit('response.output_item.done', { output_index: index, item });
  return { item, tokens: 16 };
}

/** The item of one part of the plan. @param status the status of a message, `incomplete` if the turn ends inside it */
export function outputItem(context: ItemContext, index: number, part: OutputPart, status: 'completed' | 'incomplete'): OutputItem {
  if (part.kind === 'text' || part.kind === 'refusal') return messageItem(context, index, part, status);
  if (part.kind === 'image') return imageItem(context, index, part);
  if (part.kind === 'search') return searchItem(context, index, part);
  return part.kind === 'call' ? callItem(context, index, part) : compactionItem(context, index);
}

function messageItem(
  context: ItemContext,
  index: number,
  part: Extract<OutputPart, { kind: 'text' | 'refusal' }>,
  status: string,
): OutputItem {
  const id = context.ids.next('msg');
  const at = { item_id: id, output_index: index, content_index: 0 };
  const head = { id, type: 'message', role: 'assistant' };
  const isText = part.kind === 'text';
  const annotations = isText ? citationsOf(part) : [];
  const content = (text: string): JsonObject =>
    isText ? { type: 'output_text', text, annotations: text === '' ? [] : annotations, logprobs: [] } : { type: 'refusal', refusal: text };
  const extra = isText ? { logprobs: [] } : {};
  const event = isText ? 'response.output_text' : 'response.refusal';

  context.emit('response.output_item.added', { output_index: index, item: { ...head, status: 'in_progress', content: [] } });
  context.emit('response.content_part.added', { ...at, part: content('') });
  for (const delta of deltasOf(part.text)) context.emit(`${event}.delta`, { ...at, delta, ...extra });
  for (const [annotation_index, annotation] of annotations.entries()) {
    context.emit('response.output_text.annotation.added', { ...at, annotation_index, annotation });
  }
  context.emit(`${event}.done`, { ...at, [isText ? 'text' : 'refusal']: part.text, ...extra });
  context.emit('response.content_part.done', { ...at, part: content(part.text) });
  const item = { ...head, status, content: [content(part.text)] };
  context.emit('response.output_item.done', { output_index: index, item });
  return { item, tokens: tokensOf(part.text) };
}

function citationsOf({ text, source }: Extract<OutputPart, { kind: 'text' }>): readonly JsonObject[] {
  if (source === undefined) return [];
  return [{ type: 'url_citation', start_index: 0, end_index: text.length, url: source, title: 'A rehearsal' }];
}

function searchItem(context: ItemContext, index: number, { query, sources }: Extract<OutputPart, { kind: 'search' }>): OutputItem {
  const head = { id: context.ids.next('ws'), type: 'web_search_call' };
  const at = { item_id: head.id, output_index: index };
  context.emit('response.output_item.added', { output_index: index, item: { ...head, status: 'in_progress' } });
  for (const state of ['in_progress', 'searching', 'completed']) context.emit(`response.web_search_call.${state}`, at);
  const listed = sources && { sources: sources.map((url) => ({ type: 'url', url })) };
  const item = { ...head, status: 'completed', action: { type: 'search', query, queries: [query], ...listed } };
  context.emit('response.output_item.done', { output_index: index, item });
  return { item, tokens: tokensOf(query) };
}

function callItem(context: ItemContext, index: number, part: Extract<OutputPart, { kind: 'call' }>): OutputItem {
  const isFunction = part.tool.kind === 'function';
  const id = context.ids.next(isFunction ? 'fc' : 'ctc');
  const member = isFunction ? 'arguments' : 'input';
  const event = isFunction ? 'response.function_call_arguments' : 'response.custom_tool_call_input';
  const namespace = part.namespace === undefined ? {} : { namespace: part.namespace };
  const head = {
    id,
    type: isFunction ? 'function_call' : 'custom_tool_call',
    call_id: context.ids.next('call'),
    name: part.tool.name,
    ...namespace,
  };
  const at = { item_id: id, output_index: index };

  context.emit('response.output_item.added', { output_index: index, item: { ...head, status: 'in_progress', [member]: '' } });
  for (const delta of deltasOf(part.input)) context.emit(`${event}.delta`, { ...at, delta });
  context.emit(`${event}.done`, { ...at, [member]: part.input });
  const item = { ...head, status: 'completed', [member]: part.input };
  context.emit('response.output_item.done', { output_index: index, item });
  return { item, tokens: tokensOf(part.input) };
}

function imageItem(context: ItemContext, index: number, { tool, prompt }: Extract<OutputPart, { kind: 'image' }>): OutputItem {
  const head = { id: context.ids.next('ig'), type: 'image_generation_call' };
  const at = { item_id: head.id, output_index: index };
  context.emit('response.output_item.added', { output_index: index, item: { ...head, status: 'in_progress' } });
  context.emit('response.image_generation_call.in_progress', at);
  context.emit('response.image_generation_call.generating', at);
  const { unfinishedImages } = context.account.manners;
  if (unfinishedImages && prompt !== undefined) {
    context.emit('response.image_generation_call.partial_image', { ...at, partial_image_index: 0, partial_image_b64: PARTIAL_PNG });
  }
  const item =
    prompt === undefined
      ? { ...head, status: 'failed', result: null }
      : {
          ...head,
          status: unfinishedImages ? 'generating' : 'completed',
          result: PNG,
          revised_prompt: `A rehearsal of: ${prompt}`,
          ...imageMembers(tool),
        };
  if (prompt !== undefined && !unfinishedImages) context.emit('response.image_generation_call.completed', at);
  context.emit('response.output_item.done', { output_index: index, item });
  return { item, tokens: 24 };
}

/** A compaction. Its ciphertext belongs to the account. */
export function compactionItem(context: ItemContext, index: number): OutputItem {
  const item = {
    id: context.ids.next('cmp'),
    type: 'compaction',
    encrypted_content: context.account.bind('enc', context.ids.nextNumber()),
  };
  context.emit('response.output_item.added', { output_index: index, item });
  context.emit('response.output_item.done', { output_index: index, item });
  return { item, tokens: 24 };
}
