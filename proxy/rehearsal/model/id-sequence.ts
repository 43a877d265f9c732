// Ids made of a seed and a counter. They are unique within a run and equal in every test run. The seed distinguishes the runs of one store.

export class IdSequence {
  readonly #seed: string;
  #last = 0;

  constructor(seed: string) {
    this.#seed = seed;
  }

  /** Returns `prefix_SEEDn`. */
  next(prefix: string): string {
    return `${prefix}_${this.nextNumber()}`;
  }

  /** Returns `SEEDn`. */
  nextNumber(): string {
    this.#last += 1;
    return `${this.#seed}${this.#last}`;
  }
}
