// Proxies for tests on loopback: an HTTP proxy for tunnels (CONNECT), with or without TLS, and a SOCKS5 proxy. Both resolve the names of
// hosts.
import { once } from 'node:events';
import { createServer as createHttp, type Server as HttpServer, type IncomingMessage } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { SelfSigned } from './certificate.ts';

export interface ProxyOptions {
  /** The user and password that it requires. */
  readonly user?: string;
  readonly password?: string;
  /** Names that only the proxy knows, with their addresses. It refuses any other name. */
  readonly names?: Readonly<Record<string, string>>;
  /** The certificate of an HTTP proxy with TLS. */
  readonly tls?: SelfSigned;
  /** The status with which an HTTP proxy refuses all tunnels. */
  readonly refuse?: number;
  /** Whether it accepts connections and never answers. */
  readonly isSilent?: boolean;
}

export interface TestProxy extends AsyncDisposable {
  readonly port: number;
  /** The tunnels that it opened, as `HOST:PORT`, in order. */
  readonly opened: readonly string[];
  /** The values of Proxy-Authorization that clients sent. */
  readonly credentials: readonly (string | undefined)[];
}

const addressOf = (host: string, { names = {} }: ProxyOptions): string | undefined =>
  names[host] ?? (/^[\d.]+$/.test(host) ? host : undefined);

/** Connects the two ends of a tunnel. Each ends with the other. */
function join(client: Socket, host: Socket): void {
  client.pipe(host).pipe(client);
  for (const [one, other] of [
    [client, host],
    [host, client],
  ] as const) {
    one.on('error', () => undefined).once('close', () => other.destroy());
  }
}

export async function httpProxy(options: ProxyOptions = {}): Promise<TestProxy> {
  const opened: string[] = [];
  const credentials: (string | undefined)[] = [];
  const sockets = new Set<Socket>();
  const tunnel = (request: IncomingMessage, client: Socket): void => {
    client.on('error', () => undefined);
    if (options.isSilent) return;
    const asked = request.headers['proxy-authorization'];
    credentials.push(asked);
    const refuse = (status: number): Socket => client.end(`HTTP/1.1 ${status} Refused\r\ncontent-length: 3\r\n\r\nno\n`);
    const wanted = options.user && `Basic ${Buffer.from(`${options.user}:${options.password ?? ''}`).toString('base64')}`;
    if (wanted && wanted !== asked) return void refuse(407);
    if (options.refuse !== undefined) return void refuse(options.refuse);
    const [host = '', port = ''] = (request.url ?? '').split(':');
    const address = addressOf(host, options);
    if (address === undefined) return void refuse(502);
    const target = connect(Number(port), address, () => {
      opened.push(`${host}:${port}`);
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      join(client, target);
    });
    target.once('error', () => refuse(502));
  };
  const server: HttpServer = options.tls ? createHttps(options.tls) : createHttp();
  server.on('connect', tunnel);
  return listening(server, sockets, { opened, credentials });
}

/** A proxy for RFC 1928 and 1929 that supports only CONNECT. In these tests each message of a client comes in one read. */
export async function socksProxy(options: ProxyOptions = {}): Promise<TestProxy> {
  const opened: string[] = [];
  const credentials: (string | undefined)[] = [];
  const server = createServer((client) => {
    client.on('error', () => undefined);
    if (options.isSilent) return;
    const reply = (code: number): boolean => client.write(Buffer.from([5, code, 0, 1, 0, 0, 0, 0, 0, 0]));
    const request = (message: Buffer): void => {
      const kind = message[3];
      const length = message[4] ?? 0;
      const [host, rest] =
        kind === 3 ? [message.toString('latin1', 5, 5 + length), 5 + length] : [[...message.subarray(4, 8)].join('.'), 8];
      const port = message.readUInt16BE(rest);
      const address = addressOf(host, options);
      if (address === undefined) return void reply(4);
      const target = connect(port, address, () => {
        opened.push(`${host}:${port}`);
        reply(0);
        join(client, target);
      });
      target.once('error', () => reply(5));
    };
    const login = (message: Buffer): void => {
      const user = message.toString('latin1', 2, 2 + (message[1] ?? 0));
      const at = 2 + user.length;
      const password = message.toString('latin1', at + 1, at + 1 + (message[at] ?? 0));
      credentials.push(`${user}:${password}`);
      const isRight = user === options.user && password === options.password;
      client.write(Buffer.from([1, isRight ? 0 : 1]));
      if (isRight) client.once('data', request);
      else client.end();
    };
    client.once('data', () => {
      client.once('data', options.user === undefined ? request : login);
      client.write(Buffer.from([5, options.user === undefined ? 0 : 2]));
    });
  });
  return listening(server, new Set(), { opened, credentials });
}

async function listening(server: Server, sockets: Set<Socket>, seen: Pick<TestProxy, 'opened' | 'credentials'>): Promise<TestProxy> {
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    ...seen,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
