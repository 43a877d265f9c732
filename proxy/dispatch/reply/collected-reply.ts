// Collects the events of a reply into one answer, which is checked as a whole before the client gets any of it (F3.5, Q27).
import { type CarrierFailure, carrierFailure } from '../../turn/errors/failure.ts';
import type { Refusal } from '../../turn/errors/refusal.ts';
import { isObject, type JsonObject } from '../../turn/json/json.ts';
import { FinishedItems } from '../../turn/reply/finished-output.ts';
import { type HeldBytes, TooMuchHeld } from '../../turn/reply/held-bytes.ts';
import type { ReplyEvent } from '../../turn/reply/reply-event.ts';
import { endOf, isCancellation, type ReplyEnd } from '../../turn/reply/terminal-event.ts';
import type { ByteReader, EventReader } from '../../upstream/carriers/carrier.ts';
import { type CheckedReply, settleChecked } from './checked-answer.ts';

const ITEM_DONE = 'response.output_item.done';

export class CollectedReply implements EventReader {
  readonly reads = 'events';
  readonly memory: HeldBytes;
  /** Nothing is shown before the turn is over. */
  readonly shown = false;
  readonly #reply: CheckedReply;
  readonly #finished = new FinishedItems();
  /** The response in the terminal event. */
  #response: JsonObject | undefined;
  #end: ReplyEnd | undefined;
  #over = false;

  constructor(reply: CheckedReply) {
    this.#reply = reply;
    this.memory = reply.context.turn.held;
  }

  asBytes(): ByteReader | undefined {
    this.abandon();
    return this.#reply.context.asBytes(this.#reply.head);
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
    if (event.type === '') this.memory.allowParsing(event);
    event.completeType();
    const { observers, counters } = this.#reply.context;
    if (isCancellation(event.type)) {
      this.#reply.context.sending.abort();
      this.#judge();
      return;
    }
    const observed = observers.wants(event.type);
    const end = endOf(event.type);
    if (!observed && end === undefined && event.type !== ITEM_DONE) return;
    counters.add('events_parsed');
    this.memory.allowParsing(event);
    const data = event.json();
    if (data && observed) observers.event(event.type, data);
    if (event.type === ITEM_DONE || end !== undefined) this.memory.hold(event.length);
    if (event.type === ITEM_DONE) this.#finished.add(data ?? {});
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

  refuse(refusal: Refusal): void {
    if (this.#over) return;
    this.abandon();
    const { context } = this.#reply;
    context.turn.note('error_class', 'upstream_malformed');
    context.settle({ kind: 'refused', refusal });
  }

  abandon(): void {
    this.#over = true;
  }

  #failed(data: JsonObject | undefined): void {
    const { context } = this.#reply;
    this.abandon();
    context.sending.abort();
    context.settle({ kind: 'failed', failure: context.provider.failures.inBand(data ?? {}, context.turn.now()) });
  }

  #ends(data: JsonObject | undefined, end: ReplyEnd): void {
    this.#response = isObject(data?.response) ? this.#finished.fill(data.response) : undefined;
    this.#end = this.#response ? end : 'failed';
  }

  #exceeded(): void {
    const { counters, sending } = this.#reply.context;
    counters.add('upstream_events_too_large');
    sending.abort();
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
