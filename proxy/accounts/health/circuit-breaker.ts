// The circuit breaker of an account, or of an account for one model: closed, cooling, half-open, or probed by one turn (Q5).
import type { AccountFault, Cause } from './account-fault.ts';

/**
 * `closed`: turns pass. `cooling`: no turn passes before the end of the cooldown. `due`: half-open, the next turn is the probe.
 * `probing`: the probe is running and no other turn passes.
 */
export type Phase = 'closed' | 'cooling' | 'due' | 'probing';

/** The columns of a row that a restart restores. */
export interface StoredBreaker {
  readonly cooldown_until: number | null;
  readonly streak: number;
  readonly cause: string | null;
}

/** The time of a result: on the clock, and in the count of attempts. */
export interface ResultTime {
  /** Unix milliseconds. */
  readonly now: number;
  /** The number of attempts that have begun. */
  readonly attempts: number;
}

const FIRST_COOLDOWN_MS = 10_000;
const LONGEST_COOLDOWN_MS = 300_000;

/** Methods return whether the set of turns that pass may have changed. */
export class CircuitBreaker {
  #phase: Phase = 'closed';
  #cooldownEnd = 0;
  #cause: Cause | undefined;
  /** Cooldowns without a stated time since the last success. Each doubles the next one. */
  #streak = 0;
  /** Consecutive failures since the last success. */
  #failures = 0;
  #openedAfter = 0;

  get phase(): Phase {
    return this.#phase;
  }

  /** Unix milliseconds; valid while cooling. */
  get cooldownEnd(): number {
    return this.#cooldownEnd;
  }

  get cause(): Cause | undefined {
    return this.#cause;
  }

  /** The number of the last attempt that had begun when the breaker opened. The results of earlier attempts do not affect it. */
  get openedAfter(): number {
    return this.#openedAfter;
  }

  /** Whether turns are kept away. */
  get blocks(): boolean {
    return this.#phase === 'cooling' || this.#phase === 'probing';
  }

  /** An exhausted quota keeps turns away, and the account stays routable (UA2). */
  get outOfQuota(): boolean {
    return this.#phase === 'cooling' && this.#cause === 'quota';
  }

  /** Whether it is in its initial state. */
  get isInitial(): boolean {
    return this.#phase === 'closed' && this.#streak === 0 && this.#failures === 0;
  }

  /** A count of failures below the threshold is not stored. */
  get needsStoring(): boolean {
    return this.#phase !== 'closed' || this.#streak > 0;
  }

  toStored(): StoredBreaker {
    return {
      cooldown_until: this.#phase === 'closed' ? null : this.#cooldownEnd,
      streak: this.#streak,
      cause: this.needsStoring ? (this.#cause ?? null) : null,
    };
  }

  restore({ cooldown_until, streak, cause }: StoredBreaker, now: number): void {
    this.#streak = streak;
    this.#cause = (cause ?? undefined) as Cause | undefined;
    if (cooldown_until === null) return;
    this.#cooldownEnd = cooldown_until;
    this.#phase = 'cooling';
    if (cooldown_until <= now) this.endCooldown();
  }

  /**
   * Counts a failure, which may open a cooldown.
   * @param mayOpen called only before a cooldown opens; not for an exhausted quota, which the account states itself
   */
  recordFailure(fault: AccountFault, time: ResultTime, mayOpen: () => boolean): boolean {
    if (fault.cause === 'quota') {
      // Of two statements the later end is used. A statement without a time does not change one that has a time.
      if (this.outOfQuota && time.now + (fault.statedMs ?? 0) <= this.#cooldownEnd) return false;
      this.#open(fault, time);
      return true;
    }
    if (this.#phase === 'cooling') return false;
    this.#failures += 1;
    if (this.#failures < fault.threshold && this.#streak === 0) return false;
    if (mayOpen()) {
      this.#open(fault, time);
      return true;
    }
    return this.close();
  }

  /** After a cooldown that failures opened a probe decides. After a stated wait turns pass again. */
  endCooldown(): void {
    this.#phase = this.#streak > 0 && this.#cause !== 'quota' ? 'due' : 'closed';
    if (this.#streak === 0) this.#failures = 0;
  }

  /** The turn that passes now is the probe. */
  startProbe(): void {
    this.#phase = 'probing';
  }

  /** The probe ended without a result: the next turn is the probe. */
  cancelProbe(): boolean {
    if (this.#phase !== 'probing') return false;
    this.#phase = 'due';
    return true;
  }

  /** Turns pass again. The streak remains: the next failure opens a longer cooldown. */
  close(): boolean {
    if (this.#phase === 'closed') return false;
    this.#phase = 'closed';
    return true;
  }

  /** A reply was complete: the breaker closes and its streak ends. */
  recordSuccess(): boolean {
    this.#streak = 0;
    this.#failures = 0;
    return this.close();
  }

  #open({ cause, statedMs }: AccountFault, { now, attempts }: ResultTime): void {
    // A stated wait is used as it is and lengthens no later cooldown. For an overloaded server it is only the minimum.
    const computed = statedMs === undefined || cause === 'server';
    if (computed) this.#streak += 1;
    const backoffMs = computed ? Math.min(LONGEST_COOLDOWN_MS, FIRST_COOLDOWN_MS * 2 ** (this.#streak - 1)) : 0;
    this.#cooldownEnd = now + Math.max(backoffMs, statedMs ?? 0);
    this.#phase = 'cooling';
    this.#cause = cause;
    this.#openedAfter = attempts;
  }
}
