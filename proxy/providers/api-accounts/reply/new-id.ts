// Ids of responses and items that the gateway makes: a prefix, and random letters and digits (AA49).
import { randomFillSync } from 'node:crypto';

const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ';
/** Larger bytes are skipped, because with them the first letters would be more frequent. */
const LARGEST = LETTERS.length * 4;
const LENGTH = 32;

/** Random bytes for many ids, because each draw is a system call. */
const drawn = Buffer.alloc(8_192);
let used = drawn.length;

/** @param prefix `resp_`, `msg_`, … */
export function newId(prefix: string): string {
  let id = prefix;
  const end = prefix.length + LENGTH;
  while (id.length < end) {
    if (used === drawn.length) {
      randomFillSync(drawn);
      used = 0;
    }
    const byte = drawn[used++] as number;
    if (byte < LARGEST) id += LETTERS[byte % LETTERS.length];
  }
  return id;
}
