// Checks the depth of JSON and the number of its values in its bytes: parsed, a few bytes may need many times as much memory (Q38).

/** Far deeper than real requests, and far below what would exhaust the stack of a recursive rule. */
export const MAX_DEPTH = 128;
/** JSON of this size is not checked: however deep or dense, it is small when it is parsed. */
export const UNCHECKED_BYTES = 65_536;

export const [QUOTE, BACKSLASH, COMMA, LIST, OBJECT, LIST_END, OBJECT_END] = [34, 92, 44, 91, 123, 93, 125] as const;
/** Bytes of a string that are read one by one. Finding the end of a longer rest is a call, which costs as much as reading these. */
const NEAR_BYTES = 32;
/** A list or an object counts as so many values: rules look at each of them, and no step of a turn may take the event loop for long. */
const CONTAINER_VALUES = 4;
/** Measured with distinct names, integers as names, and empty lists and objects. */
const [CONTAINER_BYTES, MEMBER_BYTES] = [130, 80];

export type Excess = 'depth' | 'values';

/** The size of a part of JSON that is parsed in parts. */
export interface PartSize {
  readonly bytes: number;
  /** Dense values cost up to a microsecond each, distinct names more. */
  readonly values: number;
}

/** Is called with what a scan passes. Each answers whether the scan stops behind it. */
export interface JsonVisitor {
  /** The size from which on a string is long. */
  readonly longBytes: number;
  /** A comma, an opening or an end outside of strings, and the depth that it is at. */
  structure(byte: number, at: number, depth: number): boolean;
  /** A long string, from behind its opening quote to its closing one. */
  longString(start: number, end: number): boolean;
}

/** Reads JSON in parts. Bytes that are not JSON are left to the parser. */
export class JsonScan {
  readonly #bytes: Buffer;
  readonly #maxValues: number;
  readonly #visitor: JsonVisitor | undefined;
  /** Where it reads on. */
  at: number;
  #depth = 0;
  /** The numbers of values, of lists and objects, and of commas, so far. */
  values = 1;
  #opened = 0;
  #commas = 0;
  /** The string that it is in; -1 outside of strings. */
  #stringFrom = -1;

  constructor(bytes: Buffer, maxValues: number, { start = 0, visitor }: { readonly start?: number; readonly visitor?: JsonVisitor } = {}) {
    this.#bytes = bytes;
    this.#maxValues = maxValues;
    this.#visitor = visitor;
    this.at = start;
  }

  get depth(): number {
    return this.#depth;
  }

  /** The most memory that what was read needs when it is parsed. */
  get parsedBytes(): number {
    return CONTAINER_BYTES * this.#opened + MEMBER_BYTES * this.#commas;
  }

  /** Reads on to `end`, a little farther, or to where the visitor stops it. @returns what is exceeded */
  readTo(end: number): Excess | undefined {
    const bytes = this.#bytes;
    const visitor = this.#visitor;
    let at = this.at;
    let depth = this.#depth;
    let values = this.values;
    let opened = this.#opened;
    let commas = this.#commas;
    let stops = false;
    while (at < end && !stops) {
      const byte = bytes[at];
      if (this.#stringFrom !== -1 || byte === QUOTE) {
        const from = this.#stringFrom === -1 ? at + 1 : this.#stringFrom;
        at = endOfString(bytes, this.#stringFrom === -1 ? from : at, end);
        const ended = at >= 0;
        if (!ended) at = -at;
        this.#stringFrom = ended ? -1 : from;
        if (!ended) break;
        if (visitor !== undefined && at - from >= visitor.longBytes) stops = visitor.longString(from, at);
      } else if (byte === COMMA) {
        values += 1;
        commas += 1;
        if (visitor !== undefined) stops = visitor.structure(byte, at, depth);
      } else if (byte === OBJECT || byte === LIST) {
        depth += 1;
        values += 1;
        opened += 1;
        if (depth > MAX_DEPTH) return 'depth';
        if (visitor !== undefined) stops = visitor.structure(byte, at, depth);
      } else if (byte === OBJECT_END || byte === LIST_END) {
        // An empty one has no value of its own.
        if (bytes[at - 1] === byte - 2) values -= 1;
        if (visitor !== undefined) stops = visitor.structure(byte, at, depth);
        depth -= 1;
      }
      at += 1;
    }
    this.at = at;
    this.#depth = depth;
    this.values = values;
    this.#opened = opened;
    this.#commas = commas;
    return values + (CONTAINER_VALUES - 1) * opened > this.#maxValues ? 'values' : undefined;
  }
}

/** The scan of the JSON from `start` to `end`, or what it exceeds; undefined if it is too small to be checked. */
export function scanOf(bytes: Buffer, maxValues: number, start = 0, end = bytes.length): JsonScan | Excess | undefined {
  // No byte is more than two values: `{},` is four.
  if (end - start <= Math.min(UNCHECKED_BYTES, maxValues / 2)) return undefined;
  const scan = new JsonScan(bytes, maxValues, { start });
  return scan.readTo(end) ?? scan;
}

/** What the JSON from `start` to `end` exceeds. */
export function excessOf(bytes: Buffer, maxValues: number, start = 0, end = bytes.length): Excess | undefined {
  const scan = scanOf(bytes, maxValues, start, end);
  return typeof scan === 'string' ? scan : undefined;
}

/**
 * @param from behind the opening quote, or behind a part of the string. @param limit up to which it is read, or a little farther
 * @returns the place of the closing quote; if it was not found, the place to read on from, negated
 */
function endOfString(bytes: Buffer, from: number, limit: number): number {
  let at = from;
  while (at < limit) {
    const near = Math.min(at + NEAR_BYTES, bytes.length);
    for (; at < near; at++) {
      const byte = bytes[at];
      if (byte === QUOTE) return at;
      if (byte === BACKSLASH) at += 1;
    }
    const quote = bytes.indexOf(QUOTE, at);
    if (quote === -1) return -bytes.length;
    let escapes = quote;
    while (escapes > at && bytes[escapes - 1] === BACKSLASH) escapes -= 1;
    if ((quote - escapes) % 2 === 0) return quote;
    at = quote + 1;
  }
  return -at;
}
