// Makes the id of a request, for its row and its answer. Ids sort by time in the order of arrival, and contain nothing else.
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

/** Hex digits of the random part. */
const DIGITS = 16;
/** Random bytes for many ids, because each draw is a system call and each conversion calls native code. */
const drawn = Buffer.alloc((DIGITS / 2) * 512);
let digits = '';
let used = 0;

function randomDigits(): string {
  if (used === digits.length) {
    digits = randomFillSync(drawn).toString('hex');
    used = 0;
  }
  used += DIGITS;
  return digits.slice(used - DIGITS, used);
}
