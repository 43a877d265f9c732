// Collects the events of a reply into one answer, and validates it in full before the client gets any of it (F3.5, Q27).
import { type CarrierFailure, carrierFailure, inBandFailure } from '../../turn/failure.ts';
import { type HeldBytes, PARSED_COPIES, TooMuchHeld } from '../../turn/held-bytes.ts';
import { isList, isObject, type Json, type JsonObject } from '../../turn/json.ts';
import type { ReplyEvent } from '../../turn/reply-event.ts';
import { endOf, isCancellation, type ReplyEnd } from '../../turn/terminal-event.ts';
import type { EventReader } from '../../upstream/carrier.ts';
import { type CheckedReply, settleChecked } from './checked-answer.ts';
import { LINGER_MS } from './reply-context.ts';

const ITEM_DONE = 'response.output_item.done';

export class CollectedReply implements EventReader {
  readonly reads = 'events';
  readonly memory: HeldBytes;
  /** Nothing of it is shown before its turn is over. */
  readonly shown = false;
  readonly #reply: CheckedReply;
  /** Finished items in the order of their output index; one without an index takes the next place. */
  readonly #items = new Map<number, Json>();
  /** The response of the terminal event. */
  #response: JsonObject | undefined;
  #end: ReplyEnd | undefined;
  #over = false;
  #cancelTimer: () => void = () => undefined;

  constructor(reply: CheckedReply) {
    this.#reply = reply;
    this.memory = reply.context.turn.held;
  }

  event(event: ReplyEvent): ReplyEnd | undefined {
    if (this.#over || this.#end !== undefined) return this.#end;
    try {
      this.#take(event);
    } catch (thrown) {
      if (!(thrown instanceof TooMuchHeld)) throw thrown;
      this.#exceeded();
    }
    return this.#end;
  }

  /** @throws TooMuchHeld */
  #take(event: ReplyEvent): void {
    if (event.type === '') this.memory.allow(PARSED_COPIES * event.length);
    event.completeType();
    const { observers, counters } = this.#reply.context;
    if (isCancellation(event.type)) {
      this.#reply.context.sending().abort();
      this.#judge();
      return;
    }
    const observed = observers.wants(event.type);
    const end = endOf(event.type);
    if (!observed && end === undefined && event.type !== ITEM_DONE) return;
    counters.add('events_parsed');
    this.memory.allow(PARSED_COPIES * event.length);
    const data = event.json();
    if (data && observed) observers.event(event.type, data);
    if (event.type === ITEM_DONE || end !== undefined) this.memory.hold(event.length);
    if (event.type === ITEM_DONE) this.#keep(data);
    else if (end === 'failed') this.#failed(data);
    else if (end !== undefined) this.#ends(data, end);
  }

  delivered(): void {
    // Nothing is written before the end.
  }

  end(): void {
    this.#judge();
  }

  fail(failure: CarrierFailure): void {
    if (this.#over) return;
    const { counters } = this.#reply.context;
    if (failure === 'idle') counters.add('upstream_idle_timeouts');
    if (failure === 'too_large') counters.add('upstream_events_too_large');
    // A reply with its terminal event is complete.
    if (this.#end !== undefined) this.#judge();
    else this.#fail(failure);
  }

  abandon(): void {
    this.#over = true;
    this.#cancelTimer();
  }

  #keep(data: JsonObject | undefined): void {
    const { item, output_index: index } = data ?? {};
    if (isObject(item)) this.#items.set(typeof index === 'number' ? index : this.#items.size, item);
  }

  #failed(data: JsonObject | undefined): void {
    const { turn, sending, settle } = this.#reply.context;
    this.abandon();
    sending().abort();
    settle({ kind: 'failed', failure: inBandFailure(data ?? {}, turn.now()) });
  }

  #ends(data: JsonObject | undefined, end: ReplyEnd): void {
    this.#response = isObject(data?.response) ? this.#filled(data.response) : undefined;
    this.#end = this.#response ? end : 'failed';
    this.#cancelTimer = this.#reply.context.turn.after(LINGER_MS, () => {
      this.#reply.context.sending().abort();
      this.#judge();
    });
  }

  /** The terminal event may have an empty output although items were finished (Q15). */
  #filled(response: JsonObject): JsonObject {
    if (isList(response.output) && response.output.length > 0) return response;
    return { ...response, output: [...this.#items].sort(([a], [b]) => a - b).map(([, item]) => item) };
  }

  #exceeded(): void {
    const { counters, sending } = this.#reply.context;
    counters.add('upstream_events_too_large');
    sending().abort();
    this.#fail('too_large');
  }

  #fail(failure: CarrierFailure): void {
    this.abandon();
    this.#reply.context.settle({ kind: 'failed', failure: carrierFailure(failure) });
  }

  #judge(): void {
    if (this.#over) return;
    this.abandon();
    settleChecked(this.#response, undefined, this.#reply);
  }
}
