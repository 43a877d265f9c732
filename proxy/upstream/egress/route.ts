// A route of connections to one origin that are not made directly with Node's own certificates. It has the options for each library that
// makes connections.
import { once } from 'node:events';
import { type Agent, type AgentOptions, Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { isIP, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext } from 'node:tls';
import type { buildConnector as Connector } from 'undici';
import type { ClientOptions } from 'ws';
import type { ProxyServer } from '../../config/config.ts';
import { buildConnector } from '../undici-parts.ts';
import { openTunnel } from './tunnel.ts';

export interface RouteOptions {
  /** The origin: scheme (http or https), host and port. */
  readonly origin: string;
  /** Undefined without a proxy. */
  readonly proxy: ProxyServer | undefined;
  /** The TLS settings of connections to the origin; undefined for Node's own certificates. */
  readonly context: SecureContext | undefined;
  /** The TLS settings of connections to an https proxy. */
  readonly proxyContext: SecureContext | undefined;
  /** Aborts connections that are being opened. */
  readonly ended: AbortSignal;
}

type Done = (error: Error | null, socket?: Socket) => void;

/** The error code of a connection that the proxy did not open. Nothing was sent to the account. */
export const NO_TUNNEL = 'ENOTUNNEL';

export class EgressRoute {
  readonly #options: RouteOptions;
  readonly #isSecure: boolean;
  readonly #host: string;
  readonly #port: number;

  constructor(options: RouteOptions) {
    const { protocol, hostname, port } = new URL(options.origin);
    this.#options = options;
    this.#isSecure = protocol === 'https:';
    this.#host = hostname.replace(/^\[(.*)\]$/, '$1');
    this.#port = port === '' ? (this.#isSecure ? 443 : 80) : Number(port);
  }

  /** Whether a proxy makes the connections and resolves the names. */
  get isProxied(): boolean {
    return this.#options.proxy !== undefined;
  }

  /** @param connectMs the longest time until the connection can be used */
  undici(connectMs: number): Connector.BuildOptions | Connector.connector {
    const { proxy, context } = this.#options;
    const direct = { timeout: connectMs, ...(context && { secureContext: context }) };
    if (!proxy) return direct;
    const secure = buildConnector({ ...direct, allowH2: false });
    return (options, callback) => {
      const failed = (error: Error): void => callback(error, null);
      if (this.#isSecure) this.#tunnel(connectMs).then((httpSocket) => secure({ ...options, httpSocket }, callback), failed);
      else this.#tunnel(connectMs).then((socket) => callback(null, socket), failed);
    };
  }

  /** An agent of Node's http client. */
  agent(options: AgentOptions, connectMs: number): Agent {
    const { proxy, context } = this.#options;
    const secured = { ...options, ...(context && { secureContext: context }) };
    const agent = this.#isSecure ? new HttpsAgent(secured) : new HttpAgent(options);
    if (proxy) agent.createConnection = (_request, done) => this.#connect(connectMs, done as Done);
    return agent;
  }

  /** The options of a websocket. */
  websocket(connectMs: number): ClientOptions {
    const { proxy, context } = this.#options;
    // ws passes further options to `tls.connect`, but its types have only some of them.
    if (!proxy) return (context ? { secureContext: context } : {}) as ClientOptions;
    // Node's http client accepts a connection that is passed to the callback later. The types of ws only have the direct return.
    const createConnection = (_options: object, done: Done): undefined => this.#connect(connectMs, done);
    return { createConnection: createConnection as unknown as NonNullable<ClientOptions['createConnection']> };
  }

  #connect(connectMs: number, done: Done): undefined {
    this.#open(connectMs).then((socket) => done(null, socket), done);
    return undefined;
  }

  /** Opens a connection and completes its TLS handshake. */
  async #open(connectMs: number): Promise<Socket> {
    const socket = await this.#tunnel(connectMs);
    if (!this.#isSecure) return socket;
    const { context } = this.#options;
    const servername = isIP(this.#host) === 0 ? this.#host : '';
    const secured = connectTls({
      socket,
      servername,
      host: this.#host,
      ALPNProtocols: ['http/1.1'],
      ...(context && { secureContext: context }),
    });
    const deadline = this.#deadline(connectMs);
    try {
      await once(secured, 'secureConnect', { signal: deadline });
      return secured;
    } catch (thrown) {
      secured.on('error', () => undefined).destroy();
      throw deadline.aborted ? LATE() : thrown;
    }
  }

  /** @throws Error with the code of a connection that was not opened, or not in time */
  async #tunnel(connectMs: number): Promise<Socket> {
    const { proxy, proxyContext } = this.#options;
    const deadline = this.#deadline(connectMs);
    try {
      return await openTunnel(proxy as ProxyServer, { host: this.#host, port: this.#port }, deadline, proxyContext);
    } catch (thrown) {
      if (deadline.aborted && !this.#options.ended.aborted) throw LATE();
      throw Object.assign(new Error('the proxy opened no connection', { cause: thrown }), { code: NO_TUNNEL });
    }
  }

  #deadline(ms: number): AbortSignal {
    return AbortSignal.any([this.#options.ended, AbortSignal.timeout(ms)]);
  }
}

const LATE = (): Error => Object.assign(new Error('the proxy opened no connection in time'), { code: 'ECONNECT_TIMEOUT' });
