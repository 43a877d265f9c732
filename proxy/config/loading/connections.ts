// Resolves what the connections to accounts need: proxies with their credentials, certificates, the proxies of the environment.
import { isMapping, mapping, rowsOf, text } from '../checks/rows.ts';
import type { AccountConnections, EnvironmentProxies, LoadedConfig } from '../config.ts';
import type { Path, Problem } from '../schema/finding.ts';
import { readTls, type TlsFiles } from './certificates.ts';
import { environmentProxies, proxyServer } from './proxies.ts';
import { resolveSecret, type SecretOptions } from './secrets.ts';

export interface Connections {
  readonly connections: LoadedConfig['connections'];
  readonly environment: EnvironmentProxies | undefined;
  readonly problems: readonly Problem[];
}

/** @param data content of the file; malformed parts are skipped, because the schema and the checks report them */
export async function resolveConnections(data: unknown, options: SecretOptions): Promise<Connections> {
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
  if (mapping(data).egress !== 'environment') return { connections, environment: undefined, problems };
  const { found, problems: unset } = environmentProxies(options.env, ['egress']);
  return { connections, environment: found, problems: [...problems, ...unset] };
}

async function accountProxy(proxy: unknown, path: Path, options: SecretOptions): Promise<AccountConnections['proxy'] | Problem> {
  if (!isMapping(proxy)) return undefined;
  const { credential } = proxy;
  const secret = isMapping(credential) ? await resolveSecret(credential, [...path, 'credential'], options) : undefined;
  return typeof secret === 'object' ? secret : proxyServer(text(proxy.url) ?? '', secret);
}

const filesIn = ({ ca, cert, key }: Readonly<Record<string, unknown>>): TlsFiles =>
  Object.fromEntries(Object.entries({ ca, cert, key }).filter(([, file]) => typeof file === 'string'));
