// What the accounts can carry now: their health, who may wait, and who gets which turn; wired to each other, and kept through reloads.
import type { Store } from '../../store/store.ts';
import { Admission, type ClassStatus } from '../admission/admission.ts';
import type { Clock } from '../clock.ts';
import type { LoadedConfig } from '../config/config.ts';
import type { Log } from '../log.ts';
import type { Counters } from '../metrics.ts';
import type { Catalog } from '../models/catalog.ts';
import type { ModelDirectory } from '../models/model-directory.ts';
import type { PoolConfig } from '../turn/settings.ts';
import type { Upstream } from '../upstream/upstreams.ts';
import { AccountStates } from './health/account-states.ts';
import { Health } from './health/health.ts';
import type { HealthStatus } from './health/health-status.ts';
import { RefusedCredentials } from './health/refused-credentials.ts';
import { othersIn } from './selection/alternatives.ts';
import { NO_PINS, type Pins } from './selection/pin-view.ts';
import { type QuotaView, UNKNOWN_QUOTA } from './selection/quota-view.ts';
import { Selection } from './selection/selection.ts';
import { Sources } from './selection/sources.ts';

export interface CapacityOptions {
  readonly clock: Clock;
  readonly counters: Counters;
  readonly log: Log;
  readonly store: Pick<Store, 'accounts' | 'credentials'>;
  /** The configuration of now. */
  readonly loaded: () => LoadedConfig;
  readonly catalog: Catalog;
  /** Asked late: the directory needs health to be made. */
  readonly models: () => ModelDirectory;
  readonly upstream: (account: string) => Upstream | undefined;
  readonly quota?: QuotaView;
  readonly pins?: Pins;
}

/** One account for operators; its address and secrets are no part of it. */
export interface AccountStatus extends HealthStatus {
  readonly inFlight: number;
}

export interface CapacityStatus {
  readonly accounts: readonly AccountStatus[];
  readonly admission: Readonly<Record<string, ClassStatus>>;
}

export class Capacity {
  readonly states: AccountStates;
  readonly health: Health;
  readonly admission: Admission;
  readonly selection: Selection;
  readonly #credentials: RefusedCredentials;
  readonly #sources: Sources;
  readonly #clock: Clock;
  readonly #loaded: () => LoadedConfig;

  constructor(options: CapacityOptions) {
    const { clock, counters, log, store, loaded, catalog, models, upstream, quota = UNKNOWN_QUOTA, pins = NO_PINS } = options;
    const now = (): number => clock.now();
    this.#loaded = loaded;
    this.states = new AccountStates(store.accounts, now);
    this.#credentials = new RefusedCredentials(store.credentials, now);
    this.#clock = clock;
    const sources = new Sources({
      candidates: (pool, model) => models().candidates(pool, model),
      serves: (pool, model, account) => models().serves(pool, model, account),
      account: (id) => loaded().config.accounts.find((account) => account.id === id),
    });
    this.#sources = sources;
    this.health = new Health({
      clock,
      states: this.states,
      credentials: this.#credentials,
      others: othersIn({
        pools: () => loaded().config.pools,
        sources,
        modelsOf: (account) => catalog.accounts.get(account)?.models.keys() ?? [],
        usable: (account, model) => this.health.standing(account, model) === 'open' && !quota.exhausted(account, clock.now()),
      }),
    });
    this.health.onChange((status) => log.info('account_health', lineOf(status)));
    this.admission = new Admission(clock, counters);
    this.selection = new Selection({ clock, counters, sources, health: this.health, quota, pins, admission: this.admission, upstream });
  }

  /** Takes what an earlier process knew. */
  async start(): Promise<void> {
    await Promise.all([this.states.load(), this.#credentials.load()]);
    this.health.start(this.#inHealth());
    this.#configure();
  }

  /** Takes the configuration of now. */
  configure(): void {
    this.#configure();
    this.health.configure(this.#inHealth());
  }

  /** Milliseconds until the first source of a model that cools down is back; undefined where none does. */
  recoversIn(pool: PoolConfig, model: string): number | undefined {
    const { preferred, overflow } = this.#sources.of(pool, model);
    const ends = [...preferred, ...overflow].flatMap((account) => this.health.until(account, model) ?? []);
    return ends.length > 0 ? Math.max(0, Math.min(...ends) - this.#clock.now()) : undefined;
  }

  status(): CapacityStatus {
    const accounts = this.health.status().map((status) => ({ ...status, inFlight: this.selection.inFlight(status.account) }));
    return { accounts, admission: this.admission.status() };
  }

  stop(): void {
    this.health.stop();
  }

  #configure(): void {
    const { accounts, admission } = this.#loaded().config;
    this.selection.configure(accounts);
    this.admission.configure(admission);
  }

  #inHealth(): Parameters<Health['configure']>[0] {
    const { config, bearers } = this.#loaded();
    return { accounts: config.accounts, bearers };
  }
}

const lineOf = ({ account, status, cooldown, models }: HealthStatus): Record<string, string | number | undefined> => ({
  account,
  status,
  phase: cooldown?.phase,
  cause: cooldown?.cause,
  until: cooldown?.until,
  models: Object.keys(models).length || undefined,
});
