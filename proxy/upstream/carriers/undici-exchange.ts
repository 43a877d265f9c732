// A request to an account and its reply over undici: the head, SSE events or bytes, and the end. Each wait has a deadline.
import type { Dispatcher } from 'undici';
import type { Batch } from '../../base/process/batch.ts';
import { releaseRawHeaders } from '../../base/process/internals/undici-internals.ts';
import { Timed } from '../../base/time/idle-timeouts.ts';
import type { CarrierFailure } from '../../turn/errors/failure.ts';
import { TooMuchHeld } from '../../turn/reply/held-bytes.ts';
import type { Headers } from '../../turn/turn.ts';
import { SseSplitter } from '../events/sse-splitter.ts';
import { type ByteReader, type EventReader, MAX_INTERIM_ANSWERS, type ReplyHandler, type Sending, type Waits } from './carrier.ts';
import { connectionFailure } from './connection-failure.ts';

const [OPENING_BRACE, LESS_THAN] = [123, 60];
/** White space and the bytes of a byte order mark. */
const BLANK: ReadonlySet<number> = new Set([9, 10, 13, 32, 0xef, 0xbb, 0xbf]);

/** How long the connection of a complete reply may stay open for reuse before it is dropped. */
const DRAIN_MS = 1_000;

type AnswerHeaders = Record<string, string | string[] | undefined>;

export class UndiciExchange extends Timed implements Dispatcher.DispatchHandler, Sending {
  readonly #handler: ReplyHandler<EventReader | ByteReader>;
  readonly #waits: Waits;
  readonly #arrivals: Batch;
  /** Set when the head arrives. */
  #reader: EventReader | ByteReader | undefined;
  #splitter: SseSplitter | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  /** What the exchange waits for. Undefined before the request is sent, and after the end. */
  #waiting: keyof Waits | undefined;
  #interim = 0;
  /** The number of parts of the reply that wait for their batch. */
  #waitingArrivals = 0;
  #paused = false;
  /** Whether no byte of the body has shown yet if it is a stream of events. */
  #isUndecided = false;
  /** Whether the terminal event has arrived. */
  #isComplete = false;
  #draining: NodeJS.Timeout | undefined;
  #over = false;

  constructor(handler: ReplyHandler<EventReader | ByteReader>, waits: Waits, arrivals: Batch) {
    super();
    this.#handler = handler;
    this.#waits = waits;
    this.#arrivals = arrivals;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#over) controller.abort(new Error('client gone'));
    else this.#wait('head');
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: AnswerHeaders): void {
    this.#arrived(() => this.#head(controller, status, headers));
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#arrived(() => this.#data(chunk), chunk.length);
  }

  onResponseEnd(): void {
    clearTimeout(this.#draining);
    this.#arrived(() => this.#end());
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    clearTimeout(this.#draining);
    this.#arrived(() => this.#fail(connectionFailure(error)));
  }

  pause(): void {
    this.#paused = true;
    this.#controller?.pause();
  }

  resume(): void {
    if (this.#over) return;
    this.#paused = false;
    this.quietTicks = 0;
    this.#controller?.resume();
  }

  abort(): void {
    if (this.#finish()) this.#controller?.abort(new Error('aborted'));
  }

  timedOut(): void {
    if (this.#paused) this.quietTicks = 0;
    else this.#fail(this.#waiting === 'head' ? 'first_byte' : 'idle');
  }

  /** Handles an arrival. The beginnings of replies are batched; events of a running stream do not wait. */
  #arrived(handle: () => void, bytes = 0): void {
    if (this.#reader && this.#waitingArrivals === 0) {
      handle();
      return;
    }
    this.#waitingArrivals += 1;
    this.#arrivals.add(() => {
      this.#waitingArrivals -= 1;
      handle();
    }, bytes);
  }

  #head(controller: Dispatcher.DispatchController, status: number, headers: AnswerHeaders): void {
    if (this.#over) return;
    if (status < 200) {
      this.#interim += 1;
      if (this.#interim > MAX_INTERIM_ANSWERS) this.#fail('interim');
      return;
    }
    releaseRawHeaders(controller);
    this.#wait('data');
    const reader = this.#handler.head(status, joined(headers));
    this.#reader = reader;
    if (reader.reads === 'events') {
      this.#splitter = new SseSplitter(reader.memory, (event) => {
        if (reader.event(event) !== undefined) this.#isComplete = true;
      });
      this.#isUndecided = reader.asBytes !== undefined;
    }
  }

  #data(chunk: Buffer): void {
    if (this.#over) return;
    this.quietTicks = 0;
    if (this.#isUndecided) this.#decide(chunk);
    const reader = this.#reader;
    if (reader?.reads === 'bytes') reader.data(chunk);
    else if (reader?.reads === 'events') {
      this.#split(chunk);
      if (this.#over) return;
      reader.delivered();
      // The connection of most replies ends in this read.
      if (this.#isComplete) queueMicrotask(() => this.#drain());
    }
  }

  /** Decides by the first character. An event never begins like JSON or HTML. */
  #decide(chunk: Buffer): void {
    const first = chunk.find((byte) => !BLANK.has(byte));
    if (first === undefined) return;
    this.#isUndecided = false;
    const reader = this.#reader;
    if ((first !== OPENING_BRACE && first !== LESS_THAN) || reader?.reads !== 'events') return;
    const bytes = reader.asBytes?.();
    if (!bytes) return;
    this.#reader = bytes;
    this.#splitter = undefined;
  }

  /** Ends the reply with its terminal event, even if the account does not end its connection (RB16). */
  #drain(): void {
    if (!this.#finish()) return;
    this.#draining = setTimeout(() => this.#controller?.abort(new Error('drained')), DRAIN_MS).unref();
    if (this.#paused) this.#controller?.resume();
    this.#reader?.end();
  }

  #end(): void {
    this.#split(undefined);
    if (this.#finish()) this.#reader?.end();
  }

  #wait(what: keyof Waits | undefined): void {
    this.endWait();
    this.#waiting = what;
    if (what) this.#waits[what].watch(this);
  }

  #fail(failure: CarrierFailure): void {
    // An event that arrived completely before the failure still counts.
    this.#split(undefined);
    if (!this.#finish()) return;
    this.#controller?.abort(new Error(failure));
    (this.#reader ?? this.#handler).fail(failure);
  }

  /** Delivers the events of a chunk, or at the end the last event. A reply that needs too much memory ends. */
  #split(chunk: Buffer | undefined): void {
    if (!this.#splitter || this.#over) return;
    try {
      if (chunk) this.#splitter.push(chunk);
      else this.#splitter.end();
    } catch (thrown) {
      if (!(thrown instanceof TooMuchHeld)) throw thrown;
      this.#splitter = undefined;
      this.#fail('too_large');
    }
  }

  #finish(): boolean {
    if (this.#over) return false;
    this.#over = true;
    this.#wait(undefined);
    return true;
  }
}

function joined(headers: AnswerHeaders): Headers {
  for (const name in headers) {
    const value = headers[name];
    if (Array.isArray(value)) headers[name] = value.join(', ');
  }
  return headers as Headers;
}
