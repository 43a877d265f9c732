// The public listener: its servers and connections, the handlers of their requests and upgrades, and an orderly end.
import type { Server, ServerOptions } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { OverloadGuard } from '../admission/overload-guard.ts';
import type { BodyMemory } from '../base/bytes/body-memory.ts';
import type { UploadMeter } from '../base/bytes/upload-meter.ts';
import { Batches } from '../base/process/batch.ts';
import { endConnectionAfter } from '../base/process/internals/response-internals.ts';
import { connectionOf } from '../clients/http/connections/client-connection.ts';
import { Cors } from '../clients/http/connections/cors.ts';
import { IdleConnections, KEEP_ALIVE_MS } from '../clients/http/connections/idle-connections.ts';
import { UnparsedConnections } from '../clients/http/connections/unparsed-connections.ts';
import type { Config } from '../config/config.ts';
import type { WebsocketSupport } from '../upstream/websocket-support.ts';
import { ClientServers } from './client-servers.ts';
import { HttpRequests } from './http-requests.ts';
import { UnreadRequests } from './unread-requests.ts';
import { Websockets, type WebsocketsOptions } from './websockets.ts';

export interface ListenerServices extends Pick<WebsocketsOptions, 'clock' | 'counters' | 'heartbeat' | 'replies'> {
  readonly bodies: BodyMemory;
  readonly guard: OverloadGuard;
  readonly uploads: UploadMeter;
  readonly websockets: WebsocketSupport;
}

export type ListenerOptions = Pick<WebsocketsOptions, 'current' | 'host' | 'nodes' | 'runner'>;

const TIMEOUT_CHECK_MS = 1_000;

/** The interval at which idle connections are closed during a stop. */
const SWEEP_MS = 50;
/** The time in which clients can read the end of a reply that was cut. */
const LAST_WORDS_MS = 250;
/** The time in which turns whose connections were ended write their rows. */
const LAST_ROWS_MS = 250;

export class PublicListener {
  readonly #current: ListenerOptions['current'];
  readonly #servers: ClientServers;
  readonly #connections: IdleConnections;
  readonly #requests: HttpRequests;
  readonly #unread: UnreadRequests;
  readonly #runner: ListenerOptions['runner'];
  readonly #batches = new Batches();
  readonly websockets: Websockets;
  readonly #unparsed: UnparsedConnections;

  constructor(services: ListenerServices, options: ListenerOptions) {
    const { current } = options;
    const { bodies, clock, counters, guard, heartbeat, replies, uploads, websockets } = services;
    this.#current = current;
    this.#runner = options.runner;
    const { origins } = current.generation.config.listen.cors;
    const cors = origins.length > 0 ? new Cors(origins) : undefined;
    const shared = { ...options, counters, batches: this.#batches };
    this.#unread = new UnreadRequests(shared);
    this.#requests = new HttpRequests({ ...shared, bodies, uploads, cors, unread: this.#unread });
    this.#connections = new IdleConnections({
      stalledMs: () => current.generation.config.timeouts.client_read_idle_ms,
      counters,
    });
    this.websockets = new Websockets({ ...shared, clock, heartbeat, replies, guard: bodies, overload: guard, support: websockets });
    this.#unparsed = new UnparsedConnections({
      limits: () => {
        const { config } = current.generation;
        return { maxBytes: config.limits.header_bytes, waitMs: config.timeouts.client_header_ms };
      },
      refuse: (socket, counter, refusal) => {
        counters.add(counter);
        this.#unread.refuseBytes(socket, refusal);
      },
    });
    const flush = (): void => this.#batches.arrivals.flush();
    this.#servers = new ClientServers({
      loaded: current.generation.loaded,
      server: this.#serverOptions(),
      counters,
      serve: (server) => this.#serve(server),
      opened: (socket, parse, isUnix) => {
        connectionOf(socket).isUnix = isUnix;
        this.#connections.watch(socket);
        // The turns of its requests begin before the end of the connection is reported to them.
        socket.on('close', flush);
        this.#unparsed.open(socket, parse);
      },
    });
  }

  /** Applies a new configuration to open connections. */
  configure(): void {
    this.#servers.configure(this.#current.generation.loaded);
    this.websockets.configure();
  }

  /** Resolves when connections are accepted, with the address of host and port if there is one. */
  listen(listen: Config['listen']): Promise<AddressInfo | undefined> {
    return this.#servers.listen(listen);
  }

  /**
   * Refuses new turns, and waits until the running ones have ended. After `ms` the rest are cut: their clients get the error that ends their
   * replies, and lose their connections if they do not read it.
   * @param others whether other nodes take new connections. If so, this node accepts none from now on. If not, each new turn gets a 503.
   * @returns the number of turns that were cut
   */
  async drain(ms: number, others: boolean): Promise<number> {
    this.#requests.drain();
    const refusing = others ? this.#servers.close() : undefined;
    this.websockets.drain();
    for (const { latest } of this.#connections) if (latest) endConnectionAfter(latest);
    const stopped = Promise.withResolvers<void>();
    let cut = 0;
    let timer = setTimeout(() => {
      // The turns of forwarded clients go on at their node.
      cut = this.#runner.running.count - this.websockets.forwarded;
      for (const connection of this.#connections) connection.stop();
      this.websockets.stopTurns();
      timer = setTimeout(() => {
        this.#servers.closeAll();
        this.websockets.destroy();
        timer = setTimeout(stopped.resolve, LAST_ROWS_MS);
      }, LAST_WORDS_MS);
    }, ms);
    await Promise.race([this.#runner.running.idle(), stopped.promise]);
    const closed = refusing ?? this.#servers.close();
    const sweep = setInterval(() => this.#sweep(), SWEEP_MS);
    await Promise.race([closed, stopped.promise]);
    clearInterval(sweep);
    clearTimeout(timer);
    this.#connections.stop();
    return cut;
  }

  #serverOptions(): ServerOptions {
    const { limits, timeouts } = this.#current.generation.config;
    return {
      maxHeaderSize: limits.header_bytes,
      headersTimeout: timeouts.client_header_ms,
      // Bodies have an idle limit of their own, because a long upload that makes progress is allowed.
      requestTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      // `checkFraming` refuses a missing Host in the form of the error table.
      requireHostHeader: false,
      noDelay: true,
      // All other upgrades are ignored, as if the request had not asked for one.
      shouldUpgradeCallback: (request) => this.#requests.upgrades(request),
    };
  }

  #serve(server: Server): void {
    this.#requests.attach(server);
    server.on('upgrade', (request, socket, head) => this.websockets.accept(request, socket as Socket, head));
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => this.#unread.refuseUnparsed(error, socket));
  }

  #sweep(): void {
    this.#servers.closeIdle();
    this.#unparsed.destroy();
  }
}
