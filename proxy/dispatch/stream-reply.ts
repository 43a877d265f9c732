// A reply of events: held until it shows something, then passed on, each event parsed only when somebody wants it.
import type { Counters } from '../admin/counters.ts';
import type { LiveTurn } from '../live-turn.ts';
import { Refusal, refusalOf } from '../refusal.ts';
import type { Event, Head, JsonObject, OutcomeKind } from '../turn.ts';
import type { CarrierFailure, Sending } from '../upstream/carrier.ts';
import { dataOf, EventTooLarge, type SseEvent, SseSplitter } from '../upstream/sse.ts';
import { carrierFailure, type Failure, inBandFailure, mayTryAnother } from './failure.ts';
import { endOf, isHeld } from './hold.ts';
import type { Sink } from './sink.ts';

/** How an attempt ended: the client has its answer, or nothing was shown and this is why. */
export type Verdict =
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

/** What every reader of a reply works with. */
export interface ReplyContext {
  readonly turn: LiveTurn;
  readonly counters: Counters;
  readonly sending: () => Sending;
  /** Whether this failure would be tried at another account. */
  readonly retries: (failure: Failure) => boolean;
  readonly settle: (verdict: Verdict) => void;
}

export class StreamReply {
  readonly #context: ReplyContext & { readonly sink: Sink };
  readonly #head: Head;
  readonly #splitter: SseSplitter;
  readonly #holdTimer: NodeJS.Timeout;
  #held: SseEvent[] = [];
  #committed = false;
  #end: 'completed' | 'incomplete' | 'failed' | undefined;
  #over = false;

  constructor(head: Head, sink: Sink, context: ReplyContext) {
    this.#context = { ...context, sink };
    this.#head = head;
    const { limits, timeouts } = context.turn.generation.config;
    this.#splitter = new SseSplitter(limits.upstream_event_bytes, (event) => this.#take(event));
    this.#holdTimer = setTimeout(() => this.#holdExpired(), timeouts.hold_ms);
  }

  data(chunk: Buffer): void {
    this.#guarded(() => {
      this.#splitter.push(chunk);
      if (this.#committed && !this.#over) this.#flush();
    });
  }

  end(): void {
    if (!this.#committed) this.#settle({ kind: 'failed', failure: carrierFailure('network') });
    else this.#finish(this.#end ?? 'cut', 'ended');
  }

  fail(failure: CarrierFailure): void {
    if (failure === 'idle') this.#context.counters.add('upstream_idle_timeouts');
    if (!this.#committed) this.#settle({ kind: 'failed', failure: carrierFailure(failure) });
    // A connection that dies behind the terminal event took nothing away.
    else this.#finish(this.#end ?? 'cut', this.#end ? 'ended' : 'died');
  }

  /** The client left: nothing is told to anybody. */
  abandon(): void {
    this.#stop();
  }

  #take(event: SseEvent): void {
    if (this.#over) return;
    if (event.type === '' && event.hasData) event.type = typeInside(event);
    if (!this.#committed) {
      if (isHeld(event.type, event.hasData)) {
        this.#held.push({ ...event });
        return;
      }
      if (this.#refusesInside(event)) return;
      this.#commit();
    }
    this.#pass(event);
  }

  /** Whether this first event is a refusal that another account may not share. */
  #refusesInside(event: SseEvent): boolean {
    if (endOf(event.type) !== 'failed') return false;
    const data = parsed(event);
    const failure = data && inBandFailure(data, this.#context.turn.now());
    if (!failure || !mayTryAnother(failure) || !this.#context.retries(failure)) return false;
    this.#context.sending().abort();
    this.#settle({ kind: 'failed', failure });
    return true;
  }

  #holdExpired(): void {
    this.#context.counters.add('hold_expired');
    this.#guarded(() => {
      this.#commit();
      this.#flush();
    });
  }

  #commit(): void {
    const { turn, sink } = this.#context;
    clearTimeout(this.#holdTimer);
    const first = turn.passage.head(this.#head);
    this.#committed = true;
    sink.open(this.#head.status, this.#head.headers);
    for (const event of first) sink.event(event);
    const held = this.#held;
    this.#held = [];
    for (const event of held) this.#pass(event);
  }

  #pass(event: SseEvent): void {
    const { turn, sink, counters } = this.#context;
    this.#end ??= endOf(event.type);
    if (!turn.passage.wants(event.type) && !sink.wants.has(event.type)) {
      sink.raw(event);
      return;
    }
    counters.add('events_parsed');
    const data = parsed(event);
    if (!data) {
      sink.raw(event);
      return;
    }
    const given: Event = { type: event.type, data };
    const mapped = turn.passage.event(given);
    if (Array.isArray(mapped)) {
      // An event that bore no number leaves no gap.
      if (mapped.length > 1 || data.sequence_number !== undefined) sink.renumber();
      for (const one of mapped as readonly Event[]) sink.event(one);
    } else if (mapped === given && !sink.wants.has(event.type)) sink.raw(event);
    else sink.event(mapped as Event);
  }

  #flush(): void {
    const { sink, sending } = this.#context;
    if (sink.flush()) return;
    sending().pause();
    sink.onDrain(() => sending().resume());
  }

  #finish(kind: OutcomeKind, how: 'ended' | 'died'): void {
    const { turn, sink } = this.#context;
    if (this.#over) return;
    this.#stop();
    const outcome = { kind, shown: sink.shown };
    try {
      sink.conclude(outcome);
    } catch (thrown) {
      this.#context.settle({ kind: 'refused', refusal: refusalOf(thrown) });
      return;
    }
    const failed = kind === 'cut' || kind === 'failed';
    const closing = turn.end({ outcome, status: this.#head.status, code: failed ? 'upstream_error' : null });
    if (how === 'died' && turn.native) sink.cut();
    else sink.close(closing, outcome);
    this.#context.settle({ kind: 'done' });
  }

  /** Whatever goes wrong while a reply is read ends this reply, never the process. */
  #guarded(work: () => void): void {
    if (this.#over) return;
    try {
      work();
    } catch (thrown) {
      const { counters, sending, sink, turn } = this.#context;
      if (thrown instanceof EventTooLarge) counters.add('upstream_events_too_large');
      else if (!(thrown instanceof Refusal)) counters.add('server_errors');
      sending().abort();
      if (sink.shown) this.#finish('cut', turn.native ? 'died' : 'ended');
      else if (thrown instanceof EventTooLarge) this.#settle({ kind: 'failed', failure: carrierFailure('malformed') });
      else this.#settle({ kind: 'refused', refusal: refusalOf(thrown) });
    }
  }

  #settle(verdict: Verdict): void {
    if (this.#over) return;
    this.#stop();
    this.#context.settle(verdict);
  }

  #stop(): void {
    this.#over = true;
    clearTimeout(this.#holdTimer);
  }
}

function parsed(event: SseEvent): JsonObject | undefined {
  try {
    const data: unknown = JSON.parse(dataOf(event));
    return typeof data === 'object' && data !== null && !Array.isArray(data) ? (data as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}

/** The type of data that does not begin with it, and has no `event:` line either. */
function typeInside(event: SseEvent): string {
  const type = parsed(event)?.type;
  return typeof type === 'string' ? type : '';
}
