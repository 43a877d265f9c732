// Resolves what connections need: the proxies of accounts with their credentials, certificates, the proxies of the environment, and the
// listener's certificate.
import { resolve } from 'node:path';
import { isMapping, mapping, rowsOf, text } from '../checks/config-rows.ts';
import type { AccountConnections, EnvironmentProxies, LoadedConfig } from '../config.ts';
import type { Path, Problem } from '../schema/finding.ts';
import { endingSoon, readTls, type TlsFiles } from './certificates.ts';
import { environmentProxies, proxyServer } from './proxies.ts';
import { resolveSecret, type SecretOptions } from './secrets.ts';

export interface ResolvedConnections {
  readonly connections: LoadedConfig['connections'];
  readonly environment: EnvironmentProxies | undefined;
  readonly listenTls: LoadedConfig['listenTls'];
  readonly problems: readonly Problem[];
}

export interface ConnectionOptions extends SecretOptions {
  /** Whether a listener's certificate that expires soon is a warning. */
  readonly certificateDates: boolean;
}

/** @param data the content of the file; malformed parts are skipped, because the schema and the checks report them */
export async function resolveConnections(data: unknown, options: ConnectionOptions): Promise<ResolvedConnections> {
  const connections = new Map<string, AccountConnections>();
  const problems: Problem[] = [];
  for (const { path, row } of rowsOf(data, 'accounts')) {
    const proxy = await accountProxy(row.proxy, [...path, 'proxy'], options);
    const tls = isMapping(row.tls) ? await readTls(filesIn(row.tls), options.folder, [...path, 'tls']) : undefined;
    problems.push(...(tls?.problems ?? []));
    if (proxy && 'message' in proxy) problems.push(proxy);
    const own = { ...(proxy && !('message' in proxy) && { proxy }), ...(tls && { tls: tls.material }) };
    if (Object.keys(own).length > 0) connections.set(text(row.id) ?? '', own);
  }
  const { tls, unix } = mapping(mapping(data).listen);
  const own = isMapping(tls) ? await readTls(filesIn({ cert: tls.cert, key: tls.key }), options.folder, ['listen', 'tls']) : undefined;
  const around = mapping(data).egress === 'environment' ? environmentProxies(options.env, ['egress']) : undefined;
  if (options.certificateDates) problems.push(...endingSoon(own?.material.cert, ['listen', 'tls', 'cert'], Date.now()));
  problems.push(...(own?.problems ?? []), ...(around?.problems ?? []), ...socketPath(text(mapping(unix).path), options.folder));
  return { connections, environment: around?.found, listenTls: own?.material, problems };
}

async function accountProxy(proxy: unknown, path: Path, options: SecretOptions): Promise<AccountConnections['proxy'] | Problem> {
  if (!isMapping(proxy)) return undefined;
  const { credential } = proxy;
  const secret = isMapping(credential) ? await resolveSecret(credential, [...path, 'credential'], options) : undefined;
  return typeof secret === 'object' ? secret : proxyServer(text(proxy.url) ?? '', secret);
}

/** The longest path of a socket on Linux, and about that on other systems. */
const MOST_PATH_BYTES = 107;

function* socketPath(path: string | undefined, folder: string): Generator<Problem> {
  const bytes = path === undefined ? 0 : Buffer.byteLength(resolve(folder, path));
  if (bytes <= MOST_PATH_BYTES) return;
  yield {
    path: ['listen', 'unix', 'path'],
    message: `the path of a socket has at most ${MOST_PATH_BYTES} bytes; with its folder this one has ${bytes}`,
  };
}

const filesIn = ({ ca, cert, key }: Readonly<Record<string, unknown>>): TlsFiles =>
  Object.fromEntries(Object.entries({ ca, cert, key }).filter(([, file]) => typeof file === 'string'));
