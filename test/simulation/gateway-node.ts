// One gateway of a simulated day: the health, quota and selection of the program, with simulated accounts.
import { AccountRecords } from '../../proxy/accounts/account-record.ts';
import { AccountStates } from '../../proxy/accounts/health/account-states.ts';
import { Health } from '../../proxy/accounts/health/health.ts';
import { ProbeClaims } from '../../proxy/accounts/health/probe-claims.ts';
import { RefusedCredentials } from '../../proxy/accounts/health/refused-credentials.ts';
import { AccountQuota } from '../../proxy/accounts/quota/account-quota.ts';
import { Quota } from '../../proxy/accounts/quota/quota.ts';
import type { StoredQuota } from '../../proxy/accounts/quota/quota-evidence.ts';
import type { Demand, SelectedTurn } from '../../proxy/accounts/selection/demand.ts';
import type { AccountLease } from '../../proxy/accounts/selection/lease.ts';
import { Selection } from '../../proxy/accounts/selection/selection.ts';
import type { SharedCapacity } from '../../proxy/accounts/selection/shared-capacity.ts';
import { alternativesIn, Sources } from '../../proxy/accounts/selection/sources.ts';
import { Admission } from '../../proxy/admission/admission.ts';
import { Counters } from '../../proxy/base/process/metrics.ts';
import type { Clock } from '../../proxy/base/time/clock.ts';
import type { AdmissionConfig } from '../../proxy/config/config.ts';
import { RetryBudget } from '../../proxy/dispatch/retries/retry-budget.ts';
import type { ExclusiveWork } from '../../proxy/nodes/exclusive-work.ts';
import { agentApi } from '../../proxy/providers/agent/agent-api.ts';
import { quotaFromHeaders } from '../../proxy/providers/agent/agent-quota.ts';
import type { Affinity } from '../../proxy/turn/continuation.ts';
import type { Failure } from '../../proxy/turn/errors/failure.ts';
import type { AccountConfig, AdmissionClass, PoolConfig, StrategyName } from '../../proxy/turn/settings.ts';
import type { Upstream } from '../../proxy/upstream/upstreams.ts';
import type { Store } from '../../store/store.ts';
import { KEY, POOL } from '../support/turns/turn.ts';
import type { SimulatedAccount } from './provider.ts';
import type { Asking, Place, Route } from './router.ts';

const MODEL = 'model-a';
const LIMITS: AdmissionConfig = { running: 100_000, waiting: 1_024, wait_ms: 10_000 };
const MAX_ATTEMPTS = 3;

/** Stores nothing, because a simulated day has no restart. */
const NO_STORE: Store['accounts'] = {
  patch: () => undefined,
  patchNow: () => undefined,
  patchUnder: async () => true,
  load: async () => [],
  find: async () => [],
};
const NO_CREDENTIALS = { save: async () => undefined, load: async () => [] };

/** The setting that all nodes of a day share. */
export interface Setting {
  readonly accounts: readonly AccountConfig[];
  readonly pool: PoolConfig;
  readonly clock: Clock;
  /** The quota of an account in the store when the day begins. */
  readonly stored: (account: string) => StoredQuota;
}

export function settingOf(strategy: StrategyName, simulated: readonly SimulatedAccount[], clock: Clock): Setting {
  const assignments = simulated.map(({ id }) => ({ account: id, active: true, eligible: true, weight: 1, tier: 0 }));
  const pool = { ...POOL, strategy, max_attempts: MAX_ATTEMPTS, assignments };
  const stored = new Map(simulated.map((account) => [account.id, storedQuotaOf(account, clock.now())]));
  return {
    accounts: simulated.map(({ id, plan }) => configOf(id, plan.maxConcurrent)),
    pool,
    clock,
    stored: (account) => stored.get(account) ?? NOTHING,
  };
}

const NOTHING: StoredQuota = { windows: [], spent: null, recovered: null };

function storedQuotaOf(account: SimulatedAccount, now: number): StoredQuota {
  const quota = new AccountQuota();
  const statement = quotaFromHeaders(account.headers(now), 'agent', 200, now);
  if (statement) quota.record(statement, now);
  return quota.toStored();
}

/** The parts of a shared store that a node uses. */
export interface Shared {
  readonly rows: Store['accounts'];
  readonly capacity: SharedCapacity;
  readonly exclusive: ExclusiveWork;
}

/** The pins and the conversation that a turn continues. */
export interface Continued {
  readonly soft: string | undefined;
  readonly affinity: Affinity | undefined;
}

export class GatewayNode {
  readonly states: AccountStates;
  /** The number of turns whose account is not decided yet. */
  waiting = 0;
  readonly #setting: Setting;
  readonly #quota: Quota;
  readonly #selection: Selection;
  readonly #budget = new RetryBudget();
  readonly #generation: SelectedTurn['generation'];

  /** @param shared undefined for the only node */
  constructor(setting: Setting, shared?: Shared) {
    const { accounts, pool, clock, stored } = setting;
    this.#setting = setting;
    const now = (): number => clock.now();
    const counters = new Counters();
    const candidates = { preferred: accounts.map(({ id }) => id), overflow: [] };
    const byId = new Map(accounts.map((account) => [account.id, account]));
    const sources = new Sources({
      models: { candidates: () => candidates, serves: () => true },
      account: (id) => byId.get(id),
    });
    this.states = new AccountStates(shared?.rows ?? NO_STORE, now, { shared: shared !== undefined });
    const { states } = this;
    const records = new AccountRecords();
    const quota = new Quota({
      clock,
      records,
      load: (account) => states.rows(account).find(({ model }) => model === '')?.windows ?? stored(account),
      save: (account, stored) => states.putWindows(account, stored),
      shared: shared !== undefined,
    });
    this.#quota = quota;
    quota.configure(accounts);
    const health: Health = new Health({
      clock,
      records,
      states,
      credentials: new RefusedCredentials(NO_CREDENTIALS, now),
      ...(shared && { claims: new ProbeClaims({ exclusive: shared.exclusive, states, clock }) }),
      alternatives: alternativesIn({
        pools: () => [pool],
        sources,
        modelsOf: () => [MODEL],
        usable: (account, scope) => health.availability(account, scope) === 'available' && !quota.stateAt(account, now())?.exhausted,
        hasBudget: () => true,
      }),
      compacts: () => 'route',
    });
    health.start({ accounts, bearers: new Map() });
    quota.onRecovery((account) => health.endQuotaCooldown(account));
    states.onRefresh((ids) => {
      for (const id of ids) quota.refresh(id);
    });
    const admission = new Admission(clock, counters);
    admission.configure({ stream: LIMITS } as Record<AdmissionClass, AdmissionConfig>);
    this.#selection = new Selection({
      clock,
      counters,
      records,
      sources,
      health,
      quota,
      admission,
      providerOf: () => agentApi,
      upstream: (id) => ({ baseUrl: `https://${id}.example`, lease() {}, release() {} }) as Upstream,
      shared: shared?.capacity,
    });
    this.#selection.configure(accounts);
    this.#generation = { accounts: byId, loaded: { bearers: new Map() } };
  }

  /** Reads the reply of an account: its quota, and its failure if it is one. */
  observe(account: SimulatedAccount, failure: Failure | undefined): void {
    const now = this.#setting.clock.now();
    const status = failure ? failure.status : 200;
    // A refused connection has no headers.
    const stated = status !== undefined ? quotaFromHeaders(account.headers(now), 'agent', status, now) : undefined;
    if (stated) this.#quota.record(account.id, stated);
    if (failure?.cause === 'quota') this.#quota.recordRefusal(account.id, failure.resetsAt);
  }

  route({ id }: Asking, { soft, affinity }: Continued): Route {
    const { pool, clock } = this.#setting;
    const turn: SelectedTurn = {
      id,
      route: { kind: 'responses', class: 'stream' },
      wire: { agent: 'agent' },
      pool,
      key: KEY,
      model: { id: MODEL },
      generation: this.#generation,
    };
    const demand: Demand = {
      ...{ turn, scope: MODEL, lacking: new Map(), lossy: new Set() },
      ...{ hard: undefined, soft, affinity, onGone: NEVER, deadline: clock.now() + LIMITS.wait_ms },
    };
    this.#budget.turn(clock.now());
    return {
      observe: (account, failure) => this.observe(account, failure),
      choose: (tried) => this.#choose(demand, tried),
      mayRetry: (tried) => {
        const now = clock.now();
        if (tried.size >= MAX_ATTEMPTS || !this.#selection.candidates.hasAny(demand, tried) || !this.#budget.allows(now)) return false;
        this.#budget.retry(now);
        return true;
      },
    };
  }

  #choose(demand: Demand, tried: ReadonlySet<string>): Place | Promise<Place | undefined> {
    const chosen = this.#selection.choose(demand, tried);
    if (!(chosen instanceof Promise) && !chosen.granted) return placeOf(chosen);
    this.waiting += 1;
    return this.#granted(chosen, demand, tried).finally(() => {
      this.waiting -= 1;
    });
  }

  /** Chooses again if another node probes the account, as dispatch does. */
  async #granted(
    choosing: AccountLease | Promise<AccountLease | undefined>,
    demand: Demand,
    tried: ReadonlySet<string>,
  ): Promise<Place | undefined> {
    for (let chosen = choosing; ; chosen = this.#selection.choose(demand, tried)) {
      const lease = await chosen;
      if (!lease?.granted || (await lease.granted)) return lease && placeOf(lease);
      lease.end('neutral');
    }
  }
}

const NEVER = (): (() => void) => () => undefined;

const placeOf = (lease: AccountLease): Place => ({
  account: lease.account.id,
  answered: () => lease.answered(),
  end: (result) => lease.end(result),
});

/** An account of a configuration. */
export const configOf = (id: string, max_concurrent: number): AccountConfig => ({
  id,
  label: id,
  api: 'agent',
  base_url: `https://${id}.example`,
  headers: {},
  paused: false,
  visible: true,
  max_concurrent,
  models: {},
  keep_fields: [],
  drop_fields: [],
  websocket: true,
  compact: 'route',
  session_header: 'none',
  reserve_percent: 0,
});
