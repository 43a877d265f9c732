// The line of one account: a listener of its own, so that one account can refuse connections while the others answer.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const loopback = '127.0.0.1';
/** Longer than any gateway keeps idle connections: a provider that closes first makes races that nobody asked for. */
const keepAliveMs = 75_000;

export class Line {
  private readonly answer: (request: IncomingMessage, response: ServerResponse) => void;
  private server: Server | undefined;
  /** 0 until the first time that it is open. */
  private port = 0;

  constructor(answer: (request: IncomingMessage, response: ServerResponse) => void) {
    this.answer = answer;
  }

  get url(): string {
    return `http://${loopback}:${this.port}`;
  }

  get isOpen(): boolean {
    return this.server !== undefined;
  }

  /** Listens; the second time on the port of the first. */
  async open(): Promise<void> {
    if (this.server !== undefined) return;
    const server = createServer({ keepAliveTimeout: keepAliveMs, requestTimeout: 0 }, this.answer);
    this.server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.port, loopback, resolve);
    });
    this.port = (server.address() as AddressInfo).port;
  }

  /** Refuses connections from now on, and ends those that there are. */
  async close(): Promise<void> {
    const { server } = this;
    if (server === undefined) return;
    this.server = undefined;
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  }
}
