// The right to probe a failing account. With several nodes one node has it, and the others wait for the result of its probe (Q34).
import type { Clock } from '../../base/time/clock.ts';
import type { ExclusiveWork } from '../../nodes/exclusive-work.ts';
import type { AccountHealth, AttemptTicket } from './account-health.ts';
import type { AccountStates } from './account-states.ts';
import type { ProbeClaim } from './attempt-result.ts';
import type { ResultTime } from './circuit-breaker.ts';
import { adoptHealth } from './health-status.ts';

export interface ProbeClaimsOptions {
  readonly exclusive: Pick<ExclusiveWork, 'acquire'>;
  readonly states: AccountStates;
  readonly clock: Pick<Clock, 'now'>;
}

export interface ProbeClaimContext {
  readonly time: () => ResultTime;
  /** Called if the set of turns that may pass could have changed. */
  readonly changed: () => void;
}

/** How long to wait for the probe of another node before asking again for the right. The change feed ends the wait sooner. */
const YIELD_MS = 5_000;

export class ProbeClaims {
  readonly #options: ProbeClaimsOptions;

  constructor(options: ProbeClaimsOptions) {
    this.#options = options;
  }

  /** Asks for the right to the probe that the ticket has begun. */
  ask(account: AccountHealth, ticket: AttemptTicket, context: ProbeClaimContext): ProbeClaim {
    const claim: ProbeClaim = { granted: Promise.resolve(true), lease: undefined };
    return Object.assign(claim, { granted: this.#isGranted(claim, account, ticket, context) });
  }

  /**
   * Ends a probe. Other nodes may probe once its result is stored.
   * @param outdated called if another node's result counts, because this process was paused for longer than its lease
   */
  async end(account: string, { lease }: ProbeClaim, outdated: () => void): Promise<void> {
    if (!lease) return;
    if (lease.isLost || !(await this.#options.states.settled(account))) outdated();
    await lease.release();
  }

  async #isGranted(claim: ProbeClaim, account: AccountHealth, ticket: AttemptTicket, context: ProbeClaimContext): Promise<boolean> {
    const { exclusive, states, clock } = this.#options;
    const { id } = account;
    const { scope, probes = [] } = ticket;
    const isWhole = probes.includes(account.breakers.whole);
    const names = account.breakers.namesOf(scope);
    const held = await exclusive.acquire(isWhole ? `probe/${id}` : `probe/${id}/${names[0]}`);
    // No other node can get the lease either. Without a probe here the account would stay unused while the store is down.
    if (held === 'unknown') return true;
    ticket.probes = undefined;
    if (held === 'elsewhere') {
      for (const breaker of probes) breaker.yieldProbe(clock.now() + YIELD_MS);
      context.changed();
      return false;
    }
    // The feed may not have delivered the result of an earlier probe yet.
    await states.refresh(['', ...names].map((name) => [id, name] as const)).catch(() => undefined);
    for (const breaker of probes) breaker.cancelProbe();
    const adopted = adoptHealth(states.rows(id), account, context.time());
    const passes = account.availability(scope) === 'available';
    if (passes && account.begin(ticket)) claim.lease = held;
    else await held.release();
    if (adopted.changed) context.changed();
    return passes;
  }
}
