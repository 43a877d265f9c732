// Counts the limits of keys in the store, for all nodes together. A reservation takes one round trip, and settlements are written later
// (Q34).
import { randomBytes } from 'node:crypto';
import type { LimitBounds, LimitedTurn, LimitVerbs, Taken } from '../../../store/store.ts';
import type { Counters } from '../../base/process/metrics.ts';
import { oncePerObject } from '../../base/process/once-per-object.ts';
import { type Clock, withDeadline } from '../../base/time/clock.ts';
import { Refusal } from '../../turn/errors/refusal.ts';
import type { Ledger } from '../ledger.ts';
import type { Settlements } from '../settlements.ts';
import type { Amounts } from '../usage-totals.ts';
import {
  amountsWithin,
  type Estimate,
  type LimitCounts,
  type LimitedKey,
  type LimitState,
  limitRefusalOf,
  maxOf,
  type Reserved,
  statesOf,
} from './key-limits.ts';
import { type LimitSet, limitsOf } from './limit-kinds.ts';
import { useOfLedger, useOfStore } from './shared-use.ts';

/** The lease of this node. Reservations of its turns count while it lasts. */
export interface NodeLease {
  /** The token of the lease; undefined while the node has none. */
  readonly token: number | undefined;
  /** Joins again, because the store no longer has the lease with this token. Resolves when the node has joined or failed to. */
  lost(token: number): Promise<void>;
}

export interface SharedLimitsOptions {
  readonly limits: Pick<LimitVerbs, 'take' | 'use'>;
  readonly settlements: Settlements;
  readonly node: NodeLease;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly counters: Counters;
}

/**
 * The number of waiting settlements from which turns of keys with limits are refused. Running turns still add theirs; admission limits
 * their number.
 */
const MOST_SETTLEMENTS = 50_000;

/** The most tries of a reservation. It is tried again if the node had lost its lease, or if a settlement in progress may make room. */
const TRIES = 3;

/** The longest that a turn waits for its reservation, with all tries. */
const RESERVE_MS = 2_000;

/** The longest that a refusal waits for settlements that may make room, and a read of the limits for those of its key. */
const SETTLING_MS = 1_000;

interface Asked {
  readonly key: string;
  readonly set: LimitSet;
  readonly amounts: Amounts;
}

const CANNOT_CHECK = new Refusal('server_is_overloaded', {
  message: 'The limits of this API key cannot be checked at the moment. Try again shortly.',
  retryAfterMs: 5_000,
});

export class SharedLimits implements LimitCounts {
  readonly #options: SharedLimitsOptions;
  /** The prefix of the ids of this process's reservations. */
  readonly #process = randomBytes(9).toString('base64url');
  #reservations = 0;
  /** The number of running turns of each key at this node that reserved nothing. The store does not know them. */
  readonly #unlimited = new Map<string, number>();

  constructor(options: SharedLimitsOptions) {
    this.#options = options;
  }

  async reserve(key: LimitedKey, estimate: () => Estimate): Promise<Reserved | Refusal> {
    const set = limitsOf(key.limits);
    const amounts = amountsWithin(set, estimate);
    if (amounts instanceof Refusal) return amounts;
    const reserved = await this.#ask({ key: key.id, set, amounts });
    if (reserved) return reserved;
    this.#options.counters.add('limits_unavailable');
    return CANNOT_CHECK;
  }

  begin(key: string): () => void {
    this.#unlimited.set(key, this.#unlimitedOf(key) + 1);
    return () => {
      const left = this.#unlimitedOf(key) - 1;
      if (left > 0) this.#unlimited.set(key, left);
      else this.#unlimited.delete(key);
    };
  }

  async states(key: LimitedKey): Promise<readonly LimitState[]> {
    const { clock, ledger, limits, settlements } = this.#options;
    // A client that asks after its turn must not see the reservation of that turn.
    if (settlements.isWaiting(key.id)) await withDeadline(settlements.written(), clock, SETTLING_MS);
    // If the store cannot be read, the use that this node has counted is shown.
    const stored = await limits.use(key.id).catch(() => undefined);
    const now = clock.now();
    const own = this.#unlimitedOf(key.id);
    return statesOf(key, stored ? useOfStore(stored, now, own) : useOfLedger(key.id, ledger, now, own), now);
  }

  /** Reserves; undefined if the store could not decide. */
  async #ask({ key, set, amounts }: Asked): Promise<Reserved | Refusal | undefined> {
    const { settlements, clock, node } = this.#options;
    const end = clock.now() + RESERVE_MS;
    for (let i = 0, left = RESERVE_MS; i < TRIES && left > 0; i++, left = end - clock.now()) {
      const { token } = node;
      if (token === undefined || settlements.waiting >= MOST_SETTLEMENTS) return undefined;
      const turn = { grant: this.#nextGrant(), key, node: token, tokens: amounts.tokens, cost_nanos: amounts.costNanos, wait_ms: left };
      const settling = settlements.isWaiting(key);
      const own = this.#unlimitedOf(key);
      const taken = await this.#take(turn, boundsBeside(own, boundsOf(set)));
      if (taken && taken.outcome !== 'unknown') settlements.hurry();
      if (taken?.outcome === 'granted') return this.#reserved(turn, set, amounts);
      if (taken?.outcome === 'lost') await withDeadline(node.lost(token), clock, end - clock.now());
      else if (taken?.outcome === 'refused') {
        const at = clock.now();
        const refusal = limitRefusalOf(set.limits, useOfStore(taken.use, at, own), amounts, at);
        // A turn that has just ended at this node must not block the next turn of its client.
        if (refusal && !(settling && i === 0 && at + SETTLING_MS < end)) return refusal;
        await withDeadline(settlements.written(), clock, Math.min(SETTLING_MS, end - at));
      } else return undefined;
    }
    return undefined;
  }

  /** Reserves in the store; undefined if it could not be reached. */
  async #take(turn: LimitedTurn, bounds: LimitBounds): Promise<Taken | undefined> {
    try {
      const taken = await this.#options.limits.take(turn, bounds);
      if (taken.outcome === 'unknown') this.#settle(turn, { used: undefined, minute: false, withdrawn: true });
      return taken;
    } catch {
      return undefined;
    }
  }

  #reserved(turn: LimitedTurn, set: LimitSet, amounts: Amounts): Reserved {
    const minute = set.minuteRequests || set.minuteTokens;
    let settled = false;
    return {
      amounts,
      settle: (used) => {
        if (settled) return;
        settled = true;
        this.#settle(turn, { used: used && this.#options.ledger.count(turn.key, used.pool, used.totals), of: used?.of, minute });
      },
    };
  }

  #settle({ grant, key }: LimitedTurn, end: Omit<Parameters<Settlements['add']>[0], 'grant' | 'key' | 'at'>): void {
    const { settlements, clock } = this.#options;
    settlements.add({ grant, key, at: clock.now(), ...end });
  }

  #unlimitedOf(key: string): number {
    return this.#unlimited.get(key) ?? 0;
  }

  #nextGrant(): string {
    this.#reservations += 1;
    return `${this.#process}${this.#reservations}`;
  }
}

const boundsOf = oncePerObject(
  ({ limits }: LimitSet): LimitBounds => Object.fromEntries(limits.map((limit) => [limit.name.replace(/^usd/, 'nanos'), maxOf(limit)])),
);

/** The room that running turns leave of the bounds that count them. @param running the turns that the store does not know */
function boundsBeside(running: number, bounds: LimitBounds): LimitBounds {
  if (running === 0) return bounds;
  const { concurrent, requests_per_day: day } = bounds;
  return {
    ...bounds,
    ...(concurrent !== undefined && { concurrent: concurrent - running }),
    ...(day !== undefined && { requests_per_day: day - running }),
  };
}
