// Pins on their way to the store, some seconds late and in the order of their hashes: that costs half of what they would cost alone.
import type { PinRow, Store } from '../../../store/store.ts';
import type { Clock } from '../catalog/clock.ts';

/**
 * Every turn makes one or two, at random places of the store's index: written as they come, each touches pages of its own (20 µs of
 * processor time, where 10,000 in order take 8 each). A killed process loses what it learnt in this time.
 */
const LATE_MS = 5_000;
const MOST = 20_000;
/** Handed over at once: about a tenth of a millisecond. */
const SLICE = 200;

export class LatePins {
  readonly #store: Pick<Store['pins'], 'put'>;
  readonly #after: Clock['after'];
  #rows = new Map<string, PinRow>();
  /** In order, on their way. */
  #going: PinRow[] = [];
  #waits = false;

  constructor(store: Pick<Store['pins'], 'put'>, after: Clock['after']) {
    this.#store = store;
    this.#after = after;
  }

  put(row: PinRow): void {
    this.#rows.set(row.hash, row);
    if (this.#rows.size >= MOST) this.#go();
    else if (!this.#waits) {
      this.#waits = true;
      this.#after(LATE_MS, () => {
        this.#waits = false;
        this.#go();
      });
    }
  }

  /** Hands everything to the store now. */
  flush(): void {
    this.#gather();
    for (const row of this.#going.splice(0)) this.#store.put(row);
  }

  #go(): void {
    const idle = this.#going.length === 0;
    this.#gather();
    if (idle) this.#next();
  }

  #gather(): void {
    const rows = [...this.#rows.values()].sort((a, b) => (a.hash < b.hash ? -1 : 1));
    this.#rows = new Map();
    // Not spread into a call: there may be more than a stack holds.
    this.#going = this.#going.concat(rows);
  }

  #next(): void {
    for (const row of this.#going.splice(0, SLICE)) this.#store.put(row);
    if (this.#going.length > 0) setImmediate(() => this.#next());
  }
}
