// Pins on their way to the store, some seconds late, digested by the hundred and in the order of their digests: that costs a third.
import type { PinRow, Store } from '../../store/store.ts';
import type { Clock } from '../clock.ts';

/**
 * Every turn makes one or two, at random places of the store's index: written as they come, each touches pages of its own (20 µs of
 * processor time, where 5,000 in order take 8 each), and its digest runs cold. A killed process loses what it learnt in this time.
 */
const LATE_MS = 5_000;
const MOST = 20_000;
/** Digested in one go: half a millisecond. */
const SLICE = 300;
/** Of equal width, handed over one at a time: sorting all rows at once would hold up the main thread. */
const ALPHABET = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz';

/** A pin by what it is of. */
export interface LatePin extends Omit<PinRow, 'hash'> {
  readonly text: string;
}

export interface LatePinsOptions {
  readonly store: Pick<Store['pins'], 'put'>;
  readonly after: Clock['after'];
  readonly digest: (text: string) => string;
}

export class LatePins {
  readonly #options: LatePinsOptions;
  #waiting: LatePin[] = [];
  #waits = false;
  /** On their way: pins to be digested, then rows by the first digit of their digest. */
  #taken: LatePin[] = [];
  readonly #shelves: PinRow[][] = Array.from(ALPHABET, () => []);
  #shelved = 0;
  /** The next to be handed over. */
  #shelf = 0;
  #busy = false;

  constructor(options: LatePinsOptions) {
    this.#options = options;
  }

  put(pin: LatePin): void {
    this.#waiting.push(pin);
    if (this.#waiting.length >= MOST) this.#go();
    else if (!this.#waits) {
      this.#waits = true;
      this.#options.after(LATE_MS, () => {
        this.#waits = false;
        this.#go();
      });
    }
  }

  /** Hands everything to the store now. */
  flush(): void {
    this.#go();
    while (this.#step());
  }

  #go(): void {
    // Not spread into a call: there may be more than a stack holds.
    this.#taken = this.#taken.concat(this.#waiting);
    this.#waiting = [];
    if (this.#busy) return;
    this.#busy = true;
    this.#next();
  }

  #next(): void {
    if (this.#step()) setImmediate(() => this.#next());
    else this.#busy = false;
  }

  /** @returns whether there was anything to do */
  #step(): boolean {
    if (this.#taken.length > 0) {
      for (const pin of this.#taken.splice(-SLICE)) this.#shelve(pin);
      return true;
    }
    if (this.#shelved === 0) return false;
    const rows = this.#shelves[this.#shelf] as PinRow[];
    this.#shelves[this.#shelf] = [];
    this.#shelf = (this.#shelf + 1) % this.#shelves.length;
    this.#shelved -= rows.length;
    for (const row of rows.sort((a, b) => (a.hash < b.hash ? -1 : 1))) this.#options.store.put(row);
    return true;
  }

  #shelve({ text, account, expires_at }: LatePin): void {
    const hash = this.#options.digest(text);
    this.#shelves[ALPHABET.indexOf(hash[0] as string)]?.push({ hash, account, expires_at });
    this.#shelved += 1;
  }
}
