// Client requests over HTTP: framing, the route table, and one turn for each request.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { BodyMemory } from '../base/bytes/body-memory.ts';
import type { UploadMeter } from '../base/bytes/upload-meter.ts';
import type { Batches } from '../base/process/batch.ts';
import { awaitReader } from '../base/process/internals/request-reading.ts';
import { endConnectionAfter } from '../base/process/internals/response-internals.ts';
import type { Counters } from '../base/process/metrics.ts';
import { clientAddress, forwardedFor } from '../clients/http/connections/client-address.ts';
import {
  checkFraming,
  connectionOf,
  HEADERS_TOO_LARGE,
  isHeadTooLarge,
  pathOfTarget,
  queryOfTarget,
} from '../clients/http/connections/client-connection.ts';
import type { Cors } from '../clients/http/connections/cors.ts';
import { HttpClient } from '../clients/http/http-client.ts';
import { asksForWebsocket } from '../clients/websocket/handshake.ts';
import { gatewayStops, Refusal, refusalOf } from '../turn/errors/refusal.ts';
import { LiveTurn } from '../turn/live-turn.ts';
import { type Match, NO_ROUTE } from '../turn/routes/route-table.ts';
import type { TurnHost } from '../turn/turn-host.ts';
import { clientHeaders } from '../turn/wire/headers.ts';
import type { Generation } from './generation.ts';
import type { TurnRunner } from './turn-runner.ts';
import type { UnreadRequests } from './unread-requests.ts';

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
  readonly batches: Batches;
  readonly unread: UnreadRequests;
}

/** The matching row of the route table. `refusal` is set if the request is refused before a turn runs. */
type Found = Match & { readonly refusal?: Refusal };

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

  /** Serves the requests of a server. */
  attach(server: Server): void {
    const serve = (request: IncomingMessage, response: ServerResponse): void => this.serve(request, response);
    server.on('request', serve).on('checkContinue', serve).on('checkExpectation', serve);
    server.on('connect', (request: IncomingMessage, socket: Socket) => this.#refuseTunnel(request, socket));
  }

  serve(request: IncomingMessage, response: ServerResponse): void {
    const { current, runner, batches, cors, counters, uploads, bodies } = this.#options;
    const connection = connectionOf(request.socket);
    if (connection.framingBroken || connection.isLast) return;
    // Node's parser treats the bytes after such a request as another protocol, although none was agreed, so later requests cannot be
    // read.
    connection.isLast = request.headers.upgrade !== undefined;
    if (isHeadTooLarge(request, current.generation.config.limits)) {
      counters.add('headers_too_large');
      this.#options.unread.refuse(connection.socket, HEADERS_TOO_LARGE);
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
    runner.running.begin();
    const run = (): void => void runner.run(turn, client);
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
  #refuseTunnel(request: IncomingMessage, socket: Socket): void {
    const { counters, current, runner, unread } = this.#options;
    counters.add('framing_refused');
    const refusal = new Refusal('invalid_request', { message: 'This method is not served.' });
    const turn = this.#turn(request, unroutable(refusal), current.generation);
    runner.recordRefused(turn, refusal);
    unread.refuseBytes(socket, refusal, turn.id);
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
    return { ...found, refusal: gatewayStops() };
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
      address: generation.asksAddress ? clientAddress(connection, forwardedFor(headers), generation.proxies) : undefined,
      keyOf: (secret: string) => connection.keyOf(secret, generation),
    } as const;
    return new LiveTurn(arrival, generation, this.#options.host);
  }
}
