// THE LIST of frames that no websocket client sends, with the codes with which a server may close the connection.
import { frameOf } from '../../support/native-frames.ts';
import { frameBytes, text } from '../client/frames.ts';

export interface HostileFrames {
  readonly name: string;
  readonly bytes: Buffer;
  /** The permitted close codes. Empty if the frames are valid and must be answered. 0: answered, or ended without a close frame. */
  readonly closes: readonly number[];
}

const TURN = JSON.stringify({ type: 'response.create', ...frameOf('é hello') });
const turn = text(TURN);
const PROTOCOL = [1002];
const EITHER = [1002, 0];
/** The code for more control frames than a client may send in a minute. */
const TOO_MANY = [1008];
const control = (opcode: number, payload: Buffer = Buffer.alloc(0)): Buffer => frameBytes({ first: 0x80 | opcode, payload });
const part = (first: number, payload: string): Buffer => frameBytes({ first, payload: Buffer.from(payload) });
const close = (code: number, reason = ''): Buffer => {
  const payload = Buffer.alloc(2);
  payload.writeUInt16BE(code);
  return control(8, Buffer.concat([payload, Buffer.from(reason)]));
};
const repeated = (bytes: Buffer, count: number): Buffer => Buffer.concat(Array.from({ length: count }, () => bytes));

const ALL: Readonly<Record<string, readonly [bytes: Buffer, closes: readonly number[]]>> = {
  'a turn': [turn, []],
  'a turn in fragments of one byte': [
    Buffer.concat([...TURN].map((letter, i) => part((i === 0 ? 0x01 : 0) | (i === TURN.length - 1 ? 0x80 : 0), letter))),
    [],
  ],
  'a turn in fragments with pings between them': [
    Buffer.concat([part(0x01, TURN.slice(0, 20)), control(9), part(0x00, TURN.slice(20, 40)), control(10), part(0x80, TURN.slice(40))]),
    [],
  ],
  'a turn behind empty fragments': [Buffer.concat([part(0x01, ''), repeated(part(0x00, ''), 1_000), part(0x80, TURN)]), []],
  'a turn with a mask of zeros': [frameBytes({ first: 0x81, payload: Buffer.from(TURN), mask: Buffer.alloc(4) }), []],
  'a turn behind 50 pings': [Buffer.concat([repeated(control(9, Buffer.from('a')), 50), turn]), []],
  'a turn behind 10,000 pings': [Buffer.concat([repeated(control(9, Buffer.from('a')), 10_000), turn]), EITHER],
  'a turn behind 10,000 pongs': [Buffer.concat([repeated(control(10), 10_000), turn]), TOO_MANY],
  'a turn whose length takes more bytes than it needs': [
    frameBytes({ first: 0x81, payload: Buffer.from(TURN), lengthBytes: 8 }),
    [...PROTOCOL, 0],
  ],
  'no mask': [frameBytes({ first: 0x81, payload: Buffer.from(TURN), mask: null }), PROTOCOL],
  ...Object.fromEntries(
    [0x10, 0x20, 0x40, 0x70].map((bits) => [
      `reserved bits ${bits.toString(16)}`,
      [frameBytes({ first: 0x81 | bits, payload: Buffer.from(TURN) }), PROTOCOL] as const,
    ]),
  ),
  ...Object.fromEntries(
    [3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map((opcode) => [
      `the opcode ${opcode}`,
      [control(opcode, Buffer.from(TURN.slice(0, 100))), PROTOCOL] as const,
    ]),
  ),
  'a fragment of nothing': [part(0x80, TURN), PROTOCOL],
  'a text inside a text': [Buffer.concat([part(0x01, 'a'), turn]), PROTOCOL],
  'a ping in fragments': [part(0x09, 'a'), PROTOCOL],
  'a ping of 126 bytes': [control(9, Buffer.alloc(126)), PROTOCOL],
  'a close of 126 bytes': [close(1000, 'a'.repeat(124)), PROTOCOL],
  'a close of one byte': [control(8, Buffer.from([3])), PROTOCOL],
  ...Object.fromEntries(
    [0, 1, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65_535].map((code) => [
      `the close code ${code}`,
      [close(code), PROTOCOL] as const,
    ]),
  ),
  ...Object.fromEntries([1000, 1001, 1011, 3000, 4999].map((code) => [`a close ${code}`, [close(code), [code]] as const])),
  'a close without a code': [control(8), [1005]],
  'a close whose reason is no UTF-8': [control(8, Buffer.from([0x03, 0xe8, 0xff, 0xfe])), [1007]],
  'a turn behind a close': [Buffer.concat([close(1000), turn]), [1000]],
  'text that is no UTF-8': [frameBytes({ first: 0x81, payload: Buffer.from([0xff, 0xfe]) }), [1007]],
  'half a character': [frameBytes({ first: 0x81, payload: Buffer.from([0xe2, 0x82]) }), [1007]],
  'a surrogate in UTF-8': [frameBytes({ first: 0x81, payload: Buffer.from([0xed, 0xa0, 0x80]) }), [1007]],
  'a binary frame': [frameBytes({ first: 0x82, payload: Buffer.from(TURN) }), [1003]],
  'a frame past the limit': [frameBytes({ first: 0x81, payload: Buffer.from('a'), length: 100_000_000n }), [1009]],
  'a frame past all numbers': [frameBytes({ first: 0x81, payload: Buffer.from('a'), length: 1n << 62n }), [1009]],
  'a frame of a negative length': [frameBytes({ first: 0x81, payload: Buffer.from('a'), length: (1n << 63n) + 1n }), [1002, 1009]],
  'fragments past the limit': [Buffer.concat([part(0x01, 'a'), repeated(part(0x00, 'a'.repeat(65_536)), 66)]), [1009]],
  '100,000 empty fragments': [Buffer.concat([part(0x01, ''), repeated(part(0x00, ''), 100_000)]), [1008, 1009, 1002]],
  'a request over HTTP': [Buffer.from('GET /v1/models HTTP/1.1\r\nhost: a\r\n\r\n'), PROTOCOL],
  TLS: [Buffer.from('16030102000100', 'hex'), PROTOCOL],
  'NUL alone': [Buffer.alloc(1_000), PROTOCOL],
};

export const CLIENT_FRAMES: readonly HostileFrames[] = Object.entries(ALL).map(([name, [bytes, closes]]) => ({ name, bytes, closes }));

/** JSON that is not a turn. Each frame is answered with an error frame or ignored, and the connection stays open. */
export const ODD_TEXTS: readonly string[] = [
  '',
  ' ',
  'null',
  'true',
  '5',
  '"a"',
  '[]',
  '{}',
  '{',
  '{"type":5}',
  '{"type":null}',
  '{"type":"response.cancel"}',
  '{"type":"response.create"}',
  '{"type":"response.create","type":"tomorrow"}',
  '{"type":"response.create","model":{}}',
  '{"__proto__":{"type":"response.create"}}',
  '\u0000',
  '\ufeff{"type":"response.create"}',
  '['.repeat(50_000),
];
