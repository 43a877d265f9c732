// The HTTP listener of one account. Each account has its own, so that one can refuse connections while the others answer.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { listenOn } from '../../base/process/listen-on.ts';

const LOOPBACK = '127.0.0.1';
/**
 * Longer than a gateway keeps idle connections. A provider that closed them first could close one just when the gateway sends its next
 * request.
 */
const KEEP_ALIVE_MS = 75_000;

/** The handlers of the listener. */
export interface ListenerHandlers {
  onRequest(request: IncomingMessage, response: ServerResponse): void;
  /** Whether the path takes upgrades. Otherwise the request is handled as an ordinary one. */
  upgrades(request: IncomingMessage): boolean;
  onUpgrade(request: IncomingMessage, connection: Socket, head: Buffer): void;
  /** Called when the listener closes, because the server does not track upgraded connections. */
  onClose(): void;
}

export class AccountListener {
  readonly #handlers: ListenerHandlers;
  #server: Server | undefined;
  /** 0 before the first listen. */
  #port = 0;

  constructor(handlers: ListenerHandlers) {
    this.#handlers = handlers;
  }

  get url(): string {
    return `http://${LOOPBACK}:${this.#port}`;
  }

  get isOpen(): boolean {
    return this.#server !== undefined;
  }

  /** Listens on a free port. After `close` it listens on the same port again. */
  async open(): Promise<void> {
    if (this.#server !== undefined) return;
    const handlers = this.#handlers;
    const options = {
      keepAliveTimeout: KEEP_ALIVE_MS,
      requestTimeout: 0,
      shouldUpgradeCallback: (request: IncomingMessage) => handlers.upgrades(request),
    };
    const server = createServer(options, (request, response) => handlers.onRequest(request, response));
    server.on('upgrade', (request, connection, head) => handlers.onUpgrade(request, connection as Socket, head));
    this.#server = server;
    this.#port = (await listenOn(server, LOOPBACK, this.#port)).port;
  }

  /** Ends all connections and refuses new ones. */
  async close(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
      this.#handlers.onClose();
    });
  }
}
