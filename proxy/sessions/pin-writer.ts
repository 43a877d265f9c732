// Queues pins for the store: they are digested by the hundred and written in the order of their digests, which costs a third.
import type { PinRow, Store } from '../../store/store.ts';
import type { Clock } from '../clock.ts';

/**
 * Every turn makes one or two pins, at random places of the store's index: written one by one, each touches pages of its own (20 µs of
 * processor time, where 5,000 in order take 8 each), and its digest is computed with cold caches. This is the longest that a pin waits
 * here; the store's own queue adds 100 ms. A killed process loses its pins of this time, and another process on the store cannot see them
 * yet.
 */
const DELAY_MS = 1_000;
const MOST_WAITING = 20_000;
/** Digested in one go: half a millisecond. */
const SLICE = 300;
/** First characters of digests. Buckets are written one at a time: sorting all rows at once would block the main thread. */
const ALPHABET = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz';

/** A pin by the text that its digest is made of. */
export interface PinWrite extends Omit<PinRow, 'hash'> {
  readonly text: string;
}

export interface PinWriterOptions {
  readonly store: Pick<Store['pins'], 'put'>;
  readonly after: Clock['after'];
  readonly digest: (text: string) => string;
}

export class PinWriter {
  readonly #options: PinWriterOptions;
  #waiting: PinWrite[] = [];
  #timing = false;
  #draining = false;
  /** Pins to be digested next. */
  #taken: PinWrite[] = [];
  /** Rows by the first character of their digest. */
  readonly #buckets: PinRow[][] = Array.from(ALPHABET, () => []);
  #inBuckets = 0;
  /** The next bucket to be written. */
  #bucket = 0;
  #working = false;

  constructor(options: PinWriterOptions) {
    this.#options = options;
  }

  put(pin: PinWrite): void {
    this.#waiting.push(pin);
    if (this.#draining || this.#waiting.length >= MOST_WAITING) this.#start();
    else if (!this.#timing) {
      this.#timing = true;
      this.#options.after(DELAY_MS, () => {
        this.#timing = false;
        this.#start();
      });
    }
  }

  /** Passes all waiting pins to the store now. */
  flush(): void {
    this.#start();
    while (this.#step());
  }

  /** From now on pins are passed to the store without delay: clients of a process that ends continue at another one at once. */
  drain(): void {
    this.#draining = true;
    this.flush();
  }

  #start(): void {
    // Not spread into a call: there may be more pins than a stack holds.
    this.#taken = this.#taken.concat(this.#waiting);
    this.#waiting = [];
    if (this.#working) return;
    this.#working = true;
    this.#next();
  }

  #next(): void {
    if (this.#step()) setImmediate(() => this.#next());
    else this.#working = false;
  }

  /** @returns whether there was anything to do */
  #step(): boolean {
    if (this.#taken.length > 0) {
      for (const pin of this.#taken.splice(0, SLICE)) this.#digest(pin);
      return true;
    }
    if (this.#inBuckets === 0) return false;
    let rows: PinRow[];
    do {
      rows = this.#buckets[this.#bucket] as PinRow[];
      this.#buckets[this.#bucket] = [];
      this.#bucket = (this.#bucket + 1) % this.#buckets.length;
    } while (rows.length === 0);
    this.#inBuckets -= rows.length;
    for (const row of rows.sort((a, b) => (a.hash < b.hash ? -1 : a.hash > b.hash ? 1 : 0))) this.#options.store.put(row);
    return true;
  }

  #digest({ text, account, expires_at }: PinWrite): void {
    const hash = this.#options.digest(text);
    this.#buckets[ALPHABET.indexOf(hash[0] as string)]?.push({ hash, account, expires_at });
    this.#inBuckets += 1;
  }
}
