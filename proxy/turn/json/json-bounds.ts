// Checks the depth of JSON and the number of its values in its bytes: parsed, a few bytes may need many times as much memory (Q38).

/** Far deeper than real requests, and far below what would exhaust the stack of a recursive rule. */
export const MAX_DEPTH = 128;
/** JSON of this size is not checked: however deep or dense, it is small when it is parsed. */
export const UNCHECKED_BYTES = 65_536;

const [QUOTE, BACKSLASH, COMMA, LIST, OBJECT, LIST_END, OBJECT_END] = [34, 92, 44, 91, 123, 93, 125];
/** Bytes of a string that are read one by one. Finding the end of a longer rest is a call, which costs as much as reading these. */
const NEAR_BYTES = 32;

export type Excess = 'depth' | 'values';

export interface JsonBounds {
  readonly maxValues: number;
  /** Called with each comma, opening and end outside of strings, and with the depth that it is at. */
  readonly structure?: (byte: number, at: number, depth: number) => void;
}

/** Reads JSON in parts. Bytes that are not JSON are left to the parser. */
export class JsonScan {
  readonly #bytes: Buffer;
  readonly #bounds: JsonBounds;
  #at: number;
  #depth = 0;
  #values = 1;

  constructor(bytes: Buffer, bounds: JsonBounds, start = 0) {
    this.#bytes = bytes;
    this.#bounds = bounds;
    this.#at = start;
  }

  /** Reads on to `end`, or to the end of the string that is there. @returns what is exceeded */
  readTo(end: number): Excess | undefined {
    const bytes = this.#bytes;
    const { maxValues, structure } = this.#bounds;
    let at = this.#at;
    let depth = this.#depth;
    let values = this.#values;
    for (; at < end; at++) {
      const byte = bytes[at];
      if (byte === QUOTE) at = endOfString(bytes, at + 1);
      else if (byte === COMMA) {
        values += 1;
        structure?.(byte, at, depth);
      } else if (byte === OBJECT || byte === LIST) {
        depth += 1;
        values += 1;
        if (depth > MAX_DEPTH) return 'depth';
        structure?.(byte, at, depth);
      } else if (byte === OBJECT_END || byte === LIST_END) {
        // An empty one has no value of its own.
        if (bytes[at - 1] === byte - 2) values -= 1;
        structure?.(byte, at, depth);
        depth -= 1;
      }
    }
    this.#at = at;
    this.#depth = depth;
    this.#values = values;
    return values > maxValues ? 'values' : undefined;
  }
}

/** What the JSON from `start` to `end` exceeds. */
export function excessOf(bytes: Buffer, maxValues: number, start = 0, end = bytes.length): Excess | undefined {
  // A value and what separates it from the next one are two bytes.
  if (end - start <= Math.min(UNCHECKED_BYTES, 2 * maxValues)) return undefined;
  return new JsonScan(bytes, { maxValues }, start).readTo(end);
}

/** @param from behind the opening quote. @returns the place of the closing one; the length where there is none */
function endOfString(bytes: Buffer, from: number): number {
  let at = from;
  for (;;) {
    const near = Math.min(at + NEAR_BYTES, bytes.length);
    for (; at < near; at++) {
      const byte = bytes[at];
      if (byte === QUOTE) return at;
      if (byte === BACKSLASH) at += 1;
    }
    const quote = bytes.indexOf(QUOTE, at);
    if (quote === -1) return bytes.length;
    let escapes = quote;
    while (escapes > at && bytes[escapes - 1] === BACKSLASH) escapes -= 1;
    if ((quote - escapes) % 2 === 0) return quote;
    at = quote + 1;
  }
}
