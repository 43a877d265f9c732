// The pace at which bodies are read. One read of a connection may have ten thousand small pieces, and many connections together as much as fits
// between two turns of the event loop: other turns would wait behind all of it (Q38).
import type { IncomingMessage } from 'node:http';
import { readInParts, stopReading } from '../../../base/process/node-internals.ts';
import { nextSlice } from '../../../base/process/slices.ts';

/** So many bytes of a body are read, then it waits for a slice of the loop: most bodies have fewer. */
const SLICE_BYTES = 262_144;
/** A smaller piece costs as much as one of this size. */
const PIECE_BYTES = 1_024;
/** What one read of a connection may have. */
const READ_BYTES = 65_536;

export class ReadPace {
  readonly #request: IncomingMessage;
  readonly #key: string;
  /** Since the slice began. */
  #bytes = 0;
  #cost = 0;
  /** Whether the connection is not read, so that its client cannot send more. */
  isWaiting = false;

  constructor(request: IncomingMessage, key: string) {
    this.#request = request;
    this.#key = key;
  }

  piece(length: number): void {
    this.#bytes += length;
    this.#cost += Math.max(length, PIECE_BYTES);
    // What one read had still arrives.
    if (this.#cost < SLICE_BYTES || this.isWaiting) return;
    // One read has the pieces of more than a slice.
    if (this.#bytes < READ_BYTES) readInParts(this.#request);
    void nextSlice(this.#key).then(this.#wait());
  }

  /** @returns reads on */
  #wait(): () => void {
    this.isWaiting = true;
    const readOn = stopReading(this.#request);
    return () => {
      this.isWaiting = false;
      this.#bytes = 0;
      this.#cost = 0;
      readOn();
    };
  }
}
