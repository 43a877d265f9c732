// The output of a reply so far: its finished items and its open messages. Their events are kept as text, and are parsed only if the reply is
// ended.
import { GatheredBytes } from '../../../base/bytes/gathered-bytes.ts';
import { asList, isObject, type Json, type JsonObject, parsedObject } from '../../../turn/json/json.ts';
import { DeltaText } from '../../../turn/reply/delta-text.ts';
import type { HeldBytes } from '../../../turn/reply/held-bytes.ts';
import type { ReplyEvent } from '../../../turn/reply/reply-event.ts';

type Made = JsonObject & { readonly type: string };
type PartKind = 'text' | 'refusal';

/** The texts that deltas added to a part of a message. */
interface AddedText {
  readonly kind: PartKind;
  /** In the form that JSON has between the quotes. */
  readonly text: GatheredBytes;
}

interface OutputItem {
  /** The data of its events: the one that began the item and those of its parts, or the one that ended it. */
  readonly events: string[];
  /** By the index of the part. */
  readonly added: Map<number, AddedText>;
  readonly isFinished: boolean;
  /** The bytes that are counted for it. */
  held: number;
}

/** The deltas of message parts, and the kind of part that each has. */
const PART_DELTAS: ReadonlyMap<string, PartKind> = new Map([
  ['response.output_text.delta', 'text'],
  ['response.refusal.delta', 'refusal'],
]);

const ITEM_EVENTS: ReadonlySet<string> = new Set(['response.output_item.added', 'response.output_item.done']);

/** The events that begin and end items and their parts. */
export const OUTPUT_EVENTS: ReadonlySet<string> = new Set([...ITEM_EVENTS, 'response.content_part.added', 'response.content_part.done']);

export class UnfinishedOutput {
  readonly #memory: HeldBytes;
  readonly #delta = new DeltaText();
  /** By their index in the output. */
  readonly #items = new Map<number, OutputItem>();

  constructor(memory: HeldBytes) {
    this.#memory = memory;
  }

  /** Adds the text of a delta, if it belongs to a part of a message. @param text in the form that JSON has between its quotes @throws TooMuchHeld */
  append(event: ReplyEvent, text: Buffer): void {
    const kind = PART_DELTAS.get(event.type);
    if (!kind) return;
    const index = this.#delta.placeOf(event);
    const item = typeof index === 'number' ? this.#items.get(index) : undefined;
    if (!item || item.isFinished) return;
    const at = this.#delta.numberOf(event, 'content_index');
    let added = item.added.get(at);
    if (!added) {
      added = { kind, text: new GatheredBytes() };
      item.added.set(at, added);
    }
    this.#hold(item, added.text.add(text));
  }

  /** Takes one of OUTPUT_EVENTS. @throws TooMuchHeld */
  take(event: ReplyEvent): void {
    this.#memory.allowParsing(event);
    const index = this.#delta.placeOf(event);
    if (typeof index !== 'number') return;
    let item = this.#items.get(index);
    if (ITEM_EVENTS.has(event.type)) {
      if (item) this.#memory.release(item.held);
      item = { events: [], added: new Map(), isFinished: event.type === 'response.output_item.done', held: 0 };
      this.#items.set(index, item);
    } else {
      if (!item || item.isFinished) return;
      // The event of a part has all of its text so far.
      item.added.delete(this.#delta.numberOf(event, 'content_index'));
    }
    item.events.push(event.data());
    this.#hold(item, event.length);
  }

  /** Ends the open messages as incomplete. @returns the events that say so, without sequence numbers, and all items in their order */
  end(): { readonly events: readonly JsonObject[]; readonly items: readonly Json[] } {
    const events: Made[] = [];
    const items: Json[] = [];
    for (const [index, output] of [...this.#items].sort(([a], [b]) => a - b)) {
      const [first, ...partEvents] = output.events.map(parsedObject);
      const item = first?.item;
      // An event that is no JSON states no item.
      if (!isObject(item)) continue;
      if (output.isFinished) items.push(item);
      else if (item.type === 'message') {
        const content = partsOf(item, partEvents, output.added);
        const place = { item_id: item.id ?? null, output_index: index };
        for (const [at, part] of content) events.push(...closingEvents(part, { ...place, content_index: at }));
        const ended = { ...item, status: 'incomplete', content: content.map(([, part]) => part) };
        events.push({ type: 'response.output_item.done', output_index: index, item: ended });
        items.push(ended);
      }
    }
    return { events, items };
  }

  #hold(item: OutputItem, bytes: number): void {
    this.#memory.hold(bytes);
    item.held += bytes;
  }
}

/** The parts of an open message by their index, in order. */
function partsOf(item: JsonObject, events: readonly (JsonObject | undefined)[], added: OutputItem['added']): [number, JsonObject][] {
  const parts = new Map<number, JsonObject>(asList(item.content).filter(isObject).entries());
  for (const event of events) {
    if (isObject(event?.part) && typeof event.content_index === 'number') parts.set(event.content_index, event.part);
  }
  for (const [at, { kind, text }] of added) parts.set(at, withText(parts.get(at) ?? emptyPart(kind), text));
  return [...parts].sort(([a], [b]) => a - b);
}

const emptyPart = (kind: PartKind): JsonObject =>
  kind === 'text' ? { type: 'output_text', text: '', annotations: [] } : { type: 'refusal', refusal: '' };

/** The part with the texts of its deltas. */
function withText(part: JsonObject, added: GatheredBytes): JsonObject {
  const kind = part.type === 'refusal' ? 'refusal' : 'text';
  const begun = part[kind];
  return { ...part, [kind]: `${typeof begun === 'string' ? begun : ''}${JSON.parse(`"${added.take().toString()}"`) as string}` };
}

function closingEvents(part: JsonObject, place: JsonObject): readonly Made[] {
  const said: Made =
    part.type === 'refusal'
      ? { type: 'response.refusal.done', ...place, refusal: part.refusal ?? '' }
      : { type: 'response.output_text.done', ...place, text: part.text ?? '', logprobs: [] };
  return [said, { type: 'response.content_part.done', ...place, part }];
}
