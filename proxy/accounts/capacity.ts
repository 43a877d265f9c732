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
import type { AccountRecords } from './account-record.ts';
import { CompactPaths, type CompactStatus } from './compact-paths.ts';
import { AccountStates } from './health/account-states.ts';
import { Health, type HealthConfig, type LastFailure } from './health/health.ts';
import type { HealthStatus } from './health/health-status.ts';
import { ProbeClaims } from './health/probe-claims.ts';
import { RefusedCredentials } from './health/refused-credentials.ts';
import { type QuotaView, Selection } from './selection/selection.ts';
import type { SharedCapacity } from './selection/shared-capacity.ts';
import { accountsIn, alternativesIn, Sources } from './selection/sources.ts';

export interface CapacityOptions {
  readonly clock: Clock;
  readonly counters: Counters;
  readonly log: Log;
  readonly store: Pick<Store, 'accounts' | 'credentials' | 'shared'>;
  readonly records: AccountRecords;
  /** The current configuration. */
  readonly loaded: () => LoadedConfig;
  readonly catalog: Catalog;
  /** Makes the directory, which reads the health of the accounts. */
  readonly models: (health: Health) => ModelDirectory;
  readonly upstream: (account: string) => Upstream | undefined;
  readonly quota: QuotaView;
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
  readonly #records: AccountRecords;

  constructor(options: CapacityOptions) {
    const { clock, counters, log, store, records, loaded, catalog, models, upstream, quota, providerOf, exclusive, shared } = options;
    const { hasBudget = () => true } = options;
    const now = (): number => clock.now();
    this.#loaded = loaded;
    this.#records = records;
    this.states = new AccountStates(store.accounts, now, store);
    this.compactPaths = new CompactPaths({ states: this.states, providerOf, log });
    this.#credentials = new RefusedCredentials(store.credentials, now);
    this.#clock = clock;
    this.health = new Health({
      clock,
      records,
      states: this.states,
      credentials: this.#credentials,
      ...(exclusive && { claims: new ProbeClaims({ exclusive, states: this.states, clock }) }),
      alternatives: alternativesIn({
        pools: () => loaded().config.pools,
        sources: { candidates: (pool, scope) => this.#sources.candidates(pool, scope) },
        modelsOf: (account) => catalog.accounts.get(account)?.models.keys() ?? [],
        usable: (account, scope) =>
          this.health.availability(account, scope) === 'available' && !records.find(account)?.evidence?.stateAt(now()).exhausted,
        hasBudget,
      }),
      compacts: (id) => {
        const current = records.configured(id)?.current;
        return current === undefined ? 'route' : this.compactPaths.of(current.config);
      },
    });
    this.models = models(this.health);
    const account = (id: string): AccountConfig | undefined => loaded().config.accounts.find((one) => one.id === id);
    this.#sources = new Sources({ models: this.models, account });
    this.health.onChange((status) => log.info('account_health', logFields(status)));
    this.admission = new Admission(clock, counters);
    const { admission, health } = this;
    const sources = this.#sources;
    this.selection = new Selection({ clock, counters, records, sources, health, quota, admission, upstream, providerOf, shared });
  }

  /** Restores what an earlier process stored. */
  async start(): Promise<void> {
    await Promise.all([this.states.load(), this.#credentials.load()]);
    this.health.start(this.#healthConfig());
    this.#configure();
  }

  /** Applies the refusals of static bearers that another process has recorded. */
  adoptRefusal(row: CredentialRow): void {
    this.health.refresh([this.#credentials.adopt(row)]);
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
      const current = this.#records.configured(status.account)?.current;
      return {
        ...status,
        inFlight: this.selection.candidates.inFlight(status.account),
        ...(lastFailure && { lastFailure }),
        compaction: current === undefined ? { way: 'route' as const } : this.compactPaths.status(current.config),
      };
    });
    return { accounts, admission: this.admission.status() };
  }

  stop(): void {
    this.health.stop();
  }

  #configure(): void {
    const loaded = this.#loaded();
    const { accounts, admission, pools } = loaded.config;
    this.#sources.configure(pools);
    this.selection.configure(accounts, loaded);
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
