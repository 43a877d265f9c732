// Turns the reply of an account into the blocks of one message, in the order of its items, and determines how the message ended (AM52 to
// AM58).
import { asList, isAbsent, isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import type { StopSequences } from '../stop-sequences.ts';
import { type BlockOutput, BlockWriter } from './block-writer.ts';
import type { DeltaKind, ItemBlocks, ItemOptions } from './item-blocks.ts';
import { Lanes } from './lanes.ts';
import { itemBlocks } from './message-items.ts';

/** The item that an event belongs to: its index in the output, its id, or both. */
export interface EventPlace {
  readonly index?: Json | undefined;
  readonly id?: Json | undefined;
}

/** How a message ended, in the form of `message_delta` and of whole messages. */
export type MessageEnd = {
  readonly stop_reason: 'stop_sequence' | 'max_tokens' | 'refusal' | 'tool_use' | 'end_turn';
  readonly stop_sequence: string | null;
  readonly stop_details: JsonObject | null;
};

export interface MessageReplyOptions extends Omit<ItemOptions, 'losses'> {
  readonly stops: StopSequences | undefined;
}

/** The item that is assumed for a delta if the account did not open one. */
const UNOPENED: Readonly<Partial<Record<DeltaKind, JsonObject>>> = {
  text: { type: 'message' },
  refusal: { type: 'message' },
  summary: { type: 'reasoning' },
  reasoning: { type: 'reasoning' },
};

interface KnownItem {
  readonly isCall: boolean;
  readonly blocks: () => ItemBlocks | undefined;
  done: boolean;
}

export class MessageReply {
  readonly #options: ItemOptions;
  readonly #writer: BlockWriter;
  readonly #lanes: Lanes<number>;
  /** The items by their number here. Indexes and ids are mapped to these numbers. */
  readonly #items: KnownItem[] = [];
  readonly #byIndex = new Map<Json, number>();
  readonly #byId = new Map<Json, number>();
  /** Calls whose arguments began before their name was known. Their arguments are taken from the finished item. */
  readonly #nameless = new Set<Json | undefined>();
  #refused = false;
  #calls = 0;
  #searches = 0;
  #losses = 0;

  constructor(output: BlockOutput, { stops, ...options }: MessageReplyOptions) {
    this.#options = { ...options, losses: () => this.#losses };
    this.#writer = new BlockWriter(output, stops);
    this.#lanes = new Lanes(options.memory);
  }

  /** The stop sequence that the text has reached. After it, the rest of the account's reply is not used. */
  get matched(): string | undefined {
    return this.#writer.matched;
  }

  /** The number of web searches that have a query, for the usage. */
  get searches(): number {
    return this.#searches;
  }

  /** Notes that an event could not be read. It may have been a piece of a text. */
  lost(): void {
    this.#losses += 1;
  }

  /** @param bytes the memory that the item needs if it is held @throws TooMuchHeld */
  opened(item: JsonObject, place: EventPlace, bytes: number): void {
    if (this.#find(place) === undefined && !this.#nameless.has(keyOf(place))) this.#open(item, place, bytes);
  }

  /** @param text a view, in the form that JSON has between the quotes @throws TooMuchHeld */
  delta(kind: DeltaKind, place: EventPlace, part: number, text: Buffer): void {
    if (kind === 'refusal') this.#refused = true;
    const at = this.#find(place) ?? this.#openFor(kind, place);
    const item = at === undefined ? undefined : this.#items[at];
    if (at === undefined || !item) return;
    if (this.#lanes.isFirst(at)) {
      item.blocks()?.delta?.(kind, part, text);
      return;
    }
    const kept = Buffer.from(text);
    this.#lanes.write(at, kept.length, () => item.blocks()?.delta?.(kind, part, kept));
  }

  /** @param finished the part in the event that ends it, if the account sends it */
  partDone(place: EventPlace, part: number, finished?: JsonObject): void {
    this.#write(place, 0, (blocks) => blocks.partDone?.(part, finished));
  }

  annotation(place: EventPlace, part: number, annotation: JsonObject, bytes: number): void {
    this.#write(place, bytes, (blocks) => blocks.annotation?.(part, annotation));
  }

  done(item: JsonObject, place: EventPlace, bytes: number): void {
    const at = this.#find(place) ?? this.#open(item, place, bytes);
    const known = at === undefined ? undefined : this.#items[at];
    if (at === undefined || !known || known.done) return;
    known.done = true;
    this.#count(item);
    this.#lanes.write(at, bytes, () => known.blocks()?.done(item));
    this.#lanes.finish(at);
  }

  /** Writes what only the terminal event contained, and closes open blocks. @param response the response in the terminal event */
  finish(response: JsonObject): MessageEnd {
    for (const [index, item] of asList(response.output).entries()) {
      if (isObject(item)) this.done(item, { index, id: item.id }, 0);
    }
    for (const at of this.#lanes.open) {
      if (this.#items[at]?.isCall) this.#calls += 1;
      this.#lanes.write(at, 0, () => this.#items[at]?.blocks()?.cut());
      this.#lanes.finish(at);
    }
    return this.#end(response);
  }

  #end({ status, incomplete_details: details }: JsonObject): MessageEnd {
    const end = (stop_reason: MessageEnd['stop_reason']): MessageEnd => ({ stop_reason, stop_sequence: null, stop_details: null });
    if (this.matched !== undefined) return { ...end('stop_sequence'), stop_sequence: this.matched };
    const reason = isObject(details) ? details.reason : undefined;
    const filtered = reason === 'content_filter';
    if (!filtered && (status === 'incomplete' || !isAbsent(reason))) return end('max_tokens');
    if (filtered || this.#refused) return { ...end('refusal'), stop_details: { type: 'refusal', category: null, explanation: null } };
    return end(this.#calls > 0 ? 'tool_use' : 'end_turn');
  }

  #count({ type, content, action }: JsonObject): void {
    if (type === 'function_call') this.#calls += 1;
    if (type === 'web_search_call' && isObject(action) && !isAbsent(action.query ?? asList(action.queries)[0])) this.#searches += 1;
    if (asList(content).some((part) => isObject(part) && part.type === 'refusal')) this.#refused = true;
  }

  #write(place: EventPlace, bytes: number, write: (blocks: ItemBlocks) => void): void {
    const at = this.#find(place);
    const item = at === undefined ? undefined : this.#items[at];
    if (at === undefined || !item) return;
    this.#lanes.write(at, bytes, () => {
      const blocks = item.blocks();
      if (blocks) write(blocks);
    });
  }

  /** The number of an item. The id takes precedence, because some accounts number only the items that they list at the end. */
  #find({ index, id }: EventPlace): number | undefined {
    const byId = isAbsent(id) ? undefined : this.#byId.get(id);
    return byId ?? (isAbsent(index) ? undefined : this.#byIndex.get(index));
  }

  #openFor(kind: DeltaKind, place: EventPlace): number | undefined {
    const item = UNOPENED[kind];
    if (item) return this.#open(item, place, 0);
    this.#nameless.add(keyOf(place));
    return undefined;
  }

  /** @returns undefined if the client gets nothing of the item */
  #open(item: JsonObject, { index, id }: EventPlace, bytes: number): number | undefined {
    if (!this.#isShown(item)) return undefined;
    const at = this.#items.length;
    let blocks: ItemBlocks | undefined;
    const begin = (): void => {
      blocks ??= itemBlocks(item, this.#writer, this.#options);
    };
    this.#items.push({ isCall: item.type === 'function_call', blocks: () => blocks, done: false });
    if (!isAbsent(index)) this.#byIndex.set(index, at);
    if (!isAbsent(id)) this.#byId.set(id, at);
    this.#lanes.write(at, bytes, begin);
    return at;
  }

  #isShown({ type }: JsonObject): boolean {
    return (
      type === 'message' ||
      type === 'function_call' ||
      type === 'web_search_call' ||
      (type === 'reasoning' && this.#options.thinking !== 'none')
    );
  }
}

const keyOf = ({ index, id }: EventPlace): Json | undefined => index ?? id;
