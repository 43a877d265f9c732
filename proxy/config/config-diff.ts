// Computes the differences between two configurations by setting path. For a secret it shows only that it changed.
import { hash } from 'node:crypto';
import { oncePerObject } from '../base/process/once-per-object.ts';
import { canonicalJson, type Json } from '../turn/json/json.ts';
import type { Config } from './config.ts';
import { settings } from './schema/schema.ts';

export interface ConfigChange {
  /** The path of the setting, in which rows of lists are named by their id: `pools[team].max_attempts`. */
  readonly path: string;
  readonly kind: 'added' | 'removed' | 'changed' | 'reordered';
  /** The values before and after. Absent for whole rows and private values. */
  readonly from?: Json;
  readonly to?: Json;
  /** Whether the change takes effect only after a restart. */
  readonly restart: boolean;
}

/** Settings that are redacted in logs, audit rows and status replies: secrets, references to secrets, and account addresses. */
export const PRIVATE: ReadonlySet<string> = new Set([
  'base_url',
  'credential',
  'headers',
  'postgres',
  'proxy',
  'query',
  'secret',
  'secret_sha256',
  'store_key',
  'tls',
  'token_sha256',
]);

/** Whether a value is the mark of a private value. Equal values have equal marks, which reveal nothing else. */
const isMark = (value: Json | undefined): boolean => typeof value === 'string' && /^\(private [0-9a-f]{8}\)$/.test(value);

/** The settings that take effect only after a restart, such as `limits.header_bytes`. None of them is inside a list. */
export const RESTART_SETTINGS: readonly string[] = [...settings()].filter(({ node }) => node.restart === true).map(({ path }) => path);

/** The configuration as `/api/status` shows it: private values are replaced by marks that can be compared. */
export function redact(config: Config): Json {
  return masked(config as unknown as Json);
}

function masked(value: Json): Json {
  if (isList(value)) return value.map(masked);
  if (!isMapping(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const empty = isMapping(inner) && Object.keys(inner).length === 0;
      return [key, PRIVATE.has(key) && !empty && !isMark(inner) ? `(private ${fingerprint(inner).slice(0, 8)})` : masked(inner)];
    }),
  );
}

/**
 * The version of a configuration: 12 hex digits. It is equal for equal settings in any order and layout. With ten thousand keys it takes a
 * tenth of a second.
 */
export const versionOf = oncePerObject((config: Config): string => fingerprint(config as unknown as Json).slice(0, 12));

/**
 * Settings that may differ between nodes of one installation: the listeners of a node, its name, its log, and its connection to the store.
 */
const OWN: ReadonlySet<string> = new Set<keyof Config>(['listen', 'admin', 'metrics', 'node', 'log', 'store', 'store_key']);

/** The digest that nodes compare (Q34): 12 hex digits. It is equal if accounts, Pools, keys, routes and limits are equal. */
export const sharedDigestOf = (config: Config): string =>
  fingerprint(Object.fromEntries(Object.entries(config).filter(([name]) => !OWN.has(name))) as Json).slice(0, 12);

const fingerprint = (value: Json): string => hash('sha256', canonicalJson(value), 'hex');

/** @param running,next configurations, or results of `redact` */
export function diffConfigs(running: Config | Json, next: Config | Json): readonly ConfigChange[] {
  return [...changes(masked(running as Json), masked(next as Json), '')];
}

function* changes(from: Json, to: Json, path: string): Generator<ConfigChange> {
  if (isMapping(from) && isMapping(to)) {
    for (const key of new Set([...Object.keys(from), ...Object.keys(to)])) {
      yield* oneOf(from[key], to[key], path === '' ? key : `${path}.${key}`);
    }
  } else if (isRows(from) && isRows(to)) {
    yield* rowChanges(from, to, path);
  } else if (canonicalJson(from) !== canonicalJson(to)) {
    const hidden = isMark(from) || isMark(to);
    yield { path, kind: 'changed', ...(hidden ? {} : { from, to }), restart: needsRestart(path) };
  }
}

function* rowChanges(from: readonly Row[], to: readonly Row[], path: string): Generator<ConfigChange> {
  const before = new Map(from.map((row) => [rowId(row), row]));
  const after = new Map(to.map((row) => [rowId(row), row]));
  for (const id of new Set([...before.keys(), ...after.keys()])) yield* oneOf(before.get(id), after.get(id), `${path}[${id}]`);
  // The order of rows is compared, because `fill_first` and cohorts depend on it.
  const stayed = [...before.keys()].filter((id) => after.has(id));
  const order = [...after.keys()].filter((id) => before.has(id));
  if (stayed.some((id, i) => id !== order[i])) yield { path, kind: 'reordered', restart: false };
}

function* oneOf(from: Json | undefined, to: Json | undefined, path: string): Generator<ConfigChange> {
  if (from !== undefined && to !== undefined) yield* changes(from, to, path);
  else if (to !== undefined) yield { path, kind: 'added', ...(isShown(to) && { to }), restart: needsRestart(path) };
  else if (from !== undefined) yield { path, kind: 'removed', ...(isShown(from) && { from }), restart: needsRestart(path) };
}

/** Whether a change at this path takes effect only after a restart, according to the schema. */
export const needsRestart = (path: string): boolean =>
  RESTART_SETTINGS.some((setting) => path === setting || path.startsWith(`${setting}.`));

/** A change as text: `pools[team].max_attempts: 3 -> 5`, `keys[ci].secret_sha256: (changed)`, `accounts[east]: added`. */
export function formatChange({ path, kind, from, to, restart }: ConfigChange): string {
  const shown = (value: Json | undefined) =>
    path.endsWith('.expires_at') && typeof value === 'number' ? new Date(value).toISOString() : JSON.stringify(value);
  const note = restart ? ' (after a restart)' : '';
  if (kind === 'changed')
    return `${path}: ${from === undefined || to === undefined ? '(changed)' : `${shown(from)} -> ${shown(to)}`}${note}`;
  const value = to ?? from;
  return `${path}: ${kind}${value === undefined ? '' : ` ${shown(value)}`}${note}`;
}

type Row = { readonly [key: string]: Json };

/** The name of a row. It is unique within its list in a valid file. */
function rowId(row: Row): string {
  if (typeof row.method === 'string') return `${row.method} ${row.path}`;
  return String(row.id ?? row.account);
}

const isRows = (value: Json): value is readonly Row[] =>
  isList(value) && value.every((item) => isMapping(item) && ['id', 'account', 'method'].some((name) => typeof item[name] === 'string'));

const isShown = (value: Json): boolean => (isList(value) ? !isRows(value) : !isMapping(value) && !isMark(value));

const isList = (value: Json): value is readonly Json[] => Array.isArray(value);

const isMapping = (value: Json): value is Row => typeof value === 'object' && value !== null && !Array.isArray(value);
