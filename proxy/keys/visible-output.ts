// Counts the output of a reply by the bytes of its events, without parsing them, because most are relayed unparsed (Q18).
import { DeltaLocator, type EventBytes } from '../turn/reply/delta-locator.ts';
import { tokensOfBytes } from '../turn/token-estimate.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;

export class VisibleOutput {
  /** The bytes of `delta` texts in UTF-8. */
  #bytes = 0;
  readonly #deltas = new DeltaLocator();

  get bytes(): number {
    return this.#bytes;
  }

  /** The estimated number of tokens. */
  get tokens(): number {
    return tokensOfBytes(this.#bytes);
  }

  add(event: EventBytes): void {
    if (!event.type.endsWith('.delta')) return;
    const at = this.#deltas.locate(event);
    if (at !== -1) this.#bytes += lengthOf(event.bytes, at, event.end);
  }
}

/** The UTF-8 length of a JSON string's decoded text, from its first character to the closing quote. */
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

/** The UTF-8 length of a UTF-16 unit. Each half of a surrogate pair counts two of the pair's four bytes. */
function utf8LengthOf(unit: number): number {
  if (unit < 0x80) return 1;
  if (unit < 0x800) return 2;
  return unit >= 0xd800 && unit <= 0xdfff ? 2 : 3;
}
