// Reads the type of an event in the bytes of its data, without parsing them.

const QUOTE = 34;
const BACKSLASH = 92;
const TYPE_PREFIX = '{"type":"';

/** Used for the events of one reply. It remembers the last type, because most events have the type of the one before. */
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
