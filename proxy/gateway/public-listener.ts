// The public listener: framing, the route table, one turn per request, and an orderly end.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Batches } from '../batch.ts';
import { connectionOf } from '../clients/http/client-connection.ts';
import { Cors } from '../clients/http/cors.ts';
import { checkFraming, pathOf, queryOf } from '../clients/http/framing.ts';
import { HEADERS_TOO_LARGE, isHeadTooLarge } from '../clients/http/header-limits.ts';
import { HttpClient } from '../clients/http/http-client.ts';
import { IdleConnections, KEEP_ALIVE_MS } from '../clients/http/idle-connections.ts';
import { endRaw, refusalOfBytes } from '../clients/http/raw-refusal.ts';
import { BODY_MALFORMED } from '../clients/http/request-body.ts';
import { UnparsedConnections } from '../clients/http/unparsed-connections.ts';
import { asksForWebsocket } from '../clients/websocket/handshake.ts';
import type { Clock } from '../clock.ts';
import type { Heartbeat } from '../heartbeat.ts';
import type { MemoryGuard } from '../memory-guard.ts';
import type { Counters } from '../metrics.ts';
import { endConnectionAfter, takeOverConnections } from '../node-internals.ts';
import { requestId } from '../request-id.ts';
import { clientHeaders } from '../turn/headers.ts';
import { LiveTurn, type TurnHost } from '../turn/live-turn.ts';
import { Refusal, refusalOf } from '../turn/refusal.ts';
import { type Match, NO_ROUTE } from '../turn/route-table.ts';
import type { UploadMeter } from '../upload-meter.ts';
import type { Generation } from './generation.ts';
import { RunningTurns } from './running-turns.ts';
import type { TurnRunner } from './turn-runner.ts';
import { Websockets, type WebsocketsOptions } from './websockets.ts';

export interface PublicListenerOptions {
  readonly generation: () => Generation;
  readonly host: TurnHost;
  readonly runner: TurnRunner;
  readonly counters: Counters;
  /** Bytes of request bodies and frames that are being read. */
  readonly bodies: MemoryGuard;
  readonly uploads: UploadMeter;
  readonly clock: Clock;
  readonly heartbeat: Heartbeat;
  readonly ownHeaders: WebsocketsOptions['ownHeaders'];
  readonly speaks: WebsocketsOptions['speaks'];
  readonly overload: WebsocketsOptions['overload'];
  readonly nodes: WebsocketsOptions['nodes'];
}

const TIMEOUT_CHECK_MS = 1_000;

/** While stopping: the interval at which idle connections are closed, and the time in which turns that were cut leave their rows. */
const SWEEP_MS = 50;
const LAST_ROWS_MS = 250;

/** A row of the table; `refusal` where the request gets no further. */
type Found = Match & { readonly refusal?: Refusal };

const ignore = (): void => undefined;

const unroutable = (refusal: Refusal, route = NO_ROUTE): Found => ({ route, params: {}, refusal });

export class PublicListener {
  readonly #options: PublicListenerOptions;
  readonly #server: Server;
  readonly #connections: IdleConnections;
  readonly #cors: Cors;
  readonly #running = new RunningTurns();
  readonly #batches = new Batches();
  readonly websockets: Websockets;
  readonly #unparsed: UnparsedConnections;
  #draining = false;

  constructor(options: PublicListenerOptions) {
    this.#options = options;
    const { limits, listen, timeouts } = options.generation().config;
    this.#cors = new Cors(listen.cors.origins);
    this.#connections = new IdleConnections({
      stalledMs: () => options.generation().config.timeouts.client_read_idle_ms,
      counters: options.counters,
    });
    this.#server = createServer({
      maxHeaderSize: limits.header_bytes,
      headersTimeout: timeouts.client_header_ms,
      // Bodies have an idle limit of their own; a long upload that makes progress is no fault.
      requestTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      // `checkFraming` refuses a missing Host in the shape of the error table.
      requireHostHeader: false,
      noDelay: true,
      // All other upgrades are ignored, as if the request had not asked for one.
      shouldUpgradeCallback: (request) => this.#upgrades(request),
    });
    // Node drops further headers silently, and one of those might frame the body: a request with one too many is refused.
    this.#server.maxHeadersCount = limits.header_count + 1;
    this.#server.maxConnections = limits.connections;
    this.#server.on('drop', () => options.counters.add('connections_refused'));
    const serve = (request: IncomingMessage, response: ServerResponse): void => this.#serve(request, response);
    this.#server.on('request', serve).on('checkContinue', serve).on('checkExpectation', serve);
    this.websockets = new Websockets({ ...options, guard: options.bodies, running: this.#running, batches: this.#batches });
    this.#server.on('upgrade', (request, socket, head) => this.websockets.accept(request, socket as Socket, head));
    this.#server.on('connect', (request: IncomingMessage, socket: Socket) => this.#connect(request, socket));
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => this.#clientError(error, socket));
    const parse = takeOverConnections(this.#server, (socket) => {
      this.#connections.watch(socket);
      // The turns of its requests begin before its end is reported to them.
      socket.once('close', () => this.#batches.arrivals.flush());
      this.#unparsed.open(socket);
    });
    this.#unparsed = new UnparsedConnections({
      limits: () => {
        const { config } = options.generation();
        return { maxBytes: config.limits.header_bytes, waitMs: config.timeouts.client_header_ms };
      },
      parse,
      refuse: (socket, counter, refusal) => {
        options.counters.add(counter);
        this.#refuseBytes(socket, refusal);
      },
    });
  }

  /** Takes what a new configuration says about open connections. */
  configure(): void {
    const { limits, timeouts } = this.#options.generation().config;
    this.#server.headersTimeout = timeouts.client_header_ms;
    this.#server.maxConnections = limits.connections;
    this.websockets.configure();
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

  /**
   * Refuses new turns, waits for the running ones to end, and cuts the rest after `ms`.
   * @param others whether other nodes take new connections: then this one takes none from now on. Else each gets its 503.
   */
  async drain(ms: number, others: boolean): Promise<void> {
    this.#draining = true;
    const refusing = others ? this.#close() : undefined;
    this.websockets.drain();
    for (const { latest } of this.#connections) if (latest) endConnectionAfter(latest);
    const stopped = Promise.withResolvers<void>();
    const hardStop = setTimeout(() => {
      this.#server.closeAllConnections();
      this.websockets.destroy();
      setTimeout(stopped.resolve, LAST_ROWS_MS);
    }, ms);
    await Promise.race([this.#running.idle(), stopped.promise]);
    const closed = refusing ?? this.#close();
    const sweep = setInterval(() => this.#sweep(), SWEEP_MS);
    await Promise.race([closed, stopped.promise]);
    clearInterval(sweep);
    clearTimeout(hardStop);
    this.#connections.stop();
  }

  /** Accepts no connections; resolves when the open ones have ended. */
  #close(): Promise<void> {
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  #sweep(): void {
    this.#server.closeIdleConnections();
    this.#unparsed.destroy();
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const { generation: current, runner, counters, uploads, bodies } = this.#options;
    const connection = connectionOf(request.socket);
    if (connection.framingBroken || connection.isLast) return;
    // Node's parser takes what came with it for the other protocol, though there is none: from there on its place is lost.
    connection.isLast = request.headers.upgrade !== undefined;
    if (isHeadTooLarge(request, current().config.limits)) {
      counters.add('headers_too_large');
      this.#refuseBytes(connection.socket, HEADERS_TOO_LARGE);
      return;
    }
    connection.latest = response;
    // The closing of a connection says all that its errors say.
    response.on('error', ignore);
    const generation = current();
    const found = this.#find(request, generation);
    if (this.#draining || connection.framingBroken || connection.isLast) endConnectionAfter(response);
    if (!connection.framingBroken && this.#cors.handle(request, response, generation.routes, () => requestId(this.#options.host.now())))
      return;
    const turn = this.#turn(request, found, generation);
    const client = new HttpClient(turn, { request, response, guard: bodies, uploads, counters });
    if (found.refusal) {
      runner.refuse(turn, client, found.refusal);
      return;
    }
    this.#running.begin();
    const run = (): void => void runner.run(turn, client, this.#running.end);
    // Each chunk of a chunked body is an object until the body is read: many may arrive before a batch runs.
    if (request.headers['transfer-encoding'] !== undefined) run();
    else this.#batches.arrivals.add(run);
  }

  /**
   * Whether the request becomes a websocket. One that does not is answered like any other, in its turn: the answer to an upgrade goes to
   * the socket itself, and would be taken for that of an earlier request.
   */
  #upgrades(request: IncomingMessage): boolean {
    const connection = connectionOf(request.socket);
    if (
      connection.isLast ||
      !connection.isAnswered ||
      !asksForWebsocket(request) ||
      isHeadTooLarge(request, this.#options.generation().config.limits)
    )
      return false;
    try {
      checkFraming(request);
    } catch {
      return false;
    }
    const { route } = { route: undefined, ...this.#options.generation().routes.find('WS', pathOf(request.url ?? '')) };
    return route !== undefined;
  }

  #find(request: IncomingMessage, generation: Generation): Found {
    const { counters } = this.#options;
    try {
      checkFraming(request);
    } catch (thrown) {
      counters.add('framing_refused');
      connectionOf(request.socket).framingBroken = true;
      return unroutable(refusalOf(thrown));
    }
    counters.add('requests');
    const found = generation.routes.find(request.method ?? '', pathOf(request.url ?? ''));
    if (!found) return unroutable(new Refusal('unknown_endpoint'));
    if ('allow' in found) {
      return unroutable(new Refusal('method_not_allowed', { headers: { allow: found.allow.join(', ') } }), found.like);
    }
    if (!this.#draining) return found;
    counters.add('drain_refused');
    return { ...found, refusal: new Refusal('server_is_overloaded') };
  }

  #turn({ method = '', url = '', headers, socket }: IncomingMessage, { route, params }: Match, generation: Generation): LiveTurn {
    const connection = connectionOf(socket);
    const arrival = {
      route,
      params,
      client: 'http',
      method,
      headers: clientHeaders(headers),
      query: queryOf(url),
      keyOf: (secret: string) => connection.keyOf(secret, generation),
    } as const;
    return new LiveTurn(arrival, generation, this.#options.host);
  }

  #connect(request: IncomingMessage, socket: Socket): void {
    const { counters, generation, runner } = this.#options;
    counters.add('framing_refused');
    const refusal = new Refusal('invalid_request', { message: 'This method is not served.' });
    const turn = this.#turn(request, unroutable(refusal), generation());
    runner.recordRefused(turn, refusal);
    this.#refuseBytes(socket, refusal, turn.id);
  }

  /** Bytes that Node's parser refused. */
  #clientError(error: NodeJS.ErrnoException, socket: Socket): void {
    // The request that it belongs to may wait there.
    this.#batches.arrivals.flush();
    if (connectionOf(socket).framingBroken) return;
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const { counter, refusal } = refusalOfBytes(error);
    this.#options.counters.add(counter);
    this.#refuseBytes(socket, refusal);
  }

  #refuseBytes(socket: Socket, refusal: Refusal, id = requestId(this.#options.host.now())): void {
    const connection = connectionOf(socket);
    connection.framingBroken = true;
    const { latest } = connection;
    if (!latest || latest.writableFinished) endRaw(socket, refusal, id);
    // Inside a body the refusal is the body's reader's to send, unless the answer was given without reading it. After a whole request
    // any answer would be taken for that request's.
    else if (latest.req.complete || !(latest.req.emit(BODY_MALFORMED) || latest.headersSent)) socket.destroy();
  }
}
