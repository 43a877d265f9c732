// Repairs the event streams of compatible servers. Events that a server leaves out are made before the event that needs them (AA32). A
// complete stream passes unparsed. This file handles the beginning and the end of the response; repaired-items.ts handles its items.
import { randomUUID } from 'node:crypto';
import { asList, isObject, isText, type Json, type JsonObject } from '../../../turn/json/json.ts';
import { type Emit, type EventHandler, UnreadableReply } from '../../../turn/provider/provider-replies.ts';
import type { HeldBytes } from '../../../turn/reply/held-bytes.ts';
import { ReplyEvent } from '../../../turn/reply/reply-event.ts';
import { endOf } from '../../../turn/reply/terminal-event.ts';
import { eventsOfItem, identified } from './item-events.ts';
import { NumberedEvents } from './numbered-events.ts';
import { OpenItems } from './open-items.ts';
import { RepairedItems } from './repaired-items.ts';
import { RepairedTexts } from './repaired-texts.ts';

export interface ReplyRepairOptions {
  readonly memory: HeldBytes;
  /** Completes the usage in the terminal event. Returns the same object if nothing is missing. */
  readonly usage: (response: JsonObject) => JsonObject;
}

export class ReplyRepair implements EventHandler {
  readonly checksParsing = true;
  readonly #options: ReplyRepairOptions;
  readonly #events: NumberedEvents;
  readonly #open: OpenItems;
  readonly #texts: RepairedTexts;
  readonly #items: RepairedItems;
  /** The event that began the response. The gateway makes it if the account has not sent it. */
  #created: ReplyEvent | JsonObject | undefined;
  #isOver = false;

  constructor(options: ReplyRepairOptions) {
    this.#options = options;
    this.#events = new NumberedEvents(options.memory);
    this.#open = new OpenItems(this.#events, options.memory);
    this.#texts = new RepairedTexts(this.#open);
    this.#items = new RepairedItems(this.#open);
  }

  event(event: ReplyEvent, emit: Emit): void {
    if (this.#isOver) return;
    this.#events.emit = emit;
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
    if (!this.#texts.take(event) && !this.#items.take(event)) this.#events.pass(event);
  }

  #ends(event: ReplyEvent): void {
    if (endOf(event.type) === 'failed') {
      this.#isOver = true;
      this.#events.pass(event);
      return;
    }
    const data = this.#events.json(event);
    const stated = isObject(data.response) ? data.response : undefined;
    const type = endOfResponse(event.type, stated);
    if (!this.#created) this.#begin(event);
    if (!SUCCESSES.has(type)) {
      this.#isOver = true;
      this.#events.end({ ...data, type });
      return;
    }
    const status = type === 'response.incomplete' ? 'incomplete' : 'completed';
    const response = stated ?? this.#begun(status);
    this.#items.complete(response, status);
    const whole = this.#options.usage(response);
    this.#isOver = true;
    if (whole === stated && type === event.type) this.#events.pass(event);
    else this.#events.end({ ...data, type, response: whole });
  }

  /** Handles an end mark without a terminal event. What the stream has shown decides how the reply ends (AA54). */
  #endsAtMark(): void {
    if (this.#open.size === 0 || !this.#open.unfinished.every(({ isUsable }) => isUsable)) {
      this.#isOver = true;
      const error = { type: 'error', code: 'server_error', message: 'The reply ended without its end.', param: null };
      this.#events.emit(ReplyEvent.of(error));
      return;
    }
    this.#items.complete({}, 'completed');
    this.#isOver = true;
    this.#events.make({ type: 'response.completed', response: this.#options.usage(this.#begun('completed')) });
  }

  /** The response that the stream has begun, for an end that states none. */
  #begun(status: 'completed' | 'incomplete'): JsonObject {
    const { response } = this.#created instanceof ReplyEvent ? (this.#created.json() ?? {}) : { response: this.#created };
    return { ...(isObject(response) ? response : openedResponse({})), status };
  }

  /** Handles data without a type: a whole answer, an error, or data that does not belong to this API. */
  #takeUntyped(event: ReplyEvent): void {
    const data = this.#events.json(event);
    if (isObject(data.error) || typeof data.error === 'string' || data.object === 'error') {
      this.#isOver = true;
      const error = isObject(data.error) ? data.error : { message: data.error ?? data.message ?? null };
      this.#events.emit(ReplyEvent.of({ ...data, type: 'error', error }));
      return;
    }
    if (this.#created) return;
    const end = endOfWhole(data);
    if (end === undefined) throw new UnreadableReply();
    const output = asList(data.output).map((item) => (isObject(item) ? identified(item) : item));
    const began = openedResponse(data);
    if (end !== 'response.failed') {
      for (const type of ['response.created', 'response.in_progress']) this.#events.make({ type, response: began });
      for (const [at, item] of output.entries()) if (isObject(item)) for (const made of eventsOfItem(item, at)) this.#events.make(made);
    }
    this.#isOver = true;
    this.#events.make({ type: end, response: this.#options.usage({ ...data, id: began.id, output }) });
  }

  /** Makes the event that begins the response, if the account left it out. */
  #begin(event: ReplyEvent): void {
    const isLifecycle = event.type === 'response.in_progress' || event.type === 'response.queued';
    const { response: stated } = isLifecycle || endOf(event.type) !== undefined ? this.#events.json(event) : {};
    const response = openedResponse(isObject(stated) ? stated : {});
    this.#created = response;
    this.#events.make({ type: 'response.created', response });
    if (!isLifecycle) this.#events.make({ type: 'response.in_progress', response });
  }
}

/** Whether an event is about the account. Clients do not get such events (AA31). */
const isOfAccount = (type: string): boolean =>
  type === 'response.metadata' || type.endsWith('.response.metadata') || type.endsWith('.rate_limits');

const SUCCESSES: ReadonlySet<string> = new Set(['response.completed', 'response.incomplete']);

/** The types of events that end responses with these statuses. */
const ENDS: ReadonlyMap<Json | undefined, string> = new Map([
  ['failed', 'response.failed'],
  ['incomplete', 'response.incomplete'],
  ['cancelled', 'response.cancelled'],
]);

/** The type of the event that ends a stream. Some servers end every stream as completed, and state only in the response how it ended. */
const endOfResponse = (type: string, response: JsonObject | undefined): string =>
  type === 'response.completed' ? (ENDS.get(response?.status) ?? type) : type;

/** The type of the event that would end the stream of a whole JSON answer; undefined if the JSON is not a complete response (AA32). */
function endOfWhole({ object, output, status }: JsonObject): string | undefined {
  if (object !== 'response' && !Array.isArray(output)) return undefined;
  if (status === 'failed') return 'response.failed';
  if (status === 'incomplete') return 'response.incomplete';
  return status === undefined || status === null || status === 'completed' ? 'response.completed' : undefined;
}

/** The response in the form of the events that begin a stream. */
const openedResponse = (response: JsonObject): JsonObject => ({
  ...response,
  id: isText(response.id) ? response.id : `resp_${randomUUID().replaceAll('-', '')}`,
  object: 'response',
  status: 'in_progress',
  output: [],
  usage: null,
});
