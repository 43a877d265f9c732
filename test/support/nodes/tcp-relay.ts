// A relay between two nodes for tests. It passes connections on to a port, and can be cut, stalled or made silent.
import { once } from 'node:events';
import { type AddressInfo, createServer, connect as dial, type Server, type Socket } from 'node:net';

export class TcpRelay {
  readonly url: string;
  /** The number of connections so far. */
  accepted = 0;
  /** The bytes that came for the target. */
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

  /** @param target the URL of a listener; without it connections are accepted, but never answered */
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

  /** The number of open sockets on both sides. */
  get open(): number {
    return this.#sockets.size;
  }

  /** Ends all connections at once, for both sides. */
  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Holds the bytes of both sides back until `thaw`. */
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
