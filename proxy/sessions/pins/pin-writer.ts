// Queues pins for the store. Hundreds are digested together and written in the order of their digests, at a third of the cost of one at
// a time.
import type { NewPin, Store } from '../../../store/store.ts';
import type { Clock } from '../../base/time/clock.ts';

/**
 * How long the pins of responses are gathered. A client that has received a response may continue it at once, even after the process was
 * killed, so that its pin is on disk within 50 ms (Q10). Each of these writes is a transaction, which includes waiting log rows, so that
 * fewer writes cost less.
 */
const ANCHOR_DELAY_MS = 40;
/**
 * The longest that another pin waits here; the store's own queue adds 100 ms. Every turn sets one or two such pins, at random places of the
 * store's index. Written one by one, each touches pages of its own (20 µs of processor time, compared with 8 µs each for 5,000 in order)
 * and is digested with cold caches. A killed process loses its pins of this time, and other processes on the store do not see them yet.
 */
const DELAY_MS = 1_000;
const MOST_WAITING = 20_000;
/** The most anchors that are digested and sorted in one go. */
const MOST_ANCHORS = 300;
/** The most pins that are digested in one go, which takes half a millisecond. */
const SLICE = 300;
/**
 * First characters of digests, each with a bucket. Buckets are written one at a time, because sorting all rows at once would block the main
 * thread.
 */
const ALPHABET = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz';

/** A pin with the text that its digest is computed from. */
export interface PinWrite extends Omit<NewPin, 'hash'> {
  readonly text: string;
}

export interface PinWriterOptions {
  readonly store: Pick<Store['pins'], 'put' | 'putNow'>;
  readonly after: Clock['after'];
  readonly digest: (text: string) => string;
}

export class PinWriter {
  readonly #options: PinWriterOptions;
  #anchors: PinWrite[] = [];
  #timingAnchors = false;
  #waiting: PinWrite[] = [];
  #timing = false;
  #draining = false;
  /** Pins that are digested next. */
  #taken: PinWrite[] = [];
  /** Rows by the first character of their digest. */
  readonly #buckets: NewPin[][] = Array.from(ALPHABET, () => []);
  #inBuckets = 0;
  /** The bucket that is written next. */
  #bucket = 0;
  #working = false;

  constructor(options: PinWriterOptions) {
    this.#options = options;
  }

  /** Queues the pin of a response. */
  putAnchor(pin: PinWrite): void {
    this.#anchors.push(pin);
    if (this.#draining || this.#anchors.length >= MOST_ANCHORS) this.#passAnchors();
    else if (!this.#timingAnchors) {
      this.#timingAnchors = true;
      this.#options.after(ANCHOR_DELAY_MS, () => {
        this.#timingAnchors = false;
        this.#passAnchors();
      });
    }
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
    this.#passAnchors();
    this.#start();
    while (this.#step());
  }

  /** Passes pins to the store without delay from now on, because clients of a process that ends continue at another one at once. */
  drain(): void {
    this.#draining = true;
    this.flush();
  }

  #passAnchors(): void {
    if (this.#anchors.length === 0) return;
    const rows = this.#anchors.map((pin) => this.#rowOf(pin)).sort(byHash);
    this.#anchors = [];
    this.#options.store.putNow(rows);
  }

  #start(): void {
    // Not spread into a call, because there may be more pins than a stack holds.
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

  /** Does a part of the work. @returns whether there was anything to do */
  #step(): boolean {
    if (this.#taken.length > 0) {
      for (const pin of this.#taken.splice(0, SLICE)) this.#digest(pin);
      return true;
    }
    if (this.#inBuckets === 0) return false;
    let rows: NewPin[];
    do {
      rows = this.#buckets[this.#bucket] as NewPin[];
      this.#buckets[this.#bucket] = [];
      this.#bucket = (this.#bucket + 1) % this.#buckets.length;
    } while (rows.length === 0);
    this.#inBuckets -= rows.length;
    for (const row of rows.sort(byHash)) this.#options.store.put(row);
    return true;
  }

  #digest(pin: PinWrite): void {
    const row = this.#rowOf(pin);
    this.#buckets[ALPHABET.indexOf(row.hash[0] as string)]?.push(row);
    this.#inBuckets += 1;
  }

  #rowOf({ text, ...pin }: PinWrite): NewPin {
    return { hash: this.#options.digest(text), ...pin };
  }
}

const byHash = (a: NewPin, b: NewPin): number => (a.hash < b.hash ? -1 : a.hash > b.hash ? 1 : 0);
