// The output items during their stream by their places, and the memory that each needs until it is finished (AA93).
import { isText, type Json } from '../../../turn/json/json.ts';
import { DeltaText } from '../../../turn/reply/delta-text.ts';
import type { HeldBytes } from '../../../turn/reply/held-bytes.ts';
import type { ReplyEvent } from '../../../turn/reply/reply-event.ts';
import { madeId } from './item-events.ts';
import type { NumberedEvents } from './numbered-events.ts';
import { OpenItem } from './open-item.ts';
import { ITEM_OF, type PartNumber } from './streamed-texts.ts';

export const ADDED = 'response.output_item.added';
export const DONE = 'response.output_item.done';
export const INTERRUPTED = 'response.output_item.interrupted';

export class OpenItems {
  readonly events: NumberedEvents;
  readonly #memory: HeldBytes;
  readonly #deltas = new DeltaText();
  readonly #items = new Map<Json, OpenItem>();

  constructor(events: NumberedEvents, memory: HeldBytes) {
    this.events = events;
    this.#memory = memory;
  }

  /** The number of items that the account has shown. */
  get size(): number {
    return this.#items.size;
  }

  /** Output items that the account has not ended yet. */
  get unfinished(): readonly OpenItem[] {
    return [...this.#items.values()].filter(({ isDone }) => !isDone);
  }

  /** The item that an event belongs to. */
  at(event: ReplyEvent): OpenItem {
    const place = this.#deltas.placeOf(event);
    const known = this.#items.get(place ?? this.#items.size);
    if (known) return known;
    const item = new OpenItem(typeof place === 'number' ? place : this.#items.size);
    this.#items.set(place ?? item.index, item);
    return item;
  }

  /** The item that an event with a text belongs to. It is opened here if the account has not opened it, unless it is a call. */
  opened(event: ReplyEvent, part: string): OpenItem {
    const item = this.at(event);
    const type = ITEM_OF.get(part);
    if (item.opening !== undefined || type === undefined) return item;
    const { item_id } = this.events.json(event);
    const shape = type === 'message' ? { role: 'assistant', status: 'in_progress', content: [] } : { summary: [] };
    item.opening = { id: isText(item_id) ? item_id : madeId(type), type, ...shape };
    this.events.make({ type: ADDED, output_index: item.index, item: item.opening });
    return item;
  }

  numberOf(event: ReplyEvent, number: PartNumber): number {
    return this.#deltas.numberOf(event, number);
  }

  /** The text that an event adds, in the form that JSON has between the quotes. */
  deltaOf(event: ReplyEvent): Buffer | undefined {
    return this.#deltas.of(event);
  }

  /** Counts the bytes that an item keeps until it is finished. @throws TooMuchHeld */
  hold(item: OpenItem, bytes: number): void {
    this.#memory.hold(bytes);
    item.held += bytes;
  }

  finish(item: OpenItem): void {
    item.finish();
    this.#memory.release(item.held);
    item.held = 0;
  }
}
