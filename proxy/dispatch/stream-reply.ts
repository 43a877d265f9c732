// A reply of events: held until it shows something, then passed on, each event parsed only when somebody wants it.
import type { Counters } from '../admin/counters.ts';
import type { LiveTurn } from '../live-turn.ts';
import { Refusal, refusalOf } from '../refusal.ts';
import type { Event, Head, JsonObject, OutcomeKind } from '../turn.ts';
import type { CarrierFailure, Sending } from '../upstream/carrier.ts';
import { EventTooLarge, isDone, jsonOf, type SseEvent, SseSplitter } from '../upstream/sse.ts';
import type { Evidence } from './evidence.ts';
import { carrierFailure, type Failure, inBandFailure, loggedCode } from './failure.ts';
import { endOf, HELD_BYTES, isHeld } from './hold.ts';
import { failureWithoutOwner, publicFailure } from './sanitise.ts';
import type { Sink } from './sink.ts';

/** How an attempt ended: the client has its answer, or nothing was shown and this is why. */
export type Verdict =
  /** With what went wrong at the account all the same: a failure that was passed on, or a reply that broke off. */
  | { readonly kind: 'done'; readonly failure?: Failure }
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'refused'; readonly refusal: Refusal; readonly failure?: Failure };

/** What every reader of a reply works with. */
export interface ReplyContext {
  readonly turn: LiveTurn;
  readonly counters: Counters;
  readonly sending: () => Sending;
  /** Whether the turn would be tried again after this failure. */
  readonly retries: (failure: Failure) => boolean;
  /** The reply is the turn's answer: from here on nothing is tried again. */
  readonly committed: () => void;
  readonly evidence: Evidence;
  readonly settle: (verdict: Verdict) => void;
}

/** An event that waits for commit, and its data where somebody has read it already. */
interface Held {
  readonly event: SseEvent;
  readonly data: JsonObject | undefined;
}

/** A reply whose terminal event has come is whole: a provider that keeps it open for longer than this is not waited for. */
const LINGER_MS = 1_000;

export class StreamReply {
  readonly #context: ReplyContext & { readonly sink: Sink };
  readonly #head: Head;
  readonly #splitter: SseSplitter;
  #cancelTimer: () => void;
  #held: Held[] = [];
  #heldBytes = 0;
  #committed = false;
  #end: 'completed' | 'incomplete' | 'failed' | undefined;
  /** What the row keeps of a failure that is passed on. */
  #code = 'upstream_error';
  #failure: Failure | undefined;
  #paused = false;
  #flushing = false;
  #over = false;

  constructor(head: Head, sink: Sink, context: ReplyContext) {
    this.#context = { ...context, sink };
    this.#head = head;
    const { limits, timeouts } = context.turn.generation.config;
    this.#splitter = new SseSplitter(limits.upstream_event_bytes, (event) => this.#take(event));
    this.#cancelTimer = context.turn.after(timeouts.hold_ms, () => this.#holdExpired());
  }

  /** Whether anything reached the client that cannot be taken back. */
  get shown(): boolean {
    return this.#context.sink.shown;
  }

  data(chunk: Buffer): void {
    const before = this.#end;
    this.#guarded(() => {
      this.#splitter.push(chunk);
      if (this.#committed && !this.#over) this.#flushSoon();
    });
    if (this.#end !== before && !this.#over) this.#linger();
  }

  end(): void {
    this.#guarded(() => this.#splitter.end());
    if (!this.#committed) this.#settle({ kind: 'failed', failure: carrierFailure('network') });
    else {
      if (!this.#end) this.#failure = carrierFailure('network');
      this.#finish(this.#end ?? 'cut', 'ended');
    }
  }

  fail(failure: CarrierFailure): void {
    this.#guarded(() => this.#splitter.end());
    if (failure === 'idle') this.#context.counters.add('upstream_idle_timeouts');
    if (!this.#committed) {
      this.#settle({ kind: 'failed', failure: carrierFailure(failure) });
      return;
    }
    if (!this.#end) this.#failure = carrierFailure(failure);
    // A connection that dies behind the terminal event took nothing away.
    this.#finish(this.#end ?? 'cut', this.#end ? 'ended' : 'died');
  }

  /** The client left: nothing is told to anybody. */
  abandon(): void {
    this.#stop();
  }

  #take(event: SseEvent): void {
    if (this.#over) return;
    if (event.type === '' && event.hasData && !isDone(event)) event.type = typeInside(event);
    let data = this.#witnessed(event);
    let failed: JsonObject | undefined;
    if (!this.#committed) {
      const end = endOf(event.type);
      if (end === undefined && this.#hold(event, data)) return;
      if (end === 'failed') {
        if (this.#refusesInside(event)) return;
        // Public streams say first that the turn failed, and not that it began well (F1.8, Q17).
        if (!this.#context.turn.native) this.#forgetHeld();
        // Before commit: with it the turn lets its prompt go, which this may repeat.
        data ??= jsonOf(event);
        failed = data && this.#shownFailure(data);
      }
      this.#commit();
    }
    this.#pass(event, data, failed);
  }

  /** What the core reads of it is read as it comes: before commit, and whoever gets the turn in the end. */
  #witnessed(event: SseEvent): JsonObject | undefined {
    const { evidence, counters } = this.#context;
    if (!evidence.wants(event.type)) return undefined;
    counters.add('events_parsed');
    const data = jsonOf(event);
    if (data) evidence.event(event.type, data);
    return data;
  }

  /** @returns whether this event waits for one that shows something */
  #hold(event: SseEvent, data: JsonObject | undefined): boolean {
    if (!isHeld(event.type, event.hasData) && !isDone(event)) return false;
    this.#heldBytes += event.end - event.start;
    if (this.#heldBytes > HELD_BYTES) return false;
    this.#held.push({ event: { ...event }, data });
    return true;
  }

  #forgetHeld(): void {
    if (this.#held.some(({ event }) => event.hasData)) this.#context.sink.renumber();
    this.#held = [];
  }

  /** Whether this first event is a refusal that another account may not share. */
  #refusesInside(event: SseEvent): boolean {
    const data = jsonOf(event);
    const failure = data && inBandFailure(data, this.#context.turn.now());
    if (!failure || !this.#context.retries(failure)) return false;
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
    this.#cancelTimer();
    const first = turn.passage.head(this.#head);
    this.#committed = true;
    this.#context.committed();
    sink.open(this.#head.status, this.#head.headers);
    for (const event of first) sink.event(event);
    const held = this.#held;
    this.#held = [];
    for (const { event, data } of held) this.#pass(event, data);
  }

  /** @param failed what is shown of a failure, where that is known already */
  #pass(event: SseEvent, known: JsonObject | undefined, failed?: JsonObject): void {
    const { turn, sink, counters } = this.#context;
    const end = endOf(event.type);
    this.#end ??= end;
    turn.bill?.show(event);
    if (end !== 'failed' && !turn.passage.wants(event.type) && !sink.wants.has(event.type)) {
      sink.raw(event);
      return;
    }
    if (!known) counters.add('events_parsed');
    const data = known ?? jsonOf(event);
    if (!data) {
      sink.raw(event);
      return;
    }
    const given: Event = { type: event.type, data: end === 'failed' ? (failed ?? this.#shownFailure(data)) : data };
    const mapped = turn.passage.event(given);
    if (Array.isArray(mapped)) {
      // An event that bore no number leaves no gap.
      if (mapped.length > 1 || data.sequence_number !== undefined) sink.renumber();
      for (const one of mapped as readonly Event[]) sink.event(one);
    } else if (mapped === given && given.data === data && !sink.wants.has(event.type)) sink.raw(event);
    else sink.event(mapped as Event);
  }

  /** A provider's failure as its client may see it; a collecting sink tells it in an answer of ours. */
  #shownFailure(data: JsonObject): JsonObject {
    const { turn, sink } = this.#context;
    this.#failure = inBandFailure(data, turn.now());
    const { error } = this.#failure;
    this.#code = loggedCode(error.code);
    if (turn.native) return failureWithoutOwner(data, turn.secrets());
    return sink.wants.has('error') ? data : publicFailure(data, error, turn);
  }

  /** Providers send each event as a chunk of its own, and many arrive in one read of the socket: they leave in one write. */
  #flushSoon(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    queueMicrotask(() => {
      this.#flushing = false;
      this.#guarded(() => this.#flush());
    });
  }

  #flush(): void {
    const { sink, sending } = this.#context;
    if (sink.flush()) return;
    this.#paused = true;
    sending().pause();
    sink.onDrain(() => {
      this.#paused = false;
      sending().resume();
    });
  }

  #linger(): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#context.turn.after(LINGER_MS, () => {
      // A slow client is the one to wait for: what it has not taken yet may be more than the terminal event.
      if (this.#paused) return this.#linger();
      this.#context.sending().abort();
      this.#finish(this.#end ?? 'cut', 'ended');
    });
  }

  #finish(kind: OutcomeKind, how: 'ended' | 'died'): void {
    const { turn, sink, settle } = this.#context;
    if (this.#over) return;
    this.#stop();
    const outcome = { kind, shown: sink.shown };
    const blamed = this.#failure ? { failure: this.#failure } : {};
    try {
      sink.conclude(outcome);
      const closing = turn.end({ outcome, status: this.#head.status, code: this.#codeOf(kind) });
      if (how === 'died' && turn.native) sink.cut();
      else sink.close(closing, outcome);
      settle({ kind: 'done', ...blamed });
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) turn.fault(thrown);
      const refusal = refusalOf(thrown);
      const failed = kind === 'cut' ? kind : 'failed';
      turn.end({ outcome: { ...outcome, kind: failed }, status: refusal.status, code: refusal.loggedCode });
      settle({ kind: 'refused', refusal, ...blamed });
    }
  }

  /** A public stream that broke off says `server_error` itself (F1.8). */
  #codeOf(kind: OutcomeKind): string | null {
    if (kind === 'failed') return this.#code;
    if (kind !== 'cut') return null;
    return this.#context.turn.native ? 'upstream_error' : 'server_error';
  }

  /** Whatever goes wrong while a reply is read ends this reply, never the process. */
  #guarded(work: () => void): void {
    if (this.#over) return;
    try {
      work();
    } catch (thrown) {
      const { counters, sending, sink, turn } = this.#context;
      if (thrown instanceof EventTooLarge) counters.add('upstream_events_too_large');
      else if (!(thrown instanceof Refusal)) turn.fault(thrown);
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
    this.#cancelTimer();
  }
}

/** The type of data that does not begin with it, and has no `event:` line either. */
function typeInside(event: SseEvent): string {
  const type = jsonOf(event)?.type;
  return typeof type === 'string' ? type : '';
}
