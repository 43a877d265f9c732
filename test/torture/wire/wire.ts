// The wire between the gateway and one account. It passes bytes on, keeps the bytes of each exchange, and breaks replies as an attack
// demands.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { Exchange, Exchanges } from './exchanges.ts';
import { FaultyWriter } from './faulty-writer.ts';

const REQUEST_LINE = /^(GET|POST|PUT|DELETE|OPTIONS) (\S+) HTTP\/1\.1\r\n/;

export interface WireOptions {
  readonly account: string;
  /** The address of the account. */
  readonly provider: string;
  readonly exchanges: Exchanges;
}

export class Wire {
  readonly url: string;
  readonly #server: Server;
  readonly #sockets: Set<Socket>;

  private constructor(server: Server, sockets: Set<Socket>) {
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    this.#server = server;
    this.#sockets = sockets;
  }

  static async open(options: WireOptions): Promise<Wire> {
    const sockets = new Set<Socket>();
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
      carry(socket, options);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return new Wire(server, sockets);
  }

  /** Ends the open connections. */
  hangUp(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.hangUp();
    await closed;
  }
}

/** Carries one connection of the gateway. */
function carry(gateway: Socket, { account, provider, exchanges }: WireOptions): void {
  const { hostname, port } = new URL(provider);
  const behind = connect({ host: hostname, port: Number(port), allowHalfOpen: true, noDelay: true });
  let exchange: Exchange | undefined;
  let writer: FaultyWriter | undefined;
  const end = (): void => {
    if (exchange) exchange.isOver = true;
    behind.destroy();
    gateway.destroy();
  };
  gateway.on('data', (bytes: Buffer) => {
    const [, method, path] = REQUEST_LINE.exec(bytes.toString('latin1', 0, 2_000)) ?? [];
    if (method !== undefined && path !== undefined) {
      if (exchange) exchange.isOver = true;
      const begun = exchanges.begin({ account, method, path });
      exchange = begun.exchange;
      writer = new FaultyWriter(gateway, exchange, begun.fault);
      exchange.ask(bytes);
      if (begun.answer) {
        begun.answer(writer, gateway, bytes);
        return;
      }
    } else exchange?.ask(bytes);
    if (exchange?.answered !== true && !behind.write(bytes)) {
      gateway.pause();
      behind.once('drain', () => gateway.resume());
    }
  });
  behind.on('data', (bytes: Buffer) => {
    if (exchange?.answered === true || (writer ?? gateway).write(bytes)) return;
    behind.pause();
    gateway.once('drain', () => behind.resume());
  });
  gateway.on('close', end).on('end', () => {
    if (exchange) exchange.isOver = true;
    behind.end();
    // Nothing more comes after a reply that was stopped.
    if (writer?.stopped === true) gateway.end();
  });
  const ended = (): void => {
    if (writer?.stopped !== true && exchange?.answered !== true) gateway.end();
  };
  behind.on('end', ended).on('close', ended);
  for (const socket of [gateway, behind]) socket.on('error', () => undefined);
}
