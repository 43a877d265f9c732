// Ids: a seed followed by a counter. They are unique within a run and equal in every test run; the seed keeps the runs of one store apart.

export class IdSequence {
  readonly #seed: string;
  #last = 0;

  constructor(seed: string) {
    this.#seed = seed;
  }

  /** `prefix_SEEDn`. */
  next(prefix: string): string {
    return `${prefix}_${this.nextNumber()}`;
  }

  /** `SEEDn`. */
  nextNumber(): string {
    this.#last += 1;
    return `${this.#seed}${this.#last}`;
  }
}
