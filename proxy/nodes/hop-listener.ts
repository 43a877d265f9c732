// The internal listener: accepts websockets that other nodes forward to this one, each with a signed request, and refuses everything else.
import { createServer, type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { listenOn } from '../base/process/listen-on.ts';
import type { Counters } from '../base/process/metrics.ts';
import type { Limits, Timeouts } from '../turn/settings.ts';
import { decodeClient, type ForwardedClient } from './forwarded-client.ts';
import { HOP_HEADER, type HopSignature } from './hop-signature.ts';

/** A signed request of another node to take over the websocket of its client. */
export interface Hop {
  readonly client: ForwardedClient;
  readonly request: IncomingMessage;
  readonly socket: Socket;
  readonly head: Buffer;
  /** Headers of the answer that accepts the websocket. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Why a node does not take a client: it has no turn for it (404), or accepts no new clients (503). */
export type HopRefusal = 404 | 503;

export interface HopListenerOptions {
  /** The path of this process. An earlier process at the same address had another path. */
  readonly path: string;
  readonly signature: HopSignature;
  readonly counters: Counters;
  readonly limits: Limits;
  readonly timeouts: Timeouts;
  /** Takes the websocket, or returns the reason why not. */
  readonly accept: (hop: Hop) => HopRefusal | undefined;
}

/** How much larger the client's headers become when they are encoded in a header of the request. */
const ENCODED = 1.5;
const OWN_HEADER_BYTES = 4_096;
/** How long a refused connection may stay open for the answer. */
const LINGER_MS = 1_000;

/** The path under which a process accepts clients. @param owner as its sessions name it */
export const hopPath = (owner: string): string => `/sessions/${encodeURIComponent(owner)}`;

export class HopListener {
  readonly #options: HopListenerOptions;
  readonly #server: Server;

  constructor(options: HopListenerOptions) {
    const { limits, timeouts, counters } = options;
    this.#options = options;
    this.#server = createServer({
      maxHeaderSize: Math.ceil(limits.header_bytes * ENCODED) + OWN_HEADER_BYTES,
      headersTimeout: timeouts.client_header_ms,
      requestTimeout: timeouts.client_header_ms,
      connectionsCheckingInterval: LINGER_MS,
      noDelay: true,
    });
    this.#server.maxConnections = limits.connections;
    this.#server.on('drop', () => counters.add('hops_refused'));
    this.#server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket as Socket, head));
    this.#server.on('request', ({ socket }) => this.#refuse(socket, 401));
    this.#server.on('connect', (_request, socket) => this.#refuse(socket as Socket, 401));
    this.#server.on('clientError', (_error, socket) => this.#refuse(socket as Socket, 400));
  }

  /** Resolves with the address once connections are accepted. */
  listen(host: string, port: number): Promise<AddressInfo> {
    return listenOn(this.#server, host, port);
  }

  /** Ends all connections that are not websockets yet. */
  close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    return closed;
  }

  #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    const { method = '', url = '', headers } = request;
    const { accept, path, signature } = this.#options;
    const accepted = signature.accept(method, url, headers);
    const client = accepted && decodeClient(accepted.client);
    if (!accepted || !client || headers.upgrade?.toLowerCase() !== 'websocket') this.#refuse(socket, 401);
    else if (url !== path) answer(socket, 404);
    else {
      const refused = accept({ client, request, socket, head, headers: { [HOP_HEADER.signature]: accepted.answer } });
      if (refused) answer(socket, refused);
    }
  }

  /** Refuses a request that no other node sends. */
  #refuse(socket: Socket, status: 400 | 401): void {
    this.#options.counters.add('hops_refused');
    answer(socket, status);
  }
}

/** The answer has no body: nodes read only the status. */
function answer(socket: Socket, status: number): void {
  socket.on('error', () => undefined);
  if (socket.writable) socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`);
  socket.resume();
  const cut = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(cut));
}
