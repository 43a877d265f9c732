// THE LIST of frames that no provider sends on a websocket.
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { frameBytes } from '../client/frames.ts';

export interface ServerFrames {
  readonly name: string;
  readonly bytes: Buffer;
}

const frame = (first: number, payload: string | Buffer): Buffer => frameBytes({ first, payload: Buffer.from(payload), mask: null });
const eventText = (event: JsonObject): string => JSON.stringify(event);
const repeated = (bytes: Buffer, count: number): Buffer => Buffer.concat(Array.from({ length: count }, () => bytes));

const DELTA = eventText({
  type: 'response.output_text.delta',
  sequence_number: 3,
  item_id: 'm',
  output_index: 0,
  content_index: 0,
  delta: 'a',
});
const RESPONSE = { id: 'resp_hostile', object: 'response', status: 'completed', model: 'model-a', output: [] };
const COMPLETED = eventText({ type: 'response.completed', sequence_number: 9, response: RESPONSE });

export const serverText = (event: JsonObject): Buffer => frame(0x81, eventText(event));

/** A close frame. */
function serverClose(code: number, reason: string | Buffer = ''): Buffer {
  const payload = Buffer.alloc(2);
  payload.writeUInt16BE(code);
  return frame(0x88, Buffer.concat([payload, Buffer.from(reason)]));
}

const ALL: Readonly<Record<string, Buffer>> = {
  'an end in fragments of one byte': Buffer.concat(
    [...COMPLETED].map((letter, i) => frame((i === 0 ? 0x01 : 0) | (i === COMPLETED.length - 1 ? 0x80 : 0), letter)),
  ),
  'an end in fragments with pings between them': Buffer.concat([
    frame(0x01, COMPLETED.slice(0, 20)),
    frame(0x89, 'a'),
    frame(0x00, COMPLETED.slice(20, 40)),
    frame(0x8a, ''),
    frame(0x80, COMPLETED.slice(40)),
  ]),
  'an end behind empty fragments': Buffer.concat([frame(0x01, ''), repeated(frame(0x00, ''), 1_000), frame(0x80, COMPLETED)]),
  'two ends': repeated(frame(0x81, COMPLETED), 2),
  'an end, and deltas behind it': Buffer.concat([frame(0x81, COMPLETED), repeated(frame(0x81, DELTA), 100)]),
  'an end, and an error behind it': Buffer.concat([
    frame(0x81, COMPLETED),
    serverText({ type: 'error', status: 400, error: { message: 'late', code: 'late' } }),
  ]),
  'a mask': frameBytes({ first: 0x81, payload: Buffer.from(COMPLETED) }),
  ...Object.fromEntries([0x10, 0x20, 0x40, 0x70].map((bits) => [`reserved bits ${bits.toString(16)}`, frame(0x81 | bits, COMPLETED)])),
  ...Object.fromEntries([3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map((opcode) => [`the opcode ${opcode}`, frame(0x80 | opcode, 'a')])),
  'a fragment of nothing': frame(0x80, COMPLETED),
  'a text inside a text': Buffer.concat([frame(0x01, 'a'), frame(0x81, COMPLETED)]),
  'a ping in fragments': frame(0x09, 'a'),
  'a ping of 126 bytes': frame(0x89, Buffer.alloc(126)),
  '10,000 pings': repeated(frame(0x89, 'a'), 10_000),
  '10,000 pongs and an end': Buffer.concat([repeated(frame(0x8a, ''), 10_000), frame(0x81, COMPLETED)]),
  'a close of 126 bytes': serverClose(1000, 'a'.repeat(124)),
  'a close of one byte': frame(0x88, Buffer.from([3])),
  'a close without a code': frame(0x88, ''),
  'a close whose reason is no UTF-8': serverClose(1000, Buffer.from([0xff, 0xfe])),
  ...Object.fromEntries([0, 999, 1004, 1005, 1006, 1015, 2999, 5000, 65_535].map((code) => [`the close code ${code}`, serverClose(code)])),
  'an end behind a close': Buffer.concat([serverClose(1000), frame(0x81, COMPLETED)]),
  'text that is no UTF-8': frame(0x81, Buffer.from([0xff, 0xfe])),
  'a surrogate in UTF-8': frame(0x81, Buffer.from([0xed, 0xa0, 0x80])),
  'a binary frame': frame(0x82, COMPLETED),
  'an end of 3 MB': serverText({
    type: 'response.completed',
    response: { ...RESPONSE, output: [{ type: 'message', content: [{ type: 'output_text', text: 'x'.repeat(3_000_000) }] }] },
  }),
  'a frame past all numbers': frameBytes({ first: 0x81, payload: Buffer.from('a'), mask: null, length: 1n << 62n }),
  'a frame of a negative length': frameBytes({ first: 0x81, payload: Buffer.from('a'), mask: null, length: (1n << 63n) + 1n }),
  'fragments past the limit': Buffer.concat([frame(0x01, 'a'), repeated(frame(0x00, 'a'.repeat(65_536)), 66)]),
  '100,000 empty fragments': Buffer.concat([frame(0x01, ''), repeated(frame(0x00, ''), 100_000)]),
  'lifecycle events of 3 MB': repeated(serverText({ type: 'response.in_progress', response: RESPONSE }), 24_000),
  'unknown events of 2 MB': repeated(serverText({ type: 'tomorrow' }), 80_000),
  'rate limits of 2 MB': repeated(serverText({ type: 'agent.rate_limits', rate_limits: {} }), 40_000),
  'items of 3 MB': repeated(
    serverText({ type: 'response.output_item.done', output_index: 0, item: { type: 'message', id: 'a', content: [] } }),
    30_000,
  ),
  ...Object.fromEntries(
    ['', ' ', 'null', '5', '"a"', '[]', '{}', '{', '\0', '{"type":5}', '{"type":null}', '['.repeat(50_000)].map((text) => [
      `the text ${JSON.stringify(text.slice(0, 20))}`,
      frame(0x81, text),
    ]),
  ),
  'an error that is none': serverText({ type: 'error' }),
  'an error of odd members': serverText({ type: 'error', status: '1e999', error: { code: {}, message: [], resets_at: 1e300 } }),
  'an answer over HTTP': Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'),
  TLS: Buffer.from('16030300020100', 'hex'),
  'NUL alone': Buffer.alloc(1_000),
};

export const SERVER_FRAMES: readonly ServerFrames[] = Object.entries(ALL).map(([name, bytes]) => ({ name, bytes }));

const event = (type: string, more: JsonObject = {}): Buffer => serverText({ type, ...more });
const created = event('response.created', { sequence_number: 0, response: { ...RESPONSE, status: 'in_progress' } });

/** What the account has sent before: nothing, the head of a reply, or some of its text. */
export const SERVER_PREFIXES: Readonly<Record<string, Buffer>> = {
  'at first': Buffer.alloc(0),
  'behind the head': created,
  'behind a delta': Buffer.concat([created, frame(0x81, DELTA)]),
};
