// The pace at which bodies are read. One read of a connection may have ten thousand small pieces, and many connections together as much as fits
// between two turns of the event loop: other turns would wait behind all of it (Q38).
import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { stopReading } from '../../../base/process/node-internals.ts';
import { OneAtATime } from '../../../base/process/one-at-a-time.ts';
import { nextSlice } from '../../../base/process/slices.ts';

/** So many bytes of a body are read, then it waits for a slice of the loop: most bodies have fewer. */
const SLICE_BYTES = 262_144;
/** Pieces that are smaller than this on the average are small: each costs as much as a large one. */
const SMALL_BYTES = 64;
/** So many are read before it counts: clients send heads, or the ends of buffers, in small pieces. */
const FREE_PIECES = 2_048;
/** All bodies in small pieces together are read once in this time: a read takes a third of it. */
const READ_MS = 100;

const reads = new OneAtATime();

export class ReadPace {
  readonly #request: IncomingMessage;
  readonly #key: string;
  readonly #over = new AbortController();
  #pieces = 0;
  #bytes = 0;
  /** Since the last slice. */
  #sliceBytes = 0;
  /** Whether the connection is not read, so that its client cannot send more. */
  isWaiting = false;

  constructor(request: IncomingMessage, key: string) {
    this.#request = request;
    this.#key = key;
  }

  piece(length: number): void {
    this.#pieces += 1;
    this.#bytes += length;
    this.#sliceBytes += length;
    // What one read had still arrives.
    if (this.isWaiting) return;
    if (this.#pieces >= FREE_PIECES) {
      if (this.#bytes < this.#pieces * SMALL_BYTES) this.#waitForRead();
      this.#pieces = 0;
      this.#bytes = 0;
    }
    if (this.#sliceBytes >= SLICE_BYTES && !this.isWaiting) this.#waitForSlice();
  }

  stop(): void {
    if (this.isWaiting) this.#over.abort();
  }

  #waitForRead(): void {
    const go = this.#wait();
    const { signal } = this.#over;
    reads
      .run(this.#key, signal, () => {
        go();
        return sleep(READ_MS);
      })
      .catch(go);
  }

  #waitForSlice(): void {
    void nextSlice(this.#key).then(this.#wait());
  }

  /** @returns reads on */
  #wait(): () => void {
    this.isWaiting = true;
    const readOn = stopReading(this.#request);
    return () => {
      this.isWaiting = false;
      this.#sliceBytes = 0;
      readOn();
    };
  }
}
