// Finds the text of a delta event in its bytes, because most deltas are relayed or translated without being parsed.

/** The bytes of an event in its stream, from `start` to `end`. */
export interface EventBytes {
  readonly type: string;
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

const DELTA = Buffer.from('"delta":"');

/** Used for the events of one reply. */
export class DeltaLocator {
  /**
   * The start of the text in the last event. In the next event it is at the same place, or one byte further if the sequence number has one
   * more digit.
   */
  #offset = 0;

  /** The index of the text's first character, inside its quotes; -1 if the event has no `delta` that is written in the usual way. */
  locate({ bytes, start, end }: EventBytes): number {
    let at = start + this.#offset;
    if (!isDelta(bytes, at, end) && !isDelta(bytes, ++at, end)) at = bytes.indexOf(DELTA, start);
    if (at === -1 || at >= end) return -1;
    this.#offset = at - start;
    return at + DELTA.length;
  }
}

function isDelta(bytes: Buffer, at: number, end: number): boolean {
  if (at + DELTA.length > end) return false;
  for (let i = 0; i < DELTA.length; i++) if (bytes[at + i] !== DELTA[i]) return false;
  return true;
}
