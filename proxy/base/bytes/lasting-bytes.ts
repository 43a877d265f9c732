// Buffers for the bytes of small texts that stay in memory as long as a reply, several in one block.

/** The largest text that shares a block. */
const MOST_SHARED = 2_048;
const BLOCK_BYTES = 8_192;

let block = Buffer.alloc(0);
let used = 0;

/**
 * The UTF-8 bytes of a text. A part of Node's pool would keep 64 KiB in memory, most of which other bytes have used; a buffer of its own
 * costs a microsecond and a collection.
 */
export function lastingBytes(text: string): Buffer {
  const length = Buffer.byteLength(text);
  if (length > MOST_SHARED) {
    const bytes = Buffer.allocUnsafeSlow(length);
    bytes.write(text);
    return bytes;
  }
  if (used + length > block.length) {
    block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
    used = 0;
  }
  block.write(text, used);
  const bytes = block.subarray(used, used + length);
  used += length;
  return bytes;
}
