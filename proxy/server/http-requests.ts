// Client requests over HTTP: framing, the route table, and one turn for each request. Bytes that are not a request are refused on their
// socket.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { BodyMemory } from '../base/bytes/body-memory.ts';
import type { UploadMeter } from '../base/bytes/upload-meter.ts';
import type { Batches } from '../base/process/batch.ts';
import { awaitReader } from '../base/process/internals/request-reading.ts';
import { endConnectionAfter } from '../base/process/internals/response-internals.ts';
import type { Counters } from '../base/process/metrics.ts';
import { BODY_MALFORMED } from '../clients/http/bodies/body-arrival.ts';
import { clientAddress, forwardedFor } from '../clients/http/connections/client-address.ts';
import { type ClientConnection, connectionOf } from '../clients/http/connections/client-connection.ts';
import type { Cors } from '../clients/http/connections/cors.ts';
import { checkFraming, HEADERS_TOO_LARGE, isHeadTooLarge, pathOfTarget, queryOfTarget } from '../clients/http/connections/framing.ts';
import { endRaw, HEADERS_LATE, refusalOfBytes } from '../clients/http/connections/raw-refusal.ts';
import { HttpClient } from '../clients/http/http-client.ts';
import { asksForWebsocket } from '../clients/websocket/handshake.ts';
import { Refusal, refusalOf } from '../turn/errors/refusal.ts';
import { LiveTurn } from '../turn/live-turn.ts';
import { requestId } from '../turn/request-id.ts';
import { type Match, NO_ROUTE } from '../turn/routes/route-table.ts';
import type { TurnHost } from '../turn/turn-host.ts';
import { clientHeaders } from '../turn/wire/headers.ts';
import type { Generation } from './generation.ts';
import type { RunningTurns } from './running-turns.ts';
import type { TurnRunner } from './turn-runner.ts';

export interface HttpRequestsOptions {
  /** The current generation, with which turns begin. */
  readonly current: { readonly generation: Generation };
  readonly host: TurnHost;
  readonly runner: TurnRunner;
  readonly counters: Counters;
  /** The bytes of request bodies and frames that are being read. */
  readonly bodies: BodyMemory;
  readonly uploads: UploadMeter;
  /** Undefined if no page of another origin is allowed. */
  readonly cors: Cors | undefined;
  readonly running: RunningTurns;
  readonly batches: Batches;
}

/** The matching row of the route table. `refusal` is set if the request is refused before a turn runs. */
type Found = Match & { readonly refusal?: Refusal };

/** The request for bytes that could not be read. Its method and path are unknown. */
const UNREAD = { route: NO_ROUTE, params: {}, client: 'http', method: '-', path: '', headers: {}, query: '' } as const;

const ignore = (): void => undefined;

const unroutable = (refusal: Refusal, route = NO_ROUTE): Found => ({ route, params: {}, refusal });

export class HttpRequests {
  readonly #options: HttpRequestsOptions;
  #draining = false;

  constructor(options: HttpRequestsOptions) {
    this.#options = options;
  }

  /** Refuses new turns, and ends each connection with its next answer. */
  drain(): void {
    this.#draining = true;
  }

  serve(request: IncomingMessage, response: ServerResponse): void {
    const { current, runner, running, batches, cors, counters, uploads, bodies } = this.#options;
    const connection = connectionOf(request.socket);
    if (connection.framingBroken || connection.isLast) return;
    // Node's parser treats the bytes after such a request as another protocol, although none was agreed, so later requests cannot be
    // read.
    connection.isLast = request.headers.upgrade !== undefined;
    if (isHeadTooLarge(request, current.generation.config.limits)) {
      counters.add('headers_too_large');
      this.#refuseUnread(connection.socket, HEADERS_TOO_LARGE);
      return;
    }
    connection.latest = response;
    // Errors of a connection need no handling, because `close` follows.
    response.on('error', ignore);
    const { generation } = current;
    const found = this.#find(request, generation);
    if (this.#draining || connection.framingBroken || connection.isLast) endConnectionAfter(response);
    const turn = this.#turn(request, found, generation);
    if (!connection.framingBroken && cors?.handle(request, response, generation.routes, turn.id)) {
      runner.recordPreflight(turn);
      return;
    }
    const client = new HttpClient(turn, { request, response, guard: bodies, uploads, counters });
    if (found.refusal) {
      runner.refuse(turn, client, found.refusal);
      return;
    }
    running.begin();
    const run = (): void => void runner.run(turn, client, running.end);
    if (request.headers['transfer-encoding'] === undefined) batches.arrivals.add(run);
    else {
      // Each chunk is an object until the body is read, and many may arrive before a batch runs.
      awaitReader(request);
      run();
    }
  }

  /**
   * Whether the request becomes a websocket. Otherwise it is answered in order like any other, because the answer to an upgrade goes to the
   * socket itself, and would be taken for the answer to an earlier request.
   */
  upgrades(request: IncomingMessage): boolean {
    const connection = connectionOf(request.socket);
    if (
      connection.isLast ||
      !connection.isAnswered ||
      !asksForWebsocket(request) ||
      isHeadTooLarge(request, this.#options.current.generation.config.limits)
    )
      return false;
    try {
      checkFraming(request);
    } catch {
      return false;
    }
    const found = this.#options.current.generation.routes.find('WS', pathOfTarget(request.url ?? ''));
    return found !== undefined && 'route' in found;
  }

  /** Refuses a proxy's CONNECT. */
  refuseTunnel(request: IncomingMessage, socket: Socket): void {
    const { counters, current, runner } = this.#options;
    counters.add('framing_refused');
    const refusal = new Refusal('invalid_request', { message: 'This method is not served.' });
    const turn = this.#turn(request, unroutable(refusal), current.generation);
    runner.recordRefused(turn, refusal);
    this.refuseBytes(socket, refusal, turn.id);
  }

  /** Refuses bytes that Node's parser could not read. */
  refuseUnparsed(error: NodeJS.ErrnoException, socket: Socket): void {
    // The request that the bytes belong to may wait in the batch.
    this.#options.batches.arrivals.flush();
    const connection = connectionOf(socket);
    if (connection.framingBroken) return;
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const { counter, refusal } = refusalOfBytes(error);
    this.#options.counters.add(counter);
    // Bytes after the last request of a connection are ignored. The last request is still answered (RFC 9112, 9.6).
    if (error.code === 'HPE_CLOSED_CONNECTION') connection.framingBroken = true;
    else this.#refuseUnread(socket, refusal);
  }

  /** Refuses bytes that do not become a turn, and writes their row. Inside the body of a request, the request's turn has the row. */
  #refuseUnread(socket: Socket, refusal: Refusal): void {
    const { current, host, runner } = this.#options;
    const connection = connectionOf(socket);
    const { latest } = connection;
    if (!latest || latest.writableFinished) {
      const turn = new LiveTurn({ ...UNREAD, address: this.#addressOf(connection), keyOf: () => undefined }, current.generation, host);
      runner.recordRefused(turn, refusal);
      this.refuseBytes(socket, refusal, turn.id);
    } else if (refusal === HEADERS_LATE && latest.req.complete) {
      // A late head must not cut earlier answers, so that they end first.
      connection.framingBroken = true;
      latest.once('finish', () => this.#refuseUnread(socket, refusal));
    } else this.refuseBytes(socket, refusal, requestId(host.services.clock.now()));
  }

  /** Answers bytes that are not a request, if an answer is possible, and ends the connection. */
  refuseBytes(socket: Socket, refusal: Refusal, id = requestId(this.#options.host.services.clock.now())): void {
    const connection = connectionOf(socket);
    connection.framingBroken = true;
    const { latest } = connection;
    if (!latest || latest.writableFinished) endRaw(socket, refusal, id);
    // Inside a body, the reader of the body sends the refusal, unless the request was answered without reading it. After a complete request
    // no refusal is written, because the client would take it for the answer to that request.
    else if (latest.req.complete || !(latest.req.emit(BODY_MALFORMED) || latest.headersSent)) socket.destroy();
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
    const found = generation.routes.find(request.method ?? '', pathOfTarget(request.url ?? ''));
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
      path: pathOfTarget(url),
      headers: clientHeaders(headers),
      query: queryOfTarget(url),
      address: this.#addressOf(connection, headers, generation),
      keyOf: (secret: string) => connection.keyOf(secret, generation),
    } as const;
    return new LiveTurn(arrival, generation, this.#options.host);
  }

  /** Undefined if the configuration does not need the address. */
  #addressOf(
    connection: ClientConnection,
    headers: IncomingHttpHeaders = {},
    { asksAddress, proxies } = this.#options.current.generation,
  ): string | undefined {
    return asksAddress ? clientAddress(connection, forwardedFor(headers), proxies) : undefined;
  }
}
