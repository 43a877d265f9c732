// A network between two nodes for tests: relays connections to a port, and can be cut, stalled, or made silent.
import { once } from 'node:events';
import { type AddressInfo, createServer, connect as dial, type Server, type Socket } from 'node:net';

export class TcpRelay {
  readonly url: string;
  /** Connections so far. */
  accepted = 0;
  /** The bytes for the target. */
  readonly received: Buffer[] = [];
  readonly #server: Server;
  readonly #sockets: Set<Socket>;

  private constructor(server: Server, sockets: Set<Socket>) {
    this.#server = server;
    this.#sockets = sockets;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('connection', (socket) => {
      this.accepted += 1;
      socket.on('data', (chunk: Buffer) => void this.received.push(chunk));
    });
  }

  /** @param target the URL of a listener; without one connections are accepted, and nothing is ever answered */
  static async start(target?: string): Promise<TcpRelay> {
    const sockets = new Set<Socket>();
    const watch = (socket: Socket): Socket => {
      sockets.add(socket);
      return socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
    };
    const server = createServer((client) => {
      watch(client);
      if (target === undefined) {
        client.resume();
        return;
      }
      const { hostname, port } = new URL(target);
      const other = watch(dial(Number(port), hostname));
      client.pipe(other).pipe(client);
      for (const [one, two] of [
        [client, other],
        [other, client],
      ] as const)
        one.once('close', () => two.destroy());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new TcpRelay(server, sockets);
  }

  /** Sockets of either side that are open. */
  get open(): number {
    return this.#sockets.size;
  }

  /** Ends all connections at once, for both sides. */
  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Bytes of either side are not delivered until `thaw`. */
  freeze(): void {
    for (const socket of this.#sockets) socket.pause();
  }

  thaw(): void {
    for (const socket of this.#sockets) socket.resume();
  }

  async close(): Promise<void> {
    this.cut();
    const closed = once(this.#server, 'close');
    this.#server.close();
    await closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
