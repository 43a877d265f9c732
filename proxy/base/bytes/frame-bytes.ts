// Encodes websocket frames (RFC 6455, 5.2). They are unfragmented. Frames of a server are unmasked, and several are put into one buffer.
import { applyMask, MASK_BYTES, nextMask } from './websocket-mask.ts';

const OPCODES = { text: 1, binary: 2, pong: 10 } as const;

const FIN = 0x80;
const MASKED = 0x80;
const MAX_SHORT = 125;
const MAX_16_BIT = 0xff_ff;
/** Values of the short length which mean that a longer length follows. */
const [LENGTH_16_BIT, LENGTH_64_BIT] = [126, 127];

/** Payloads are copied, because for small ones this costs less than separate writes of head and payload. */
export function frameBytes(payloads: readonly (string | Buffer)[], kind: keyof typeof OPCODES = 'text'): Buffer {
  const lengths = payloads.map((payload) => (typeof payload === 'string' ? Buffer.byteLength(payload) : payload.length));
  const bytes = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + headLength(length) + length, 0));
  let at = 0;
  for (const [i, payload] of payloads.entries()) {
    const length = lengths[i] as number;
    const start = writeHead(bytes, at, OPCODES[kind], length);
    if (typeof payload === 'string') bytes.write(payload, start);
    else payload.copy(bytes, start);
    at = start + length;
  }
  return bytes;
}

/** A text frame of a client, which is masked. */
export function clientFrame(payload: Buffer): Buffer {
  const { length } = payload;
  const bytes = Buffer.allocUnsafe(headLength(length) + MASK_BYTES + length);
  const mask = nextMask();
  const head = writeHead(bytes, 0, OPCODES.text, length);
  bytes[1] = (bytes[1] as number) | MASKED;
  mask.copy(bytes, head);
  payload.copy(bytes, head + MASK_BYTES);
  applyMask(bytes.subarray(head + MASK_BYTES), mask);
  return bytes;
}

/** @returns the place after the head */
function writeHead(bytes: Buffer, at: number, opcode: number, length: number): number {
  bytes[at] = FIN | opcode;
  if (length <= MAX_SHORT) bytes[at + 1] = length;
  else if (length <= MAX_16_BIT) {
    bytes[at + 1] = LENGTH_16_BIT;
    bytes.writeUInt16BE(length, at + 2);
  } else {
    bytes[at + 1] = LENGTH_64_BIT;
    bytes.writeBigUInt64BE(BigInt(length), at + 2);
  }
  return at + headLength(length);
}

function headLength(bytes: number): number {
  if (bytes <= MAX_SHORT) return 2;
  return bytes <= MAX_16_BIT ? 4 : 10;
}
