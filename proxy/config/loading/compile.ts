// Compiles the checked content of a file into a Config: paths absolute, maps without prototype, everything frozen.
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import type {
  AccountConfig,
  AccountTls,
  Credential,
  KeyConfig,
  PoolConfig,
  ProxyConfig,
  SecretRef,
  ServingMode,
} from '../../turn/settings.ts';
import { METHODS } from '../checks/routes.ts';
import type { Config, NodeConfig, RouteConfig } from '../config.ts';

/** The content of a valid file with defaults filled in. */
interface Content extends Omit<Config, 'node' | 'accounts' | 'pools' | 'keys' | 'routes'> {
  readonly node: Omit<NodeConfig, 'id'> & { readonly id?: string };
  readonly accounts: readonly (Omit<AccountConfig, 'label' | 'api'> & { readonly label?: string })[];
  readonly pools: readonly (Omit<PoolConfig, 'label'> & { readonly label?: string })[];
  readonly keys: readonly (Omit<KeyConfig, 'expires_at'> & { readonly expires_at?: string })[];
  readonly routes: readonly (Omit<RouteConfig, 'method' | 'path'> & Readonly<Partial<Record<RouteConfig['method'], string>>>)[];
}

/**
 * @param data content that passed the schema and every check
 * @param folder folder of the file: the base of relative paths
 */
export function compile(data: unknown, folder: string): Config {
  const content = data as Content;
  const paused = new Set(content.accounts.flatMap((account) => (account.paused ? account.id : [])));
  return deepFreeze({
    ...content,
    store: compileStore(content.store, folder),
    store_key: reference(content.store_key, folder),
    node: compileNode(content, folder),
    accounts: content.accounts.map((account) => compileAccount(account, folder)),
    pools: content.pools.map((pool) => compilePool(pool, paused)),
    keys: content.keys.map(({ expires_at, ...key }) => ({
      ...key,
      overflow: true,
      ...(expires_at === undefined ? {} : { expires_at: Date.parse(expires_at) }),
    })),
    routes: content.routes.map(compileRoute),
  });
}

const MEMORY = 'sqlite::memory:';

function compileStore(store: Config['store'], folder: string): Config['store'] {
  if (typeof store !== 'string') return { ...store, postgres: reference(store.postgres, folder) };
  return store === MEMORY ? MEMORY : `sqlite:${resolve(folder, store.slice('sqlite:'.length))}`;
}

/** The id of the only node of a SQLite store. A host's name here would change the configuration's version in every new container. */
const ONLY_NODE = 'local';

function compileNode({ node, store }: Content, folder: string): NodeConfig {
  const { id = typeof store === 'string' ? ONLY_NODE : hostname(), secret, ...others } = node;
  return { ...others, id, ...(secret && { secret: reference(secret, folder) }) };
}

function compileAccount(account: Content['accounts'][number], folder: string): AccountConfig {
  return {
    ...account,
    api: 'agent',
    label: account.label ?? account.id,
    base_url: account.base_url.replace(/\/+$/, ''),
    ...(account.credential && { credential: compileCredential(account.credential, folder) }),
    ...(account.proxy && { proxy: compileProxy(account.proxy, folder) }),
    ...(account.tls && { tls: absolute(account.tls, folder) }),
    headers: lookupMap(Object.entries(account.headers).map(([name, value]) => [name.toLowerCase(), value])),
    models: lookupMap(Object.entries(account.models)),
  };
}

function compileCredential(credential: Credential, folder: string): Credential {
  if ('bearer' in credential) return { bearer: reference(credential.bearer, folder) };
  if ('header' in credential) return { header: { name: credential.header.name.toLowerCase(), ...reference(credential.header, folder) } };
  return { oauth: { ...credential.oauth, file: resolve(folder, credential.oauth.file) } };
}

function compileProxy({ url, credential }: ProxyConfig, folder: string): ProxyConfig {
  return { url, ...(credential && { credential: reference(credential, folder) }) };
}

/** The paths of files, all from the root. */
function absolute(files: AccountTls, folder: string): AccountTls {
  return Object.fromEntries(Object.entries(files).map(([name, path]) => [name, resolve(folder, path)]));
}

function compilePool(pool: Content['pools'][number], paused: ReadonlySet<string>): PoolConfig {
  return {
    ...pool,
    label: pool.label ?? pool.id,
    // `auto` means no override (PL3): the catalog decides.
    serving_modes: lookupMap(Object.entries(pool.serving_modes).filter(([, mode]: [string, ServingMode]) => mode !== 'auto')),
    models: lookupMap(Object.entries(pool.models)),
    assignments: pool.assignments.map((row) => ({ ...row, tier: 0, active: row.active && !paused.has(row.account) })),
    overflow: { on: ['quota', 'failing'], wait_ms: 0, reasoning: 'drop', tiers: {} },
  };
}

function compileRoute(row: Content['routes'][number]): RouteConfig {
  const method = METHODS.find((name) => row[name] !== undefined) ?? 'GET';
  const { status, serve, to } = row;
  return { method, path: row[method] ?? '/', status, class: row.class, ...(serve && { serve }), ...(to !== undefined && { to }) };
}

const reference = (secret: SecretRef, folder: string): SecretRef => ('file' in secret ? { file: resolve(folder, secret.file) } : secret);

/** A map that is looked up with clients' words. It has no prototype: a model named `constructor` is not found. */
function lookupMap<T>(entries: readonly (readonly [string, T])[]): Readonly<Record<string, T>> {
  const map: Record<string, T> = Object.create(null);
  for (const [word, value] of entries) map[word] = value;
  return map;
}

/** Restores what a configuration loses when it is copied between threads: freezing, and maps without prototype. */
export function restore(config: Config): Config {
  return deepFreeze({
    ...config,
    accounts: config.accounts.map((account) => ({
      ...account,
      headers: lookupMap(Object.entries(account.headers)),
      models: lookupMap(Object.entries(account.models)),
    })),
    pools: config.pools.map((pool) => ({
      ...pool,
      serving_modes: lookupMap(Object.entries(pool.serving_modes)),
      models: lookupMap(Object.entries(pool.models)),
    })),
  });
}

function deepFreeze<T extends object>(value: T): T {
  for (const inner of Object.values(value)) if (typeof inner === 'object' && inner !== null) deepFreeze(inner);
  return Object.freeze(value);
}
