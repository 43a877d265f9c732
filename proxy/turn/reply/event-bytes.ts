// Reads the type, the delta and the response id of an event in its bytes, because most events are relayed or translated without being
// parsed.

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

/** Finds one member in events that mostly have it at the same place. Used for the events of one reply. */
export class MemberLocator {
  /** The member's name and what is before its value. */
  readonly #name: Buffer;
  /** The place in the last event. In the next one it is the same, or one byte further if the sequence number has one more digit. */
  #offset = 0;

  constructor(name: Buffer) {
    this.#name = name;
  }

  /** The index after the name; -1 if the event does not have the member, or writes it in another way. */
  locate({ bytes, start, end }: EventBytes): number {
    const name = this.#name;
    let offset = this.#offset;
    if (!isAt(bytes, start + offset, end, name) && !isAt(bytes, start + ++offset, end, name)) {
      offset = bytes.subarray(start, end).indexOf(name);
      if (offset === -1) return -1;
    }
    this.#offset = offset;
    return start + offset + name.length;
  }
}

/** Finds the first character of the texts of delta events, inside the quotes. */
export class DeltaLocator extends MemberLocator {
  constructor() {
    super(DELTA);
  }
}

function isAt(bytes: Buffer, at: number, end: number, name: Buffer): boolean {
  if (at + name.length > end) return false;
  for (let i = 0; i < name.length; i++) if (bytes[at + i] !== name[i]) return false;
  return true;
}

/** A text in the form that JSON has between the quotes. */
export const jsonText = (text: string): Buffer => Buffer.from(JSON.stringify(text).slice(1, -1));

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

/**
 * Reads the types of events. Used for the events of one reply. It remembers the last type, because most events have the type of the one
 * before.
 */
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

/** The bytes that are searched for the response id. Every known provider writes it first in the response. */
const HEAD_BYTES = 512;
const ID = /"response"\s*:\s*\{\s*"id"\s*:\s*"([!#-[\]-~]{1,200})"/;

/**
 * The id of the response that the event announces. The event repeats all settings of the request, so parsing costs more. Undefined if
 * the id is not within these bytes; then it is read from the terminal event.
 */
export function responseIdIn({ bytes, start, end }: EventBytes): string | undefined {
  const found = ID.exec(bytes.toString('latin1', start, Math.min(end, start + HEAD_BYTES)));
  if (!found?.[1]) return undefined;
  // Read again, because a part of the searched text would keep all of it as long as the reply lasts.
  const quote = start + found.index + found[0].length - 1;
  return bytes.toString('latin1', quote - found[1].length, quote);
}
