// Pins on their way to the store, some seconds late and in the order of their hashes: that costs half of what they would cost alone.
import type { PinRow, Store } from '../../../store/store.ts';
import type { Clock } from '../catalog/clock.ts';

/**
 * Every turn makes one or two, at random places of the store's index: written as they come, each touches pages of its own (20 µs of
 * processor time, where 5,000 in order take 8 each). A killed process loses what it learnt in this time.
 */
const LATE_MS = 5_000;
const MOST = 20_000;
/** Of equal width: sorting all rows at once would hold up the main thread. */
const SHELVES = 64;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** Rows by the first digit of their hash. */
type Shelves = readonly PinRow[][];

const emptyShelves = (): Shelves => Array.from({ length: SHELVES }, () => []);

/** Digests are base64url, which sorts its digits otherwise than it counts them. */
const SHELF_OF = new Map([...ALPHABET].sort().map((digit, shelf) => [digit, shelf]));

export class LatePins {
  readonly #store: Pick<Store['pins'], 'put'>;
  readonly #after: Clock['after'];
  #shelves = emptyShelves();
  #count = 0;
  /** On their way, a shelf at a time. */
  #going: PinRow[][] = [];
  #waits = false;

  constructor(store: Pick<Store['pins'], 'put'>, after: Clock['after']) {
    this.#store = store;
    this.#after = after;
  }

  put(row: PinRow): void {
    this.#shelves[SHELF_OF.get(row.hash[0] ?? '') ?? 0]?.push(row);
    this.#count += 1;
    if (this.#count >= MOST) this.#go();
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
    for (const shelf of this.#going.splice(0)) this.#hand(shelf);
  }

  #go(): void {
    const idle = this.#going.length === 0;
    this.#gather();
    if (idle) this.#next();
  }

  #gather(): void {
    this.#going.push(...this.#shelves.filter(({ length }) => length > 0));
    this.#shelves = emptyShelves();
    this.#count = 0;
  }

  #next(): void {
    const shelf = this.#going.shift();
    if (!shelf) return;
    this.#hand(shelf);
    if (this.#going.length > 0) setImmediate(() => this.#next());
  }

  #hand(shelf: PinRow[]): void {
    for (const row of shelf.sort((a, b) => (a.hash < b.hash ? -1 : 1))) this.#store.put(row);
  }
}
