// Carries pass-through rows with http-proxy-3: bodies unread in both directions, under framing and headers of our own.
import { type ClientRequest, Agent as HttpAgent, IncomingMessage, type ServerResponse } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Readable } from 'node:stream';
import { createProxyServer, type ProxyServer } from 'http-proxy-3';
import type { CarrierFailure } from './carrier.ts';

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
  readonly firstByteMs: number;
}

/** An exchange under way. */
export interface Passing {
  /** The reply's head; its body is the caller's to pipe. Rejects with PassFailed. */
  readonly reply: Promise<IncomingMessage>;
  /** Drops the connection to the account: a body that was refused halfway must not leave it waiting. */
  abort(): void;
}

/** The account gave no answer. */
export class PassFailed extends Error {
  readonly failure: CarrierFailure;

  constructor(failure: CarrierFailure) {
    super(failure);
    this.failure = failure;
  }
}

interface Waiting {
  readonly answered: (reply: IncomingMessage) => void;
  upstream: ClientRequest | undefined;
}

const CONNECT_ERRORS = new Set(['ECONNREFUSED', 'ECONNECT_TIMEOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

/** One per account origin: its default agent would close every connection. */
export class PassThrough {
  readonly #proxy: ProxyServer;
  readonly #agent: HttpAgent | HttpsAgent;
  readonly #waiting = new WeakMap<IncomingMessage, Waiting>();
  readonly #firstByteMs: number;

  constructor(baseUrl: string, { connectMs, firstByteMs }: PassBounds) {
    this.#firstByteMs = firstByteMs;
    this.#agent = baseUrl.startsWith('https:') ? new HttpsAgent({ keepAlive: true }) : new HttpAgent({ keepAlive: true });
    // Never its `fetch` path: that hides client aborts, breaks gzip bodies and cuts live streams; an environment variable would
    // switch it on for the whole process.
    delete process.env.FORCE_FETCH_PATH;
    this.#proxy = createProxyServer({
      target: baseUrl,
      agent: this.#agent,
      connectTimeout: connectMs,
      changeOrigin: true,
      selfHandleResponse: true,
    });
    this.#proxy.on('proxyReq', (upstream, request) => {
      const waiting = this.#waiting.get(request);
      if (waiting) waiting.upstream = upstream;
    });
    this.#proxy.on('proxyRes', (reply, request) => this.#waiting.get(request)?.answered(reply));
    // A client that left: the upstream request is destroyed already.
    this.#proxy.on('econnreset', () => undefined);
  }

  /** Sends. When `response` closes early the upstream hears it at once. */
  send({ method, path, headers, body }: PassRequest, response: ServerResponse): Passing {
    const request = new IncomingMessage(response.req.socket);
    request.method = method;
    request.url = path;
    request.headers = { ...headers };
    // It never was on the wire: as an incomplete one it would take the client's socket with it when it is thrown away.
    request.complete = true;
    // Without a body the bare request itself is piped: it has ended before it began.
    request.push(null);
    const { promise: reply, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const waiting: Waiting = { upstream: undefined, answered: (answer) => settle(() => resolve(answer)) };
    const settle = (tell: () => void): void => {
      clearTimeout(deadline);
      response.off('close', closed);
      this.#waiting.delete(request);
      tell();
    };
    const fail = (failure: CarrierFailure): void => settle(() => reject(new PassFailed(failure)));
    const abort = (failure: CarrierFailure): void => {
      fail(failure);
      waiting.upstream?.destroy();
    };
    const closed = (): void => abort('network');
    const deadline = setTimeout(() => abort('first_byte'), this.#firstByteMs);
    response.once('close', closed);
    this.#waiting.set(request, waiting);
    this.#proxy.web(request, response, body ? { buffer: body } : {}, (error: NodeJS.ErrnoException) =>
      fail(CONNECT_ERRORS.has(error.code ?? '') ? 'connect' : 'network'),
    );
    return { reply, abort: () => abort('network') };
  }

  /** Idle connections end now; one in use ends with its exchange. */
  close(): void {
    this.#agent.destroy();
  }
}
