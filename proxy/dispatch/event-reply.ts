// A reply of events: held until it shows something, then relayed to its client's sink, then ended as its account or client ended it.
import { loggedCode } from '../turn/error-codes.ts';
import { type CarrierFailure, carrierFailure, type Failure, inBandFailure } from '../turn/failure.ts';
import { type HeldBytes, TooMuchHeld } from '../turn/held-bytes.ts';
import type { JsonObject } from '../turn/json.ts';
import { type ErrorBody, Refusal, RelayedRefusal, refusalOf } from '../turn/refusal.ts';
import type { ReplyEvent } from '../turn/reply-event.ts';
import { endOf, type ReplyEnd } from '../turn/terminal-event.ts';
import type { Event, Head, OutcomeKind } from '../turn/turn.ts';
import type { EventReader } from '../upstream/carrier.ts';
import type { Sink } from './client.ts';
import { collectedError } from './client-error.ts';
import { EventRelay } from './event-relay.ts';
import { HeldHead } from './hold.ts';
import { OutputFlow } from './output-flow.ts';
import { type CloseReply, eventsEnding, type ReplyContext, type Verdict } from './reply-context.ts';

/** A reply with a terminal event is complete: an account that keeps it open for longer is not waited for. */
const LINGER_MS = 1_000;

export class EventReply implements EventReader {
  readonly reads = 'events';
  readonly memory: HeldBytes;
  readonly #context: ReplyContext;
  readonly #head: Head;
  readonly #sink: Sink;
  #state: 'held' | 'relaying' | 'over' = 'held';
  readonly #held: HeldHead;
  /** The kind of end that the terminal event announced. */
  #end: ReplyEnd | undefined;
  /** Of a reply that broke off. */
  #failure: Failure | undefined;
  readonly #relay: EventRelay;
  readonly #flow: OutputFlow;
  #cancelTimer: () => void;

  constructor(head: Head, sink: Sink, context: ReplyContext) {
    const { turn } = context;
    this.#context = context;
    this.#head = head;
    this.#sink = sink;
    this.memory = turn.held;
    this.#held = new HeldHead(turn.held);
    this.#relay = new EventRelay(sink, context, (end) => this.#ends(end));
    this.#flow = new OutputFlow(sink, { sending: context.sending, guarded: (work) => this.#guarded(work) });
    // The object itself, not a function that asks it: with a function V8's minor collections keep every turn and take ten times as long.
    if (turn.client === 'websocket') head.held = this.#held;
    this.#cancelTimer = turn.after(turn.timeouts.hold_ms, () => this.#holdExpired());
  }

  get committed(): boolean {
    return this.#state === 'relaying';
  }

  /** Whether anything reached the client that cannot be taken back. */
  get shown(): boolean {
    return this.#sink.shown;
  }

  event(event: ReplyEvent): ReplyEnd | undefined {
    if (this.#state === 'over') return this.#end;
    try {
      this.#take(event);
    } catch (thrown) {
      this.#faulted(thrown);
    }
    return this.#end;
  }

  delivered(): void {
    if (this.#state === 'relaying') this.#flow.flushSoon();
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

  /** The client left. @returns whether it has the terminal event: many read no further, and the reply ends like any other */
  left(): boolean {
    if (this.#state !== 'relaying' || this.#end === undefined || this.#sink.collects || !this.#flow.isWritten) return false;
    this.#context.sending().abort();
    this.#finish(this.#end, 'close');
    return true;
  }

  /** Ends without a verdict: the attempt is settled by its caller. */
  abandon(): void {
    this.#state = 'over';
    this.#cancelTimer();
  }

  #take(event: ReplyEvent): void {
    if (event.type === '') this.memory.allowParsing(event);
    event.completeType();
    const data = this.#observed(event) ?? this.#required(event, endOf(event.type));
    if (this.#sink.objectsOnly) {
      if (!data) {
        this.#context.counters.add('upstream_frames_dropped');
        return;
      }
      // Of two types in one frame its client takes the last, which may be the end of its reply.
      if (typeof data.type === 'string') event.type = data.type;
    }
    const end = endOf(event.type);
    if (end !== undefined && this.#endsWithEvent && !this.#isReadable(event, data)) {
      this.#context.sending().abort();
      this.fail('malformed');
      return;
    }
    if (this.#state === 'held') {
      if (end === undefined && (this.#sink.drops.has(event.type) || this.#held.hold(event, data))) return;
      if (end === 'failed') {
        this.#takeRefusal(event, data ?? this.memory.json(event));
        return;
      }
      this.#commit();
    }
    this.#relay.event(event, data);
  }

  /** Observers read events as they come: before commit, and whatever the client gets in the end. */
  #observed(event: ReplyEvent): JsonObject | undefined {
    const { observers, counters } = this.#context;
    if (!observers.wants(event.type)) return undefined;
    counters.add('events_parsed');
    const data = this.memory.json(event);
    if (data) observers.event(event.type, data);
    return data;
  }

  /** The data of an event that must be read, whatever rules and observers want. */
  #required(event: ReplyEvent, end: ReplyEnd | undefined): JsonObject | undefined {
    if (this.#sink.objectsOnly) return this.memory.json(event);
    if (end === undefined || !this.#endsWithEvent) return undefined;
    this.#context.counters.add('events_parsed');
    return this.memory.json(event);
  }

  /** Whether the client learns from the terminal event alone that its reply is over: without one that it can read it would wait on. */
  get #endsWithEvent(): boolean {
    const { client, surface } = this.#context.turn;
    return client === 'websocket' || surface.brokenReply === 'close';
  }

  /** Whether a client sees a terminal event in it too: of a type that is named twice a frame's reader takes the last. */
  #isReadable(event: ReplyEvent, data: JsonObject | undefined): boolean {
    return data !== undefined && (this.#context.turn.client === 'http' || data.type === event.type);
  }

  /** The reply begins with a refusal: another account is tried, or the client gets it. */
  #takeRefusal(event: ReplyEvent, data: JsonObject | undefined): void {
    const { turn, known, keepsBack, sending } = this.#context;
    const failure = data && inBandFailure(data, turn.now());
    if (failure && keepsBack(failure)) {
      sending().abort();
      this.#settle({ kind: 'failed', failure });
      return;
    }
    const { refusalEvent } = turn.surface;
    const replacement = failure && refusalEvent?.(failure, collectedError(failure, turn, known), known);
    if (replacement && turn.client === 'websocket') {
      this.#refuse(failure, replacement);
      return;
    }
    if (refusalEvent && this.#held.release().some((held) => held.event.hasData)) this.#sink.renumber();
    // Made before commit: the error may repeat the prompt, and the turn releases the prompt at commit.
    const shown = data && this.#relay.failureEvent(data);
    this.#head.refuses = true;
    this.#commit();
    this.#relay.event(event, data, { shown, replacement });
  }

  /** On a websocket the refusal is an error frame, which has a status, and the connection goes on (Q2). A status that it states counts (Q3). */
  #refuse(failure: Failure, { data }: Event): void {
    const collected = collectedError(failure, this.#context.turn, this.#context.known);
    const refusal =
      failure.status === 200
        ? new RelayedRefusal(collected.status, data.error as unknown as ErrorBody, loggedCode(failure.error.code))
        : collected;
    this.#context.sending().abort();
    this.#settle({ kind: 'refused', refusal, outcome: 'failed', failure });
  }

  #holdExpired(): void {
    this.#context.counters.add('hold_expired');
    this.#guarded(() => {
      this.#commit();
      this.#flow.flush();
    });
  }

  /** The one handover: from here on nothing is tried again, and events go to the sink. */
  #commit(): void {
    this.#cancelTimer();
    const first = this.#context.turn.rules.head(this.#head);
    this.#state = 'relaying';
    this.#context.committed(this.#held);
    this.#sink.open(this.#head.status, this.#head.headers);
    for (const event of first) this.#sink.event(event);
    for (const { event, data } of this.#held.release()) this.#relay.event(event, data);
  }

  #ends(end: ReplyEnd): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    const { turn, counters } = this.#context;
    const stored = turn.pendingWrites?.whenStored(turn, counters);
    if (stored) this.#flow.withhold(stored);
    // Most replies end with the read that brought their terminal event.
    queueMicrotask(() => this.#state === 'over' || this.#linger());
  }

  #linger(): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#context.turn.after(LINGER_MS, () => {
      // The client is slow: what it has not taken yet may be more than the terminal event.
      if (this.#flow.paused) return this.#linger();
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
    const failure = this.#failure ?? this.#relay.failure;
    const outcome = { kind, shown: sink.shown };
    try {
      sink.conclude(outcome, () => collectedError(failure ?? carrierFailure('network'), turn, this.#context.known));
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) turn.fault(thrown);
      this.#settle({ kind: 'refused', refusal: refusalOf(thrown), outcome: kind === 'cut' ? kind : 'failed', failure });
      return;
    }
    const ending = eventsEnding(this.#context, outcome, this.#head.status, failure);
    const close: CloseReply = (closing) => (how === 'cut' ? sink.cut() : sink.close(closing, outcome));
    this.#settle({ kind: 'done', ending, close, failure });
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
    if (thrown instanceof TooMuchHeld) {
      sending().abort();
      this.fail('too_large');
      return;
    }
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
