// Encodes websocket frames of a server (RFC 6455, 5.2): unmasked and unfragmented. A fault must be able to cut a frame, which no library does.

const OPCODES = { text: 1, binary: 2, pong: 10 } as const;

const FIN = 0x80;
const MAX_SHORT = 125;
const MAX_16_BIT = 0xff_ff;

export function encodeFrame(kind: keyof typeof OPCODES, payload: Buffer): Buffer {
  const head = Buffer.alloc(headLength(payload.length));
  head[0] = FIN | OPCODES[kind];
  if (head.length === 2) head[1] = payload.length;
  else if (head.length === 4) {
    head[1] = 126;
    head.writeUInt16BE(payload.length, 2);
  } else {
    head[1] = 127;
    head.writeBigUInt64BE(BigInt(payload.length), 2);
  }
  return Buffer.concat([head, payload]);
}

function headLength(bytes: number): number {
  if (bytes <= MAX_SHORT) return 2;
  return bytes <= MAX_16_BIT ? 4 : 10;
}
