// Limits the pace at which bodies are read. One read of a connection may contain ten thousand small pieces, and the reads of many
// connections fit into one iteration of the event loop. All other turns would wait for them (Q38).
import type { IncomingMessage } from 'node:http';
import { readInParts, stopReading } from '../../../base/process/internals/request-reading.ts';
import { nextSlice } from '../../../base/process/slices.ts';

/**
 * The bytes of a body that are read, in about a millisecond, before it waits for a slice of the event loop. With a quarter of them the waits
 * would be a tenth of the cost of an upload.
 */
const SLICE_BYTES = 1_048_576;
/** The bytes of a body that are read before it first waits. Most bodies have no more. */
const FIRST_BYTES = 524_288;
/** The size for which a smaller piece counts: the parser takes as long for it. */
const PIECE_BYTES = 4_096;
/** The most bytes of one read of a connection. */
const READ_BYTES = 65_536;

export class ReadPace {
  readonly #request: IncomingMessage;
  readonly #key: string;
  /** The bytes since the slice began, what they count for, and the most of them. */
  #bytes = 0;
  #cost = 0;
  #most = FIRST_BYTES;
  /** Whether the connection is not read, so its client cannot send more. */
  isWaiting = false;

  constructor(request: IncomingMessage, key: string) {
    this.#request = request;
    this.#key = key;
  }

  piece(length: number): void {
    this.#bytes += length;
    this.#cost += Math.max(length, PIECE_BYTES);
    // The rest of a read still arrives.
    if ((this.#bytes < this.#most && this.#cost < SLICE_BYTES) || this.isWaiting) return;
    // The pieces are so small that one read of the connection has more of them than a slice can take.
    if (this.#bytes < READ_BYTES) readInParts(this.#request);
    void nextSlice(this.#key).then(this.#wait());
  }

  /** @returns a function that continues reading */
  #wait(): () => void {
    this.isWaiting = true;
    const readOn = stopReading(this.#request);
    return () => {
      this.isWaiting = false;
      this.#bytes = 0;
      this.#cost = 0;
      this.#most = SLICE_BYTES;
      readOn();
    };
  }
}
