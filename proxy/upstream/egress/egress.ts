// How the connections of one account are made: directly, through its proxy or a proxy of the environment, and with which certificates.
import { hash } from 'node:crypto';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import type { AccountConnections, EnvironmentProxies, LoadedConfig, ProxyServer } from '../../config/config.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import { isExcepted } from './proxy-exceptions.ts';
import { EgressRoute } from './route.ts';

export interface EgressOptions extends AccountConnections {
  readonly environment?: EnvironmentProxies | undefined;
  /** The origins that get the client certificate. */
  readonly own: ReadonlySet<string>;
}

export class Egress {
  /** A text that is equal for connections that are made in the same way. It contains no password. */
  readonly identity: string;
  readonly #options: EgressOptions;
  readonly #ended = new AbortController();
  readonly #routes = new Map<string, EgressRoute | undefined>();
  readonly #contexts = new Map<string, SecureContext>();

  constructor(options: EgressOptions) {
    this.#options = options;
    const { proxy, tls, environment } = options;
    this.identity = proxy || tls || environment ? hash('sha256', JSON.stringify([proxy, tls, environment]), 'hex') : 'direct';
  }

  /** The way to an address; undefined for a direct connection with Node's own certificates. */
  routeTo(url: string): EgressRoute | undefined {
    const { origin, protocol } = new URL(url);
    if (this.identity === 'direct') return undefined;
    if (this.#routes.has(origin)) return this.#routes.get(origin);
    const proxy = this.#proxyFor(new URL(origin));
    const context = protocol === 'https:' ? this.#context(this.#options.own.has(origin) ? 'own' : 'other') : undefined;
    const proxyContext = proxy?.protocol === 'https:' ? this.#context('other') : undefined;
    const route = proxy || context ? new EgressRoute({ origin, proxy, context, proxyContext, ended: this.#ended.signal }) : undefined;
    // An account that names another upload address with each file must not fill the memory.
    if (this.#options.own.has(origin)) this.#routes.set(origin, route);
    return route;
  }

  /** Ends the connections that are being opened. */
  end(): void {
    this.#ended.abort();
  }

  #proxyFor({ protocol, hostname, port }: URL): ProxyServer | undefined {
    const { proxy, environment } = this.#options;
    if (proxy || !environment) return proxy;
    const isSecure = protocol === 'https:';
    const found = isSecure ? environment.https : environment.http;
    const host = hostname.replace(/^\[(.*)\]$/, '$1');
    return found && !isExcepted(environment.except, host, Number(port) || (isSecure ? 443 : 80)) ? found : undefined;
  }

  /** The TLS settings for a host. The client certificate is shown only to the account's own hosts, not to an upload address or a proxy. */
  #context(whose: 'own' | 'other'): SecureContext | undefined {
    const { ca, cert, key } = this.#options.tls ?? {};
    const shown = whose === 'own' && cert !== undefined ? { cert, key } : {};
    if (ca === undefined && !('cert' in shown)) return undefined;
    const known = this.#contexts.get(whose);
    if (known) return known;
    // The public authorities are added, because `ca` alone would replace them.
    const trusted = ca === undefined ? {} : { ca: [...getCACertificates('default'), ca] };
    const context = createSecureContext({ minVersion: 'TLSv1.2', ...trusted, ...shown });
    this.#contexts.set(whose, context);
    return context;
  }
}

/** The egress of an account. A simulated account is reached directly, because it is in this process. */
export function egressOf(
  { id, base_url, credential }: AccountConfig,
  { connections, environment }: Pick<LoadedConfig, 'connections' | 'environment'>,
): Egress {
  if (base_url.startsWith('rehearsal:')) return new Egress({ own: new Set() });
  const { token_url, device_url = token_url } = credential && 'oauth' in credential ? credential.oauth : { token_url: base_url };
  const addresses = [base_url, token_url, device_url];
  return new Egress({ ...connections.get(id), environment, own: new Set(addresses.map((address) => new URL(address).origin)) });
}
