// Checks the depth of JSON and the number of its values in its bytes, because parsed JSON may need many times as much memory as its bytes
// (Q38).

/** The greatest depth. Real requests are far less deep, and a recursive rule could recurse much deeper. */
export const MAX_DEPTH = 128;
/** JSON of this size is not checked, because it needs little memory at any depth and density. */
const UNCHECKED_BYTES = 65_536;

export const [QUOTE, BACKSLASH, COMMA, LIST, OBJECT, LIST_END, OBJECT_END] = [34, 92, 44, 91, 123, 93, 125] as const;
/**
 * The bytes of a string that are read one by one. Most strings end within them. The end of a longer string is searched with `indexOf`: a
 * call costs as much as reading this number of bytes.
 */
const NEAR_BYTES = 32;
/** The values that a list or an object counts as. Rules look at each of them, and no step of a turn may occupy the event loop for long. */
const CONTAINER_VALUES = 4;
/** The memory of a container and of a member in bytes, measured with distinct names, integers as names, and empty lists and objects. */
const [CONTAINER_BYTES, MEMBER_BYTES] = [130, 80];

export type Excess = 'depth' | 'values';

/** The size of a part of JSON that is parsed in parts. */
export interface PartSize {
  readonly bytes: number;
  /** The number of values. Each value costs up to a microsecond, and more if names are distinct. */
  readonly values: number;
}

/** Called for what a scan passes. Each function returns whether the scan stops after it. */
export interface JsonVisitor {
  /** The size in bytes from which a string counts as long. */
  readonly longBytes: number;
  /** Called for a comma, an opening bracket or a closing bracket outside of strings, with its depth. */
  structure(byte: number, at: number, depth: number): boolean;
  /** Called for a long string. @param start the place after its opening quote @param end the place of its closing quote */
  longString(start: number, end: number): boolean;
}

/** Reads JSON in parts. Bytes that are not JSON are left to the parser. */
export class JsonScan {
  readonly #bytes: Buffer;
  readonly #maxValues: number;
  readonly #visitor: JsonVisitor | undefined;
  /** The place of the next byte that is read. */
  at: number;
  #depth = 0;
  /** The numbers of values, of lists and objects, and of commas, so far. */
  values = 1;
  #opened = 0;
  #commas = 0;
  /** The place at which the current string began; -1 outside of strings. */
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

  /** The most memory that the scanned JSON needs when it is parsed. */
  get parsedBytes(): number {
    return CONTAINER_BYTES * this.#opened + MEMBER_BYTES * this.#commas;
  }

  /** Continues to `end` or a little further, unless the visitor stops it before. @returns the limit that is exceeded */
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
        // An empty list or object contains no value, but its opening bracket has counted one.
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

/** The bytes that are scanned between two looks at the number of values. */
const STEP_BYTES = 65_536;

/**
 * Scans the JSON up to a place at which it has `enough` values. Returns the limit that it exceeds, if there is one; undefined if the JSON is
 * too small to be checked.
 */
export function scanOf(bytes: Buffer, maxValues: number, enough: number): JsonScan | Excess | undefined {
  if (isUnchecked(bytes.length, maxValues)) return undefined;
  const scan = new JsonScan(bytes, maxValues);
  while (scan.at < bytes.length && scan.values < enough) {
    const excess = scan.readTo(Math.min(scan.at + STEP_BYTES, bytes.length));
    if (excess) return excess;
  }
  return scan;
}

/** The limit that the JSON from `start` to `end` exceeds. */
export function excessOf(bytes: Buffer, maxValues: number, start = 0, end = bytes.length): Excess | undefined {
  return isUnchecked(end - start, maxValues) ? undefined : new JsonScan(bytes, maxValues, { start }).readTo(end);
}

/** A byte counts as at most two values: `{},` counts as four. */
const isUnchecked = (bytes: number, maxValues: number): boolean => bytes <= Math.min(UNCHECKED_BYTES, maxValues / 2);

/**
 * @param from the place after the opening quote, or after a part of the string.
 * @param limit the place up to which it reads, or a little further
 * @returns the place of the closing quote; if it was not found, the place to continue from, negated
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
