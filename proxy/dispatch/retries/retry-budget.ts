// Limits a Pool's retries in 10 s to 10, or to 20 % of its turns if that is more, so that failing accounts are not overloaded (Q6).

const WINDOW_MS = 10_000;
const SLICE_MS = 1_000;
const SLICES = WINDOW_MS / SLICE_MS;
const FLOOR = 10;
const SHARE = 0.2;

/** Counts per second, so that a turn costs two additions at any load. */
class Window {
  readonly #counts = new Array<number>(SLICES).fill(0);
  #slice = 0;
  #total = 0;

  add(now: number): void {
    this.#move(now);
    this.#counts[this.#slice % SLICES] = (this.#counts[this.#slice % SLICES] ?? 0) + 1;
    this.#total++;
  }

  total(now: number): number {
    this.#move(now);
    return this.#total;
  }

  #move(now: number): void {
    const slice = Math.floor(now / SLICE_MS);
    // If the clock was set back, a small step continues the last second, and a larger one clears the window.
    if (slice < this.#slice && this.#slice - slice < SLICES) return;
    const passed = Math.min(SLICES, Math.abs(slice - this.#slice));
    for (let i = 1; i <= passed; i++) {
      const stale = (this.#slice + i) % SLICES;
      this.#total -= this.#counts[stale] ?? 0;
      this.#counts[stale] = 0;
    }
    this.#slice = slice;
  }
}

export class RetryBudget {
  readonly #turns = new Window();
  readonly #retries = new Window();

  turn(now: number): void {
    this.#turns.add(now);
  }

  allows(now: number): boolean {
    return this.left(now) > 0;
  }

  /** The retries that are allowed at this moment. A fraction allows one. */
  left(now: number): number {
    return Math.max(0, Math.max(FLOOR, SHARE * this.#turns.total(now)) - this.#retries.total(now));
  }

  retry(now: number): void {
    this.#retries.add(now);
  }
}

/** Has one budget for each Pool that had turns. */
export class RetryBudgets {
  readonly #budgets = new Map<string, RetryBudget>();

  of(pool: string): RetryBudget {
    let budget = this.#budgets.get(pool);
    if (!budget) {
      budget = new RetryBudget();
      this.#budgets.set(pool, budget);
    }
    return budget;
  }

  /** The retries that are left, by Pool. */
  left(now: number): readonly (readonly [string, number])[] {
    return [...this.#budgets].map(([pool, budget]) => [pool, budget.left(now)] as const);
  }
}
