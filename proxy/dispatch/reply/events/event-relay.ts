// Relays the events of a reply to its client's sink. Each is read as far as observers or the client need it, and passes the rules that
// subscribe to it; all others are relayed as the account sent them.
import type { Failure } from '../../../turn/errors/failure.ts';
import { isObject, type JsonObject } from '../../../turn/json/json.ts';
import { responseIdIn } from '../../../turn/reply/event-bytes.ts';
import type { ReplyEvent } from '../../../turn/reply/reply-event.ts';
import type { Sink } from '../../../turn/reply/sink.ts';
import { endOf, lacksResponse, type ReplyEnd } from '../../../turn/reply/terminal-event.ts';
import type { Event } from '../../../turn/turn.ts';
import type { ReplyContext } from '../reply-context.ts';

/** The reply whose events are relayed. */
export interface RelayedReply {
  /** Called with each terminal event, before it is relayed. */
  ended(end: ReplyEnd): void;
  /** Runs work of the reply. An error in it ends the reply. */
  guarded(work: () => void): void;
}

/** The forms of a failure event for a client. */
export interface FailureForms {
  /** The event as the client may see it, if it has been made already. */
  readonly shown?: JsonObject | undefined;
  /** The event that the client gets instead. Rules still read the account's event. */
  readonly replacement?: Event | undefined;
}

/** The data of an event, if observers or the client need them to be read. */
type Read = JsonObject | undefined;

/** `dropped`: the client does not get the event. `unreadable`: a terminal event that the client could not read. */
type Unfit = 'dropped' | 'unreadable';

const NO_FORMS: FailureForms = {};

export class EventRelay {
  readonly #sink: Sink;
  readonly #context: ReplyContext;
  readonly #reply: RelayedReply;
  #failure: Failure | undefined;
  #responseId: string | undefined;
  #isScheduled = false;
  #isPaused = false;
  #isWithheld = false;

  constructor(sink: Sink, context: ReplyContext, reply: RelayedReply) {
    this.#sink = sink;
    this.#context = context;
    this.#reply = reply;
  }

  /** The failure that the relayed terminal event reported. */
  get failure(): Failure | undefined {
    return this.#failure;
  }

  /** Whether the sink has written everything that it got. */
  get isWritten(): boolean {
    return !this.#isScheduled && !this.#isPaused && !this.#isWithheld;
  }

  /** Whether only a terminal event shows the client that its reply is over. Other clients read to the end of the stream. */
  get endsWithEvent(): boolean {
    const { client, surface } = this.#context.turn;
    return client === 'websocket' || surface.brokenReply === 'close';
  }

  /** Completes the type of an event, and passes its data to observers. @throws TooMuchHeld */
  read(event: ReplyEvent): Read | Unfit {
    const data = this.#read(event);
    if (data === 'dropped') this.#drop();
    return data;
  }

  #read(event: ReplyEvent): Read | Unfit {
    const { objectCheck } = this.#sink;
    if (event.type === '') this.#context.turn.held.allowParsing(event);
    const readable = event.completeType();
    if (objectCheck === 'parse') return this.#readObject(event);
    const known = this.#observed(event);
    const data = this.#isAwaitedEnd(event) ? this.#readEnd(event, known) : known;
    return data === undefined && objectCheck === 'braces' && !(readable && this.#mayBeObject(event)) ? 'dropped' : data;
  }

  /** Notes the id of the response. @param created the event that announced it */
  began(created: ReplyEvent | undefined): void {
    const { client, surface } = this.#context.turn;
    if (created && client === 'http' && surface.agentProtocol) this.#responseId = responseIdIn(created);
  }

  /** Relays an event of a committed reply. @param known its data, if it has been parsed @throws TooMuchHeld, or what a rule throws */
  event(event: ReplyEvent, known: JsonObject | undefined, { shown, replacement }: FailureForms = NO_FORMS): void {
    const { turn, counters, countOutput } = this.#context;
    const sink = this.#sink;
    if (sink.drops.has(event.type)) return;
    const end = endOf(event.type);
    if (end !== undefined) this.#reply.ended(end);
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
      else this.#drop();
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
  #drop(): void {
    this.#context.counters.add('upstream_frames_dropped');
    this.#sink.renumber();
    this.#sink.lost?.();
  }

  /** A failure event as its client may see it. A sink that collects gets it as sent, because the client gets an answer of the gateway. */
  failureEvent(data: JsonObject): JsonObject {
    const { turn, known, provider } = this.#context;
    this.#failure = provider.failures.inBand(data, turn.now());
    if (this.#sink.collects) return data;
    const as = turn.client === 'websocket' ? 'frame' : turn.dispatchedKind?.model ? 'turn stream' : 'other stream';
    const options = { ...turn.answerHeaderOptions, as, responseId: this.#responseId } as const;
    return turn.surface.failureEvent(data, turn.named(this.#failure), known, options);
  }

  /** Flushes once for all events of one read of the socket. Accounts send each event as a separate chunk, and many arrive together. */
  flushSoon(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      this.#reply.guarded(() => this.flush());
    });
  }

  /** Writes nothing until this promise has resolved. */
  withhold(until: Promise<void>): void {
    this.#isWithheld = true;
    void until.then(() => {
      this.#isWithheld = false;
      this.#reply.guarded(() => this.flush());
    });
  }

  /** Writes what the sink got. While the client is slow, the account is paused. */
  flush(): void {
    if (this.#isWithheld || this.#sink.flush()) return;
    this.#isPaused = true;
    this.#context.sending.pause();
    this.#sink.onDrain(() => this.#resume());
  }

  #resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#context.sending.resume();
  }

  /** The event that ends a successful reply, as its client may see it. */
  #endEvent(data: JsonObject): JsonObject {
    const { turn, known } = this.#context;
    return turn.surface.endOf(data, known, turn.answerHeaderOptions);
  }

  #readObject(event: ReplyEvent): JsonObject | Unfit {
    const data = this.#observed(event) ?? this.#context.turn.held.json(event);
    if (!data) return 'dropped';
    // If a frame has two types, clients use the last one, which may be a terminal type.
    if (typeof data.type === 'string') event.type = data.type;
    return this.#isAwaitedEnd(event) && !this.#isReadable(event, data) ? 'unreadable' : this.#statedEnd(event, data);
  }

  #readEnd(event: ReplyEvent, known: Read): Read | Unfit {
    const { turn, counters } = this.#context;
    if (!known) counters.add('events_parsed');
    const data = known ?? turn.held.json(event);
    return data && this.#isReadable(event, data) ? this.#statedEnd(event, data) : 'unreadable';
  }

  /** Corrects an end that is announced as a success, although its response states a failure. Native clients get it as it was sent. */
  #statedEnd(event: ReplyEvent, data: JsonObject): JsonObject {
    if (event.type !== 'response.completed' || this.#context.turn.surface.agentProtocol) return data;
    const { response } = data;
    if (!isObject(response) || response.status !== 'failed') return data;
    event.type = 'response.failed';
    return { ...data, type: event.type };
  }

  /** Whether an unparsed event may be sent to a client that gets only JSON objects. Data on several lines are rare, and are parsed. */
  #mayBeObject(event: ReplyEvent): boolean {
    if (!event.hasData || event.isDone()) return true;
    return event.dataStart < 0 ? this.#context.turn.held.json(event) !== undefined : event.hasBraces();
  }

  #observed(event: ReplyEvent): Read {
    const { turn, observers, counters } = this.#context;
    if (!observers.wants(event.type)) return undefined;
    counters.add('events_parsed');
    const data = turn.held.json(event);
    if (data) observers.event(event.type, data);
    return data;
  }

  /** Whether the client needs this event to know that its reply is over. If the event is not readable, the client would wait for ever. */
  #isAwaitedEnd({ type }: ReplyEvent): boolean {
    return this.endsWithEvent && endOf(type) !== undefined;
  }

  /** Whether the client recognises the terminal event too. If `type` occurs twice, the reader of a frame uses the last one. */
  #isReadable(event: ReplyEvent, data: Read): boolean {
    if (data === undefined || lacksResponse(event.type, data)) return false;
    return this.#context.turn.client === 'http' || data.type === event.type;
  }
}
