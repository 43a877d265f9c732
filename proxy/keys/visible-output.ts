// Counts the output of a reply in the bytes of its events, without parsing them: most are relayed unparsed (Q18).
import { tokensOfBytes } from './token-estimate.ts';

/** An event as it lies in the bytes of its stream, from `start` to `end`. */
export interface OutputEvent {
  readonly type: string;
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

const DELTA = Buffer.from('"delta":"');
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;

export class VisibleOutput {
  /** Of `delta` texts, in UTF-8. */
  #bytes = 0;
  /** Where the text began in the last event: the next event has it there too, or one digit of its sequence number further on. */
  #offset = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** Estimated. */
  get tokens(): number {
    return tokensOfBytes(this.#bytes);
  }

  add({ type, bytes, start, end }: OutputEvent): void {
    if (!type.endsWith('.delta')) return;
    let at = start + this.#offset;
    if (!isDelta(bytes, at, end) && !isDelta(bytes, ++at, end)) at = bytes.indexOf(DELTA, start);
    if (at === -1 || at >= end) return;
    this.#offset = at - start;
    this.#bytes += lengthOf(bytes, at + DELTA.length, end);
  }
}

function isDelta(bytes: Buffer, at: number, end: number): boolean {
  if (at + DELTA.length > end) return false;
  for (let i = 0; i < DELTA.length; i++) if (bytes[at + i] !== DELTA[i]) return false;
  return true;
}

/** The UTF-8 length of a JSON string's text, from its first character to the closing quote, escapes decoded. */
function lengthOf(bytes: Buffer, from: number, end: number): number {
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

/** Each half of a surrogate pair counts two of the pair's four bytes. */
function utf8LengthOf(unit: number): number {
  if (unit < 0x80) return 1;
  if (unit < 0x800) return 2;
  return unit >= 0xd800 && unit <= 0xdfff ? 2 : 3;
}
