// Who places the turns of a simulated day: the gateway's own health, quota and selection under one strategy, or an oracle.

import type { AttemptResult } from '../../proxy/accounts/health/account-health.ts';
import { AccountStates } from '../../proxy/accounts/health/account-states.ts';
import { Health } from '../../proxy/accounts/health/health.ts';
import { RefusedCredentials } from '../../proxy/accounts/health/refused-credentials.ts';
import { Quota } from '../../proxy/accounts/quota/quota.ts';
import { quotaFromHeaders } from '../../proxy/accounts/quota/quota-statement.ts';
import type { SelectedTurn } from '../../proxy/accounts/selection/demand.ts';
import { hashOf, rankOf } from '../../proxy/accounts/selection/rendezvous.ts';
import { Selection } from '../../proxy/accounts/selection/selection.ts';
import { alternativesIn, Sources } from '../../proxy/accounts/selection/sources.ts';
import { Admission } from '../../proxy/admission/admission.ts';
import type { Clock } from '../../proxy/clock.ts';
import type { AdmissionConfig } from '../../proxy/config/config.ts';
import { RetryBudget } from '../../proxy/dispatch/retry-budget.ts';
import { Counters } from '../../proxy/metrics.ts';
import type { Affinity } from '../../proxy/turn/continuation.ts';
import type { Failure } from '../../proxy/turn/failure.ts';
import type { AccountConfig, AdmissionClass, PoolConfig, Strategy } from '../../proxy/turn/settings.ts';
import type { Upstream } from '../../proxy/upstream/upstreams.ts';
import { KEY } from '../support/turn.ts';
import type { SessionKind } from './day.ts';
import type { SimulatedAccount } from './provider.ts';

export interface Asking {
  readonly id: string;
  readonly session: string;
  readonly kind: SessionKind;
  /** Of the turn in its session, from 0. */
  readonly number: number;
  readonly takesMs: number;
  /** The account that answered the session's last turn. */
  readonly last: string | undefined;
}

/** The lease of one attempt. */
export interface Place {
  readonly account: string;
  answered(): void;
  end(result: AttemptResult): void;
}

export interface Router {
  readonly name: string;
  /** Called once for each turn; the route places its attempts. @throws where no account can take the turn */
  route(asking: Asking): Route;
  /** Reads an account's reply: its quota, and its failure if it is one. */
  observe(account: SimulatedAccount, failure: Failure | undefined): void;
  /** Whether turns are queued: their promises settle between two events. */
  waiting(): boolean;
}

export interface Route {
  choose(tried: ReadonlySet<string>): Place | Promise<Place | undefined>;
  mayRetry(tried: ReadonlySet<string>): boolean;
}

const MODEL = 'model-a';
const LIMITS: AdmissionConfig = { running: 100_000, waiting: 1_024, wait_ms: 10_000 };
const MAX_ATTEMPTS = 3;
/** An account is remembered for a conversation for this time after its last turn (Q11). */
const AFFINITY_MS = 3_600_000;

/** Nothing is stored: no simulated day has a restart. */
const NO_STORE = {
  accounts: { patch: () => undefined, patchNow: () => undefined, patchUnder: async () => true, load: async () => [], find: async () => [] },
  credentials: { save: async () => undefined, load: async () => [] },
};

const configOf = ({ plan }: SimulatedAccount): AccountConfig => ({
  id: plan.id,
  label: plan.id,
  base_url: `https://${plan.id}.example`,
  headers: {},
  paused: false,
  visible: true,
  max_concurrent: plan.maxConcurrent,
  models: {},
  drop_fields: [],
  websocket: true,
  compact: 'route',
  reserve_percent: 0,
});

/** How conversations without a pin are placed: `strategy` as Q11 says; `hash` is the reference, which hashes the key and forgets the rest. */
export type FirstTurns = 'strategy' | 'hash';

/** The affinity of one turn, learnt in memory. */
class SimulatedAffinity implements Affinity {
  readonly account: string | undefined;
  readonly reason: Affinity['reason'];
  readonly learn: (account: string) => void;

  constructor(account: string | undefined, reason: Affinity['reason'], learn: (account: string) => void) {
    this.account = account;
    this.reason = reason;
    this.learn = learn;
  }
}

export function gatewayRouter(
  strategy: Strategy,
  simulated: readonly SimulatedAccount[],
  clock: Clock,
  firstTurns: FirstTurns = 'strategy',
): Router {
  const accounts = simulated.map(configOf);
  const ids = accounts.map(({ id }) => id);
  const pool: PoolConfig = {
    id: 'team',
    label: 'Team',
    strategy,
    max_attempts: MAX_ATTEMPTS,
    allow_image_generation: true,
    request_compression_enabled: false,
    prompt_cache_locality: true,
    hide_account_quota: false,
    serving_modes: {},
    models: {},
    assignments: ids.map((account) => ({ account, active: true, eligible: true, weight: 1 })),
  };
  const now = (): number => clock.now();
  const counters = new Counters();
  const candidates = { preferred: ids, overflow: [] };
  const sources = new Sources({ candidates: () => candidates, serves: () => true, account: (id) => accounts.find((one) => one.id === id) });
  const quota = new Quota({ clock, load: () => null, save: () => undefined });
  quota.configure(accounts);
  const health: Health = new Health({
    clock,
    states: new AccountStates(NO_STORE.accounts, now),
    credentials: new RefusedCredentials(NO_STORE.credentials, now),
    alternatives: alternativesIn({
      pools: () => [pool],
      sources,
      modelsOf: () => [MODEL],
      usable: (account, model) => health.availability(account, model) === 'available' && !quota.exhausted(account, now()),
    }),
  });
  health.start({ accounts, bearers: new Map() });
  quota.onRecovery((account) => health.endQuotaCooldown(account));
  const admission = new Admission(clock, counters);
  admission.configure({ stream: LIMITS } as Record<AdmissionClass, AdmissionConfig>);
  const selection = new Selection({
    clock,
    counters,
    sources,
    health,
    quota,
    admission,
    upstream: (id) => ({ baseUrl: `https://${id}.example` }) as Upstream,
  });
  selection.configure(accounts);
  const generation = { accounts: new Map(accounts.map((one) => [one.id, one])), loaded: { bearers: new Map<string, string>() } };
  const budget = new RetryBudget();
  const NEVER = (): (() => void) => () => undefined;
  const served = new Map<string, { readonly account: string; readonly at: number }>();

  function affinityOf({ session, kind, number }: Asking): Affinity | undefined {
    if (kind === 'pinned') return undefined;
    if (firstTurns === 'hash')
      return kind === 'keyed' ? new SimulatedAffinity(firstByHash(ids, session), 'locality', () => undefined) : undefined;
    const last = served.get(session);
    const isKnown = last !== undefined && now() - last.at < AFFINITY_MS && (kind === 'keyed' || number > 0);
    const learn = (account: string): void => void served.set(session, { account, at: now() });
    return new SimulatedAffinity(isKnown ? last.account : undefined, kind === 'keyed' ? 'locality' : 'conversation', learn);
  }

  const observe: Router['observe'] = (account, failure) => {
    const status = failure ? failure.status : 200;
    // A refused connection has no headers.
    const stated = status !== undefined ? quotaFromHeaders(account.headers(now()), 'agent', status, now()) : undefined;
    if (stated) quota.record(account.id, stated);
    if (failure?.cause === 'quota') quota.recordRefusal(account.id, failure.resetsAt);
  };
  // As the usage reads at the start of a gateway.
  for (const account of simulated) observe(account, undefined);

  return {
    name: firstTurns === 'hash' ? `${strategy}, by hash` : strategy,
    observe,
    waiting: () => (admission.status().stream?.waiting ?? 0) > 0,
    route(asking) {
      const { id, kind, last } = asking;
      const turn: SelectedTurn = {
        id,
        route: { kind: 'responses', class: 'stream' },
        wire: { agent: 'agent' },
        pool,
        key: KEY,
        model: { id: MODEL },
        generation,
      };
      const continuation = { hard: undefined, soft: kind === 'pinned' ? last : undefined, affinity: affinityOf(asking) };
      const demand = selection.demand({ turn, continuation, slot: { deadline: now() + LIMITS.wait_ms }, onGone: NEVER });
      budget.turn(now());
      const placeOf = (lease: { readonly account: AccountConfig; answered(): void; end(result: AttemptResult): void }): Place => ({
        account: lease.account.id,
        answered: () => lease.answered(),
        end: (result) => lease.end(result),
      });
      return {
        choose(tried) {
          const chosen = selection.choose(demand, tried);
          return chosen instanceof Promise ? chosen.then((lease) => lease && placeOf(lease)) : placeOf(chosen);
        },
        mayRetry(tried) {
          if (tried.size >= MAX_ATTEMPTS || !selection.hasCandidate(demand, tried) || !budget.allows(now())) return false;
          budget.retry(now());
          return true;
        },
      };
    },
  };
}

/** The account that a key ranks first, whatever its quota. */
function firstByHash(ids: readonly string[], key: string): string | undefined {
  const rank = (id: string): number => rankOf(hashOf(key), hashOf(id));
  return ids.toSorted((a, b) => rank(b) - rank(a))[0];
}

/**
 * Knows the quota, the outages and the duration of turns in advance. Uses first the quota that is lost first, by a reset or an outage,
 * which answers the most turns. Ignores caches and sessions.
 */
export function oracleRouter(simulated: readonly SimulatedAccount[], clock: Clock): Router {
  return {
    name: 'oracle',
    waiting: () => false,
    observe: () => undefined,
    route: ({ takesMs }) => ({
      mayRetry: () => false,
      choose() {
        const now = clock.now();
        const able = simulated.filter((account) => account.wouldAnswer(now) && account.inFlight < account.plan.maxConcurrent);
        const whole = able.filter((account) => account.upUntil(now) >= now + takesMs);
        let first: SimulatedAccount | undefined;
        let lostAt = Number.POSITIVE_INFINITY;
        for (const account of whole.length > 0 ? whole : able) {
          const own = Math.min(account.resetAt(now), account.upUntil(now));
          if (first && own >= lostAt) continue;
          first = account;
          lostAt = own;
        }
        if (!first) throw new Error('no account can take the turn');
        return { account: first.id, answered: () => undefined, end: () => undefined };
      },
    }),
  };
}
