// Compiles the account rows of a checked file. What an account leaves out comes from its preset, otherwise from the general defaults (AA1,
// AA17).
import { resolve } from 'node:path';
import { type ApiAccountConfig, type DeclaredModel, isApiAccount } from '../../turn/provider/api-account.ts';
import { type Preset, type PresetName, presetOf } from '../../turn/provider/presets.ts';
import { NO_QUIRKS, type Quirks } from '../../turn/provider/quirks.ts';
import type { ApiCompaction } from '../../turn/provider/served.ts';
import type { AccountConfig, AccountTls, Credential, ProxyConfig, SecretRef } from '../../turn/settings.ts';
import { lookupMap } from './lookup-map.ts';

/** The settings that an account takes from its preset, or that have other defaults with another API. */
type Optional = 'label' | 'api' | 'base_url' | 'credential' | 'max_concurrent' | 'websocket' | 'compact';

type ApiSettings = Omit<ApiAccountConfig, keyof AccountConfig | 'quirks' | 'preset' | 'catalog'>;

/** An account row of a valid file with the defaults of the schema filled in. */
export type AccountContent = Omit<AccountConfig, Optional> &
  Partial<Omit<Pick<AccountConfig, Optional>, 'credential'>> &
  Partial<ApiSettings> & {
    readonly credential?: Credential | 'none';
    readonly preset?: PresetName;
    readonly quirks?: Partial<Quirks>;
    readonly catalog?: readonly (Omit<DeclaredModel, 'native'> & Partial<Pick<DeclaredModel, 'native'>>)[];
  };

const MAX_CONCURRENT = 32;
/** The default for presets without a credential, which are servers on the operator's own machine (AA6). */
const MAX_CONCURRENT_LOCAL = 4;

export function compileAccount(row: AccountContent, folder: string): AccountConfig {
  const preset = row.preset && presetOf(row.preset);
  const { credential, ...account } = row;
  const base = {
    ...account,
    label: row.label ?? row.id,
    base_url: (row.base_url ?? preset?.base_url ?? '').replace(/\/+$/, ''),
    ...(credential && credential !== 'none' && { credential: compileCredential(credential, folder) }),
    ...(row.proxy && { proxy: compileProxy(row.proxy, folder) }),
    ...(row.tls && { tls: absolute(row.tls, folder) }),
    max_concurrent: row.max_concurrent ?? (preset?.credential === 'none' ? MAX_CONCURRENT_LOCAL : MAX_CONCURRENT),
    headers: lookupMap(Object.entries(row.headers).map(([name, value]) => [name.toLowerCase(), value])),
    models: lookupMap(Object.entries(row.models)),
  };
  const api = row.api ?? preset?.apis[0] ?? 'agent';
  if (api === 'agent') return { ...base, api, websocket: row.websocket ?? true, compact: row.compact ?? 'auto' };
  const compiled: ApiAccountConfig = {
    ...base,
    api,
    query: lookupMap(Object.entries(row.query ?? {})),
    insecure_http: row.insecure_http ?? false,
    websocket: row.websocket ?? (api === 'responses' && (preset?.websocket ?? false)),
    compact: compactionOf(row, api, preset),
    catalog: (row.catalog ?? []).map((model) => ({ ...model, native: model.native ?? {} })),
    read_models: row.read_models ?? (row.catalog || Object.keys(row.models).length > 0 ? 'declared' : 'all'),
    serves: row.serves ?? preset?.serves ?? ['turns', 'compact'],
    hosted_tools: row.hosted_tools ?? preset?.hosted_tools ?? [],
    quirks: compileQuirks({ ...NO_QUIRKS, ...preset?.quirks, ...row.quirks }),
  };
  return compiled;
}

/** How the account compacts. The default of a preset that needs the Responses API is not used for a Chat account (AA13). */
function compactionOf({ compact }: AccountContent, api: ApiAccountConfig['api'], preset: Preset | undefined): ApiCompaction {
  if (compact !== undefined && compact !== 'auto') return compact;
  return api === 'responses' ? (preset?.compact ?? 'summary') : 'summary';
}

/** Makes a look-up map of the levels of effort, because they are words of clients. */
const compileQuirks = (quirks: Quirks): Quirks => ({ ...quirks, effort_values: lookupMap(Object.entries(quirks.effort_values)) });

function compileCredential(credential: Credential, folder: string): Credential {
  if ('bearer' in credential) return { bearer: reference(credential.bearer, folder) };
  if ('header' in credential) {
    const { name, ...secret } = credential.header;
    return { header: { name: name.toLowerCase(), ...reference(secret, folder) } };
  }
  const { file, ...oauth } = credential.oauth;
  return { oauth: { ...oauth, ...(file !== undefined && { file: resolve(folder, file) }) } };
}

function compileProxy({ url, credential }: ProxyConfig, folder: string): ProxyConfig {
  return { url, ...(credential && { credential: reference(credential, folder) }) };
}

/** The paths of the files as absolute paths. */
function absolute(files: AccountTls, folder: string): AccountTls {
  return Object.fromEntries(Object.entries(files).map(([name, path]) => [name, resolve(folder, path)]));
}

/** The reference to a secret, with an absolute path. */
export const reference = (secret: SecretRef, folder: string): SecretRef =>
  'file' in secret ? { file: resolve(folder, secret.file) } : secret;

/** Restores the maps of an account that was copied between threads. */
export function restoreAccount(account: AccountConfig): AccountConfig {
  const maps = { headers: lookupMap(Object.entries(account.headers)), models: lookupMap(Object.entries(account.models)) };
  if (!isApiAccount(account)) return { ...account, ...maps };
  const restored: ApiAccountConfig = {
    ...account,
    ...maps,
    query: lookupMap(Object.entries(account.query)),
    quirks: compileQuirks(account.quirks),
  };
  return restored;
}
