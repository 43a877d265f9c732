// How many bytes of output an event shows, looked up in its bytes without parsing them: most events are passed on unread.
import type { SseEvent } from '../../upstream/sse.ts';

export type ShownEvent = Pick<SseEvent, 'type' | 'bytes' | 'start' | 'end'>;

const DELTA = Buffer.from('"delta":"');
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;

/** Of the `delta` text, in UTF-8; 0 for events that bear none. */
export function shownBytes({ type, bytes, start, end }: ShownEvent): number {
  if (!type.endsWith('.delta')) return 0;
  const found = bytes.indexOf(DELTA, start);
  if (found === -1 || found >= end) return 0;
  let shown = 0;
  for (let at = found + DELTA.length; at < end && bytes[at] !== QUOTE; at++) {
    if (bytes[at] !== BACKSLASH) shown += 1;
    else if (bytes[++at] !== LETTER_U) shown += 1;
    else {
      shown += lengthOf(Number.parseInt(bytes.toString('latin1', at + 1, at + 5), 16));
      at += 4;
    }
  }
  return shown;
}

/** In UTF-8; half a pair is half of four bytes. */
function lengthOf(unit: number): number {
  if (unit < 0x80) return 1;
  if (unit < 0x800) return 2;
  return unit >= 0xd800 && unit <= 0xdfff ? 2 : 3;
}
