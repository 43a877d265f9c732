// Shared by the tests of health: failures as dispatch classifies them, a store that records its writes, and a health over both.
import { AccountRecords } from '../../../proxy/accounts/account-record.ts';
import type { Alternatives } from '../../../proxy/accounts/health/account-breakers.ts';
import { AccountStates } from '../../../proxy/accounts/health/account-states.ts';
import type { AttemptResult } from '../../../proxy/accounts/health/attempt-result.ts';
import { Health } from '../../../proxy/accounts/health/health.ts';
import type { ProbeClaims } from '../../../proxy/accounts/health/probe-claims.ts';
import { RefusedCredentials } from '../../../proxy/accounts/health/refused-credentials.ts';
import { type Clock, systemClock } from '../../../proxy/base/time/clock.ts';
import type { Failure, FailureCause } from '../../../proxy/turn/errors/failure.ts';
import type {
  AccountStateKey,
  AccountStatePatch,
  AccountStateRow,
  CredentialRow,
  Lease,
  NewCredentialRow,
  Store,
} from '../../../store/store.ts';
import { ManualClock } from '../../support/clocks/manual-clock.ts';

const STATUS: Readonly<Record<FailureCause, number>> = {
  connect: 0,
  network: 0,
  timeout: 0,
  malformed: 0,
  credential: 401,
  quota: 429,
  rate: 429,
  server: 503,
  model: 404,
  challenge_page: 403,
  request: 400,
};

export const failure = (cause: FailureCause, fields: Partial<Failure> & { readonly code?: string } = {}): Failure => {
  const { code = null, ...rest } = fields;
  const error = { code, type: null, param: null, message: null };
  return { cause, status: STATUS[cause], error, retryAfterMs: undefined, resetsAt: undefined, answer: undefined, ...rest };
};

/** The part of the store that health uses. */
export interface HealthStore {
  readonly accounts: Store['accounts'];
  readonly credentials: Pick<Store['credentials'], 'load' | 'save'>;
}

/** The two tables of health. A second health over the same store acts as the next process. */
export class MemoryStore implements HealthStore {
  readonly puts: AccountStatePatch[] = [];
  readonly rows = new Map<string, AccountStateRow>();
  readonly #credentials = new Map<string, NewCredentialRow>();
  readonly accounts = {
    patch: (patch: AccountStatePatch): void => {
      this.puts.push(patch);
      const key = `${patch.account}/${patch.model}`;
      const initial = {
        health: 'active',
        cooldown_until: null,
        streak: 0,
        cause: null,
        windows: null,
        missing_compact_path: null,
        compact_path_missing_at: null,
        health_at: 0,
      } as const;
      this.rows.set(key, { ...initial, ...this.rows.get(key), ...patch });
    },
    patchNow: (patch: AccountStatePatch): void => this.accounts.patch(patch),
    patchUnder: async (_lease: Lease, patch: AccountStatePatch): Promise<boolean> => {
      this.accounts.patch(patch);
      return true;
    },
    load: async (): Promise<readonly AccountStateRow[]> => [...this.rows.values()],
    find: async (keys: readonly AccountStateKey[]): Promise<readonly AccountStateRow[]> =>
      keys.flatMap(({ account, model }) => this.rows.get(`${account}/${model}`) ?? []),
  };
  readonly credentials = {
    save: async (row: NewCredentialRow): Promise<void> => void this.#credentials.set(row.account, row),
    load: async (): Promise<readonly CredentialRow[]> =>
      [...this.#credentials.values()].map((row) => ({ ...row, exchange_token: null, exchange_at: null })),
  };
}

export interface HealthSettings {
  readonly accounts?: readonly string[];
  readonly bearers?: Readonly<Record<string, string>>;
  /** Whether another account could serve; by default there always is one. */
  readonly alternatives?: Partial<Alternatives>;
}

export interface WorldOptions extends HealthSettings {
  readonly clock?: ManualClock;
  readonly store?: MemoryStore;
}

/** Makes a health and starts it. */
export async function healthOf({ clock = new ManualClock(), store = new MemoryStore(), ...settings }: WorldOptions = {}) {
  return { clock, store, ...(await healthOver(store, settings, clock)) };
}

/** Makes a health over any store, and starts it. */
export async function healthOver(
  store: HealthStore,
  settings: HealthSettings,
  clock: Clock = systemClock,
  claimsOf?: (states: AccountStates) => ProbeClaims,
) {
  const { accounts = ['north', 'south'], bearers = {}, alternatives } = settings;
  const now = (): number => clock.now();
  const states = new AccountStates(store.accounts, now);
  const credentials = new RefusedCredentials(store.credentials, now);
  await Promise.all([states.load(), credentials.load()]);
  const records = new AccountRecords();
  const health = new Health({
    clock,
    records,
    states,
    credentials,
    ...(claimsOf && { claims: claimsOf(states) }),
    alternatives: { existFor: () => true, modelsOf: () => ['model-a', 'model-b'], ...alternatives },
    compacts: () => 'route',
  });
  const config = (ids: readonly string[], secrets: Readonly<Record<string, string>>) => ({
    accounts: ids.map((id) => ({ id })),
    bearers: new Map(Object.entries(secrets)),
  });
  health.start(config(accounts, bearers));
  return {
    records,
    states,
    health,
    configure: (ids: readonly string[], secrets: Readonly<Record<string, string>> = bearers) => health.configure(config(ids, secrets)),
    /** A complete attempt with this result. */
    attempt: (account: string, result: AttemptResult, model = 'model-a') =>
      health.end(health.begin(account, model, bearers[account]), result),
  };
}
