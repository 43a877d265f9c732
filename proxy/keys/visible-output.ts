// How many bytes of output a reply has shown, looked up in its events without parsing them: most are passed on unread (Q18).
import type { SseEvent } from '../upstream/sse-splitter.ts';

export type ShownEvent = Pick<SseEvent, 'type' | 'bytes' | 'start' | 'end'>;

const DELTA = Buffer.from('"delta":"');
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;

export class Shown {
  /** Of `delta` texts, in UTF-8. */
  bytes = 0;
  /** Where the last event had its text: that of the next is there as well, or one digit of its number further on. */
  #offset = 0;

  add({ type, bytes, start, end }: ShownEvent): void {
    if (!type.endsWith('.delta')) return;
    let at = start + this.#offset;
    if (!isDelta(bytes, at, end) && !isDelta(bytes, ++at, end)) at = bytes.indexOf(DELTA, start);
    if (at === -1 || at >= end) return;
    this.#offset = at - start;
    this.bytes += lengthOf(bytes, at + DELTA.length, end);
  }
}

function isDelta(bytes: Buffer, at: number, end: number): boolean {
  if (at + DELTA.length > end) return false;
  for (let i = 0; i < DELTA.length; i++) if (bytes[at + i] !== DELTA[i]) return false;
  return true;
}

/** Of a JSON text up to its closing quote, without its escapes. */
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

/** Half a pair is half of four bytes. */
function utf8LengthOf(unit: number): number {
  if (unit < 0x80) return 1;
  if (unit < 0x800) return 2;
  return unit >= 0xd800 && unit <= 0xdfff ? 2 : 3;
}
