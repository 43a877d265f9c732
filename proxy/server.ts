// The public listener: framing, the route table, one turn a request, and an orderly end.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Counters } from './admin/counters.ts';
import type { RouteKind } from './config/config.ts';
import type { Generation } from './generation.ts';
import { checkFraming, pathOf } from './intake/framing.ts';
import { clientHeaders } from './intake/headers.ts';
import { writeRefusal } from './intake/http-client.ts';
import { type Handler, serveTurn } from './intake/http-turn.ts';
import { LiveTurn, requestId, type TurnHost } from './live-turn.ts';
import { jsonOf, Refusal, refusalOf } from './refusal.ts';

export interface ServerOptions {
  readonly generation: () => Generation;
  readonly host: TurnHost;
  readonly handlers: Partial<Record<RouteKind, Handler>>;
  readonly counters: Counters;
}

/** Idle client connections are kept longer than the pauses between the turns of a session. */
const KEEP_ALIVE_MS = 75_000;
const TIMEOUT_CHECK_MS = 1_000;

export class PublicServer {
  readonly #options: ServerOptions;
  readonly #server: Server;
  readonly #running = new Set<Promise<void>>();
  #draining = false;

  constructor(options: ServerOptions) {
    this.#options = options;
    const { limits, timeouts } = options.generation().config;
    this.#server = createServer({
      maxHeaderSize: limits.header_bytes,
      headersTimeout: timeouts.client_header_ms,
      // Bodies have an idle limit of their own; a long upload that moves is no fault.
      requestTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      // Told in the error table's words by `checkFraming`.
      requireHostHeader: false,
      noDelay: true,
    });
    const serve = (request: IncomingMessage, response: ServerResponse): void => this.#serve(request, response);
    this.#server.on('request', serve).on('checkContinue', serve);
    this.#server.on('connect', (_request, socket: Socket) => this.#refuseRaw(socket, new Refusal('invalid_request')));
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => this.#clientError(error, socket));
  }

  /** Resolves with the address once connections are accepted. */
  listen(host: string, port: number): Promise<AddressInfo> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, () => {
        this.#server.off('error', reject);
        resolve(this.#server.address() as AddressInfo);
      });
    });
  }

  /** Refuses new turns, lets the running ones end, and cuts what is left after `ms`. */
  async drain(ms: number): Promise<void> {
    this.#draining = true;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeIdleConnections();
    const hardStop = setTimeout(() => this.#server.closeAllConnections(), ms);
    await Promise.all(this.#running);
    this.#server.closeIdleConnections();
    await closed;
    clearTimeout(hardStop);
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const { counters } = this.#options;
    let work: Promise<void> | undefined;
    try {
      checkFraming(request);
      counters.add('requests');
      work = this.#route(request, response);
    } catch (thrown) {
      const refusal = refusalOf(thrown);
      if (refusal.code === 'invalid_request') {
        counters.add('framing_refused');
        response.shouldKeepAlive = false;
      }
      writeRefusal(request, response, refusal, requestId(this.#options.host.now()));
    }
    if (!work) return;
    this.#running.add(work);
    void work.finally(() => this.#running.delete(work));
  }

  #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { generation: current, host, handlers, counters } = this.#options;
    const generation = current();
    const method = request.method ?? '';
    const found = generation.routes.find(method, pathOf(request.url ?? ''));
    if (!found) throw new Refusal('unknown_endpoint');
    if ('allow' in found) throw new Refusal('method_not_allowed', { headers: { allow: found.allow.join(', ') } });
    if (this.#draining) {
      counters.add('drain_refused');
      throw new Refusal('server_is_overloaded');
    }
    const arrival = { ...found, client: 'http', method, headers: clientHeaders(request.headers) } as const;
    const turn = new LiveTurn(arrival, generation, host);
    const { kind } = found.route;
    return serveTurn({ turn, request, response }, kind && handlers[kind], counters);
  }

  /** Bytes that Node's parser refused: the error table's words, where the socket still takes them. */
  #clientError(error: NodeJS.ErrnoException, socket: Socket): void {
    const { counters } = this.#options;
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    if (error.code === 'HPE_HEADER_OVERFLOW') {
      counters.add('headers_too_large');
      this.#refuseRaw(socket, new Refusal('invalid_request', { status: 431, message: 'The request headers are too large.' }));
    } else if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
      counters.add('header_timeouts');
      this.#refuseRaw(socket, new Refusal('request_timeout', { message: 'The request headers did not arrive in time.' }));
    } else {
      counters.add('framing_refused');
      this.#refuseRaw(socket, new Refusal('invalid_request', { message: 'The request is not valid HTTP.' }));
    }
  }

  #refuseRaw(socket: Socket, refusal: Refusal): void {
    const body = jsonOf(refusal);
    const head = [
      `HTTP/1.1 ${refusal.status} ${refusal.status === 431 ? 'Request Header Fields Too Large' : 'Bad Request'}`,
      'content-type: application/json',
      `content-length: ${Buffer.byteLength(body)}`,
      `x-request-id: ${requestId(this.#options.host.now())}`,
      'connection: close',
    ];
    socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  }
}
