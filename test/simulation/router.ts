// The router of a simulated day's turns: one gateway with one strategy, or an oracle.
import type { AttemptResult } from '../../proxy/accounts/health/attempt-result.ts';
import { hashOf, rankOf } from '../../proxy/base/bytes/rendezvous.ts';
import type { Clock } from '../../proxy/base/time/clock.ts';
import type { Affinity } from '../../proxy/turn/continuation.ts';
import type { Failure } from '../../proxy/turn/errors/failure.ts';
import type { StrategyName } from '../../proxy/turn/settings.ts';
import { Conversations } from './conversations.ts';
import type { SessionKind } from './day.ts';
import { GatewayNode, settingOf } from './gateway-node.ts';
import type { SimulatedAccount } from './provider.ts';

export interface Asking {
  readonly id: string;
  readonly session: string;
  readonly kind: SessionKind;
  /** The number of the turn in its session, from 0. */
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
  /** Called once for each turn; the route places its attempts. @throws if no account can take the turn */
  route(asking: Asking): Route;
  /** Whether promises settle between two events, because turns are queued or a store is asked. */
  waiting(): boolean;
}

export interface Route {
  choose(tried: ReadonlySet<string>): Place | Promise<Place | undefined>;
  mayRetry(tried: ReadonlySet<string>): boolean;
  /** Reads the reply of an account: its quota, and its failure if it is one. */
  observe(account: SimulatedAccount, failure: Failure | undefined): void;
}

/**
 * How conversations without a pin are placed: `strategy` as in Q11; `hash` is the reference, which hashes the key and remembers nothing.
 */
export type FirstTurns = 'strategy' | 'hash';

export function gatewayRouter(
  strategy: StrategyName,
  simulated: readonly SimulatedAccount[],
  clock: Clock,
  firstTurns: FirstTurns = 'strategy',
): Router {
  const node = new GatewayNode(settingOf(strategy, simulated, clock));
  const conversations = new Conversations(clock);
  const affinityOf =
    firstTurns === 'strategy' ? (asking: Asking) => conversations.affinityOf(asking) : byHash(simulated.map(({ id }) => id));
  return {
    name: firstTurns === 'hash' ? `${strategy}, by hash` : strategy,
    waiting: () => node.waiting > 0,
    route: (asking) => node.route(asking, { soft: asking.kind === 'pinned' ? asking.last : undefined, affinity: affinityOf(asking) }),
  };
}

/** The account that a key ranks first, without regard to its quota. */
function byHash(ids: readonly string[]): (asking: Asking) => Affinity | undefined {
  return ({ kind, session }) => {
    if (kind !== 'keyed') return undefined;
    const rank = (id: string): number => rankOf(hashOf(session), hashOf(id));
    return { account: ids.toSorted((a, b) => rank(b) - rank(a))[0], reason: 'locality', learn: () => undefined };
  };
}

/**
 * Knows the quota, the outages and the duration of turns in advance. It first uses the quota that is lost first, by a reset or an outage,
 * which answers the most turns. It ignores caches and sessions.
 */
export function oracleRouter(simulated: readonly SimulatedAccount[], clock: Clock): Router {
  return {
    name: 'oracle',
    waiting: () => false,
    route: ({ takesMs }) => ({
      mayRetry: () => false,
      observe: () => undefined,
      choose() {
        const now = clock.now();
        let first: SimulatedAccount | undefined;
        let lostAt = Number.POSITIVE_INFINITY;
        let isWhole = false;
        for (const account of simulated) {
          if (account.inFlight >= account.plan.maxConcurrent || !account.wouldAnswer(now)) continue;
          // An account with an outage before the end of the turn takes it only if there is no other.
          const staysUp = account.upUntil(now) >= now + takesMs;
          const ownLostAt = Math.min(account.resetAt(now), account.upUntil(now));
          if (first && (staysUp === isWhole ? ownLostAt >= lostAt : isWhole)) continue;
          first = account;
          lostAt = ownLostAt;
          isWhole = staysUp;
        }
        if (!first) throw new Error('no account can take the turn');
        return { account: first.id, answered: () => undefined, end: () => undefined };
      },
    }),
  };
}
