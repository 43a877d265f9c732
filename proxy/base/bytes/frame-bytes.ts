// Encodes websocket frames of a server (RFC 6455, 5.2). They are unmasked and unfragmented, and several are put into one buffer.

const OPCODES = { text: 1, binary: 2, pong: 10 } as const;

const FIN = 0x80;
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
    bytes[at] = FIN | OPCODES[kind];
    const start = at + headLength(length);
    if (length <= MAX_SHORT) bytes[at + 1] = length;
    else if (length <= MAX_16_BIT) {
      bytes[at + 1] = LENGTH_16_BIT;
      bytes.writeUInt16BE(length, at + 2);
    } else {
      bytes[at + 1] = LENGTH_64_BIT;
      bytes.writeBigUInt64BE(BigInt(length), at + 2);
    }
    if (typeof payload === 'string') bytes.write(payload, start);
    else payload.copy(bytes, start);
    at = start + length;
  }
  return bytes;
}

function headLength(bytes: number): number {
  if (bytes <= MAX_SHORT) return 2;
  return bytes <= MAX_16_BIT ? 4 : 10;
}
