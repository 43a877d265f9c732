// Reads the proxies that the file and the environment name, with their credentials.
import type { EnvironmentProxies, ProxyServer } from '../config.ts';
import type { Path, Problem } from '../schema/finding.ts';

/** The default ports by scheme. */
const PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443, 'socks5:': 1080 };

/** The protocols by scheme. `socks5h` is curl's word for a proxy that resolves names, which `socks5` means here too. */
const PROTOCOLS: Readonly<Record<string, ProxyServer['protocol']>> = {
  'http:': 'http:',
  'https:': 'https:',
  'socks5:': 'socks5:',
  'socks5h:': 'socks5:',
};

/** @param credential `USER:PASSWORD`, which replaces one in the address @returns undefined if the address is not that of a proxy */
export function proxyServer(written: string, credential?: string): ProxyServer | undefined {
  const url = URL.canParse(written) ? new URL(written) : undefined;
  const protocol = url && PROTOCOLS[url.protocol];
  if (!protocol || url.hostname === '') return undefined;
  const pair = credential === undefined ? pairIn(url) : pairOf(credential);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const port = url.port === '' ? (PORTS[protocol] ?? 0) : Number(url.port);
  return { protocol, host, port, ...(pair && { credential: pair }) };
}

type Pair = NonNullable<ProxyServer['credential']>;

function pairOf(credential: string): Pair {
  const colon = credential.indexOf(':');
  if (colon === -1) return { user: credential, password: '' };
  return { user: credential.slice(0, colon), password: credential.slice(colon + 1) };
}

function pairIn({ username, password }: URL): Pair | undefined {
  if (username === '' && password === '') return undefined;
  return { user: decoded(username), password: decoded(password) };
}

/** Decodes percent escapes. A single percent sign is part of the password. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * Reads the variables as other programs do: the lower-case name takes precedence, and an address without a scheme is an http address.
 * @param path the path of the setting `egress`; messages repeat no value, because it may contain a password
 */
export function environmentProxies(
  env: NodeJS.ProcessEnv,
  path: Path,
): { readonly found: EnvironmentProxies; readonly problems: readonly Problem[] } {
  const problems: Problem[] = [];
  const read = (name: string): ProxyServer | undefined => {
    const written = env[name.toLowerCase()] || env[name] || '';
    if (written === '') return undefined;
    const server = proxyServer(written.includes('://') ? written : `http://${written}`);
    if (!server) problems.push({ path, message: `the environment variable ${name} is not the address of an http, https or socks5 proxy` });
    return server;
  };
  const [https, http] = [read('HTTPS_PROXY'), read('HTTP_PROXY')];
  if (!https && !http && problems.length === 0) {
    const message = 'neither HTTPS_PROXY nor HTTP_PROXY is set in the environment: accounts are reached directly';
    problems.push({ path, message, severity: 'warning' });
  }
  return { found: { ...(https && { https }), ...(http && { http }), except: env.no_proxy || env.NO_PROXY || '' }, problems };
}
