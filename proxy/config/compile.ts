// Turns the checked content of a file into the Config that the gateway runs on: absolute, typed and frozen.
import { resolve } from 'node:path';
import type { AccountConfig, Credential, KeyConfig, PoolConfig, SecretRef, ServingMode } from '../turn/settings.ts';
import { METHODS } from './checks/routes.ts';
import type { Config, RouteConfig } from './config.ts';

/** What a valid file holds once defaults are in: Config, but for these. */
interface Content extends Omit<Config, 'accounts' | 'pools' | 'keys' | 'routes'> {
  readonly accounts: readonly (Omit<AccountConfig, 'label'> & { readonly label?: string })[];
  readonly pools: readonly (Omit<PoolConfig, 'label'> & { readonly label?: string })[];
  readonly keys: readonly (Omit<KeyConfig, 'expires_at'> & { readonly expires_at?: string })[];
  readonly routes: readonly (Omit<RouteConfig, 'method' | 'path'> & Readonly<Partial<Record<RouteConfig['method'], string>>>)[];
}

/**
 * @param data Content that passed the schema and every check.
 * @param folder Folder of the file, from which relative paths start.
 */
export function compile(data: unknown, folder: string): Config {
  const content = data as Content;
  return frozen({
    ...content,
    store: content.store === MEMORY ? MEMORY : `sqlite:${resolve(folder, content.store.slice('sqlite:'.length))}`,
    store_key: reference(content.store_key, folder),
    accounts: content.accounts.map((account) => compileAccount(account, folder)),
    pools: content.pools.map(compilePool),
    keys: content.keys.map(({ expires_at, ...key }) => ({
      ...key,
      ...(expires_at === undefined ? {} : { expires_at: Date.parse(expires_at) }),
    })),
    routes: content.routes.map(compileRoute),
  });
}

const MEMORY = 'sqlite::memory:';

function compileAccount(account: Content['accounts'][number], folder: string): AccountConfig {
  return {
    ...account,
    label: account.label ?? account.id,
    base_url: account.base_url.replace(/\/+$/, ''),
    ...(account.credential && { credential: compileCredential(account.credential, folder) }),
    headers: wordMap(Object.entries(account.headers).map(([name, value]) => [name.toLowerCase(), value])),
    models: wordMap(Object.entries(account.models)),
  };
}

function compileCredential(credential: Credential, folder: string): Credential {
  if ('bearer' in credential) return { bearer: reference(credential.bearer, folder) };
  return { oauth: { ...credential.oauth, file: resolve(folder, credential.oauth.file) } };
}

function compilePool(pool: Content['pools'][number]): PoolConfig {
  return {
    ...pool,
    label: pool.label ?? pool.id,
    // `auto` is no override (PL3): the catalog decides, as where nothing is written.
    serving_modes: wordMap(Object.entries(pool.serving_modes).filter(([, mode]: [string, ServingMode]) => mode !== 'auto')),
    models: wordMap(Object.entries(pool.models)),
  };
}

function compileRoute(row: Content['routes'][number]): RouteConfig {
  const method = METHODS.find((name) => row[name] !== undefined) ?? 'GET';
  const { status, serve, to } = row;
  return { method, path: row[method] ?? '/', status, class: row.class, ...(serve && { serve }), ...(to !== undefined && { to }) };
}

const reference = (secret: SecretRef, folder: string): SecretRef => ('file' in secret ? { file: resolve(folder, secret.file) } : secret);

/** A map that is asked with words of clients: without a prototype, so that a model named `constructor` finds nothing. */
function wordMap<T>(entries: readonly (readonly [string, T])[]): Readonly<Record<string, T>> {
  const map: Record<string, T> = Object.create(null);
  for (const [word, value] of entries) map[word] = value;
  return map;
}

/** A configuration that came from another thread: what a copy loses is its frozenness and the maps without a prototype. */
export function revived(config: Config): Config {
  return frozen({
    ...config,
    accounts: config.accounts.map((account) => ({
      ...account,
      headers: wordMap(Object.entries(account.headers)),
      models: wordMap(Object.entries(account.models)),
    })),
    pools: config.pools.map((pool) => ({
      ...pool,
      serving_modes: wordMap(Object.entries(pool.serving_modes)),
      models: wordMap(Object.entries(pool.models)),
    })),
  });
}

function frozen<T extends object>(value: T): T {
  for (const inner of Object.values(value)) if (typeof inner === 'object' && inner !== null) frozen(inner);
  return Object.freeze(value);
}
