// Ids: a counter behind a seed, so that they are unique within a run, equal in every test run, and never seen twice by a store that outlives a restart.

export class Ids {
  private readonly seed: string;
  private last = 0;

  constructor(seed: string) {
    this.seed = seed;
  }

  /** `prefix_SEEDn`. */
  next(prefix: string): string {
    return `${prefix}_${this.number()}`;
  }

  /** The seed and number alone. */
  number(): string {
    this.last += 1;
    return `${this.seed}${this.last}`;
  }
}
