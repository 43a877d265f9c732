// The texts of a repaired stream and the parts around them. Events that a server leaves out are made before the event that needs them
// (AA32).
import { isObject, type Json } from '../../../turn/json/json.ts';
import type { ReplyEvent } from '../../../turn/reply/reply-event.ts';
import { partTypes, STREAMED } from './item-events.ts';
import { type OpenItem, type OpenText, partOf } from './open-item.ts';
import type { OpenItems } from './open-items.ts';
import { DELTAS, PART_ADDED, PART_DONE, type PartNumber, type Streamed, TEXT_ENDS } from './streamed-texts.ts';

export class RepairedTexts {
  readonly #items: OpenItems;

  constructor(items: OpenItems) {
    this.#items = items;
  }

  /** @returns whether the event concerns a text or a part */
  take(event: ReplyEvent): boolean {
    const { type } = event;
    const delta = DELTAS.get(type);
    const ended = delta ? undefined : TEXT_ENDS.get(type);
    const [opens, closes] = [PART_ADDED.get(type), PART_DONE.get(type)];
    if (delta) this.#delta(event, delta);
    else if (ended) this.#textEnded(event, ended);
    else if (opens) this.#partAdded(event, opens);
    else if (closes) this.#partDone(event, closes);
    else return false;
    return true;
  }

  #delta(event: ReplyEvent, streamed: Streamed): void {
    const item = this.#items.opened(event, streamed.part);
    const open = this.#textOf(item, streamed, event);
    const bytes = this.#items.deltaOf(event);
    if (bytes) this.#items.hold(item, open.add(bytes));
    if (item.opening !== undefined) this.#items.events.pass(event);
  }

  #textEnded(event: ReplyEvent, streamed: Streamed): void {
    const { events } = this.#items;
    const item = this.#items.opened(event, streamed.part);
    const open = this.#textOf(item, streamed, event);
    if (open.isEmpty) this.#show(item, open, events.json(event)[streamed.text.member]);
    if (item.opening === undefined) return;
    open.isEnded = true;
    events.pass(event);
  }

  #partAdded(event: ReplyEvent, number: PartNumber): void {
    const item = this.#itemOf(event, number);
    item.parts.add(`${number} ${this.#items.numberOf(event, number)}`);
    this.#items.events.pass(event);
  }

  #partDone(event: ReplyEvent, number: PartNumber): void {
    const item = this.#itemOf(event, number);
    const at = this.#items.numberOf(event, number);
    const known = item.texts.findLast(({ text, number: own }) => text.number === number && own === at);
    if (!known?.isEnded) this.#endPart(item, known, event);
    this.#items.events.pass(event);
  }

  /** Shows the rest of a part whose text came only with its end. */
  #endPart(item: OpenItem, known: OpenText | undefined, event: ReplyEvent): void {
    const { events } = this.#items;
    const { part } = events.json(event);
    const name = isObject(part) ? String(part.type) : '';
    const text = STREAMED.get(name);
    if (!isObject(part) || text?.number === undefined) return;
    const open = known ?? this.#textOf(item, { part: name, text }, event);
    if (open.isEmpty) this.#show(item, open, part[text.member]);
    events.make({ type: text.done, ...item.placeOf(open), [text.member]: part[text.member] ?? '' });
    open.isEnded = true;
  }

  #itemOf(event: ReplyEvent, number: PartNumber): OpenItem {
    return this.#items.opened(event, number === 'content_index' ? 'output_text' : 'summary_text');
  }

  /** The text that an event belongs to. Its part is opened here if the account has not opened it. */
  #textOf(item: OpenItem, { part, text }: Streamed, event: ReplyEvent): OpenText {
    const number = text.number === undefined ? 0 : this.#items.numberOf(event, text.number);
    const known = item.find(text, number);
    if (known) return known;
    const name = `${text.number} ${number}`;
    if (text.number !== undefined && part !== 'reasoning_text' && !item.parts.has(name)) {
      item.parts.add(name);
      const opening = { type: partTypes(text.number).added, ...item.placeOf({ text, number }), part: partOf(part, text, '') };
      this.#items.events.make(opening);
    }
    return item.open(part, text, number);
  }

  /** Sends a text as one delta if the account sent it only with its end. */
  #show(item: OpenItem, open: OpenText, value: Json | undefined): void {
    this.#items.hold(item, open.set(value));
    if (open.isEmpty || item.opening === undefined) return;
    this.#items.events.make({ type: open.text.delta, ...item.placeOf(open), delta: open.value });
  }
}
