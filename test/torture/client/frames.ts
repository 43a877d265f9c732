// Writes websocket frames of a client, also in ways that no library would, and strictly reads the frames of a server.

export interface FrameParts {
  /** The first byte: FIN, the reserved bits and the opcode. */
  readonly first: number;
  readonly payload: Buffer;
  /** The mask. Default: a masked frame with a different key each time. */
  readonly mask?: Buffer | null;
  /** The length that the head states, if it differs from that of the payload. */
  readonly length?: bigint;
  /** The number of bytes of the length. Default: the fewest. */
  readonly lengthBytes?: 1 | 2 | 8;
}

const MASK = Buffer.from([0x37, 0xfa, 0x21, 0x3d]);

export function frameBytes({ first, payload, mask = MASK, length = BigInt(payload.length), lengthBytes }: FrameParts): Buffer {
  const bytes = lengthBytes ?? (length < 126n ? 1 : length < 65_536n ? 2 : 8);
  const head = Buffer.alloc(1 + (bytes === 1 ? 1 : 1 + bytes));
  head[0] = first;
  head[1] = (mask ? 0x80 : 0) | (bytes === 1 ? Number(length) : bytes === 2 ? 126 : 127);
  if (bytes === 2) head.writeUInt16BE(Number(length), 2);
  if (bytes === 8) head.writeBigUInt64BE(length, 2);
  const masked = mask ? payload.map((byte, i) => byte ^ (mask[i % 4] as number)) : payload;
  return Buffer.concat([head, ...(mask ? [mask] : []), masked]);
}

export const text = (payload: string): Buffer => frameBytes({ first: 0x81, payload: Buffer.from(payload) });

export interface ServerFrame {
  readonly opcode: number;
  readonly payload: Buffer;
}

const OPCODES: ReadonlySet<number> = new Set([1, 2, 8, 9, 10]);

/** The complete frames in a server's bytes. `fault` describes bytes that are not a frame. */
export function readServerFrames(bytes: Buffer): { readonly frames: readonly ServerFrame[]; readonly fault: string | undefined } {
  const frames: ServerFrame[] = [];
  for (let at = 0; at + 2 <= bytes.length; ) {
    const [first = 0, second = 0] = [bytes[at], bytes[at + 1]];
    if (!OPCODES.has(first & 0x0f) || (first & 0xf0) !== 0x80) return { frames, fault: `a frame that begins with ${first.toString(16)}` };
    if (second >= 128) return { frames, fault: 'a masked frame of a server' };
    const lengthBytes = second < 126 ? 0 : second === 126 ? 2 : 8;
    if (at + 2 + lengthBytes > bytes.length) break;
    const length = lengthBytes === 0 ? second : lengthBytes === 2 ? bytes.readUInt16BE(at + 2) : Number(bytes.readBigUInt64BE(at + 2));
    const start = at + 2 + lengthBytes;
    if (start + length > bytes.length) break;
    frames.push({ opcode: first & 0x0f, payload: bytes.subarray(start, start + length) });
    at = start + length;
  }
  return { frames, fault: undefined };
}

/** The code of a close frame; 1005 if it has none. */
export const closeCode = ({ payload }: ServerFrame): number => (payload.length >= 2 ? payload.readUInt16BE(0) : 1005);
