// Reads the type and the delta of an event in its bytes, because most events are relayed or translated without being parsed.

/** The bytes of an event in its stream, from `start` to `end`. */
export interface EventBytes {
  readonly type: string;
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

const DELTA = Buffer.from('"delta":"');

/** Finds the texts of delta events. Used for the events of one reply. */
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

const QUOTE = 34;
const BACKSLASH = 92;
const TYPE_PREFIX = '{"type":"';

/** Reads the types of events. Used for the events of one reply. It remembers the last type, because most events have the type of the one before. */
export class TypePeek {
  #last = '';

  /** The `type` of data that begins with this member, as all known providers write it; undefined for other data. */
  typeIn(bytes: Buffer, start: number, end: number): string | undefined {
    if (!has(bytes, start, TYPE_PREFIX)) return undefined;
    const from = start + TYPE_PREFIX.length;
    // Comparing bytes costs less than making a string.
    const last = this.#last;
    if (last !== '' && has(bytes, from, last) && bytes[from + last.length] === QUOTE) return last;
    let quote = from;
    while (quote < end && bytes[quote] !== QUOTE && bytes[quote] !== BACKSLASH) quote++;
    if (quote >= end || bytes[quote] !== QUOTE) return undefined;
    this.#last = bytes.toString('latin1', from, quote);
    return this.#last;
  }
}

/** Whether these characters are at a place in the bytes. */
export function has(bytes: Buffer, at: number, characters: string): boolean {
  for (let i = 0; i < characters.length; i++) if (bytes[at + i] !== characters.charCodeAt(i)) return false;
  return true;
}
