// Carries pass-through rows with http-proxy-3: bodies unread in both directions, under framing and headers of our own.
import { type ClientRequest, IncomingMessage, type ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { createProxyServer, type ProxyServer } from 'http-proxy-3';
import type { CarrierFailure } from './carrier.ts';
import { failureOf } from './connection-failure.ts';
import { boundHandshake, PassConnections } from './pass-through-connections.ts';

export interface PassRequest {
  readonly method: string;
  /** Absolute path with any query, below the account's base URL. */
  readonly path: string;
  /** The whole set: nothing of the client's request is copied beside it. */
  readonly headers: Readonly<Record<string, string>>;
  /** Null for methods without a body: a forwarder would let one ride on as a second request under our credential. */
  readonly body: Readable | null;
}

export interface PassBounds {
  readonly connectMs: number;
  /** Without a sign of progress: neither a byte of the request sent, nor the answer's head. */
  readonly firstByteMs: number;
}

/** An exchange under way. */
export interface Passing {
  /** The reply's head; its body is the caller's to pipe. Rejects with PassFailed. */
  readonly reply: Promise<IncomingMessage>;
  /** Drops the connection to the account: a body that was refused halfway must not leave it waiting. */
  abort(): void;
}

/** `gone`: the client left, which says nothing of the account. */
export type PassFailure = CarrierFailure | 'gone';

/** The account gave no answer. */
export class PassFailed extends Error {
  readonly failure: PassFailure;

  constructor(failure: PassFailure) {
    super(failure);
    this.failure = failure;
  }
}

/** What an exchange hears of the library's events; they name it by the request that was handed over. */
interface Listener {
  sent(upstream: ClientRequest): void;
  answered(reply: IncomingMessage): void;
}

/** One per account origin: the library's default agent would close every connection. */
export class PassThrough {
  readonly #proxy: ProxyServer;
  readonly #connections: PassConnections;
  readonly #listeners = new WeakMap<IncomingMessage, Listener>();
  readonly #bounds: PassBounds;
  readonly #underWay = new Set<Promise<void>>();

  constructor(baseUrl: string, bounds: PassBounds) {
    this.#bounds = bounds;
    this.#connections = new PassConnections(baseUrl);
    // Never its `fetch` path: that hides client aborts, breaks gzip bodies and cuts live streams; an environment variable would
    // switch it on for the whole process.
    delete process.env.FORCE_FETCH_PATH;
    this.#proxy = createProxyServer({
      target: baseUrl,
      agent: this.#connections.agent,
      connectTimeout: bounds.connectMs,
      changeOrigin: true,
      selfHandleResponse: true,
      // The path goes out as it came: parsed as a URL it would come back with other escapes.
      toProxy: true,
    });
    this.#proxy.on('proxyReq', (upstream, request, _response, _options, socket) => {
      boundHandshake(socket, bounds.connectMs);
      this.#listeners.get(request)?.sent(upstream);
    });
    this.#proxy.on('proxyRes', (reply, request) => this.#listeners.get(request)?.answered(reply));
    // A client that left: the upstream request is destroyed already.
    this.#proxy.on('econnreset', () => undefined);
  }

  /** Sends. When `response` closes early the upstream hears it at once. */
  send(passed: PassRequest, response: ServerResponse): Passing {
    const { promise: reply, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    let upstream: ClientRequest | undefined;
    let settled = false;
    const settle = (tell: () => void): void => {
      if (settled) return;
      settled = true;
      clearTimeout(deadline);
      passed.body?.off('data', progress);
      response.off('close', left);
      tell();
    };
    const abort = (failure: PassFailure): void => {
      settle(() => reject(new PassFailed(failure)));
      upstream?.destroy();
    };
    const left = (): void => abort('gone');
    const progress = (): void => void deadline.refresh();
    const deadline = setTimeout(() => abort('first_byte'), this.#bounds.firstByteMs);
    const listener: Listener = {
      sent: (request) => {
        upstream = request;
        // Nobody asked for one, and without a listener the exchange would wait for an answer that has been.
        request.once('upgrade', () => abort('malformed'));
        if (settled) request.destroy();
      },
      answered: (answer) => {
        if (settled) answer.destroy();
        else settle(() => resolve(answer));
      },
    };
    const attempt = (again: 'again' | 'once'): void =>
      this.#web(passed, response, listener, (error) => {
        if (settled) return;
        const failure = failureOf(error);
        // The account closed an idle connection while we took it up again: nothing was asked yet.
        if (again === 'again' && passed.body === null && upstream?.reusedSocket && failure === 'network') {
          this.#connections.dropIdle();
          attempt('once');
        } else abort(failure);
      });
    response.once('close', left);
    passed.body?.on('data', progress);
    if (response.destroyed) left();
    else attempt('again');
    this.#note(reply);
    return { reply, abort: () => abort('network') };
  }

  /** Idle connections end now, one in use with its exchange; resolves when all are over. */
  async close(): Promise<void> {
    this.#connections.retire();
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  /** Ends every connection at once. */
  destroy(): void {
    this.#connections.agent.destroy();
  }

  #note(reply: Promise<IncomingMessage>): void {
    const over = reply.then(
      (answer) => new Promise<void>((resolve) => answer.once('close', resolve)),
      () => undefined,
    );
    this.#underWay.add(over);
    void over.then(() => this.#underWay.delete(over));
  }

  #web(
    { method, path, headers, body }: PassRequest,
    response: ServerResponse,
    listener: Listener,
    failed: (error: NodeJS.ErrnoException) => void,
  ): void {
    const request = new IncomingMessage(response.req.socket);
    request.method = method;
    request.url = path;
    request.headers = { ...headers };
    // It never was on the wire: as an incomplete one it would take the client's socket with it when it is thrown away.
    request.complete = true;
    // Without a body the bare request itself is piped: it has ended before it began.
    request.push(null);
    this.#listeners.set(request, listener);
    this.#proxy.web(request, response, body ? { buffer: body } : {}, failed);
  }
}
