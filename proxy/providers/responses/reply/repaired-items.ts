// The output items of a repaired stream. Each is opened once, shown completely, and ended once, even if its server does less (AA32).
import { asList, isObject, isText, type JsonObject } from '../../../turn/json/json.ts';
import type { ReplyEvent } from '../../../turn/reply/reply-event.ts';
import { eventsOfItem, eventsOfTexts, identified, opened } from './item-events.ts';
import type { OpenItem } from './open-item.ts';
import { ADDED, DONE, INTERRUPTED, type OpenItems } from './open-items.ts';
import { PART_ADDED } from './streamed-texts.ts';

export class RepairedItems {
  readonly #items: OpenItems;

  constructor(items: OpenItems) {
    this.#items = items;
  }

  /** @returns whether the event opens or ends an item */
  take(event: ReplyEvent): boolean {
    if (event.type === ADDED) this.#added(event);
    else if (event.type === DONE) this.#done(event);
    else if (event.type === INTERRUPTED) this.#interrupted(event);
    else return false;
    return true;
  }

  /** Ends the items that are still open, and shows those that only the terminal event contains. */
  complete({ output }: JsonObject, status: 'completed' | 'incomplete'): void {
    const { events } = this.#items;
    const stated = asList(output);
    const byId = new Map(stated.toReversed().flatMap((one) => (isObject(one) && isText(one.id) ? [[one.id, one] as const] : [])));
    for (const item of this.#items.unfinished) {
      const own = (item.id === undefined ? undefined : byId.get(item.id)) ?? stated[item.index];
      const whole = isObject(own) ? own : item.built(status);
      if (!whole) continue;
      const named = identified(item.id === undefined ? whole : { ...whole, id: item.id });
      this.#showMissing(item, named);
      this.#items.finish(item);
      events.make({ type: DONE, output_index: item.index, item: named });
    }
    for (let at = this.#items.size; at < stated.length; at++) {
      const item = stated[at];
      if (isObject(item)) for (const made of eventsOfItem(identified(item), at)) events.make(made);
    }
  }

  #added(event: ReplyEvent): void {
    const { events } = this.#items;
    const item = this.#items.at(event);
    // The gateway has opened the item already.
    if (item.opening !== undefined) return;
    item.opening = event.copy();
    this.#items.hold(item, event.length);
    events.pass(event);
    for (const open of item.texts) if (!open.isEmpty) events.make({ type: open.text.delta, ...item.placeOf(open), delta: open.value });
  }

  #done(event: ReplyEvent): void {
    const { events } = this.#items;
    const item = this.#items.at(event);
    if (item.isDone) return;
    // The text of the item was shown completely.
    if (item.opening !== undefined && item.hasText) {
      this.#items.finish(item);
      events.pass(event);
      return;
    }
    const { item: stated } = events.json(event);
    if (!isObject(stated)) return;
    const whole = identified(item.id === undefined ? stated : { id: item.id, ...stated });
    this.#showMissing(item, whole);
    this.#items.finish(item);
    if (isText(stated.id)) events.pass(event);
    else events.make({ type: DONE, output_index: item.index, item: whole });
  }

  /** Ends an item that its client discards (RB29). A made end would show it as finished. */
  #interrupted(event: ReplyEvent): void {
    this.#items.finish(this.#items.at(event));
    this.#items.events.pass(event);
  }

  /** Shows the parts of an item that the stream has not shown. @param whole the item with an id */
  #showMissing(item: OpenItem, whole: JsonObject): void {
    const { events } = this.#items;
    if (item.opening !== undefined && item.hasText) {
      for (const made of item.endOfTexts()) events.make(made);
      return;
    }
    if (item.opening === undefined) {
      item.opening = opened(whole);
      events.make({ type: ADDED, output_index: item.index, item: item.opening });
    }
    for (const made of eventsOfTexts(whole, item.index)) {
      const number = PART_ADDED.get(String(made.type));
      // A part that is open is not opened again.
      if (number === undefined || !item.parts.has(`${number} ${made[number]}`)) events.make(made);
    }
  }
}
