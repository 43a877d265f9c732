// Shared by the tests of selection: a Pool over accounts, quota set by the test, and turns that need an account.
import type { AccountRecord, AccountRecords } from '../../../proxy/accounts/account-record.ts';
import type { QuotaState } from '../../../proxy/accounts/quota/account-quota.ts';
import { CopiedQuota } from '../../../proxy/accounts/quota/quota-writes.ts';
import { scopeOf } from '../../../proxy/accounts/scope.ts';
import type { Demand, SelectedTurn, Tried } from '../../../proxy/accounts/selection/demand.ts';
import type { AccountLease } from '../../../proxy/accounts/selection/lease.ts';
import { type QuotaView, Selection } from '../../../proxy/accounts/selection/selection.ts';
import { Sources } from '../../../proxy/accounts/selection/sources.ts';
import { Admission } from '../../../proxy/admission/admission.ts';
import { Counters } from '../../../proxy/base/process/metrics.ts';
import type { AdmissionConfig } from '../../../proxy/config/config.ts';
import type { Candidates } from '../../../proxy/models/pool-model.ts';
import { agentApi } from '../../../proxy/providers/agent/agent-api.ts';
import type { Affinity } from '../../../proxy/turn/continuation.ts';
import type { Refusal } from '../../../proxy/turn/errors/refusal.ts';
import type { RouteKind } from '../../../proxy/turn/routes/kinds.ts';
import type { AccountConfig, AdmissionClass, PoolConfig } from '../../../proxy/turn/settings.ts';
import type { Upstream } from '../../../proxy/upstream/upstreams.ts';
import { account, assignment } from '../../models/support.ts';
import { POOL } from '../../support/turns/turn.ts';
import { healthOf } from '../health/support.ts';

/** Affinity by the name of a conversation, without expiry. */
class FakeAffinity implements Affinity {
  readonly account: string | undefined;
  readonly reason = 'locality';
  readonly #accounts: Map<string, string>;
  readonly #conversation: string;

  constructor(accounts: Map<string, string>, conversation: string) {
    this.#accounts = accounts;
    this.#conversation = conversation;
    this.account = accounts.get(conversation);
  }

  learn(account: string): void {
    this.#accounts.set(this.#conversation, account);
  }
}

interface Known {
  readonly left?: number;
  readonly reset?: number;
  readonly until?: number;
  readonly reserved?: boolean;
}

class FakeEvidence extends CopiedQuota {
  known: Known = {};

  override stateAt(at: number): QuotaState {
    const { left, until, reset, reserved } = this.known;
    const exhausted = left === 0 && (until === undefined || at < until) ? { until } : undefined;
    return { exhausted, reserved: reserved ? { until } : undefined, remaining: exhausted ? 0 : left || undefined, nextReset: reset };
  }
}

/** Quota that the test sets. */
class FakeQuota implements QuotaView {
  readonly #records: AccountRecords;
  readonly #listeners = new Set<(account: AccountRecord) => void>();

  constructor(records: AccountRecords) {
    this.#records = records;
  }

  /** @param known `left` from 0 to 1, where 0 is exhausted; times in Unix milliseconds */
  set(id: string, known: Known): void {
    const record = this.#records.of(id);
    const evidence = new FakeEvidence(id, '');
    evidence.known = known;
    record.evidence = evidence;
    for (const listen of this.#listeners) listen(record);
  }

  onChange(listen: (account: AccountRecord) => void): () => void {
    this.#listeners.add(listen);
    return () => void this.#listeners.delete(listen);
  }
}

const WAIT: AdmissionConfig = { running: 1000, waiting: 100, wait_ms: 10_000 };

export interface SelectionWorld {
  readonly pool?: Partial<PoolConfig>;
  readonly accounts?: readonly string[];
  readonly weights?: Readonly<Record<string, number>>;
  readonly caps?: Readonly<Record<string, number>>;
  /** The static bearers of the configuration. */
  readonly bearers?: Readonly<Record<string, string>>;
  /** The candidates for `model-a`; by default its cohort is all accounts. */
  readonly candidates?: Candidates;
  readonly admission?: Partial<AdmissionConfig>;
  /** The weights of keys; default 1. */
  readonly keyWeights?: Readonly<Record<string, number>>;
}

export interface TurnOptions {
  readonly id?: string;
  readonly kind?: RouteKind;
  readonly key?: string;
  readonly hard?: string;
  readonly soft?: string;
  /** The name of the turn's conversation. */
  readonly conversation?: string;
  readonly onGone?: Demand['onGone'];
}

let turns = 0;

export async function selectionOf(options: SelectionWorld = {}) {
  const { accounts: ids = ['north', 'south', 'west'], caps = {}, weights = {}, keyWeights = {} } = options;
  const { candidates = { preferred: ids, overflow: [] } } = options;
  const accounts: readonly AccountConfig[] = ids.map((id) => account(id, { max_concurrent: caps[id] ?? 32 }));
  const pool: PoolConfig = { ...POOL, assignments: ids.map((id) => assignment(id, { weight: weights[id] ?? 1 })), ...options.pool };
  const world = await healthOf({ accounts: ids });
  const { clock, health, records } = world;
  const quota = new FakeQuota(records);
  const counters = new Counters();
  const admission = new Admission(clock, counters);
  const shown = { candidates };
  const conversations = new Map<string, string>();
  const selection = new Selection({
    clock,
    counters,
    records,
    health,
    quota,
    admission,
    providerOf: () => agentApi,
    upstream: (id) => ({ baseUrl: accounts.find((one) => one.id === id)?.base_url, lease() {}, release() {} }) as Upstream,
    sources: new Sources({
      models: { candidates: () => shown.candidates, serves: (_pool, _model, id) => ids.includes(id) },
      account: (id) => accounts.find((one) => one.id === id),
    }),
  });
  const loaded = { bearers: new Map(Object.entries(options.bearers ?? {})) };
  selection.configure(accounts, loaded);
  const limits: AdmissionConfig = { ...WAIT, ...options.admission };
  admission.configure({ stream: limits } as Record<AdmissionClass, AdmissionConfig>);
  const generation: SelectedTurn['generation'] = {
    accounts: new Map(accounts.map((one) => [one.id, one])),
    loaded,
  };

  const demand = (turn: TurnOptions = {}): Demand & { readonly turn: SelectedTurn } => {
    const { kind = 'responses', id = `req_${turns++}`, key = 'ci', hard, soft, conversation } = turn;
    const selected: SelectedTurn = {
      id,
      route: { kind, class: 'stream' },
      wire: { agent: 'agent' },
      pool,
      key: { id: key, pool: pool.id, weight: keyWeights[key] ?? 1 },
      model: { id: 'model-a' },
      generation,
    };
    return {
      turn: selected,
      scope: scopeOf(selected),
      lacking: new Map(),
      lossy: new Set(),
      hard,
      soft,
      affinity: conversation === undefined ? undefined : new FakeAffinity(conversations, conversation),
      onGone: turn.onGone ?? (() => () => undefined),
      deadline: clock.now() + limits.wait_ms,
    };
  };

  const NONE: Tried = new Set();
  /** Takes a lease that must not wait. */
  const take = (turn: TurnOptions = {}, tried: Tried = NONE): AccountLease => {
    const lease = selection.choose(demand(turn), tried);
    if (lease instanceof Promise) throw new Error('the turn waits');
    return lease;
  };
  return {
    ...world,
    accounts,
    quota,
    counters,
    admission,
    selection,
    shown,
    pool,
    conversations,
    demand,
    take,
    /** The account that answers a turn; its lease is released at once. */
    where: (turn: TurnOptions = {}, tried: Tried = NONE): string => {
      const lease = take(turn, tried);
      lease.answered();
      lease.end('neutral');
      return lease.account.id;
    },
    /** The refusal of a turn that no account can take. */
    refusal: (turn: TurnOptions = {}, tried: Tried = NONE): Refusal => {
      try {
        take(turn, tried);
      } catch (thrown) {
        return thrown as Refusal;
      }
      throw new Error('the turn was placed');
    },
  };
}

/** How often each account occurs. */
export function tally(names: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const name of [...names].sort()) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

export const times = <T>(count: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, index) => make(index));
