// Compiles the checked content of a file into a Config: paths are absolute, maps have no prototype, everything is frozen.
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import type { KeyConfig, PoolConfig, ServingMode } from '../../turn/settings.ts';
import { METHODS } from '../checks/routes.ts';
import type { Config, NodeConfig, RouteConfig } from '../config.ts';
import { type AccountContent, compileAccount, reference, restoreAccount } from './compile-account.ts';
import { lookupMap } from './lookup-map.ts';

/** The content of a valid file, with defaults filled in. */
interface Content extends Omit<Config, 'node' | 'accounts' | 'pools' | 'keys' | 'routes'> {
  readonly node: Omit<NodeConfig, 'id'> & { readonly id?: string };
  readonly accounts: readonly AccountContent[];
  readonly pools: readonly (Omit<PoolConfig, 'label' | 'overflow'> & Partial<Pick<PoolConfig, 'label' | 'overflow'>>)[];
  readonly keys: readonly (Omit<KeyConfig, 'expires_at'> & { readonly expires_at?: string })[];
  readonly routes: readonly (Omit<RouteConfig, 'method' | 'path'> & Readonly<Partial<Record<RouteConfig['method'], string>>>)[];
}

/** @param data content that passed the schema and all checks @param folder the folder of the file, to which paths are relative */
export function compile(data: unknown, folder: string): Config {
  const content = data as Content;
  const paused = new Set(content.accounts.flatMap((account) => (account.paused ? account.id : [])));
  return deepFreeze({
    ...content,
    listen: compileListen(content.listen, folder),
    store: compileStore(content.store, folder),
    store_key: reference(content.store_key, folder),
    node: compileNode(content, folder),
    accounts: content.accounts.map((account) => compileAccount(account, folder)),
    pools: content.pools.map((pool) => compilePool(pool, paused)),
    keys: content.keys.map(({ expires_at, ...key }) => ({
      ...key,
      ...(expires_at === undefined ? {} : { expires_at: Date.parse(expires_at) }),
    })),
    routes: content.routes.map(compileRoute),
  });
}

function compileListen({ tls, unix, ...listen }: Config['listen'], folder: string): Config['listen'] {
  return {
    ...listen,
    ...(tls && { tls: { cert: resolve(folder, tls.cert), key: resolve(folder, tls.key) } }),
    ...(unix && { unix: { ...unix, path: resolve(folder, unix.path) } }),
  };
}

const MEMORY = 'sqlite::memory:';

function compileStore(store: Config['store'], folder: string): Config['store'] {
  if (typeof store !== 'string') return { ...store, postgres: reference(store.postgres, folder) };
  return store === MEMORY ? MEMORY : `sqlite:${resolve(folder, store.slice('sqlite:'.length))}`;
}

/** The id of the only node of a SQLite store. With the host's name, every new container would have another version of the configuration. */
const ONLY_NODE = 'local';

function compileNode({ node, store }: Content, folder: string): NodeConfig {
  const { id = typeof store === 'string' ? ONLY_NODE : hostname(), secret, ...others } = node;
  return { ...others, id, ...(secret && { secret: reference(secret, folder) }) };
}

/** The `overflow` of a Pool that does not configure one. */
const NO_OVERFLOW: PoolConfig['overflow'] = { on: ['quota', 'failing'], wait_ms: 0, reasoning: 'drop', tiers: {} };

function compilePool(pool: Content['pools'][number], paused: ReadonlySet<string>): PoolConfig {
  return {
    ...pool,
    label: pool.label ?? pool.id,
    // `auto` means no override (PL3), so the catalog decides.
    serving_modes: lookupMap(Object.entries(pool.serving_modes).filter(([, mode]: [string, ServingMode]) => mode !== 'auto')),
    models: lookupMap(Object.entries(pool.models)),
    assignments: pool.assignments.map((row) => ({ ...row, active: row.active && !paused.has(row.account) })),
    overflow: pool.overflow ?? NO_OVERFLOW,
  };
}

function compileRoute(row: Content['routes'][number]): RouteConfig {
  const method = METHODS.find((name) => row[name] !== undefined) ?? 'GET';
  const { status, serve, to } = row;
  return { method, path: row[method] ?? '/', status, class: row.class, ...(serve && { serve }), ...(to !== undefined && { to }) };
}

/** Restores what a configuration loses when it is copied between threads: freezing, and maps without prototype. */
export function restoreCompiled(config: Config): Config {
  return deepFreeze({
    ...config,
    accounts: config.accounts.map(restoreAccount),
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
