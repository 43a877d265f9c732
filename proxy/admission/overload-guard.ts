// The overload guard: refuses new turns while the event loop is late or memory is short, so that running turns do not suffer (Q4).
import type { Counters } from '../base/process/metrics.ts';
import { Refusal } from '../turn/errors/refusal.ts';
import type { GuardLimits } from '../turn/settings.ts';
import type { ProcessLoad } from './process-load.ts';

export interface OverloadGuardOptions {
  readonly load: ProcessLoad;
  readonly counters: Counters;
  readonly limits: () => GuardLimits;
  /** The number of running turns. */
  readonly running: () => number;
}

/** The resource that is short. */
type Shortage = 'event_loop' | 'memory';

export interface GuardStatus {
  readonly refusing: Shortage | null;
  /** The delay of the event loop: the smaller of the last two samples. */
  readonly event_loop_ms: number;
  readonly memory_percent: number;
}

const SAMPLE_MS = 500;
/** The share of its limit below which a load must fall before turns are accepted again. */
const EASED: Readonly<Record<Shortage, number>> = { event_loop: 0.5, memory: 0.95 };
const COUNTERS = { event_loop: 'guard_event_loop_refused', memory: 'guard_memory_refused' } as const;
/**
 * Prepared refusals, which make refusing cheap. Their waits differ, so that clients that were refused together come back at different
 * times.
 */
const REFUSALS = [1, 2, 3, 4, 5].map((seconds) => new Refusal('server_is_overloaded', { retryAfterMs: seconds * 1_000 }));

export class OverloadGuard {
  readonly #options: OverloadGuardOptions;
  #sampledAt = Number.NEGATIVE_INFINITY;
  #eventLoopMs = 0;
  #lastDelay = 0;
  #memoryPercent = 0;
  #refusing: Shortage | null = null;
  #refused = 0;

  constructor(options: OverloadGuardOptions) {
    this.#options = options;
  }

  /**
   * The refusal of a new turn; undefined if the process can take it. Called before the turn's body is read. While no turn runs none is
   * refused: turns are not the cause of a shortage then, and refusing them would not end it.
   * @param at the current time, Unix milliseconds
   */
  refusal(at: number): Refusal | undefined {
    // The difference is absolute, so that a clock that was set back does not keep an old sample.
    if (Math.abs(at - this.#sampledAt) >= SAMPLE_MS) this.#sample(at);
    if (this.#refusing === null || this.#options.running() === 0) return undefined;
    this.#options.counters.add(COUNTERS[this.#refusing]);
    this.#refused += 1;
    return REFUSALS[this.#refused % REFUSALS.length];
  }

  status(): GuardStatus {
    return { refusing: this.#refusing, event_loop_ms: this.#eventLoopMs, memory_percent: this.#memoryPercent };
  }

  /** Samples are taken when turns arrive, because a gateway without turns has nothing to guard. */
  #sample(at: number): void {
    const { load, limits } = this.#options;
    const { event_loop_ms, memory_percent } = limits();
    this.#sampledAt = at;
    const delay = event_loop_ms > 0 ? load.eventLoopMs() : 0;
    // A single long step affects one sample. A loop that has too much to do is late in all of them.
    this.#eventLoopMs = Math.min(delay, this.#lastDelay);
    this.#lastDelay = delay;
    this.#memoryPercent = memory_percent > 0 ? load.memoryPercent() : 0;
    if (this.#isShort('memory', this.#memoryPercent, memory_percent)) this.#refusing = 'memory';
    else if (this.#isShort('event_loop', this.#eventLoopMs, event_loop_ms)) this.#refusing = 'event_loop';
    else this.#refusing = null;
  }

  #isShort(what: Shortage, load: number, limit: number): boolean {
    return limit > 0 && load >= (this.#refusing === what ? limit * EASED[what] : limit);
  }
}
