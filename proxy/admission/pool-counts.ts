// Counts running turns by Pool, because operators see the numbers of their own Pools only (G3).

export class PoolCounts {
  /** Counts by Pool; Pools without turns are not in it. */
  readonly #counts = new Map<string, number>();

  add(pool: string): void {
    this.#counts.set(pool, (this.#counts.get(pool) ?? 0) + 1);
  }

  remove(pool: string): void {
    const left = (this.#counts.get(pool) ?? 0) - 1;
    if (left > 0) this.#counts.set(pool, left);
    else this.#counts.delete(pool);
  }

  /** The sum over these Pools. */
  of(pools: readonly string[]): number {
    return pools.reduce((sum, pool) => sum + (this.#counts.get(pool) ?? 0), 0);
  }
}
