// The simulated accounts: the quota that they have left, their outages, and the headers of their replies.
import type { Failure, FailureCause } from '../../proxy/turn/errors/failure.ts';
import type { Headers } from '../../proxy/turn/turn.ts';
import type { AccountPlan, Outage } from './day.ts';

const NO_ERROR = { code: null, type: null, param: null, message: null };

export class SimulatedAccount {
  readonly plan: AccountPlan;
  inFlight = 0;
  /** The number of answered turns. */
  served = 0;
  #used: number;
  #resetAt: number;
  #outage = 0;

  constructor(plan: AccountPlan) {
    this.plan = plan;
    this.#used = plan.usedBefore;
    this.#resetAt = plan.firstResetAt;
  }

  get id(): string {
    return this.plan.id;
  }

  resetAt(now: number): number {
    this.#turnOver(now);
    return this.#resetAt;
  }

  /** Cost units left in this window. */
  left(now: number): number {
    this.#turnOver(now);
    return this.plan.quota - this.#used;
  }

  /** The current outage, or the next one if there is none. */
  outage(now: number): Outage | undefined {
    const { outages } = this.plan;
    while ((outages[this.#outage]?.to ?? Number.POSITIVE_INFINITY) <= now) this.#outage += 1;
    return outages[this.#outage];
  }

  isUp(now: number): boolean {
    return now < this.plan.loggedOutAt && !((this.outage(now)?.from ?? Number.POSITIVE_INFINITY) <= now);
  }

  /** Whether a turn that begins now would be answered. */
  wouldAnswer(now: number): boolean {
    return this.isUp(now) && this.left(now) > 0;
  }

  /** The beginning of the next outage, which cuts a turn that runs longer. */
  upUntil(now: number): number {
    return Math.min(this.plan.loggedOutAt, this.outage(now)?.from ?? Number.POSITIVE_INFINITY);
  }

  /** Begins a turn, or returns the failure. Like real accounts it charges a turn when it begins, and accepts the last turn completely. */
  begin(cost: number, now: number): Failure | undefined {
    const outage = this.outage(now);
    if (outage && outage.from <= now) return this.#failureIn(outage, now);
    if (now >= this.plan.loggedOutAt) return failure('credential', 401);
    if (this.left(now) <= 0) return { ...failure('quota', 429), resetsAt: Math.ceil(this.#resetAt / 1000) };
    this.#used += cost;
    this.inFlight += 1;
    return undefined;
  }

  /** The time in milliseconds to the first event of a turn that begins now. */
  firstEventMs(now: number): number {
    const { before, changeAt, after } = this.plan.firstEvents;
    return now < changeAt ? before : after;
  }

  /** Ends a turn that was answered or cut. */
  end(): void {
    this.inFlight -= 1;
  }

  /** The quota headers of its replies. */
  headers(now: number): Headers {
    const used = Math.min(100, Math.floor((100 * this.#used) / this.plan.quota));
    return {
      'x-agent-primary-used-percent': String(used),
      'x-agent-primary-window-minutes': String(this.plan.windowMs / 60_000),
      'x-agent-primary-reset-at': String(Math.ceil(this.resetAt(now) / 1000)),
    };
  }

  #failureIn({ kind, to }: Outage, now: number): Failure {
    if (kind === 'connect') return failure('connect', 0);
    if (kind === 'server') return failure('server', 503);
    return { ...failure('rate', 429), retryAfterMs: Math.min(30_000, to - now) };
  }

  #turnOver(now: number): void {
    while (this.#resetAt <= now) {
      this.#resetAt += this.plan.windowMs;
      this.#used = 0;
    }
  }
}

export const failure = (cause: FailureCause, status: number): Failure => ({
  cause,
  status,
  error: NO_ERROR,
  retryAfterMs: undefined,
  resetsAt: undefined,
  answer: undefined,
});
