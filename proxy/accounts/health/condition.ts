// The condition of an account, or of an account for one model: closed, cooling down, due for a probe, or probed by exactly one turn (Q5).
import type { Blame, Cause } from './blame.ts';

/**
 * `closed`: turns pass. `cooling`: none does, until `until`. `due`: the next turn is the probe. `probing`: it is under way, and no
 * other turn passes.
 */
export type Phase = 'closed' | 'cooling' | 'due' | 'probing';

/** What a restart must not forget. */
export interface Kept {
  readonly cooldown_until: number | null;
  readonly streak: number;
  readonly cause: string | null;
}

const FIRST_MS = 10_000;
const LONGEST_MS = 300_000;

/** Methods answer whether turns may pass differently now. */
export class Condition {
  #phase: Phase = 'closed';
  #until = 0;
  #cause: Cause | undefined;
  /** Cooldowns without a stated time since the last success: each doubles the next. */
  #level = 0;
  /** Failures in a row since the last success. */
  #failures = 0;
  #openedAt = 0;

  get phase(): Phase {
    return this.#phase;
  }

  /** Unix milliseconds; of use while cooling. */
  get until(): number {
    return this.#until;
  }

  get cause(): Cause | undefined {
    return this.#cause;
  }

  /** The number of the visit after which it opened: what began before says nothing of the time since. */
  get openedAt(): number {
    return this.#openedAt;
  }

  /** Whether turns are kept away. */
  get blocks(): boolean {
    return this.#phase === 'cooling' || this.#phase === 'probing';
  }

  /** A spent quota keeps turns away, and leaves the account routable (UA2). */
  get spent(): boolean {
    return this.#phase === 'cooling' && this.#cause === 'quota';
  }

  /** Nothing to remember. */
  get sound(): boolean {
    return this.#phase === 'closed' && this.#level === 0 && this.#failures === 0;
  }

  /** Whether a restart would lose anything but a count of failures that opened nothing. */
  get worthKeeping(): boolean {
    return this.#phase !== 'closed' || this.#level > 0;
  }

  get kept(): Kept {
    const open = this.#phase !== 'closed';
    return {
      cooldown_until: open ? this.#until : null,
      streak: this.#level,
      cause: open || this.#level > 0 ? (this.#cause ?? null) : null,
    };
  }

  restore({ cooldown_until, streak, cause }: Kept, now: number): void {
    this.#level = streak;
    this.#cause = (cause ?? undefined) as Cause | undefined;
    if (cooldown_until === null) return;
    this.#until = cooldown_until;
    this.#phase = 'cooling';
    if (cooldown_until <= now) this.pass();
  }

  /**
   * Counts a failure, which may open a cooldown.
   * @param visits how many have begun by now
   * @param mayOpen asked only where one would open; a spent quota does not ask, since it is the account's own statement
   */
  fail(blame: Blame, now: number, visits: number, mayOpen: () => boolean): boolean {
    if (blame.cause === 'quota') {
      // The later of two statements holds, and one without a time adds nothing to one that holds.
      if (this.spent && now + (blame.statedMs ?? 0) <= this.#until) return false;
      this.#open(blame, now, visits);
      return true;
    }
    if (this.#phase === 'cooling') return false;
    this.#failures += 1;
    if (this.#failures < blame.inARow && this.#level === 0) return false;
    if (mayOpen()) {
      this.#open(blame, now, visits);
      return true;
    }
    return this.revive();
  }

  /** The cooldown's time is over: after one that failures opened a probe decides. */
  pass(): void {
    this.#phase = this.#level > 0 && this.#cause !== 'quota' ? 'due' : 'closed';
    if (this.#level === 0) this.#failures = 0;
  }

  /** The turn that passes now is the probe. */
  probe(): void {
    this.#phase = 'probing';
  }

  /** The probe ended without a verdict: the next turn is one. */
  free(): boolean {
    if (this.#phase !== 'probing') return false;
    this.#phase = 'due';
    return true;
  }

  /** An answer came: turns pass again, and the next failure opens again, for longer. */
  revive(): boolean {
    if (this.#phase === 'closed') return false;
    this.#phase = 'closed';
    return true;
  }

  /** An answer came to its end. */
  forgive(): boolean {
    this.#level = 0;
    this.#failures = 0;
    return this.revive();
  }

  #open({ cause, statedMs }: Blame, now: number, visits: number): void {
    // A provider that says how long needs no guess, and its word doubles nothing; of an overloaded server it is the least.
    const guesses = statedMs === undefined || cause === 'server';
    if (guesses) this.#level += 1;
    const guess = guesses ? Math.min(LONGEST_MS, FIRST_MS * 2 ** (this.#level - 1)) : 0;
    this.#until = now + Math.max(guess, statedMs ?? 0);
    this.#phase = 'cooling';
    this.#cause = cause;
    this.#openedAt = visits;
  }
}
