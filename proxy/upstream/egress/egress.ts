// How the connections of one account are made: directly, or through its proxy, or one of the environment; with which certificates.
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
  /** Equal for connections that are made in the same way. It reveals no password. */
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

  /** The client certificate is shown to the account's own hosts only: an upload address or a proxy is another's. */
  #context(whose: 'own' | 'other'): SecureContext | undefined {
    const { ca, cert, key } = this.#options.tls ?? {};
    const shown = whose === 'own' && cert !== undefined ? { cert, key } : {};
    if (ca === undefined && !('cert' in shown)) return undefined;
    const known = this.#contexts.get(whose);
    if (known) return known;
    // `ca` alone would replace the public authorities.
    const trusted = ca === undefined ? {} : { ca: [...getCACertificates('default'), ca] };
    const context = createSecureContext({ minVersion: 'TLSv1.2', ...trusted, ...shown });
    this.#contexts.set(whose, context);
    return context;
  }
}

/** A simulated account is in this process: its address is no setting. */
export function egressOf(
  { id, base_url, credential }: AccountConfig,
  { connections, environment }: Pick<LoadedConfig, 'connections' | 'environment'>,
): Egress {
  if (base_url.startsWith('rehearsal:')) return new Egress({ own: new Set() });
  const { token_url, device_url = token_url } = credential && 'oauth' in credential ? credential.oauth : { token_url: base_url };
  const addresses = [base_url, token_url, device_url];
  return new Egress({ ...connections.get(id), environment, own: new Set(addresses.map((address) => new URL(address).origin)) });
}
