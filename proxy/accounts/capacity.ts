// Composes health, admission and selection; they keep their state through reloads of the configuration.
import type { Change, CredentialRow, Store } from '../../store/store.ts';
import { Admission, type ClassStatus } from '../admission/admission.ts';
import type { Log } from '../base/process/log.ts';
import type { Counters } from '../base/process/metrics.ts';
import type { Clock } from '../base/time/clock.ts';
import type { LoadedConfig } from '../config/config.ts';
import type { Catalog } from '../models/catalog/catalog.ts';
import type { ModelDirectory } from '../models/model-directory.ts';
import type { ExclusiveWork } from '../nodes/exclusive-work.ts';
import type { ProviderOf } from '../turn/provider/provider-api.ts';
import type { AccountConfig, PoolConfig } from '../turn/settings.ts';
import type { Upstream } from '../upstream/upstreams.ts';
import { CompactPaths, type CompactStatus } from './compact-paths.ts';
import { AccountStates } from './health/account-states.ts';
import { Health, type HealthConfig, type LastFailure } from './health/health.ts';
import type { HealthStatus } from './health/health-status.ts';
import { ProbeClaims } from './health/probe-claims.ts';
import { RefusedCredentials } from './health/refused-credentials.ts';
import { type QuotaView, UNKNOWN_QUOTA } from './selection/account-load.ts';
import { Selection } from './selection/selection.ts';
import type { SharedCapacity } from './selection/shared-capacity.ts';
import { accountsIn, alternativesIn, Sources } from './selection/sources.ts';

export interface CapacityOptions {
  readonly clock: Clock;
  readonly counters: Counters;
  readonly log: Log;
  readonly store: Pick<Store, 'accounts' | 'credentials' | 'shared'>;
  /** The current configuration. */
  readonly loaded: () => LoadedConfig;
  readonly catalog: Catalog;
  /** Makes the directory, which reads the health of the accounts. */
  readonly models: (health: Health) => ModelDirectory;
  readonly upstream: (account: string) => Upstream | undefined;
  readonly quota?: QuotaView;
  readonly providerOf: ProviderOf;
  /** Whether the caps of the account's tier have budget left (AA69). */
  readonly hasBudget?: (pool: PoolConfig, account: string) => boolean;
  /** Present if there are several nodes. */
  readonly exclusive?: ExclusiveWork | undefined;
  /** Present if several nodes share the capacity of the accounts. */
  readonly shared?: SharedCapacity | undefined;
}

/** One account in /api/status, without its address and secrets. */
export interface AccountStatus extends HealthStatus {
  readonly inFlight: number;
  /** The last failed attempt since the start of this process. */
  readonly lastFailure?: LastFailure;
  /** How the account compacts now. */
  readonly compaction: CompactStatus;
}

export interface CapacityStatus {
  readonly accounts: readonly AccountStatus[];
  readonly admission: Readonly<Record<string, ClassStatus>>;
}

export class Capacity {
  readonly states: AccountStates;
  readonly compactPaths: CompactPaths;
  readonly health: Health;
  readonly models: ModelDirectory;
  readonly admission: Admission;
  readonly selection: Selection;
  readonly #credentials: RefusedCredentials;
  readonly #sources: Sources;
  readonly #clock: Clock;
  readonly #loaded: () => LoadedConfig;
  #pools: ReadonlyMap<string, PoolConfig> = new Map();
  #accounts: ReadonlyMap<string, AccountConfig> = new Map();

  constructor(options: CapacityOptions) {
    const {
      clock,
      counters,
      log,
      store,
      loaded,
      catalog,
      models,
      upstream,
      quota = UNKNOWN_QUOTA,
      providerOf,
      exclusive,
      shared,
      hasBudget = () => true,
    } = options;
    const now = (): number => clock.now();
    this.#loaded = loaded;
    this.states = new AccountStates(store.accounts, now, store);
    this.compactPaths = new CompactPaths({ states: this.states, providerOf, log });
    this.#credentials = new RefusedCredentials(store.credentials, now);
    this.#clock = clock;
    const sources = new Sources({
      current: (pool) => this.#pools.get(pool.id) ?? pool,
      candidates: (pool, model) => this.models.candidates(pool, model),
      serves: (pool, model, account) => this.models.serves(pool, model, account),
      account: (id) => loaded().config.accounts.find((account) => account.id === id),
    });
    this.#sources = sources;
    this.health = new Health({
      clock,
      states: this.states,
      credentials: this.#credentials,
      ...(exclusive && { claims: new ProbeClaims({ exclusive, states: this.states, clock }) }),
      alternatives: alternativesIn({
        pools: () => loaded().config.pools,
        sources,
        modelsOf: (account) => catalog.accounts.get(account)?.models.keys() ?? [],
        usable: (account, scope) =>
          this.health.availability(account, scope) === 'available' && !quota.stateAt(account, clock.now())?.exhausted,
        hasBudget,
      }),
      compacts: (id) => {
        const account = this.#accounts.get(id);
        return account === undefined ? 'route' : this.compactPaths.of(account);
      },
    });
    this.models = models(this.health);
    this.health.onChange((status) => log.info('account_health', logFields(status)));
    this.admission = new Admission(clock, counters);
    this.selection = new Selection({ clock, counters, sources, health: this.health, quota, admission: this.admission, upstream, shared });
  }

  /** Restores what an earlier process stored. */
  async start(): Promise<void> {
    await Promise.all([this.states.load(), this.#credentials.load()]);
    this.health.start(this.#healthConfig());
    this.#configure();
  }

  /** Applies the refusals of static bearers that another process has recorded. */
  adoptRefusal(row: CredentialRow): void {
    this.#credentials.adopt(row);
    this.health.refresh([row.account]);
  }

  /** Reads the rows that another process wrote. @param keys account and model, as the change feed reports them */
  async refresh(keys: readonly Change['key'][]): Promise<void> {
    await this.states.refresh(keys.map(([account, model]) => [String(account), String(model)] as const));
  }

  /** Applies the current configuration. */
  configure(): void {
    this.#configure();
    this.health.configure(this.#healthConfig());
  }

  /** Milliseconds until the first cooldown of the model's sources ends; undefined if no source is in cooldown. */
  recoversIn(pool: PoolConfig, model: string): number | undefined {
    const ends = accountsIn(this.#sources.candidates(pool, model)).flatMap((account) => this.health.cooldownEnd(account, model) ?? []);
    return ends.length > 0 ? Math.max(0, Math.min(...ends) - this.#clock.now()) : undefined;
  }

  status(): CapacityStatus {
    const accounts = this.health.status().map((status) => {
      const lastFailure = this.health.lastFailure(status.account);
      const account = this.#accounts.get(status.account);
      return {
        ...status,
        inFlight: this.selection.candidates.inFlight(status.account),
        ...(lastFailure && { lastFailure }),
        compaction: account === undefined ? { way: 'route' as const } : this.compactPaths.status(account),
      };
    });
    return { accounts, admission: this.admission.status() };
  }

  stop(): void {
    this.health.stop();
  }

  #configure(): void {
    const { accounts, admission, pools } = this.#loaded().config;
    this.#pools = new Map(pools.map((pool) => [pool.id, pool]));
    this.#accounts = new Map(accounts.map((account) => [account.id, account]));
    this.selection.configure(accounts);
    this.admission.configure(admission);
  }

  #healthConfig(): HealthConfig {
    const { config, bearers } = this.#loaded();
    return { accounts: config.accounts, bearers };
  }
}

const logFields = ({ account, status, cooldown, models }: HealthStatus): Record<string, string | number | undefined> => ({
  account,
  status,
  phase: cooldown?.phase,
  cause: cooldown?.cause,
  until: cooldown?.until,
  models: Object.keys(models).length || undefined,
});
