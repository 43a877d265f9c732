// A proxy between a store and its PostgreSQL, whose connections a test can cut or stop.
import { once } from 'node:events';
import { type AddressInfo, createServer, connect as dial, type Server, type Socket } from 'node:net';
import { SentStatements } from './postgres-statements.ts';

/** The server's answer to a COMMIT that succeeded. */
const COMMITTED = Buffer.from('COMMIT\0');
/** The beginning of the statement with which a client listens for notifications. */
const LISTEN = Buffer.from('LISTEN ');

export class Link {
  readonly #server: Server;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  readonly #feeds = new Set<readonly [Socket, Socket]>();
  #stopped = false;
  /** The number of connections that are still to be cut when a commit is answered, so that the answer is lost. */
  lostCommits = 0;
  /** Whether new connections are ended at once. */
  refuses = false;
  /** Whether connections that listen for notifications are cut. */
  refusesFeeds = false;
  /** The delay of bytes in each direction, in milliseconds. */
  delayMs = 0;
  /** How often a client sent something after an answer. */
  roundTrips = 0;
  /** The number of round trips that began with each statement. */
  readonly statements = new Map<string, number>();

  private constructor(server: Server) {
    this.#server = server;
  }

  /** @param to the URL of a database on a socket */
  static async open(to: string): Promise<Link> {
    const path = `${new URL(to).searchParams.get('host')}/.s.PGSQL.5432`;
    const server = createServer({ noDelay: true }, (client) => link.#connect(client, path));
    const link = new Link(server);
    server.listen(0, '127.0.0.1').unref();
    await once(server, 'listening');
    return link;
  }

  /** The URL of the database through this proxy. */
  url(to: string): string {
    const url = new URL(to);
    url.host = `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    url.searchParams.delete('host');
    return url.href;
  }

  get connections(): number {
    return this.#pairs.size;
  }

  /** Ends all connections. Later ones are accepted, unless `refuses` is set. */
  cut(): void {
    for (const sockets of this.#pairs) for (const socket of sockets) socket.destroy();
  }

  /** Ends the connections that listen for notifications. */
  cutFeeds(): void {
    for (const sockets of this.#feeds) for (const socket of sockets) socket.destroy();
  }

  /** Stops all bytes in both directions, like a firewall that drops packets. Connections stay open, and new ones get no answer. */
  stop(): void {
    this.#stopped = true;
    for (const sockets of this.#pairs) for (const socket of sockets) socket.pause();
  }

  resume(): void {
    this.#stopped = false;
    for (const sockets of this.#pairs) for (const socket of sockets) socket.resume();
  }

  close(): void {
    this.#server.close();
    this.cut();
  }

  #connect(client: Socket, path: string): void {
    if (this.refuses) {
      client.destroy();
      return;
    }
    const server = dial(path);
    const pair = [client, server] as const;
    this.#pairs.add(pair);
    const pass = (to: Socket, bytes: Buffer): void => {
      if (this.delayMs === 0) to.write(bytes);
      else setTimeout(() => to.write(bytes), this.delayMs);
    };
    let answered = true;
    const sent = new SentStatements();
    client.on('data', (bytes) => {
      if (bytes.includes(LISTEN)) {
        if (this.refusesFeeds) {
          client.destroy();
          return;
        }
        this.#feeds.add(pair);
      }
      const [statement] = sent.read(bytes);
      if (answered) this.roundTrips++;
      if (answered && statement !== undefined) this.statements.set(statement, (this.statements.get(statement) ?? 0) + 1);
      answered = false;
      pass(server, bytes);
    });
    server.on('data', (bytes) => {
      if (this.lostCommits > 0 && bytes.includes(COMMITTED)) {
        this.lostCommits--;
        client.destroy();
        return;
      }
      answered = true;
      pass(client, bytes);
    });
    const over = (): void => {
      this.#pairs.delete(pair);
      this.#feeds.delete(pair);
      client.destroy();
      server.destroy();
    };
    for (const socket of pair) socket.on('error', over).on('close', over);
    if (this.#stopped) this.stop();
  }
}
