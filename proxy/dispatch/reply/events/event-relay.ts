// Relays the events of a committed reply to its sink. They pass the rules that subscribe to them; others are relayed as the account sent
// them.
import type { Failure } from '../../../turn/errors/failure.ts';
import type { JsonObject } from '../../../turn/json/json.ts';
import { responseIdIn } from '../../../turn/reply/event-bytes.ts';
import type { ReplyEvent } from '../../../turn/reply/reply-event.ts';
import type { Sink } from '../../../turn/reply/sink.ts';
import { endOf, type ReplyEnd } from '../../../turn/reply/terminal-event.ts';
import { dispatchedKind } from '../../../turn/routes/kinds.ts';
import type { Event } from '../../../turn/turn.ts';
import { headerOptions, type ReplyContext } from '../reply-context.ts';

/** The forms of a failure event for a client. */
export interface FailureForms {
  /** The event as the client may see it, if it has been made already. */
  readonly shown?: JsonObject | undefined;
  /** The event that the client gets instead. Rules still read the account's event. */
  readonly replacement?: Event | undefined;
}

export class EventRelay {
  readonly #sink: Sink;
  readonly #context: ReplyContext;
  readonly #ended: (end: ReplyEnd) => void;
  #failure: Failure | undefined;
  #responseId: string | undefined;

  /** @param ended called with each terminal event, before it is relayed */
  constructor(sink: Sink, context: ReplyContext, ended: (end: ReplyEnd) => void) {
    this.#sink = sink;
    this.#context = context;
    this.#ended = ended;
  }

  /** The failure that a relayed terminal event reported. */
  get failure(): Failure | undefined {
    return this.#failure;
  }

  /** Notes the id of the response. @param created the event that announced it */
  began(created: ReplyEvent | undefined): void {
    const { client, surface } = this.#context.turn;
    if (created && client === 'http' && surface.agentProtocol) this.#responseId = responseIdIn(created);
  }

  /** @param known the data of the event, if it has been parsed @throws TooMuchHeld, or what a rule throws */
  event(event: ReplyEvent, known: JsonObject | undefined, { shown, replacement }: FailureForms = {}): void {
    const { turn, counters, countOutput } = this.#context;
    const sink = this.#sink;
    if (sink.drops.has(event.type)) return;
    const end = endOf(event.type);
    if (end !== undefined) this.#ended(end);
    countOutput(event);
    // Counted, because the sink keeps it until the reply is over.
    if (end !== undefined && sink.collects) turn.held.hold(event.length);
    if (end === undefined && !turn.rules.wants(event.type) && !sink.wants.has(event.type)) {
      sink.raw(event);
      return;
    }
    if (!known) counters.add('events_parsed');
    const data = known ?? turn.held.json(event);
    if (!data) {
      if (sink.objectCheck === 'none' || !event.hasData || event.isDone()) sink.raw(event);
      else this.drop();
      return;
    }
    const visible = end === 'failed' ? (shown ?? this.failureEvent(data)) : end === undefined ? data : this.#endEvent(data);
    // The surface may have replaced the failure with another event: on a websocket an error has a status (Q2).
    const type = end === 'failed' && typeof visible.type === 'string' ? visible.type : event.type;
    const given: Event = { type, data: visible, size: event.length };
    const mapped = turn.rules.event(given);
    if (replacement) sink.event(replacement);
    else if (Array.isArray(mapped)) {
      // An event without a number leaves no gap.
      if (mapped.length > 1 || data.sequence_number !== undefined) sink.renumber();
      for (const one of mapped as readonly Event[]) sink.event(one);
    } else if (mapped === given && given.data === data && !sink.wants.has(event.type)) sink.raw(event);
    else sink.event(mapped as Event);
  }

  /** Drops an event that is not a JSON object, without a gap in the numbers. */
  drop(): void {
    this.#context.counters.add('upstream_frames_dropped');
    this.#sink.renumber();
    this.#sink.lost?.();
  }

  /** A failure event as its client may see it. A sink that collects gets it as sent, because the client gets an answer of the gateway. */
  failureEvent(data: JsonObject): JsonObject {
    const { turn, known, provider } = this.#context;
    this.#failure = provider.failures.inBand(data, turn.now());
    if (this.#sink.collects) return data;
    const isTurn = dispatchedKind(turn.route.kind)?.model === true;
    const as = turn.client === 'websocket' ? 'frame' : isTurn ? 'turn stream' : 'other';
    return turn.surface.failureEvent(data, turn.named(this.#failure), known, { ...headerOptions(turn), as, responseId: this.#responseId });
  }

  /** The event that ends a successful reply, as its client may see it. */
  #endEvent(data: JsonObject): JsonObject {
    const { turn, known } = this.#context;
    return turn.surface.endOf(data, known, headerOptions(turn));
  }
}
