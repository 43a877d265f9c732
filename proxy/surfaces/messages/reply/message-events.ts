// Turns the Responses events of a reply into the blocks of a message. Deltas are not parsed (AM52, AM54).
import { isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import { DeltaText } from '../../../turn/reply/delta-text.ts';
import { jsonText } from '../../../turn/reply/event-bytes.ts';
import type { ReplyEvent } from '../../../turn/reply/reply-event.ts';
import { tokensOfBytes } from '../../../turn/token-estimate.ts';
import type { Event } from '../../../turn/turn.ts';
import type { MessagesRequest } from '../request/decode.ts';
import type { BlockOutput } from './block-writer.ts';
import type { DeltaKind } from './item-blocks.ts';
import type { LaneMemory } from './lanes.ts';
import { type EventPlace, MessageReply } from './message-reply.ts';

/** The deltas by their event types, with the member that numbers the parts of an item. */
const DELTAS: ReadonlyMap<string, { readonly kind: DeltaKind; readonly part: 'content_index' | 'summary_index' | undefined }> = new Map([
  ['response.output_text.delta', { kind: 'text', part: 'content_index' }],
  ['response.refusal.delta', { kind: 'refusal', part: 'content_index' }],
  ['response.reasoning_summary_text.delta', { kind: 'summary', part: 'summary_index' }],
  ['response.reasoning_text.delta', { kind: 'reasoning', part: 'content_index' }],
  ['response.function_call_arguments.delta', { kind: 'arguments', part: undefined }],
]);

/** The events that end parts which have deltas. */
const PART_ENDS: ReadonlySet<string> = new Set(['response.content_part.done', 'response.reasoning_summary_part.done']);

/** The events that have to be parsed. */
export const MESSAGE_EVENTS: ReadonlySet<string> = new Set([
  'response.output_item.added',
  'response.output_item.done',
  'response.output_text.annotation.added',
  ...PART_ENDS,
  'response.completed',
  'response.incomplete',
]);

export class MessageEvents {
  readonly reply: MessageReply;
  readonly #text = new DeltaText();
  /** The bytes of text, thinking and arguments, for an estimate of the usage (Q18). */
  #bytes = 0;

  constructor(output: BlockOutput, { thinking, stops, clientNames }: MessagesRequest, memory: LaneMemory) {
    this.reply = new MessageReply(output, { thinking, stops, clientName: (name) => clientNames.get(name) ?? name, memory });
  }

  /** The estimated output so far, in tokens (Q18). */
  get outputTokens(): number {
    return tokensOfBytes(this.#bytes);
  }

  /** Takes an event whose bytes are unparsed. @throws TooMuchHeld */
  raw(event: ReplyEvent): void {
    const delta = DELTAS.get(event.type);
    const text = delta && this.#text.of(event);
    if (!delta) return;
    if (!text) {
      if (!event.json()) this.reply.lost();
      return;
    }
    const part = delta.part === undefined ? 0 : this.#text.numberOf(event, delta.part);
    this.#delta(delta.kind, placeOf(this.#text.placeOf(event)), part, text);
  }

  /** Takes an event that was parsed. @throws TooMuchHeld */
  event({ type, data, size = 0 }: Event): void {
    const { item, output_index: index, item_id: id, annotation, delta } = data;
    const place = { index, id: id ?? (isObject(item) ? item.id : undefined) };
    if (type === 'response.output_item.added' && isObject(item)) this.reply.opened(item, place, size);
    else if (type === 'response.output_item.done' && isObject(item)) this.reply.done(item, place, size);
    else if (PART_ENDS.has(type)) this.reply.partDone(place, partOf(data), isObject(data.part) ? data.part : undefined);
    else if (type === 'response.output_text.annotation.added' && isObject(annotation)) {
      this.reply.annotation(place, partOf(data), annotation, size);
    } else if (typeof delta === 'string' && delta !== '') {
      const known = DELTAS.get(type);
      if (known) this.#delta(known.kind, place, partOf(data), jsonText(delta));
    }
  }

  #delta(kind: DeltaKind, place: EventPlace, part: number, text: Buffer): void {
    this.#bytes += text.length;
    this.reply.delta(kind, place, part, text);
  }
}

const placeOf = (at: Json | undefined): EventPlace => (typeof at === 'number' ? { index: at } : { id: at });

function partOf({ content_index: content, summary_index: summary }: JsonObject): number {
  const part = content ?? summary;
  return typeof part === 'number' ? part : 0;
}
