// How the connections of one account are made: directly, through its proxy or a proxy of the environment, and with which certificates.
// NO_PROXY is read as by curl and most other programs.
import { hash } from 'node:crypto';
import { BlockList, isIP } from 'node:net';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import type { AccountConnections, EnvironmentProxies, LoadedConfig, ProxyServer } from '../../config/config.ts';
import type { AccountConfig } from '../../turn/settings.ts';
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

/**
 * @param except names, addresses and networks, separated by commas or spaces. A name includes its subdomains, `*` includes every host, and
 * `:PORT` limits an entry to that port.
 * @param host a name or an address, without brackets
 */
export function isExcepted(except: string, host: string, port: number): boolean {
  const name = host.toLowerCase().replace(/\.$/, '');
  return except
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => entry !== '' && covers(entry, name, port));
}

function covers(entry: string, name: string, port: number): boolean {
  if (entry === '*') return true;
  const { host, only } = parsed(entry);
  if (only !== undefined && only !== port) return false;
  const family = isIP(name);
  if (family !== 0) return includes(host, name, family);
  const suffix = host.replace(/^\*?\./, '');
  return name === suffix || name.endsWith(`.${suffix}`);
}

/** An entry as host and port. An IPv6 address with a port has brackets. */
function parsed(entry: string): { readonly host: string; readonly only?: number } {
  const [, bracketed, plain, port] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d+))?$/.exec(entry) ?? [];
  const host = bracketed ?? plain ?? entry;
  return port === undefined ? { host } : { host, only: Number(port) };
}

/** Whether an entry is this address, or a network that contains it. */
function includes(entry: string, address: string, family: number): boolean {
  const [network = '', bits] = entry.split('/');
  const version = isIP(network);
  if (version === 0) return false;
  const list = new BlockList();
  const type = version === 6 ? 'ipv6' : 'ipv4';
  const most = version === 6 ? 128 : 32;
  const length = bits === undefined ? most : Number(bits);
  if (!Number.isInteger(length) || length < 0 || length > most) return false;
  list.addSubnet(network, length, type);
  return list.check(address, family === 6 ? 'ipv6' : 'ipv4');
}
