// A reply of events: held until it shows something, then relayed to its client's sink, then ended as its account or client ended it.
import type { Counters } from '../metrics.ts';
import { type CarrierFailure, carrierFailure, type Failure, inBandFailure, loggedCode } from '../turn/failure.ts';
import type { JsonObject } from '../turn/json.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import { Refusal, refusalOf } from '../turn/refusal.ts';
import type { ReplyEvent } from '../turn/reply-event.ts';
import type { Confidential } from '../turn/sanitise.ts';
import type { Event, Head, OutcomeKind } from '../turn/turn.ts';
import type { EventReader, Sending } from '../upstream/carrier.ts';
import type { DetachedReply, Sink } from './client.ts';
import { collectedError } from './client-error.ts';
import { endOf, HELD_BYTES, isHeld } from './hold.ts';
import { KeptEvents } from './kept-events.ts';
import type { AttemptObservers } from './reply-observers.ts';
import type { CloseReply, Verdict } from './verdict.ts';

/** What a reply needs of its attempt. */
export interface ReplyContext {
  readonly turn: LiveTurn;
  readonly counters: Counters;
  readonly observers: AttemptObservers;
  readonly known: Confidential;
  /** Counts the output that the client is shown, for the estimate of a turn that breaks off (Q18). */
  readonly countOutput: (event: ReplyEvent) => void;
  readonly sending: () => Sending;
  /** Whether the turn would be tried again after this failure. */
  readonly retryable: (failure: Failure) => boolean;
  /** The reply is the turn's answer: no other attempt follows. */
  readonly committed: () => void;
  readonly settle: (verdict: Verdict) => void;
}

/** A held event, and its data where an observer has read it. */
interface Held {
  readonly event: ReplyEvent;
  readonly data: JsonObject | undefined;
}

/** A reply with a terminal event is complete: an account that keeps it open for longer is not waited for. */
const LINGER_MS = 1_000;

export class EventReply implements EventReader {
  readonly reads = 'events';
  readonly maxEventBytes: number;
  readonly #context: ReplyContext;
  readonly #head: Head;
  /** The client's sink; a KeptEvents once the reply is detached. */
  #sink: Sink;
  #state: 'held' | 'relaying' | 'over' = 'held';
  #held: Held[] = [];
  #heldBytes = 0;
  /** The kind of end that the terminal event announced. */
  #end: 'completed' | 'incomplete' | 'failed' | undefined;
  /** What the account did wrong: a failure that was passed on, or a reply that broke off. */
  #failure: Failure | undefined;
  #flushing = false;
  #paused = false;
  #cancelTimer: () => void;

  constructor(head: Head, sink: Sink, context: ReplyContext) {
    const { turn } = context;
    this.#context = context;
    this.#head = head;
    this.#sink = sink;
    this.maxEventBytes = turn.limits.upstream_event_bytes;
    this.#cancelTimer = turn.after(turn.timeouts.hold_ms, () => this.#holdExpired());
  }

  get committed(): boolean {
    return this.#state === 'relaying';
  }

  /** Whether anything reached the client that cannot be taken back. */
  get shown(): boolean {
    return this.#sink.shown;
  }

  event(event: ReplyEvent): void {
    if (this.#state === 'over') return;
    try {
      this.#take(event);
    } catch (thrown) {
      this.#faulted(thrown);
    }
  }

  delivered(): void {
    if (this.#state === 'relaying') this.#flushSoon();
  }

  end(): void {
    if (this.#state === 'held') this.#settle({ kind: 'failed', failure: carrierFailure('network') });
    else this.#broke('network', 'close');
  }

  fail(failure: CarrierFailure): void {
    const { counters, turn } = this.#context;
    if (failure === 'idle') counters.add('upstream_idle_timeouts');
    if (failure === 'too_large') counters.add('upstream_events_too_large');
    if (this.#state === 'held') this.#settle({ kind: 'failed', failure: carrierFailure(failure) });
    else this.#broke(failure, turn.surface.brokenReply);
  }

  /** Ends without a verdict: the attempt is settled by its caller. */
  abandon(): void {
    this.#state = 'over';
    this.#cancelTimer();
  }

  /**
   * Goes on without its client, after commit: its events are kept until another sink takes them.
   * @param maxBytes past which the reply is cancelled
   */
  detach(maxBytes: number): DetachedReply {
    const kept = new KeptEvents({ head: this.#head, maxBytes, overflow: () => this.#cancel() });
    this.#sink = kept;
    this.#resume();
    return kept;
  }

  #take(event: ReplyEvent): void {
    if (event.type === '' && event.hasData && !event.isDone()) event.type = typeIn(event);
    const data = this.#observed(event);
    if (this.#state === 'held') {
      const end = endOf(event.type);
      if (end === undefined && this.#hold(event, data)) return;
      if (end === 'failed') {
        this.#takeRefusal(event, data ?? event.json());
        return;
      }
      this.#commit();
    }
    this.#relay(event, data);
  }

  /** Observers read events as they come: before commit, and whatever the client gets in the end. */
  #observed(event: ReplyEvent): JsonObject | undefined {
    const { observers, counters } = this.#context;
    if (!observers.wants(event.type)) return undefined;
    counters.add('events_parsed');
    const data = event.json();
    if (data) observers.event(event.type, data);
    return data;
  }

  /** @returns whether the event is held */
  #hold(event: ReplyEvent, data: JsonObject | undefined): boolean {
    if (this.#sink.drops.has(event.type)) return true;
    if (!isHeld(event.type, event.hasData) && !event.isDone()) return false;
    this.#heldBytes += event.length;
    if (this.#heldBytes > HELD_BYTES) return false;
    this.#held.push({ event: event.copy(), data });
    return true;
  }

  #dropHeld(): void {
    if (this.#held.some(({ event }) => event.hasData)) this.#sink.renumber();
    this.#held = [];
  }

  /** The reply begins with a refusal: another account is tried, or the client gets it. */
  #takeRefusal(event: ReplyEvent, data: JsonObject | undefined): void {
    const { turn, known, retryable, sending } = this.#context;
    const failure = data && inBandFailure(data, turn.now());
    if (failure && retryable(failure)) {
      sending().abort();
      this.#settle({ kind: 'failed', failure });
      return;
    }
    const { refusalEvent } = turn.surface;
    if (refusalEvent) this.#dropHeld();
    // Made before commit, when the turn lets go of the prompt, which the error may repeat.
    const shown = data && this.#failureEvent(data);
    const replacement = failure && refusalEvent?.(failure, collectedError(failure, turn, known), known);
    this.#commit();
    this.#relay(event, data, shown, replacement);
  }

  #holdExpired(): void {
    this.#context.counters.add('hold_expired');
    this.#guarded(() => {
      this.#commit();
      this.#flush();
    });
  }

  /** The one handover: from here on nothing is tried again, and events go to the sink. */
  #commit(): void {
    this.#cancelTimer();
    const first = this.#context.turn.rules.head(this.#head);
    this.#state = 'relaying';
    this.#context.committed();
    this.#sink.open(this.#head.status, this.#head.headers);
    for (const event of first) this.#sink.event(event);
    const held = this.#held;
    this.#held = [];
    for (const { event, data } of held) this.#relay(event, data);
  }

  /**
   * @param failure the event as the client may see it, where that has been made already
   * @param replacement the event that a client gets in its place; rules read the account's event all the same
   */
  #relay(event: ReplyEvent, known: JsonObject | undefined, failure?: JsonObject, replacement?: Event): void {
    const { turn, counters, countOutput } = this.#context;
    const sink = this.#sink;
    if (sink.drops.has(event.type)) return;
    const end = endOf(event.type);
    if (end !== undefined) this.#ends(end);
    countOutput(event);
    if (end !== 'failed' && !turn.rules.wants(event.type) && !sink.wants.has(event.type)) {
      sink.raw(event);
      return;
    }
    if (!known) counters.add('events_parsed');
    const data = known ?? event.json();
    if (!data) {
      sink.raw(event);
      return;
    }
    const given: Event = { type: event.type, data: end === 'failed' ? (failure ?? this.#failureEvent(data)) : data };
    const mapped = turn.rules.event(given);
    if (replacement) sink.event(replacement);
    else if (Array.isArray(mapped)) {
      // An event without a number leaves no gap.
      if (mapped.length > 1 || data.sequence_number !== undefined) sink.renumber();
      for (const one of mapped as readonly Event[]) sink.event(one);
    } else if (mapped === given && given.data === data && !sink.wants.has(event.type)) sink.raw(event);
    else sink.event(mapped as Event);
  }

  #ends(end: 'completed' | 'incomplete' | 'failed'): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    // Most replies end with the read that brought their terminal event.
    queueMicrotask(() => this.#state === 'over' || this.#linger());
  }

  /** A failure event as its client may see it. A sink that collects gets it as sent, since the client gets an answer of ours. */
  #failureEvent(data: JsonObject): JsonObject {
    const { turn, known } = this.#context;
    this.#failure = inBandFailure(data, turn.now());
    return this.#sink.wants.has('error') ? data : turn.surface.failureEvent(data, this.#failure, known);
  }

  /** Accounts send each event as a chunk of its own, and many arrive in one read of the socket: they leave in one write. */
  #flushSoon(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    queueMicrotask(() => {
      this.#flushing = false;
      this.#guarded(() => this.#flush());
    });
  }

  #flush(): void {
    const sink = this.#sink;
    if (sink.flush()) return;
    this.#paused = true;
    this.#context.sending().pause();
    sink.onDrain(() => sink === this.#sink && this.#resume());
  }

  #resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#context.sending().resume();
  }

  #linger(): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#context.turn.after(LINGER_MS, () => {
      // The client is slow: what it has not taken yet may be more than the terminal event.
      if (this.#paused) return this.#linger();
      this.#context.sending().abort();
      this.#finish(this.#end ?? 'cut', 'close');
    });
  }

  /** The connection ended. After a terminal event nothing is missing, and the reply ends like any other. */
  #broke(failure: CarrierFailure, how: 'close' | 'cut'): void {
    if (this.#end === undefined) this.#failure = carrierFailure(failure);
    this.#finish(this.#end ?? 'cut', this.#end === undefined ? how : 'close');
  }

  #finish(kind: OutcomeKind, how: 'close' | 'cut'): void {
    if (this.#state === 'over') return;
    const { turn } = this.#context;
    const sink = this.#sink;
    const failure = this.#failure;
    const outcome = { kind, shown: sink.shown };
    try {
      sink.conclude(outcome, () => collectedError(failure ?? carrierFailure('network'), turn, this.#context.known));
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) turn.fault(thrown);
      this.#settle({ kind: 'refused', refusal: refusalOf(thrown), outcome: kind === 'cut' ? kind : 'failed', failure });
      return;
    }
    const ending = { outcome, status: this.#head.status, code: this.#codeOf(kind) };
    const close: CloseReply = (closing) => (how === 'cut' ? sink.cut() : sink.close(closing, outcome));
    this.#settle({ kind: 'done', ending, close, failure });
  }

  /** The code for the row. */
  #codeOf(kind: OutcomeKind): string | null {
    if (kind === 'failed') return this.#failure ? loggedCode(this.#failure.error.code) : 'upstream_error';
    return kind === 'cut' ? this.#context.turn.surface.brokenReplyCode : null;
  }

  /** Nobody takes the events of a detached reply: it is cancelled. */
  #cancel(): void {
    this.#context.sending().abort();
    this.#settle({ kind: 'gone', shown: true });
  }

  #guarded(work: () => void): void {
    if (this.#state === 'over') return;
    try {
      work();
    } catch (thrown) {
      this.#faulted(thrown);
    }
  }

  /** An error while a reply is read ends this reply, never the process. */
  #faulted(thrown: unknown): void {
    const { sending, turn } = this.#context;
    if (!(thrown instanceof Refusal)) turn.fault(thrown);
    sending().abort();
    if (this.shown) this.#finish('cut', turn.surface.brokenReply);
    else this.#settle({ kind: 'refused', refusal: refusalOf(thrown) });
  }

  #settle(verdict: Verdict): void {
    if (this.#state === 'over') return;
    this.abandon();
    this.#context.settle(verdict);
  }
}

/** The type of data that does not begin with it and has no `event:` line. */
function typeIn(event: ReplyEvent): string {
  const type = event.json()?.type;
  return typeof type === 'string' ? type : '';
}
