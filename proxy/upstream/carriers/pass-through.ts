// Carries pass-through rows with http-proxy-3. Bodies are unread in both directions; framing and headers are the gateway's own.
import type { ClientRequest, IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { createProxyServer, type ProxyServer } from 'http-proxy-3';
import { detachedRequest, detachedResponse, disableFetchPath } from '../../base/process/internals/http-proxy-internals.ts';
import type { CarrierFailure } from '../../turn/errors/failure.ts';
import type { Headers } from '../../turn/turn.ts';
import type { EgressRoute } from '../egress/route.ts';
import {
  type ByteReader,
  type CarrierRequest,
  MAX_INTERIM_ANSWERS,
  type ReplyHandler,
  requestTarget,
  type Sending,
  type StreamCarrier,
  type StreamReader,
} from './carrier.ts';
import { connectionFailure } from './connection-failure.ts';
import { limitHandshake, PassThroughConnections, UntilConnected } from './pass-through-connections.ts';
import { readBytes } from './stream-body.ts';

export interface PassThroughTimeouts {
  readonly connectMs: number;
  /** The longest time without progress: without a byte of the request sent and without the head of the reply. */
  readonly firstByteMs: number;
  /** The longest silence inside a reply that is read here. */
  readonly idleMs: number;
}

type PipeHandler = ReplyHandler<StreamReader | ByteReader>;

/** Receives the library's events. They identify an exchange by its request. */
interface Listener {
  sent(upstream: ClientRequest): void;
  replied(reply: IncomingMessage): void;
}

/** One for each account origin, because the library's default agent would close every connection. */
export class PassThrough implements StreamCarrier {
  readonly #proxy: ProxyServer;
  readonly #connections: PassThroughConnections;
  readonly #listeners = new WeakMap<IncomingMessage, Listener>();
  readonly #timeouts: PassThroughTimeouts;
  readonly #query: string;
  readonly #underWay = new Set<Promise<void>>();

  /**
   * @param route undefined for direct connections
   * @param query of every request, encoded
   */
  constructor(baseUrl: string, timeouts: PassThroughTimeouts, route?: EgressRoute, query = '') {
    this.#query = query;
    this.#timeouts = timeouts;
    this.#connections = new PassThroughConnections(baseUrl, timeouts.connectMs, route);
    disableFetchPath();
    this.#proxy = createProxyServer({
      target: baseUrl,
      agent: this.#connections.agent,
      connectTimeout: timeouts.connectMs,
      changeOrigin: true,
      selfHandleResponse: true,
      // The path is sent as it came. If it were parsed as a URL, its escapes would change.
      toProxy: true,
    });
    this.#proxy.on('proxyReq', (upstream, request, _response, _options, socket) => {
      limitHandshake(socket, timeouts.connectMs);
      this.#listeners.get(request)?.sent(upstream);
    });
    this.#proxy.on('proxyRes', (reply, request) => this.#listeners.get(request)?.replied(reply));
  }

  send(request: CarrierRequest, handler: PipeHandler): Sending {
    const exchange = new Exchange(handler, request, this.#timeouts, {
      send: (listener, failed) => this.#web(request, listener, failed),
      dropIdle: () => this.#connections.dropIdle(),
    });
    this.#underWay.add(exchange.over);
    void exchange.over.then(() => this.#underWay.delete(exchange.over));
    exchange.start();
    return exchange;
  }

  /** Ends idle connections now, and the others with their exchanges. Resolves when all have ended. */
  async close(): Promise<void> {
    this.#connections.retire();
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  destroy(): Promise<void> {
    this.#connections.agent.destroy();
    return Promise.resolve();
  }

  #web({ method, path, headers, body }: CarrierRequest, listener: Listener, failed: (error: NodeJS.ErrnoException) => void): void {
    const request = detachedRequest(method, requestTarget(path, this.#query), headers);
    this.#listeners.set(request, listener);
    this.#proxy.web(request, detachedResponse(request), body instanceof Readable ? { buffer: new UntilConnected(body) } : {}, failed);
  }
}

interface Wire {
  send(listener: Listener, failed: (error: NodeJS.ErrnoException) => void): void;
  dropIdle(): void;
}

/** One request and its reply. */
class Exchange implements Sending, Listener {
  readonly #handler: PipeHandler;
  readonly #body: Readable | undefined;
  readonly #timeouts: PassThroughTimeouts;
  readonly #wire: Wire;
  readonly #deadline: NodeJS.Timeout;
  readonly #ended = Promise.withResolvers<void>();
  #upstream: ClientRequest | undefined;
  #reply: IncomingMessage | undefined;
  /** Whether the head has arrived or the exchange has failed before it. */
  #settled = false;
  readonly #progress = (): void => {
    if (!this.#settled) this.#deadline.refresh();
  };

  constructor(handler: PipeHandler, { body }: CarrierRequest, timeouts: PassThroughTimeouts, wire: Wire) {
    this.#handler = handler;
    this.#body = body instanceof Readable ? body : undefined;
    this.#timeouts = timeouts;
    this.#wire = wire;
    this.#deadline = setTimeout(() => this.#fail('first_byte'), timeouts.firstByteMs);
  }

  /** Resolves when neither the request nor the reply uses a connection. */
  get over(): Promise<void> {
    return this.#ended.promise;
  }

  start(): void {
    // Added only when the body is piped, because the listener makes it flow.
    this.#body?.once('resume', () => this.#body?.on('data', this.#progress));
    this.#send({ resend: true });
  }

  sent(upstream: ClientRequest): void {
    this.#upstream = upstream;
    // An upgrade was not requested. Without this listener the exchange would wait for an answer that has already arrived.
    upstream.once('upgrade', () => this.#fail('malformed'));
    let interim = 0;
    upstream.on('information', () => {
      interim += 1;
      if (interim > MAX_INTERIM_ANSWERS) this.#fail('interim');
    });
    if (this.#settled) upstream.destroy();
  }

  replied(reply: IncomingMessage): void {
    if (this.#settled) {
      reply.destroy();
      return;
    }
    this.#settle();
    this.#reply = reply;
    reply.once('close', () => this.#ended.resolve());
    const reader = this.#handler.head(reply.statusCode ?? 0, reply.headers as Headers);
    if (reader.reads === 'stream') reader.stream(reply);
    else readBytes(reply, reader, this.#timeouts.idleMs);
  }

  pause(): void {
    this.#reply?.pause();
  }

  resume(): void {
    this.#reply?.resume();
  }

  abort(): void {
    this.#settle();
    this.#upstream?.destroy();
    if (!this.#reply) this.#ended.resolve();
  }

  #send({ resend }: { readonly resend: boolean }): void {
    this.#wire.send(this, (error) => {
      if (this.#settled) return;
      const failure = connectionFailure(error);
      // The account closed an idle connection while this request was about to use it, so it never saw the request.
      if (resend && !this.#body && this.#upstream?.reusedSocket && failure === 'network') {
        this.#wire.dropIdle();
        this.#send({ resend: false });
      } else this.#fail(failure);
    });
  }

  #fail(failure: CarrierFailure): void {
    if (this.#settled) return;
    this.abort();
    this.#handler.fail(failure);
  }

  #settle(): void {
    this.#settled = true;
    clearTimeout(this.#deadline);
    this.#body?.off('data', this.#progress);
  }
}
