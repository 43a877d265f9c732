// Reads the type and the delta of an event in its bytes, because most events are relayed or translated without being parsed.

/** The bytes of an event in its stream, from `start` to `end`. */
export interface EventBytes {
  readonly type: string;
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;

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

/**
 * The UTF-8 length of the decoded text of a JSON string.
 * @param from the index of its first character, inside its quotes
 * @param end the index of its closing quote, or of any byte after that
 */
export function textLength(bytes: Buffer, from: number, end: number): number {
  let length = 0;
  for (let at = from; at < end && bytes[at] !== QUOTE; at++) {
    if (bytes[at] !== BACKSLASH) length += 1;
    else if (bytes[++at] !== LETTER_U) length += 1;
    else {
      length += utf8LengthOf(Number.parseInt(bytes.toString('latin1', at + 1, at + 5), 16));
      at += 4;
    }
  }
  return length;
}

/** The UTF-8 length of a UTF-16 unit. Each half of a surrogate pair counts two of the pair's four bytes. */
function utf8LengthOf(unit: number): number {
  if (unit < 0x80) return 1;
  if (unit < 0x800) return 2;
  return unit >= 0xd800 && unit <= 0xdfff ? 2 : 3;
}

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
