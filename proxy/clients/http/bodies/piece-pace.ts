// The pace of bodies in small pieces: each piece costs as much as a large one, and one read of a connection may have ten thousand. Such bodies
// are read one after the other, with time for everything else between two reads (Q38).
import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { stopReading } from '../../../base/process/node-internals.ts';
import { OneAtATime } from '../../../base/process/one-at-a-time.ts';

/** Pieces that are smaller than this on the average are small. */
const SMALL_BYTES = 64;
/** So many are read before it counts: clients send heads, or the ends of buffers, in small pieces. */
const FREE_PIECES = 2_048;
/** The time of one read: it takes about a third of it. */
const READ_MS = 100;

const reads = new OneAtATime();

export class PiecePace {
  readonly #request: IncomingMessage;
  readonly #key: string;
  readonly #over = new AbortController();
  #pieces = 0;
  #bytes = 0;
  /** Whether the connection is not read, so that its client cannot send more. */
  isWaiting = false;

  constructor(request: IncomingMessage, key: string) {
    this.#request = request;
    this.#key = key;
  }

  piece(length: number): void {
    this.#pieces += 1;
    this.#bytes += length;
    if (this.#pieces < FREE_PIECES || this.isWaiting) return;
    if (this.#bytes < this.#pieces * SMALL_BYTES) this.#wait();
    this.#pieces = 0;
    this.#bytes = 0;
  }

  stop(): void {
    if (this.isWaiting) this.#over.abort();
  }

  #wait(): void {
    this.isWaiting = true;
    const readOn = stopReading(this.#request);
    const go = (): void => {
      this.isWaiting = false;
      readOn();
    };
    const { signal } = this.#over;
    reads
      .run(this.#key, signal, () => {
        go();
        return sleep(READ_MS);
      })
      .catch(go);
  }
}
