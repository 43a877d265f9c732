// A reply of events: held until it shows something, committed, and ended as its provider or its client ended it.

import { carrierFailure, inBandFailure } from '../turn/failure.ts';
import type { JsonObject } from '../turn/json.ts';
import { Refusal, refusalOf } from '../turn/refusal.ts';
import type { Head, OutcomeKind } from '../turn/turn.ts';
import type { CarrierFailure } from '../upstream/carrier.ts';
import { EventTooLarge, isDone, jsonOf, type SseEvent, SseSplitter } from '../upstream/sse-splitter.ts';
import { EventFlow } from './event-flow.ts';
import { endOf, HELD_BYTES, isHeld } from './hold.ts';
import type { ReplyContext, Verdict } from './reply.ts';
import type { Sink } from './sink.ts';

/** An event that waits for commit, and its data where somebody has read it already. */
interface Held {
  readonly event: SseEvent;
  readonly data: JsonObject | undefined;
}

/** A reply whose terminal event has come is whole: a provider that keeps it open for longer than this is not waited for. */
const LINGER_MS = 1_000;

export class StreamReply {
  readonly #context: ReplyContext;
  readonly #flow: EventFlow;
  readonly #head: Head;
  readonly #splitter: SseSplitter;
  #cancelTimer: () => void;
  #held: Held[] = [];
  #heldBytes = 0;
  #committed = false;
  #over = false;

  constructor(head: Head, sink: Sink, context: ReplyContext) {
    this.#context = context;
    this.#flow = new EventFlow(sink, context);
    this.#head = head;
    const { limits, timeouts } = context.turn.generation.config;
    this.#splitter = new SseSplitter(limits.upstream_event_bytes, (event) => this.#take(event));
    this.#cancelTimer = context.turn.after(timeouts.hold_ms, () => this.#holdExpired());
  }

  /** Whether anything reached the client that cannot be taken back. */
  get shown(): boolean {
    return this.#flow.sink.shown;
  }

  data(chunk: Buffer): void {
    const before = this.#flow.end;
    this.#guarded(() => {
      this.#splitter.push(chunk);
      if (this.#committed && !this.#over) this.#flow.flushSoon((work) => this.#guarded(work));
    });
    // Most replies end right behind their terminal event.
    if (this.#flow.end !== before) queueMicrotask(() => this.#over || this.#linger());
  }

  end(): void {
    this.#guarded(() => this.#splitter.end());
    if (!this.#committed) this.#settle({ kind: 'failed', failure: carrierFailure('network') });
    else {
      this.#flow.broke();
      this.#finish(this.#flow.end ?? 'cut', 'ended');
    }
  }

  fail(failure: CarrierFailure): void {
    this.#guarded(() => this.#splitter.end());
    if (failure === 'idle') this.#context.counters.add('upstream_idle_timeouts');
    if (!this.#committed) {
      this.#settle({ kind: 'failed', failure: carrierFailure(failure) });
      return;
    }
    this.#flow.broke(carrierFailure(failure));
    this.#finish(this.#flow.end ?? 'cut', this.#flow.end ? 'ended' : 'died');
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
        failed = data && this.#flow.shownFailure(data);
      }
      this.#commit();
    }
    this.#flow.pass(event, data, failed);
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
    if (this.#flow.sink.drops.has(event.type)) return true;
    if (!isHeld(event.type, event.hasData) && !isDone(event)) return false;
    this.#heldBytes += event.end - event.start;
    if (this.#heldBytes > HELD_BYTES) return false;
    this.#held.push({ event: { ...event }, data });
    return true;
  }

  #forgetHeld(): void {
    if (this.#held.some(({ event }) => event.hasData)) this.#flow.sink.renumber();
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
      this.#flow.flush();
    });
  }

  #commit(): void {
    const { turn } = this.#context;
    const { sink } = this.#flow;
    this.#cancelTimer();
    const first = turn.rules.head(this.#head);
    this.#committed = true;
    this.#context.committed();
    sink.open(this.#head.status, this.#head.headers);
    for (const event of first) sink.event(event);
    const held = this.#held;
    this.#held = [];
    for (const { event, data } of held) this.#flow.pass(event, data);
  }

  #linger(): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#context.turn.after(LINGER_MS, () => {
      // A slow client is the one to wait for: what it has not taken yet may be more than the terminal event.
      if (this.#flow.paused) return this.#linger();
      this.#context.sending().abort();
      this.#finish(this.#flow.end ?? 'cut', 'ended');
    });
  }

  #finish(kind: OutcomeKind, how: 'ended' | 'died'): void {
    const { turn, settle } = this.#context;
    const { sink, failure } = this.#flow;
    if (this.#over) return;
    this.#stop();
    const outcome = { kind, shown: sink.shown };
    const blamed = failure ? { failure } : {};
    try {
      sink.conclude(outcome);
      const closing = turn.end({ outcome, status: this.#head.status, code: this.#flow.codeOf(kind) });
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

  /** Whatever goes wrong while a reply is read ends this reply, never the process. */
  #guarded(work: () => void): void {
    if (this.#over) return;
    try {
      work();
    } catch (thrown) {
      const { counters, sending, turn } = this.#context;
      if (thrown instanceof EventTooLarge) counters.add('upstream_events_too_large');
      else if (!(thrown instanceof Refusal)) turn.fault(thrown);
      sending().abort();
      if (this.shown) this.#finish('cut', turn.native ? 'died' : 'ended');
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
