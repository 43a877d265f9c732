// The servers that clients connect to: one at a host and port, with or without TLS, and one at a path in the file system.
import { createServer, type Server, type ServerOptions } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { type SecureContextOptions, Server as TlsServer } from 'node:tls';
import { makeFolderOf } from '../../store/folder.ts';
import { connectionBelow, takeOverConnections } from '../base/process/internals/socket-internals.ts';
import { listenAt, listenOn } from '../base/process/listen-on.ts';
import type { Counters } from '../base/process/metrics.ts';
import type { Config, LoadedConfig, TlsMaterial } from '../config/config.ts';

export interface ClientServersOptions {
  readonly loaded: LoadedConfig;
  readonly server: ServerOptions;
  readonly counters: Counters;
  /** Called for a new connection, after its TLS handshake. @param parse passes the connection to Node's parser */
  readonly opened: (socket: Socket, parse: (socket: Socket) => void, isUnix: boolean) => void;
  /** Attaches the handlers of requests and upgrades. */
  readonly serve: (server: Server) => void;
}

const VERSIONS = { minVersion: 'TLSv1.2', maxVersion: 'TLSv1.3' } as const satisfies SecureContextOptions;

export class ClientServers {
  readonly #tcp: Server | undefined;
  readonly #unix: Server | undefined;
  /** Connections whose TLS handshake has not ended. */
  readonly #handshaking = new Set<Socket>();
  #material: TlsMaterial | undefined;

  constructor(options: ClientServersOptions) {
    const { loaded } = options;
    const { port, unix } = loaded.config.listen;
    this.#material = loaded.listenTls;
    this.#tcp = port === false ? undefined : this.#prepared(this.#tcpServer(options), options, false);
    this.#unix = unix && this.#prepared(createServer(options.server), options, true);
  }

  get #servers(): readonly Server[] {
    return [this.#tcp, this.#unix].filter((server) => server !== undefined);
  }

  /** Applies a new configuration. Open connections keep the certificate of their handshake. */
  configure({ config, listenTls }: LoadedConfig): void {
    for (const server of this.#servers) limit(server, config);
    if (!(this.#tcp instanceof TlsServer) || !listenTls || listenTls === this.#material) return;
    this.#material = listenTls;
    this.#tcp.setSecureContext({ ...VERSIONS, ...listenTls });
  }

  /** Resolves when all servers accept connections, with the address of host and port if there is one. */
  async listen({ host, port, unix }: Config['listen']): Promise<AddressInfo | undefined> {
    if (unix && this.#unix) {
      // The system reports a missing folder as a missing permission.
      await makeFolderOf(unix.path, 0o777);
      await listenAt(this.#unix, unix.path, Number.parseInt(unix.mode, 8));
    }
    return this.#tcp && typeof port === 'number' ? listenOn(this.#tcp, host, port) : undefined;
  }

  /** Stops accepting connections. Resolves when the open ones have ended. */
  async close(): Promise<void> {
    await Promise.all(this.#servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve()))));
  }

  /** Ends connections that are between two requests, or before their first one. */
  closeIdle(): void {
    for (const server of this.#servers) server.closeIdleConnections();
    for (const socket of this.#handshaking) socket.destroy();
  }

  closeAll(): void {
    for (const server of this.#servers) server.closeAllConnections();
    for (const socket of this.#handshaking) socket.destroy();
  }

  #tcpServer({ loaded, server, counters }: ClientServersOptions): Server {
    if (!loaded.listenTls) return createServer(server);
    const handshakeTimeout = loaded.config.timeouts.client_header_ms;
    const secured = createTlsServer({ ...server, ...VERSIONS, ...loaded.listenTls, handshakeTimeout });
    secured.on('connection', (socket: Socket) => {
      this.#handshaking.add(socket);
      socket.once('close', () => this.#handshaking.delete(socket));
    });
    secured.on('secureConnection', (socket) => {
      const raw = connectionBelow(socket);
      if (raw) this.#handshaking.delete(raw);
    });
    // Without this, Node would answer a failed handshake in plain text.
    secured.removeAllListeners('tlsClientError').on('tlsClientError', (_error, socket) => {
      counters.add('tls_handshakes_failed');
      socket.destroy();
    });
    return secured;
  }

  #prepared(server: Server, { loaded, counters, opened, serve }: ClientServersOptions, isUnix: boolean): Server {
    // Node silently drops further headers, one of which might frame the body. A request with more headers than the limit is refused.
    server.maxHeadersCount = loaded.config.limits.header_count + 1;
    limit(server, loaded.config);
    server.on('drop', () => counters.add('connections_refused'));
    serve(server);
    const parse = takeOverConnections(server, (socket) => opened(socket, parse, isUnix));
    return server;
  }
}

function limit(server: Server, { limits, timeouts }: Config): void {
  server.headersTimeout = timeouts.client_header_ms;
  server.maxConnections = limits.connections;
}
