// SSE splitting: whole events from pieces of any size and with any line ending, with their type and without parsing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OBJECT_BYTES } from '../../../proxy/base/bytes/gathered-bytes.ts';
import { MemoryGuard } from '../../../proxy/base/bytes/memory-guard.ts';
import { Counters } from '../../../proxy/base/process/metrics.ts';
import { HeldBytes, TooMuchHeld } from '../../../proxy/turn/reply/held-bytes.ts';
import { SseSplitter } from '../../../proxy/upstream/events/sse-splitter.ts';
import { turnOf } from '../../support/turns/turn.ts';

interface Seen {
  readonly type: string;
  readonly hasData: boolean;
  readonly data: string;
  readonly bytes: string;
}

const guard = new MemoryGuard();

function split(chunks: readonly Buffer[], maxBytes = 1_000_000): Seen[] {
  const seen: Seen[] = [];
  const memory = new HeldBytes({ guard, counters: new Counters() }, { ...turnOf().limits, upstream_event_bytes: maxBytes });
  const splitter = new SseSplitter(memory, (event) => {
    const bytes = event.bytes.toString('utf8', event.start, event.end);
    seen.push({ type: event.type, hasData: event.hasData, data: event.data(), bytes });
  });
  for (const chunk of chunks) splitter.push(chunk);
  return seen;
}

const EVENTS: readonly { readonly lines: readonly string[]; readonly type: string; readonly data: string }[] = [
  {
    lines: ['event: response.created', 'data: {"type":"response.created","n":1}'],
    type: 'response.created',
    data: '{"type":"response.created","n":1}',
  },
  {
    lines: ['data: {"type":"response.output_text.delta","delta":"\\r\\n é 漢 🙂"}'],
    type: 'response.output_text.delta',
    data: '{"type":"response.output_text.delta","delta":"\\r\\n é 漢 🙂"}',
  },
  {
    lines: ['data:{"type":"response.output_text.delta","delta":""}'],
    type: 'response.output_text.delta',
    data: '{"type":"response.output_text.delta","delta":""}',
  },
  { lines: [': a comment'], type: '', data: '' },
  { lines: ['id: 7', 'event: named', 'data: {"n":2,"type":"other"}', 'retry: 5'], type: 'named', data: '{"n":2,"type":"other"}' },
  { lines: ['data: {"type":', 'data: "joined"}'], type: '', data: '{"type":\n"joined"}' },
  { lines: ['data: [DONE]'], type: '', data: '[DONE]' },
  { lines: ['data: {"type":"esc\\u0061ped"}'], type: '', data: '{"type":"esc\\u0061ped"}' },
  { lines: ['data'], type: '', data: '' },
];

const written = (newline: string): string => EVENTS.map(({ lines }) => lines.map((line) => line + newline).join('') + newline).join('');

for (const [name, newline] of [
  ['LF', '\n'],
  ['CRLF', '\r\n'],
  ['CR', '\r'],
] as const) {
  test(`events framed by ${name} come out whole wherever the bytes are cut`, () => {
    const text = written(newline);
    const bytes = Buffer.from(text);
    const expected = EVENTS.map(({ type, data }) => ({ type, data }));
    const check = (chunks: readonly Buffer[], how: string): void => {
      const seen = split(chunks);
      assert.deepEqual(
        seen.map(({ type, data }) => ({ type, data })),
        expected,
        how,
      );
      assert.equal(seen.map((event) => event.bytes).join(''), text, how);
    };
    check([bytes], 'in one piece');
    check(
      [...bytes].map((byte) => Buffer.from([byte])),
      'byte by byte',
    );
    for (let at = 1; at < bytes.length; at++) check([bytes.subarray(0, at), bytes.subarray(at)], `cut at ${at}`);
  });
}

test('mixed line endings in one stream are accepted', () => {
  const seen = split([Buffer.from('data: {"type":"a"}\n\r\ndata: {"type":"b"}\r\r\ndata: {"type":"c"}\r\n\n')]);
  assert.deepEqual(
    seen.filter(({ hasData }) => hasData).map(({ type }) => type),
    ['a', 'b', 'c'],
  );
});

test('bytes that end in no event are not delivered, and are bounded', () => {
  assert.deepEqual(split([Buffer.from('data: {"type":"a"}\n')]), []);
  assert.throws(() => split([Buffer.alloc(600, 'x'), Buffer.alloc(600, 'x')], 1_000), TooMuchHeld);
});

test('the chunks of an event count until it is read, then the event counts until it was delivered', () => {
  guard.held = 0;
  split([Buffer.from('data: {"type":"a"}\n\ndata: '), Buffer.from('{"type":"b"}')]);
  assert.equal(guard.held, 'data: {"type":"b"}'.length + OBJECT_BYTES);
  guard.held = 0;
  split([Buffer.from('data: '), Buffer.from('{"type":"a"}'), Buffer.from('\n\n')]);
  assert.equal(guard.held, 0);
  const halves = [Buffer.alloc(300, 'x'), Buffer.from(`${'x'.repeat(298)}\n\n`)];
  const twice = 1_200 + 3 * OBJECT_BYTES;
  assert.equal(split(halves, twice).length, 1);
  assert.throws(() => split(halves, twice - 1), TooMuchHeld, 'its halves and the whole are in memory together');
});

test('a large event in many small chunks costs its size, not its square', () => {
  const data = 'x'.repeat(4_000_000);
  const bytes = Buffer.from(`data: {"type":"big","d":"${data}"}\n\n`);
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += 1_000) chunks.push(bytes.subarray(at, at + 1_000));
  const seen = split(chunks, 9_000_000);
  assert.equal(seen[0]?.type, 'big');
  assert.equal(seen[0]?.bytes.length, bytes.length);
});
