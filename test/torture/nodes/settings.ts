// The configuration of all nodes of the stage: accounts without bounds, with `max_concurrent`, and with logins, and keys with and without
// limits.
import { hash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RehearsalAccount } from '../../../proxy/rehearsal/account/simulated-account.ts';
import type { Draft } from '../../support/gateway.ts';

export const MOST_CONCURRENT = { account: 5, key: 4 } as const;
export const REQUESTS_PER_MINUTE = 60;
const TOKENS_PER_MINUTE = 40_000;

/** The accounts by Pool. */
const ACCOUNTS = { open: ['open-1', 'open-2'], capped: ['capped-1'], login: ['login-1', 'login-2'] } as const;

export const CAPPED_ACCOUNT = 'capped-1';
export const LOGINS: readonly string[] = ACCOUNTS.login;
const ALL: readonly string[] = Object.values(ACCOUNTS).flat();

/** The keys with their Pools and limits. */
export const KEYS = {
  free: { pool: 'open', limits: {} },
  socket: { pool: 'open', limits: {} },
  capped: { pool: 'capped', limits: {} },
  login: { pool: 'login', limits: {} },
  minute: { pool: 'open', limits: { requests_per_minute: REQUESTS_PER_MINUTE } },
  tokens: { pool: 'open', limits: { tokens_per_minute: TOKENS_PER_MINUTE, tokens_per_day: 1_000_000_000 } },
  few: { pool: 'open', limits: { concurrent: MOST_CONCURRENT.key } },
} as const;

export type KeyName = keyof typeof KEYS;

export const KEY_NAMES = Object.keys(KEYS) as readonly KeyName[];

export const hasLimits = (key: KeyName): boolean => Object.keys(KEYS[key].limits).length > 0;

export const secretOf = (key: KeyName): string => `pg-nodes-${key}`;

const CLIENT = 'client-1';
const firstToken = (account: string): string => `rt-${account}-first`;

export const rehearsalAccounts = (): readonly RehearsalAccount[] =>
  ALL.map((id) => ({
    id,
    strict: false,
    ...(LOGINS.includes(id) ? { oauth: { refresh_token: firstToken(id), access_token: 'at-first', client_id: CLIENT } } : {}),
  }));

const loginFile = (folder: string, account: string): string => join(folder, `${account}.json`);

/** Writes the login of an operator into a tokens file. */
export function writeLogin(folder: string, account: string, refresh_token = firstToken(account)): void {
  mkdirSync(folder, { recursive: true });
  const tokens = { access_token: 'at-first', refresh_token, account_id: account, id_token: 'it' };
  writeFileSync(loginFile(folder, account), JSON.stringify({ tokens }));
}

/** The configuration without `node` and `store`. @param urlOf returns the address of an account at the provider */
export function settingsFor(folder: string, urlOf: (account: string) => string): Draft {
  for (const account of LOGINS) writeLogin(folder, account);
  const credential = (id: string): Draft =>
    LOGINS.includes(id)
      ? { oauth: { file: loginFile(folder, id), token_url: `${urlOf(id)}/oauth/token`, client_id: CLIENT } }
      : { bearer: { env: 'TORTURE_BEARER' } };
  return {
    listen: { host: '127.0.0.1', port: 0 },
    admin: { host: '127.0.0.1', port: 0 },
    log: { level: 'info' },
    timeouts: { drain_ms: 5_000 },
    guard: { event_loop_ms: 0, memory_percent: 0 },
    accounts: ALL.map((id) => ({
      id,
      label: id,
      base_url: urlOf(id),
      credential: credential(id),
      ...(id === CAPPED_ACCOUNT ? { max_concurrent: MOST_CONCURRENT.account } : {}),
    })),
    pools: Object.entries(ACCOUNTS).map(([id, accounts]) => ({
      id,
      label: id,
      strategy: 'rotation',
      assignments: accounts.map((account) => ({ account })),
    })),
    keys: KEY_NAMES.map((id) => ({
      id,
      pool: KEYS[id].pool,
      limits: KEYS[id].limits,
      secret_sha256: [hash('sha256', secretOf(id), 'hex')],
    })),
  };
}
