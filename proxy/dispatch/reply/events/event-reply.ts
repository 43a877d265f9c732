// A reply of events. It is held until it shows something, then relayed to its client's sink, and ends when its account or its client ends
// it. An answer that rules check as a whole is held to its end.
import { type CarrierFailure, carrierFailure, type Failure } from '../../../turn/errors/failure.ts';
import { Refusal, refusalOf } from '../../../turn/errors/refusal.ts';
import type { JsonObject } from '../../../turn/json/json.ts';
import { type HeldBytes, TooMuchHeld } from '../../../turn/reply/held-bytes.ts';
import { ReplyEvent } from '../../../turn/reply/reply-event.ts';
import type { Sink } from '../../../turn/reply/sink.ts';
import { endOf, isCancellation, type ReplyEnd } from '../../../turn/reply/terminal-event.ts';
import type { Head, OutcomeKind, UpstreamErrorClass } from '../../../turn/turn.ts';
import type { ByteReader, EventReader } from '../../../upstream/carriers/carrier.ts';
import { stoppedReply } from '../../stopped-turn.ts';
import type { ReplyContext, Verdict } from '../reply-context.ts';
import type { CheckedEvents } from './checked-events.ts';
import { EventRelay, type RelayedReply } from './event-relay.ts';
import { headRefusal } from './head-refusal.ts';
import { HeldHead } from './hold.ts';
import { endAtCap, endSatisfied, verdictAt } from './reply-end.ts';
import type { EndWith, ResponseControl } from './response-control.ts';

export interface EventReplyParts {
  /** Set for an answer that is checked as a whole. It is held to its end. */
  readonly checked?: CheckedEvents | undefined;
  /** Makes the control for a client that sends frames about its reply. */
  readonly control?: ((endWith: EndWith) => ResponseControl) | undefined;
}

/**
 * A reply ends with its terminal event or the account's connection, when its client leaves, or by an error while it is read. The first of
 * these decides, and the attempt is settled once.
 */
export class EventReply implements EventReader, RelayedReply {
  readonly reads = 'events';
  readonly memory: HeldBytes;
  readonly #context: ReplyContext;
  readonly #head: Head;
  readonly #sink: Sink;
  #state: 'held' | 'relaying' | 'over' = 'held';
  readonly #held: HeldHead;
  /** The kind of end that the terminal event announced. */
  #end: ReplyEnd | undefined;
  readonly #relay: EventRelay;
  /** Undefined for a client that sends no frames about its reply. */
  readonly #control: ResponseControl | undefined;
  /** Undefined for a reply that is relayed. */
  readonly #checked: CheckedEvents | undefined;
  #cancelTimer: (() => void) | undefined;

  constructor(head: Head, sink: Sink, context: ReplyContext, { checked, control }: EventReplyParts = {}) {
    const { turn } = context;
    this.#context = context;
    this.#head = head;
    this.#sink = sink;
    this.memory = turn.held;
    this.#held = new HeldHead(turn.held);
    this.#relay = new EventRelay(sink, context, this);
    this.#control = control?.((events) => this.#endWith(events));
    this.#checked = checked;
    // The object itself, not a function that reads it. With a function, V8's minor collections keep every turn and take ten times as long.
    if (turn.client === 'websocket') head.held = this.#held;
    // A client that gets one answer waits for all of it, so until then a refusal can be retried at another account.
    if (!sink.collects && !checked) this.#cancelTimer = turn.after(turn.timeouts.hold_ms, () => this.#holdExpired());
  }

  /** Whether anything irrevocable was sent to the client. */
  get shown(): boolean {
    return this.#sink.shown;
  }

  /** Undefined after the head was shown, because the reply then stays a stream. */
  asBytes(): ByteReader | undefined {
    if (this.#state !== 'held') return undefined;
    this.abandon();
    return this.#context.asBytes(this.#head);
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
    if (this.#state === 'relaying') this.#relay.flushSoon();
  }

  end(): void {
    this.#stopped('network', 'close');
  }

  fail(failure: CarrierFailure): void {
    const { counters, turn } = this.#context;
    if (failure === 'idle') counters.add('upstream_idle_timeouts');
    if (failure === 'too_large') counters.add('upstream_events_too_large');
    this.#broke(failure, turn.surface.brokenReply);
  }

  refuse(refusal: Refusal): void {
    if (this.#state !== 'over') this.#faulted(refusal, 'upstream_malformed');
  }

  guarded(work: () => void): void {
    if (this.#state === 'over') return;
    try {
      work();
    } catch (thrown) {
      this.#faulted(thrown);
    }
  }

  /** Notes the terminal event. It waits until writes of the turn are stored that its client's next turn may need. */
  ended(end: ReplyEnd): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    const { turn, counters } = this.#context;
    const stored = turn.pendingWrites?.whenStored(turn, counters);
    if (stored) this.#relay.withhold(stored);
  }

  /**
   * Called when the client left.
   * @returns whether the terminal event was sent to it. Many clients leave at that event, and the reply then ends like any other.
   */
  left(): boolean {
    if (this.#state !== 'relaying' || this.#end === undefined || this.#sink.collects || !this.#relay.isWritten) return false;
    this.#context.sending.abort();
    this.#finish(this.#end, 'close');
    return true;
  }

  /**
   * Ends a reply of which the client has seen a part, because the gateway stops. After a terminal event nothing is missing.
   * @returns whether the reply is over. Otherwise nothing was shown, and the caller settles the attempt.
   */
  stop(): boolean {
    const { sending, turn } = this.#context;
    if (this.#state !== 'relaying' || (this.#end === undefined && !this.shown)) return false;
    sending.abort();
    if (this.#end === undefined) this.#settle(stoppedReply(turn, this.#head.status, this.#sink));
    else this.#finish(this.#end, 'close');
    return true;
  }

  /** Ends without a verdict, because the caller settles the attempt. */
  abandon(): void {
    this.#state = 'over';
    this.#cancelTimer?.();
  }

  #take(event: ReplyEvent): void {
    const data = this.#relay.read(event);
    // After its end a client takes an event for one of its next turn, if that is on the same websocket (RB16).
    if (data === 'dropped' || (this.#end !== undefined && this.#relay.endsWithEvent)) return;
    if (data === 'unreadable') {
      this.#context.sending.abort();
      this.#stopped('malformed', this.#context.turn.surface.brokenReply);
    } else if (isCancellation(event.type) && this.#end === undefined) this.#cancelled(event, data);
    else if (!this.#control?.takes(event, data)) {
      const last = this.#context.outputCap && !this.#checked && this.#end === undefined ? endAtCap(event, data, this.#context) : undefined;
      if (last) this.#endWith(last);
      else if (this.#state === 'relaying' || this.#commits(event, data)) this.#pass(event, data);
    }
  }

  /** Whether an event before commit commits the reply: it is not held, and does not refuse the turn. */
  #commits(event: ReplyEvent, data: JsonObject | undefined): boolean {
    const end = endOf(event.type);
    if (end === undefined && this.#sink.drops.has(event.type)) return false;
    if (end === 'failed' && this.#end === undefined) this.#takeRefusal(event, data ?? this.memory.json(event));
    else if (this.#checked) this.#end ??= this.#checked.keep(event, data);
    else if (end !== undefined || !this.#held.hold(event, data)) {
      this.#commit();
      return true;
    }
    return false;
  }

  #pass(event: ReplyEvent, data: JsonObject | undefined): void {
    this.#relay.event(event, data);
    if (this.#sink.satisfied === true && this.#end === undefined) this.#endWith(endSatisfied(this.#context));
  }

  /** Handles a reply that begins with a refusal. Another account is tried, or the client gets the refusal. */
  #takeRefusal(event: ReplyEvent, data: JsonObject | undefined): void {
    const { turn, sending } = this.#context;
    const refusal = headRefusal(data, this.#context);
    if (refusal.verdict) {
      sending.abort();
      this.#settle(refusal.verdict);
      return;
    }
    // An SDK must not see the beginning of a reply that never came (F1.8).
    if (turn.surface.refusalEvent && this.#held.release().some((held) => held.event.hasData)) this.#sink.renumber();
    // Made before commit, because the error may repeat the prompt, which the turn releases at commit.
    this.#relay.began(this.#held.find('response.created'));
    const shown = data && this.#relay.failureEvent(data);
    this.#head.refuses = true;
    this.#commit();
    this.#relay.event(event, data, { shown, replacement: refusal.replacement });
  }

  /** Handles a cancelled response. Nothing more will come, even if the account keeps the connection open. */
  #cancelled(event: ReplyEvent, data: JsonObject | undefined): void {
    const { turn, provider, sending } = this.#context;
    sending.abort();
    const failure = provider.failures.inBand({}, turn.now());
    if (this.#state === 'held') {
      if (this.#checked) this.#finish('cut', 'close');
      else this.#settle({ kind: 'failed', failure });
      return;
    }
    // On other surfaces the reply ends with an error of the gateway, which replaces this event.
    if (turn.surface.brokenReply === 'cut') this.#relay.event(event, data);
    this.#finish('cut', 'close', failure);
  }

  /** Ends the reply with events of the gateway. Observers see them too, because the next turn may continue this response. */
  #endWith(events: readonly JsonObject[]): void {
    const { observers, sending } = this.#context;
    this.guarded(() => {
      sending.abort();
      if (this.#state === 'held') this.#commit();
      for (const data of events) {
        const event = ReplyEvent.of(data);
        if (observers.wants(event.type)) observers.event(event.type, data);
        this.#relay.event(event, data);
      }
      this.#finish(this.#end ?? 'cut', 'close');
    });
  }

  #holdExpired(): void {
    this.#context.counters.add('hold_expired');
    this.guarded(() => {
      this.#commit();
      this.#relay.flush();
    });
  }

  /** Commits the reply. From here on nothing is retried, and events go to the sink. */
  #commit(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const first = this.#context.turn.rules.head(this.#head);
    this.#state = 'relaying';
    this.#relay.began(this.#held.find('response.created'));
    this.#context.committed(this.#held);
    this.#sink.open(this.#head.status, this.#head.headers);
    for (const event of first) this.#sink.event(event);
    for (const { event, data } of this.#held.release()) this.#relay.event(event, data);
  }

  /** Handles a reply that ends although its connection did not fail. A checked answer is then judged, complete or not. */
  #stopped(broken: CarrierFailure, how: 'close' | 'cut'): void {
    if (this.#checked) this.#finish('cut', how);
    else this.#broke(broken, how);
  }

  /** Handles the end of the connection. After a terminal event nothing is missing. */
  #broke(broken: CarrierFailure, how: 'close' | 'cut'): void {
    if (this.#end !== undefined) this.#finish(this.#end, 'close');
    else if (this.#state === 'held') this.#settle({ kind: 'failed', failure: carrierFailure(broken) });
    else this.#finish('cut', how, carrierFailure(broken));
  }

  /**
   * Handles an error while the reply is read. It ends this reply, never the process.
   * @param errorClass set for an answer that is not valid
   */
  #faulted(thrown: unknown, errorClass?: UpstreamErrorClass): void {
    const { sending, turn } = this.#context;
    sending.abort();
    if (thrown instanceof TooMuchHeld) {
      this.fail('too_large');
      return;
    }
    if (!(thrown instanceof Refusal)) turn.fault(thrown);
    if (this.shown) this.#finish('cut', turn.surface.brokenReply);
    else this.#settle({ kind: 'refused', refusal: refusalOf(thrown), errorClass });
  }

  /** Ends the reply for its client. @param failure the failure that the account reported, or how the reply broke off */
  #finish(kind: OutcomeKind, how: 'close' | 'cut', failure = this.#reported(kind)): void {
    if (this.#state === 'over') return;
    const verdict = this.#checked?.verdict() ?? verdictAt({ kind, how, failure, status: this.#head.status }, this.#sink, this.#context);
    this.#settle(verdict);
  }

  /** The failure that the account reported. One that follows a successful end concerns no turn. */
  #reported(kind: OutcomeKind): Failure | undefined {
    return kind === 'completed' || kind === 'incomplete' ? undefined : this.#relay.failure;
  }

  #settle(verdict: Verdict): void {
    if (this.#state === 'over') return;
    this.abandon();
    this.#context.settle(verdict);
  }
}
