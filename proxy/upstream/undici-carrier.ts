// Carries turns over HTTP with undici's dispatch: one pool per account origin, no limit of its own on connections.
import type { Dispatcher } from 'undici';
import { Pool } from 'undici';
import type { Headers } from '../turn/turn.ts';
import type { Carrier, CarrierFailure, CarrierRequest, ReplyHandler, Sending } from './carrier.ts';
import { failureOf } from './connection-failure.ts';
import { Silence, Watched } from './idle-timeouts.ts';

export interface UndiciTimeouts {
  readonly connectMs: number;
  readonly firstByteMs: number;
  /** Longest silence inside an answer; not counted while the reader is paused. */
  readonly idleMs: number;
}

export class UndiciCarrier implements Carrier {
  readonly #pool: Pool;
  readonly #base: string;
  readonly #waits: Waits;

  constructor(baseUrl: string, timeouts: UndiciTimeouts) {
    const { origin, pathname } = new URL(baseUrl);
    this.#base = pathname.replace(/\/$/, '');
    this.#waits = { head: new Silence(timeouts.firstByteMs), data: new Silence(timeouts.idleMs) };
    // A fixed number of connections would queue streams without a word; admission is ours. So are the waits: undici's do not tell a
    // slow reader from a silent provider, and cost every turn a timer.
    this.#pool = new Pool(origin, {
      connections: null,
      pipelining: 1,
      bodyTimeout: 0,
      headersTimeout: 0,
      connect: { timeout: timeouts.connectMs },
    });
  }

  send(request: CarrierRequest, handler: ReplyHandler): Sending {
    const exchange = new Exchange(handler, this.#waits);
    this.#pool.dispatch(
      {
        method: request.method as Dispatcher.HttpMethod,
        path: this.#base + request.path,
        headers: request.headers,
        body: request.body,
      },
      exchange,
    );
    return exchange;
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  destroy(): Promise<void> {
    return this.#pool.destroy();
  }
}

/** By what is waited for. */
interface Waits {
  readonly head: Silence;
  readonly data: Silence;
}

class Exchange extends Watched implements Dispatcher.DispatchHandler, Sending {
  readonly #handler: ReplyHandler;
  readonly #waits: Waits;
  #controller: Dispatcher.DispatchController | undefined;
  /** Undefined before it is sent, and after its end. */
  #waiting: keyof Waits | undefined;
  #paused = false;
  #over = false;

  constructor(handler: ReplyHandler, waits: Waits) {
    super();
    this.#handler = handler;
    this.#waits = waits;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#over) controller.abort(new Error('client gone'));
    else this.#wait('head');
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: Record<string, string | string[] | undefined>): void {
    if (this.#over || status < 200) return;
    // Else the answer's first bytes stay in memory for as long as it lasts, for headers that nobody reads again.
    controller.rawHeaders = null;
    this.#wait('data');
    this.#handler.head(status, joined(headers));
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#over) return;
    this.quietTicks = 0;
    this.#handler.data(chunk);
  }

  onResponseEnd(): void {
    if (this.#finish()) this.#handler.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(failureOf(error));
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

  silent(): void {
    if (this.#paused) this.quietTicks = 0;
    else this.#fail(this.#waiting === 'head' ? 'first_byte' : 'idle');
  }

  #wait(what: keyof Waits | undefined): void {
    if (this.#waiting) this.#waits[this.#waiting].forget(this);
    this.#waiting = what;
    if (what) this.#waits[what].watch(this);
  }

  #fail(failure: CarrierFailure): void {
    if (!this.#finish()) return;
    this.#controller?.abort(new Error(failure));
    this.#handler.fail(failure);
  }

  #finish(): boolean {
    if (this.#over) return false;
    this.#over = true;
    this.#wait(undefined);
    return true;
  }
}

function joined(headers: Record<string, string | string[] | undefined>): Headers {
  for (const name in headers) {
    const value = headers[name];
    if (Array.isArray(value)) headers[name] = value.join(', ');
  }
  return headers as Headers;
}
