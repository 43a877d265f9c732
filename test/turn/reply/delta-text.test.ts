// The text of a delta event, read from its bytes, always equals the parsed text, however the event is written and split.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DeltaText } from '../../../proxy/turn/reply/delta-text.ts';
import { SseSplitter } from '../../../proxy/upstream/events/sse-splitter.ts';

interface Read {
  readonly text: string | undefined;
  readonly index: unknown;
  readonly bytes: number | undefined;
}

/** The texts of the events of this stream, which is read in pieces of `size` bytes. */
function read(stream: string, size = stream.length * 4): readonly Read[] {
  const found: Read[] = [];
  const delta = new DeltaText();
  const splitter = new SseSplitter({ hold: () => undefined, release: () => undefined }, (event) => {
    const text = delta.of(event);
    found.push({
      text: text && (JSON.parse(`"${text.toString()}"`) as string),
      index: delta.placeOf(event),
      bytes: text && delta.decodedBytes,
    });
  });
  const bytes = Buffer.from(stream);
  for (let at = 0; at < bytes.length; at += size) splitter.push(bytes.subarray(at, at + size));
  splitter.end();
  return found;
}

const TEXTS = [
  'plain',
  ' ',
  'two\nlines\r\n and a\ttab',
  '"quoted" \\ and / slashed',
  'naïve — 雪 🎉',
  '"delta":"not this"',
  '"output_index":9',
  '\u0000\u001f\u2028',
  '\ud83d',
  '\\u0041',
  'long '.repeat(100),
];

const EVENTS = TEXTS.map((delta, i) => ({
  type: 'response.output_text.delta',
  sequence_number: i * 7,
  item_id: 'msg_1',
  output_index: i,
  delta,
  logprobs: [],
}));
/** Half of a surrogate pair counts two bytes, because the other half may be in the next event. */
const bytesOf = (text: string): number => (text === '\ud83d' ? 2 : Buffer.byteLength(text));
const expected = TEXTS.map((text, index) => ({ text, index, bytes: bytesOf(text) }));

const escaped = (json: string): string => json.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

const WRITTEN: Readonly<Record<string, (event: (typeof EVENTS)[number]) => string>> = {
  'as providers write them': (event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
  'without an event line': (event) => `data: ${JSON.stringify(event)}\n\n`,
  'with every character escaped that can be': (event) => `data: ${escaped(JSON.stringify(event))}\n\n`,
  'with blanks between the members': (event) => `data: ${JSON.stringify(event, null, 1).replaceAll('\n', ' ')}\n\n`,
  'on several lines': (event) => `data: ${JSON.stringify(event, null, 1).replaceAll('\n', '\ndata: ')}\n\n`,
  'with the delta first': ({ delta, ...event }) => `data: ${JSON.stringify({ delta, ...event })}\n\n`,
  'framed by CR': (event) => `data: ${JSON.stringify(event)}\r\r`,
};

for (const [how, write] of Object.entries(WRITTEN)) {
  test(`deltas ${how} are read whole, in reads of any size`, () => {
    const stream = EVENTS.map(write).join('');
    for (const size of [1, 2, 3, 17, 1_000, 1_000_000]) assert.deepEqual(read(stream, size), expected);
  });
}

test('an event without a text yields none, and never a part of another member', () => {
  for (const data of [
    '{"type":"response.output_text.delta","delta":""}',
    '{"type":"response.output_text.delta","delta":null}',
    '{"type":"response.output_text.delta","delta":7}',
    '{"type":"response.output_text.delta","delta":{"delta":7}}',
    '{"type":"response.output_text.delta"}',
    '{"type":"response.output_text.delta","delta":"cut',
    '{"type":"response.output_text.delta","delta":"bad \\x escape"}',
    '{"type":"response.output_text.delta","delta":"bad \\u00g0 escape"}',
    '{"type":"response.output_text.delta","delta":"a\tb"}',
    'no JSON',
    '"delta":"',
  ]) {
    assert.deepEqual(read(`data: ${data}\n\n`), [{ text: undefined, index: undefined, bytes: undefined }], data);
  }
});

test('an index that is not a plain number is parsed, and a missing one is the id of the item', () => {
  for (const [member, index] of [
    ['"output_index":12', 12],
    ['"output_index": 3', 3],
    ['"output_index":"4"', '4'],
    ['"output_index":null', undefined],
    ['"item_id":"fc_1"', 'fc_1'],
    ['"output_index":null,"item_id":"fc_1"', 'fc_1'],
    ['"item_id":"fc_1","output_index":5', 5],
    ['"item":{}', undefined],
  ] as const) {
    assert.deepEqual(read(`data: {"type":"x.delta",${member},"delta":"a"}\n\n`), [{ text: 'a', index, bytes: 1 }]);
  }
});
