// Carries turns over HTTP with undici's dispatch: one pool per account origin, no limit of its own on connections.
import type { Dispatcher } from 'undici';
import { Pool } from 'undici';
import type { Headers } from '../turn.ts';
import type { Carrier, CarrierFailure, CarrierRequest, ReplyHandler, Sending } from './carrier.ts';
import { failureOf } from './failure-of.ts';
import { Silence, Watched } from './silence.ts';

export interface UndiciTimeouts {
  readonly connectMs: number;
  readonly firstByteMs: number;
  /** Longest silence inside an answer; not counted while the reader is paused. */
  readonly idleMs: number;
}

export class UndiciCarrier implements Carrier {
  readonly #pool: Pool;
  readonly #base: string;
  readonly #silence: Silence;

  constructor(baseUrl: string, timeouts: UndiciTimeouts) {
    const { origin, pathname } = new URL(baseUrl);
    this.#base = pathname.replace(/\/$/, '');
    this.#silence = new Silence(timeouts.idleMs);
    // A fixed number of connections would queue streams without a word; admission is ours. The body's idle time is ours as
    // well, since undici's does not tell a slow reader from a silent provider.
    this.#pool = new Pool(origin, {
      connections: null,
      pipelining: 1,
      bodyTimeout: 0,
      headersTimeout: timeouts.firstByteMs,
      connect: { timeout: timeouts.connectMs },
    });
  }

  send(request: CarrierRequest, handler: ReplyHandler): Sending {
    const exchange = new Exchange(handler, this.#silence);
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

class Exchange extends Watched implements Dispatcher.DispatchHandler, Sending {
  readonly #handler: ReplyHandler;
  readonly #silence: Silence;
  #controller: Dispatcher.DispatchController | undefined;
  #paused = false;
  #over = false;

  constructor(handler: ReplyHandler, silence: Silence) {
    super();
    this.#handler = handler;
    this.#silence = silence;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#over) controller.abort(new Error('client gone'));
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: Record<string, string | string[] | undefined>): void {
    if (this.#over || status < 200) return;
    // Else the answer's first bytes stay in memory for as long as it lasts, for headers that nobody reads again.
    controller.rawHeaders = null;
    this.#silence.watch(this);
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
    else this.#fail('idle');
  }

  #fail(failure: CarrierFailure): void {
    if (!this.#finish()) return;
    this.#controller?.abort(new Error(failure));
    this.#handler.fail(failure);
  }

  #finish(): boolean {
    if (this.#over) return false;
    this.#over = true;
    this.#silence.forget(this);
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
