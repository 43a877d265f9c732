// The events of a committed reply on their way to the client: parsed only when somebody wants them, written as they arrived.

import { carrierFailure, type Failure, inBandFailure, loggedCode } from '../turn/failure.ts';
import type { JsonObject } from '../turn/json.ts';
import { failureWithoutOwner, publicFailure } from '../turn/sanitise.ts';
import type { Event, OutcomeKind } from '../turn/turn.ts';
import { jsonOf, type SseEvent } from '../upstream/sse-splitter.ts';
import { endOf } from './hold.ts';
import type { ReplyContext } from './reply.ts';
import type { Sink } from './sink.ts';

export class EventFlow {
  readonly sink: Sink;
  /** How the reply ends, once its terminal event has come. */
  end: 'completed' | 'incomplete' | 'failed' | undefined;
  /** What went wrong at the account: a failure that was passed on, or a reply that broke off. */
  failure: Failure | undefined;
  readonly #context: ReplyContext;
  /** What the row keeps of a failure that is passed on. */
  #code = 'upstream_error';
  #flushing = false;
  #paused = false;

  constructor(sink: Sink, context: ReplyContext) {
    this.sink = sink;
    this.#context = context;
  }

  /** Whether the client is slow, and the provider waits for it. */
  get paused(): boolean {
    return this.#paused;
  }

  /** @param failed what is shown of a failure, where that is known already */
  pass(event: SseEvent, known: JsonObject | undefined, failed?: JsonObject): void {
    const { turn, counters } = this.#context;
    const { sink } = this;
    if (sink.drops.has(event.type)) return;
    const end = endOf(event.type);
    this.end ??= end;
    turn.bill?.countOutput(event);
    if (end !== 'failed' && !turn.rules.wants(event.type) && !sink.wants.has(event.type)) {
      sink.raw(event);
      return;
    }
    if (!known) counters.add('events_parsed');
    const data = known ?? jsonOf(event);
    if (!data) {
      sink.raw(event);
      return;
    }
    const given: Event = { type: event.type, data: end === 'failed' ? (failed ?? this.shownFailure(data)) : data };
    const mapped = turn.rules.event(given);
    if (Array.isArray(mapped)) {
      // An event that bore no number leaves no gap.
      if (mapped.length > 1 || data.sequence_number !== undefined) sink.renumber();
      for (const one of mapped as readonly Event[]) sink.event(one);
    } else if (mapped === given && given.data === data && !sink.wants.has(event.type)) sink.raw(event);
    else sink.event(mapped as Event);
  }

  /** A provider's failure as its client may see it; a collecting sink tells it in an answer of ours. */
  shownFailure(data: JsonObject): JsonObject {
    const { turn } = this.#context;
    this.failure = inBandFailure(data, turn.now());
    const { error } = this.failure;
    this.#code = loggedCode(error.code);
    if (turn.native) return failureWithoutOwner(data, turn.secrets());
    return this.sink.wants.has('error') ? data : publicFailure(data, error, turn);
  }

  /** Providers send each event as a chunk of its own, and many arrive in one read of the socket: they leave in one write. */
  flushSoon(guarded: (work: () => void) => void): void {
    if (this.#flushing) return;
    this.#flushing = true;
    queueMicrotask(() => {
      this.#flushing = false;
      guarded(() => this.flush());
    });
  }

  flush(): void {
    const { sending } = this.#context;
    if (this.sink.flush()) return;
    this.#paused = true;
    sending().pause();
    this.sink.onDrain(() => {
      this.#paused = false;
      sending().resume();
    });
  }

  /** The reply broke off, unless its terminal event had come: a connection that dies behind that took nothing away. */
  broke(failure: Failure = carrierFailure('network')): void {
    if (!this.end) this.failure = failure;
  }

  /** A public stream that broke off says `server_error` itself (F1.8). */
  codeOf(kind: OutcomeKind): string | null {
    if (kind === 'failed') return this.#code;
    if (kind !== 'cut') return null;
    return this.#context.turn.native ? 'upstream_error' : 'server_error';
  }
}
