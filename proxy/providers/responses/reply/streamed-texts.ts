// Determines which streamed text, and which part of an item, an event belongs to (AA32).
import { STREAMED, type StreamedText } from './item-events.ts';

/** A streamed text, and the type of its part. */
export interface Streamed {
  readonly part: string;
  readonly text: StreamedText;
}

/** The member that numbers the parts of an item. */
export type PartNumber = 'content_index' | 'summary_index';

/** Streamed texts by the types of their delta events. */
export const DELTAS: ReadonlyMap<string, Streamed> = new Map([...STREAMED].map(([part, text]) => [text.delta, { part, text }]));
export const TEXT_ENDS: ReadonlyMap<string, Streamed> = new Map([...STREAMED].map(([part, text]) => [text.done, { part, text }]));
export const PART_ADDED: ReadonlyMap<string, PartNumber> = new Map([
  ['response.content_part.added', 'content_index'],
  ['response.reasoning_summary_part.added', 'summary_index'],
]);
export const PART_DONE: ReadonlyMap<string, PartNumber> = new Map([
  ['response.content_part.done', 'content_index'],
  ['response.reasoning_summary_part.done', 'summary_index'],
]);

/** The type of the item that each type of part belongs to. A text that is not in a part belongs to a call. */
export const ITEM_OF: ReadonlyMap<string, 'message' | 'reasoning'> = new Map([
  ['output_text', 'message'],
  ['refusal', 'message'],
  ['summary_text', 'reasoning'],
  ['reasoning_text', 'reasoning'],
]);
