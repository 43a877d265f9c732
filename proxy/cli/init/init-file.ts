// The file that `init` writes: the settings that a first gateway needs, each with its comment.
import { block, flow, type Plain } from '../../config/file/yaml-render.ts';
import type { WireWords } from '../../turn/settings.ts';
import type { NewAccountRow } from '../accounts/new-account.ts';

export interface NewFile {
  readonly accounts: readonly NewAccountRow[];
  readonly port: number;
  readonly key: { readonly id: string; readonly sha256: string };
  /** The wire words, if they are not the neutral ones. */
  readonly wire?: Partial<WireWords>;
}

export const POOL = 'team';

/** The comments for settings of an account that a new user may want to change. */
const ACCOUNT_COMMENTS: Readonly<Record<string, string>> = {
  id: 'its name in this file, logs and store',
  preset: 'what is known of servers of this kind: docs/accounts.md',
  base_url: 'its address; request paths are appended',
  insecure_http: 'plain http outside of this machine, on purpose',
  credential: 'a reference to the secret, or how it logs in; never the secret itself',
  headers: 'added to every request of this account; no secrets',
  keep_fields: 'lets a request ask a simulated account for failures',
};

export function newFile({ accounts, port, key, wire }: NewFile): string {
  return `# The configuration of poolgate. A running gateway reloads it when it is saved; a file with an error changes nothing.
#
#   npx poolgate check --strict       errors and warnings, with their lines
#   npx poolgate doctor               what is wrong, and what to do about it
#   npx poolgate account add ID       another account; also: import, login, list, pause
#   npx poolgate key create ID        another key
#
# Secrets are references, { env: NAME } or { file: PATH }. All settings, with their defaults: docs/settings.md

listen: # where clients connect
  host: 127.0.0.1 # 0.0.0.0 for all interfaces
  port: ${port}
admin: # for operators; on loopback without a sign-in
  host: 127.0.0.1
  port: ${port + 1}

store: sqlite:data/poolgate.db # of one node; of several: { postgres: { env: DATABASE_URL } }
store_key: { file: data/store.key } # encrypts logins in the store; created at the first start, mode 0600
${wire ? `\nwire: ${flow(wire as Plain)} # the words of the providers' paths and headers\n` : ''}
accounts: # the accounts of providers
${accounts.map(accountText).join('\n')}

pools: # every key belongs to one Pool
  - id: ${POOL} # a key of this Pool uses any of its accounts
    strategy: headroom # most quota left first; also: least_loaded, rotation, fill_first, soonest_reset, fastest
    assignments: # the accounts that this Pool uses
${accounts.map(({ id }) => `      - ${block({ account: id as Plain }, 8)}`).join('\n')}

keys: # clients send the secret; the file has its SHA-256
  - id: ${key.id}
    pool: ${POOL}
    secret_sha256: [${key.sha256}] # several while one is replaced: \`poolgate key rotate ${key.id}\`
    status: active # active, paused, revoked
    # limits: { requests_per_minute: 60, tokens_per_day: 5000000 }
`;
}

function accountText(row: NewAccountRow): string {
  const lines = Object.entries(row).map(([name, value]) => {
    const comment = ACCOUNT_COMMENTS[name];
    return `${block({ [name]: value }, 4)}${comment === undefined ? '' : ` # ${comment}`}`;
  });
  return `  - ${lines.join('\n    ')}`;
}
