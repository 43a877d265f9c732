// Output items, each with the events that stream it.
import type { JsonObject } from '../turn/json.ts';
import type { Account } from './account.ts';
import type { Ids } from './ids.ts';
import { charactersPerToken, type Part } from './plan.ts';

/** What an item needs of its turn. */
export interface ItemMaker {
  readonly ids: Ids;
  readonly account: Account;
  /** Appends an event; its sequence number is given here. */
  emit(type: string, members: JsonObject): void;
}

/** A finished item, and the tokens it cost. */
export interface Made {
  readonly item: JsonObject;
  readonly tokens: number;
}

const tokensOf = (text: string): number => Math.ceil(text.length / charactersPerToken);

/** A reasoning item. The ciphertext is bound to the account: another account refuses it. */
export function reasoningItem(maker: ItemMaker, index: number, wants: { readonly summary: boolean; readonly ciphertext: boolean }): Made {
  const id = maker.ids.next('rs');
  const at = { item_id: id, output_index: index, summary_index: 0 };
  const part = { type: 'summary_text', text: 'Rehearsing an answer.' };
  maker.emit('response.output_item.added', { output_index: index, item: { id, type: 'reasoning', summary: [] } });
  if (wants.summary) {
    maker.emit('response.reasoning_summary_part.added', { ...at, part: { ...part, text: '' } });
    for (const delta of deltasOf(part.text)) maker.emit('response.reasoning_summary_text.delta', { ...at, delta });
    maker.emit('response.reasoning_summary_text.done', { ...at, text: part.text });
    maker.emit('response.reasoning_summary_part.done', { ...at, part });
  }
  const ciphertext = wants.ciphertext ? { encrypted_content: maker.account.bind('enc', maker.ids.number()) } : {};
  const item = { id, type: 'reasoning', summary: wants.summary ? [part] : [], ...ciphertext };
  maker.emit('response.output_item.done', { output_index: index, item });
  return { item, tokens: 16 };
}

/** The item of one part of the plan. `status` is `incomplete` where the turn stops within a message. */
export function itemOf(maker: ItemMaker, index: number, part: Part, status: 'completed' | 'incomplete'): Made {
  if (part.kind === 'text' || part.kind === 'refusal') return messageItem(maker, index, part, status);
  return part.kind === 'call' ? callItem(maker, index, part) : compactionItem(maker, index);
}

function messageItem(maker: ItemMaker, index: number, part: Extract<Part, { kind: 'text' | 'refusal' }>, status: string): Made {
  const id = maker.ids.next('msg');
  const at = { item_id: id, output_index: index, content_index: 0 };
  const head = { id, type: 'message', role: 'assistant' };
  const isText = part.kind === 'text';
  const content = (text: string): JsonObject =>
    isText ? { type: 'output_text', text, annotations: [], logprobs: [] } : { type: 'refusal', refusal: text };
  const extra = isText ? { logprobs: [] } : {};
  const event = isText ? 'response.output_text' : 'response.refusal';

  maker.emit('response.output_item.added', { output_index: index, item: { ...head, status: 'in_progress', content: [] } });
  maker.emit('response.content_part.added', { ...at, part: content('') });
  for (const delta of deltasOf(part.text)) maker.emit(`${event}.delta`, { ...at, delta, ...extra });
  maker.emit(`${event}.done`, { ...at, [isText ? 'text' : 'refusal']: part.text, ...extra });
  maker.emit('response.content_part.done', { ...at, part: content(part.text) });
  const item = { ...head, status, content: [content(part.text)] };
  maker.emit('response.output_item.done', { output_index: index, item });
  return { item, tokens: tokensOf(part.text) };
}

function callItem(maker: ItemMaker, index: number, part: Extract<Part, { kind: 'call' }>): Made {
  const isFunction = part.tool.kind === 'function';
  const id = maker.ids.next(isFunction ? 'fc' : 'ctc');
  const member = isFunction ? 'arguments' : 'input';
  const event = isFunction ? 'response.function_call_arguments' : 'response.custom_tool_call_input';
  const namespace = part.namespace === undefined ? {} : { namespace: part.namespace };
  const head = {
    id,
    type: isFunction ? 'function_call' : 'custom_tool_call',
    call_id: maker.ids.next('call'),
    name: part.tool.name,
    ...namespace,
  };
  const at = { item_id: id, output_index: index };

  maker.emit('response.output_item.added', { output_index: index, item: { ...head, status: 'in_progress', [member]: '' } });
  for (const delta of deltasOf(part.input)) maker.emit(`${event}.delta`, { ...at, delta });
  maker.emit(`${event}.done`, { ...at, [member]: part.input });
  const item = { ...head, status: 'completed', [member]: part.input };
  maker.emit('response.output_item.done', { output_index: index, item });
  return { item, tokens: tokensOf(part.input) };
}

/** A compaction item: opaque, and bound to the account like reasoning. */
export function compactionItem(maker: ItemMaker, index: number): Made {
  const item = { id: maker.ids.next('cmp'), type: 'compaction', encrypted_content: maker.account.bind('enc', maker.ids.number()) };
  maker.emit('response.output_item.added', { output_index: index, item });
  maker.emit('response.output_item.done', { output_index: index, item });
  return { item, tokens: 24 };
}

/** Words with the space that follows them; text without spaces in pieces of 12 characters, so that JSON is split inside its strings. */
function deltasOf(text: string): readonly string[] {
  const words = text.match(/\S+\s*|\s+/g) ?? [];
  return words.flatMap((word) => (word.length > 24 ? (word.match(/[\s\S]{1,12}/gu) ?? []) : [word]));
}
