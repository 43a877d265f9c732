// The events of a whole output item, as in a stream that has its text or arguments in one delta (AA32).
import { randomUUID } from 'node:crypto';
import { asList, isObject, isText, type Json, type JsonObject } from '../../../turn/json/json.ts';

/** A text that a stream shows in deltas. */
export interface StreamedText {
  readonly delta: string;
  readonly done: string;
  /** The member of the part, the item or the `done` event that contains the text. */
  readonly member: 'text' | 'refusal' | 'arguments' | 'input';
  /** The member that numbers the parts of the item. Undefined for a text that is not in a part. */
  readonly number?: 'content_index' | 'summary_index';
}

const texts = (name: string, members: Omit<StreamedText, 'delta' | 'done'>): StreamedText => ({
  delta: `response.${name}.delta`,
  done: `response.${name}.done`,
  ...members,
});

/** The streamed texts by the type of the part, or of the item if the text is not in a part. */
export const STREAMED: ReadonlyMap<string, StreamedText> = new Map([
  ['output_text', texts('output_text', { member: 'text', number: 'content_index' })],
  ['refusal', texts('refusal', { member: 'refusal', number: 'content_index' })],
  ['summary_text', texts('reasoning_summary_text', { member: 'text', number: 'summary_index' })],
  ['reasoning_text', texts('reasoning_text', { member: 'text', number: 'content_index' })],
  ['function_call', texts('function_call_arguments', { member: 'arguments' })],
  ['custom_tool_call', texts('custom_tool_call_input', { member: 'input' })],
]);

/** The types of the events that open and close a part. */
export const partTypes = (number: StreamedText['number']): { readonly added: string; readonly done: string } => {
  const name = number === 'summary_index' ? 'reasoning_summary_part' : 'content_part';
  return { added: `response.${name}.added`, done: `response.${name}.done` };
};

const PREFIXES: ReadonlyMap<Json | undefined, string> = new Map([
  ['message', 'msg_'],
  ['reasoning', 'rs_'],
  ['function_call', 'fc_'],
  ['custom_tool_call', 'ctc_'],
]);

/** The item with an id, which its events need. */
export const identified = (item: JsonObject): JsonObject => (isText(item.id) ? item : { id: madeId(item.type), ...item });

export const madeId = (type: Json | undefined): string => `${PREFIXES.get(type) ?? 'item_'}${randomUUID().replaceAll('-', '')}`;

/** An item in the form of the event that opens it. */
export function opened(item: JsonObject): JsonObject {
  const { type } = item;
  const empty =
    type === 'message'
      ? { content: [] }
      : type === 'reasoning'
        ? { summary: [], content: undefined, encrypted_content: undefined }
        : emptied(STREAMED.get(String(type)));
  return { ...item, ...(item.status === undefined && type !== 'message' ? {} : { status: 'in_progress' }), ...empty };
}

const emptied = (text: StreamedText | undefined): JsonObject => (text ? { [text.member]: '' } : {});

/** All events of an item. @param item an item with an id */
export function eventsOfItem(item: JsonObject, output_index: number): readonly JsonObject[] {
  return [
    { type: 'response.output_item.added', output_index, item: opened(item) },
    ...eventsOfTexts(item, output_index),
    { type: 'response.output_item.done', output_index, item },
  ];
}

/** The events between those that open and close an item. */
export function eventsOfTexts(item: JsonObject, output_index: number): readonly JsonObject[] {
  const place = { item_id: item.id ?? null, output_index };
  if (item.type === 'message') return asList(item.content).flatMap((part, i) => eventsOfPart(part, { ...place, content_index: i }));
  if (item.type === 'reasoning') return asList(item.summary).flatMap((part, i) => eventsOfPart(part, { ...place, summary_index: i }));
  const text = STREAMED.get(String(item.type));
  return text ? textEvents(text, String(item[text.member] ?? ''), place) : [];
}

function eventsOfPart(part: Json, place: JsonObject): readonly JsonObject[] {
  if (!isObject(part)) return [];
  const text = STREAMED.get(String(part.type));
  if (!text) return [];
  const { added, done } = partTypes(text.number);
  const value = String(part[text.member] ?? '');
  const empty = part.type === 'output_text' ? { annotations: [] } : {};
  return [
    { type: added, ...place, part: { ...part, ...empty, [text.member]: '' } },
    ...textEvents(text, value, place),
    { type: done, ...place, part },
  ];
}

/** A text in one delta, and its end. An empty text has no delta. */
function textEvents({ delta, done, member }: StreamedText, text: string, place: JsonObject): readonly JsonObject[] {
  const ended = { type: done, ...place, [member]: text };
  return text === '' ? [ended] : [{ type: delta, ...place, delta: text }, ended];
}
