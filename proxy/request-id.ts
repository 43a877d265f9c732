// The id of a request, in its row and on its answer: sorts by time, in the order of arrival, and says nothing else.
import { randomFillSync } from 'node:crypto';

let lastNow = 0;
let sameNow = 0;
let time = '';

/** @param now Unix milliseconds */
export function requestId(now: number): string {
  if (now === lastNow) sameNow = (sameNow + 1) % 65_536;
  else {
    sameNow = 0;
    lastNow = now;
    time = now.toString(16).padStart(12, '0');
  }
  return `req_${time}${sameNow.toString(16).padStart(4, '0')}${randomDigits()}`;
}

const RANDOM_BYTES = 8;
/** Drawn for many ids at once: each draw is a system call. */
const drawn = Buffer.alloc(RANDOM_BYTES * 512);
let used = drawn.length;

/** 16 hex digits. */
function randomDigits(): string {
  if (used === drawn.length) {
    randomFillSync(drawn);
    used = 0;
  }
  used += RANDOM_BYTES;
  return drawn.toString('hex', used - RANDOM_BYTES, used);
}
