// Repairs the event streams of compatible servers: what they leave out is made before the event that needs it (AA32). A whole stream passes
// unparsed.
import { asList, isObject, isText, type Json, type JsonObject } from '../../../turn/json/json.ts';
import { type Emit, type EventHandler, UnreadableReply } from '../../../turn/provider/replies.ts';
import { DeltaText } from '../../../turn/reply/delta-text.ts';
import type { HeldBytes } from '../../../turn/reply/held-bytes.ts';
import { ReplyEvent } from '../../../turn/reply/reply-event.ts';
import { endOf } from '../../../turn/reply/terminal-event.ts';
import { eventsOfItem, eventsOfTexts, identified, madeId, opened, partTypes, STREAMED, type StreamedText } from './item-events.ts';
import { OpenItem, type OpenText, partOf } from './open-item.ts';
import { endOfWhole, openedResponse } from './whole-response.ts';

const ADDED = 'response.output_item.added';
const DONE = 'response.output_item.done';

type Number = 'content_index' | 'summary_index';

/** A streamed text, and the type of its part. */
interface Streamed {
  readonly part: string;
  readonly text: StreamedText;
}

/** By the types of their events. */
const DELTAS: ReadonlyMap<string, Streamed> = new Map([...STREAMED].map(([part, text]) => [text.delta, { part, text }]));
const TEXT_ENDS: ReadonlyMap<string, Streamed> = new Map([...STREAMED].map(([part, text]) => [text.done, { part, text }]));
const PART_ADDED: ReadonlyMap<string, Number> = new Map([
  ['response.content_part.added', 'content_index'],
  ['response.reasoning_summary_part.added', 'summary_index'],
]);
const PART_DONE: ReadonlyMap<string, Number> = new Map([
  ['response.content_part.done', 'content_index'],
  ['response.reasoning_summary_part.done', 'summary_index'],
]);

/** The items whose parts have texts; a text that is not in a part belongs to a call. */
const ITEM_OF: ReadonlyMap<string, 'message' | 'reasoning'> = new Map([
  ['output_text', 'message'],
  ['refusal', 'message'],
  ['summary_text', 'reasoning'],
  ['reasoning_text', 'reasoning'],
]);

export interface ReplyRepairOptions {
  readonly memory: HeldBytes;
  /** Completes what the terminal event states of the usage; the same object where nothing is missing. */
  readonly usage: (response: JsonObject) => JsonObject;
}

export class ReplyRepair implements EventHandler {
  readonly checksParsing = true;
  readonly #options: ReplyRepairOptions;
  readonly #deltas = new DeltaText();
  readonly #items = new Map<Json, OpenItem>();
  /** The response that began; made where the account has not shown it. */
  #created: ReplyEvent | JsonObject | undefined;
  #isOver = false;
  /** Events with data so far, and whether the account's numbers no longer hold. */
  #sent = 0;
  #renumbers = false;
  #held = 0;
  #emit: Emit = () => undefined;

  constructor(options: ReplyRepairOptions) {
    this.#options = options;
  }

  event(event: ReplyEvent, emit: Emit): void {
    if (this.#isOver) return;
    this.#emit = emit;
    if (!event.hasData) emit(event);
    else if (event.isDone()) this.#endsAtMark();
    else {
      if (event.type === '') this.#options.memory.allowParsing(event);
      event.completeType();
      const { type } = event;
      if (type === '') this.#takeUntyped(event);
      else if (endOf(type) !== undefined) this.#ends(event);
      else if (!isOfAccount(type)) this.#take(event);
    }
  }

  #take(event: ReplyEvent): void {
    const { type } = event;
    if (type === 'response.created') this.#created = event.copy();
    else if (!this.#created && type.startsWith('response.')) this.#begin(event);
    const delta = DELTAS.get(type);
    const ended = delta ? undefined : TEXT_ENDS.get(type);
    const [opens, closes] = [PART_ADDED.get(type), PART_DONE.get(type)];
    if (delta) this.#delta(event, delta);
    else if (ended) this.#textEnded(event, ended);
    else if (opens) this.#partAdded(event, opens);
    else if (closes) this.#partDone(event, closes);
    else if (type === ADDED) this.#itemAdded(event);
    else if (type === DONE) this.#itemDone(event);
    else this.#pass(event);
  }

  #delta(event: ReplyEvent, streamed: Streamed): void {
    const item = this.#itemOf(event, streamed.part);
    const open = this.#textOf(item, streamed, event);
    const bytes = this.#deltas.of(event);
    if (bytes) this.#hold(open.add(bytes));
    if (item.opening !== undefined) this.#pass(event);
  }

  #textEnded(event: ReplyEvent, streamed: Streamed): void {
    const item = this.#itemOf(event, streamed.part);
    const open = this.#textOf(item, streamed, event);
    if (open.isEmpty) this.#show(item, open, this.#json(event)[streamed.text.member]);
    if (item.opening === undefined) return;
    open.isEnded = true;
    this.#pass(event);
  }

  #partAdded(event: ReplyEvent, number: Number): void {
    const item = this.#itemOf(event, number === 'content_index' ? 'output_text' : 'summary_text');
    item.parts.add(`${number} ${this.#deltas.numberOf(event, number)}`);
    this.#pass(event);
  }

  #partDone(event: ReplyEvent, number: Number): void {
    const item = this.#itemOf(event, number === 'content_index' ? 'output_text' : 'summary_text');
    const at = this.#deltas.numberOf(event, number);
    const known = item.texts.find(({ text, number: own }) => text.number === number && own === at);
    if (!known?.isEnded) this.#endPart(item, known, event);
    this.#pass(event);
  }

  /** Shows what of a part came only with its end. */
  #endPart(item: OpenItem, known: OpenText | undefined, event: ReplyEvent): void {
    const { part } = this.#json(event);
    const name = isObject(part) ? String(part.type) : '';
    const text = STREAMED.get(name);
    if (!isObject(part) || text?.number === undefined) return;
    const open = known ?? this.#textOf(item, { part: name, text }, event);
    if (open.isEmpty) this.#show(item, open, part[text.member]);
    this.#make({ type: text.done, ...item.placeOf(open), [text.member]: part[text.member] ?? '' });
    open.isEnded = true;
  }

  #itemAdded(event: ReplyEvent): void {
    const item = this.#itemAt(this.#deltas.placeOf(event));
    // A second opening of an item that was opened here.
    if (item.opening !== undefined) return;
    item.opening = event.copy();
    this.#hold(event.length);
    this.#pass(event);
    for (const open of item.texts) if (!open.isEmpty) this.#make({ type: open.text.delta, ...item.placeOf(open), delta: open.value });
  }

  #itemDone(event: ReplyEvent): void {
    const item = this.#itemAt(this.#deltas.placeOf(event));
    if (item.isDone) return;
    // An item that has shown a text has shown all of it.
    if (item.opening !== undefined && item.hasText) {
      this.#finish(item);
      this.#pass(event);
      return;
    }
    const { item: stated } = this.#json(event);
    if (!isObject(stated)) return;
    const whole = identified(item.id === undefined ? stated : { id: item.id, ...stated });
    this.#showMissing(item, whole);
    this.#finish(item);
    if (isText(stated.id)) this.#pass(event);
    else this.#make({ type: DONE, output_index: item.index, item: whole });
  }

  /** The item of an event with a text; one that the account has not opened is opened here, unless it is a call. */
  #itemOf(event: ReplyEvent, part: string): OpenItem {
    const item = this.#itemAt(this.#deltas.placeOf(event));
    const type = ITEM_OF.get(part);
    if (item.opening !== undefined || type === undefined) return item;
    const { item_id } = this.#json(event);
    const shape = type === 'message' ? { role: 'assistant', status: 'in_progress', content: [] } : { summary: [] };
    item.opening = { id: isText(item_id) ? item_id : madeId(type), type, ...shape };
    this.#make({ type: ADDED, output_index: item.index, item: item.opening });
    return item;
  }

  #itemAt(place: Json | undefined): OpenItem {
    const known = this.#items.get(place ?? this.#items.size);
    if (known) return known;
    const item = new OpenItem(typeof place === 'number' ? place : this.#items.size);
    this.#items.set(place ?? item.index, item);
    return item;
  }

  /** The text of an event; its part is opened here where the account has not done so. */
  #textOf(item: OpenItem, { part, text }: Streamed, event: ReplyEvent): OpenText {
    const number = text.number === undefined ? 0 : this.#deltas.numberOf(event, text.number);
    const known = item.find(text, number);
    if (known) return known;
    const name = `${text.number} ${number}`;
    if (text.number !== undefined && part !== 'reasoning_text' && !item.parts.has(name)) {
      item.parts.add(name);
      this.#make({ type: partTypes(text.number).added, ...item.placeOf({ text, number }), part: partOf(part, text, '') });
    }
    return item.open(part, text, number);
  }

  /** A text that came only with its end, in one delta. */
  #show(item: OpenItem, open: OpenText, value: Json | undefined): void {
    this.#hold(open.set(value));
    if (!open.isEmpty && item.opening !== undefined) this.#make({ type: open.text.delta, ...item.placeOf(open), delta: open.value });
  }

  /** What the stream has not shown of an item. @param whole with an id */
  #showMissing(item: OpenItem, whole: JsonObject): void {
    if (item.opening !== undefined && item.hasText) {
      for (const made of item.endOfTexts()) this.#make(made);
      return;
    }
    if (item.opening === undefined) {
      item.opening = opened(whole);
      this.#make({ type: ADDED, output_index: item.index, item: item.opening });
    }
    for (const made of eventsOfTexts(whole, item.index)) {
      const number = PART_ADDED.get(String(made.type));
      // A part that is open already is not opened again.
      if (number === undefined || !item.parts.has(`${number} ${made[number]}`)) this.#make(made);
    }
  }

  #finish(item: OpenItem): void {
    item.finish();
    for (const { isDone } of this.#items.values()) if (!isDone) return;
    this.#options.memory.release(this.#held);
    this.#held = 0;
  }

  #ends(event: ReplyEvent): void {
    const data = endOf(event.type) === 'failed' ? undefined : this.#json(event);
    const response = isObject(data?.response) ? data.response : undefined;
    if (!data || !response) {
      this.#isOver = true;
      this.#pass(event);
      return;
    }
    if (!this.#created) this.#begin(event);
    this.#completeItems(response, event.type === 'response.incomplete' ? 'incomplete' : 'completed');
    const whole = this.#options.usage(response);
    this.#isOver = true;
    if (whole === response) this.#pass(event);
    else if (this.#renumbers) this.#make({ ...data, response: whole });
    else this.#emit(ReplyEvent.of({ ...data, response: whole }));
  }

  /** Ends the items that are still open, and shows those that only the terminal event has. */
  #completeItems({ output }: JsonObject, status: 'completed' | 'incomplete'): void {
    const stated = asList(output);
    for (const item of this.#items.values()) {
      if (item.isDone) continue;
      const own = stated.find((one) => isObject(one) && isText(one.id) && one.id === item.id) ?? stated[item.index];
      const whole = isObject(own) ? own : item.built(status);
      if (!whole) continue;
      const named = identified(item.id === undefined ? whole : { ...whole, id: item.id });
      this.#showMissing(item, named);
      this.#finish(item);
      this.#make({ type: DONE, output_index: item.index, item: named });
    }
    for (let at = this.#items.size; at < stated.length; at++) {
      const item = stated[at];
      if (isObject(item)) for (const made of eventsOfItem(identified(item), at)) this.#make(made);
    }
  }

  /** The end mark without a terminal event: what the stream has shown decides (AA54). */
  #endsAtMark(): void {
    const open = [...this.#items.values()].filter(({ isDone }) => !isDone);
    if (this.#items.size === 0 || !open.every((item) => isUsable(item.built('completed')))) {
      this.#isOver = true;
      this.#emit(ReplyEvent.of({ type: 'error', code: 'server_error', message: 'The reply ended without its end.', param: null }));
      return;
    }
    const { response } = this.#created instanceof ReplyEvent ? (this.#created.json() ?? {}) : { response: this.#created };
    this.#completeItems({}, 'completed');
    this.#isOver = true;
    const ended = { ...(isObject(response) ? response : openedResponse({})), status: 'completed' };
    this.#make({ type: 'response.completed', response: this.#options.usage(ended) });
  }

  /** Data without a type: a whole answer, an error, or nothing that this API has. */
  #takeUntyped(event: ReplyEvent): void {
    const data = this.#json(event);
    if (isObject(data.error) || typeof data.error === 'string' || data.object === 'error') {
      this.#isOver = true;
      const error = isObject(data.error) ? data.error : { message: data.error ?? data.message ?? null };
      this.#emit(ReplyEvent.of({ ...data, type: 'error', error }));
      return;
    }
    if (this.#created) return;
    const end = endOfWhole(data);
    if (end === undefined) throw new UnreadableReply();
    const output = asList(data.output).map((item) => (isObject(item) ? identified(item) : item));
    const began = openedResponse(data);
    if (end !== 'response.failed') {
      for (const type of ['response.created', 'response.in_progress']) this.#make({ type, response: began });
      for (const [at, item] of output.entries()) if (isObject(item)) for (const made of eventsOfItem(item, at)) this.#make(made);
    }
    this.#isOver = true;
    this.#make({ type: end, response: this.#options.usage({ ...data, id: began.id, output }) });
  }

  /** Makes the beginning of the response that the account has left out. */
  #begin(event: ReplyEvent): void {
    const isLifecycle = event.type === 'response.in_progress' || event.type === 'response.queued';
    const { response: stated } = isLifecycle || endOf(event.type) !== undefined ? this.#json(event) : {};
    const response = openedResponse(isObject(stated) ? stated : {});
    this.#created = response;
    this.#make({ type: 'response.created', response });
    if (!isLifecycle) this.#make({ type: 'response.in_progress', response });
  }

  #pass(event: ReplyEvent): void {
    const data = this.#renumbers ? this.#options.memory.json(event) : undefined;
    if (data) this.#make(data);
    else {
      this.#sent += 1;
      this.#emit(event);
    }
  }

  /** An event of the gateway's own: from now on the account's numbers no longer hold. */
  #make({ sequence_number: _, ...members }: JsonObject): void {
    this.#renumbers = true;
    this.#emit(ReplyEvent.of({ ...members, sequence_number: this.#sent++ }));
  }

  #json(event: ReplyEvent): JsonObject {
    const data = this.#options.memory.json(event);
    if (!data) throw new UnreadableReply();
    return data;
  }

  #hold(bytes: number): void {
    this.#options.memory.hold(bytes);
    this.#held += bytes;
  }
}

/** Events about the account, which no client gets (AA31). */
const isOfAccount = (type: string): boolean =>
  type === 'response.metadata' || type.endsWith('.response.metadata') || type.endsWith('.rate_limits');

/** Whether an item that no terminal event confirms is an answer: text, or a call whose arguments are an object. */
function isUsable(item: JsonObject | undefined): boolean {
  if (item?.type !== 'function_call') return item !== undefined;
  try {
    return isObject(JSON.parse(String(item.arguments)));
  } catch {
    return false;
  }
}
