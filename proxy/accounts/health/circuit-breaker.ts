// The circuit breaker of an account, or of an account for one model: closed, cooling, half-open, or probed by a turn (Q5).
import type { AccountFault, Cause } from './account-fault.ts';

/**
 * `closed`: turns pass. `cooling`: no turn passes before the end of the cooldown. `due`: half-open, the next turn is the probe.
 * `probing`: the probe is running and no other turn passes.
 */
export type BreakerPhase = 'closed' | 'cooling' | 'due' | 'probing';

/** The columns of a row from which other processes and the next start restore a breaker. */
export interface StoredBreaker {
  readonly cooldown_until: number | null;
  readonly streak: number;
  readonly cause: string | null;
}

/** When a result arrived: by the clock, and by the count of attempts. */
export interface ResultTime {
  /** Unix milliseconds. */
  readonly now: number;
  /** The number of attempts that have begun. */
  readonly attempts: number;
}

/** Cooldowns without a stated time: the first one, and the longest one that doubling reaches. */
const USUAL = { firstMs: 10_000, longestMs: 300_000 };
/** Two processes that open cooldowns within this time have done so independently. */
const SAME_TIME_MS = 2_000;

/** The methods return whether the set of turns that may pass could have changed. */
export class CircuitBreaker {
  #phase: BreakerPhase = 'closed';
  #cooldownEnd = 0;
  #cause: Cause | undefined;
  /** Whether the account stated the end of the cooldown. */
  #isEndStated = false;
  /** The number of cooldowns without a stated time since the last success. Each doubles the next one. */
  #streak = 0;
  /** The number of consecutive failures since the last success. */
  #failures = 0;
  #openedAfter = 0;
  /** When this process opened the cooldown; Unix milliseconds. */
  #openedAt = Number.NEGATIVE_INFINITY;
  /** The end of the wait for the probe of another node; Unix milliseconds. */
  #yieldedUntil: number | undefined;

  get phase(): BreakerPhase {
    return this.#phase;
  }

  /** Unix milliseconds; valid while cooling. */
  get cooldownEnd(): number {
    return this.#cooldownEnd;
  }

  /** The end of the cooldown if the account stated it. */
  get statedEnd(): number | undefined {
    return this.#isEndStated ? this.#cooldownEnd : undefined;
  }

  /** Whether a probe of this process is running. */
  get probesHere(): boolean {
    return this.#phase === 'probing' && this.#yieldedUntil === undefined;
  }

  /** When the phase ends by itself: the end of a cooldown, or of the wait for another node's probe. Unix milliseconds. */
  get phaseEnd(): number | undefined {
    return this.#phase === 'cooling' ? this.#cooldownEnd : this.#yieldedUntil;
  }

  get cause(): Cause | undefined {
    return this.#cause;
  }

  /** The number of the last attempt that had begun when the breaker opened. The results of earlier attempts do not affect it. */
  get openedAfter(): number {
    return this.#openedAfter;
  }

  /** Whether turns are blocked. */
  get blocks(): boolean {
    return this.#phase === 'cooling' || this.#phase === 'probing';
  }

  /** Whether an exhausted quota blocks turns. The account stays routable then (UA2). */
  get outOfQuota(): boolean {
    return this.#phase === 'cooling' && this.#cause === 'quota';
  }

  /** Whether the breaker is in its initial state. */
  get isInitial(): boolean {
    return this.#phase === 'closed' && this.#streak === 0 && this.#failures === 0;
  }

  /** Whether the state has to be stored. A count of failures below the threshold is not stored. */
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

  /**
   * Restores the stored state. If a probe of this process is running, its result decides instead, and is stored after that.
   * @returns `kept`: two processes opened cooldowns at the same time, and this one ends later and has to be stored again
   */
  adopt(stored: StoredBreaker, { now, attempts }: ResultTime): 'same' | 'adopted' | 'kept' {
    const { cooldown_until, streak, cause } = stored;
    const own = this.toStored();
    if (this.probesHere || (own.cooldown_until === cooldown_until && own.streak === streak && own.cause === cause)) return 'same';
    const isConcurrent = this.#phase === 'cooling' && now - this.#openedAt < SAME_TIME_MS;
    if (isConcurrent && cooldown_until !== null && cooldown_until < this.#cooldownEnd) return 'kept';
    this.#streak = streak;
    this.#cause = (cause ?? undefined) as Cause | undefined;
    this.#failures = 0;
    this.#yieldedUntil = undefined;
    this.#phase = 'closed';
    if (cooldown_until === null) return 'adopted';
    this.#cooldownEnd = cooldown_until;
    // The store does not keep it. A cooldown without a stated time has always lengthened the streak.
    this.#isEndStated = streak === 0;
    this.#phase = 'cooling';
    // Running attempts of this process belong to the same burst.
    this.#openedAfter = attempts;
    if (cooldown_until <= now) this.endPhase();
    return 'adopted';
  }

  /**
   * Counts a failure, which may open a cooldown.
   * @param mayOpen called only before a cooldown opens, and not for an exhausted quota, because the account itself states it
   */
  recordFailure(fault: AccountFault, time: ResultTime, mayOpen: () => boolean): boolean {
    if (fault.cause === 'quota') {
      // If two statements differ, the one with the later end counts. A statement without a time does not replace one with a time.
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

  /** Ends the phase. After a cooldown caused by failures a probe decides. After a stated wait turns pass again. */
  endPhase(): void {
    this.#yieldedUntil = undefined;
    this.#phase = this.#streak > 0 && this.#cause !== 'quota' ? 'due' : 'closed';
    if (this.#streak === 0) this.#failures = 0;
  }

  /** Makes the next turn the probe. */
  startProbe(): void {
    this.#phase = 'probing';
  }

  /** Waits for the probe of another node. If its result does not arrive in that time, the next turn asks for the probe again. */
  yieldProbe(until: number): void {
    this.#phase = 'probing';
    this.#yieldedUntil = until;
  }

  /** Ends a probe without a result. The next turn is the probe. */
  cancelProbe(): boolean {
    if (!this.probesHere) return false;
    this.#phase = 'due';
    return true;
  }

  /** Lets turns pass again. The streak remains, so that the next failure opens a longer cooldown. */
  close(): boolean {
    if (this.#phase === 'closed') return false;
    this.#yieldedUntil = undefined;
    this.#phase = 'closed';
    return true;
  }

  /** Records a complete reply, which closes the breaker and ends its streak. */
  recordSuccess(): boolean {
    this.#streak = 0;
    this.#failures = 0;
    return this.close();
  }

  #open({ cause, statedMs, backoff, pauses }: AccountFault, { now, attempts }: ResultTime): void {
    // A stated wait is used as it is, and lengthens no later cooldown. For an overloaded server it is only the minimum.
    const computed = statedMs === undefined || (cause === 'server' && !pauses);
    if (computed) this.#streak += 1;
    const { firstMs, longestMs } = backoff ?? USUAL;
    const backoffMs = computed ? Math.min(longestMs, firstMs * 2 ** (this.#streak - 1)) : 0;
    this.#cooldownEnd = now + Math.max(backoffMs, statedMs ?? 0);
    this.#isEndStated = !computed;
    this.#phase = 'cooling';
    this.#cause = cause;
    this.#openedAfter = attempts;
    this.#openedAt = now;
    this.#yieldedUntil = undefined;
  }
}
