// Cost follows interest: an event that no rule subscribes to is never parsed, and events of one read are sent in one write.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { postOf, RawClient } from '../support/network/raw.ts';
import { replyBytes, turnBody } from '../support/rehearsal-replies.ts';

const NATIVE = '/backend-api/agent/responses';
const PUBLIC = '/v1/responses';

let gate: TestGateway;
before(async () => {
  gate = await startGateway({ upstream: { accounts: ['north'] } });
});
after(() => gate.close());
beforeEach(() => gate.upstream.clear());

const parsedIn = async (turn: () => Promise<unknown>): Promise<number> => {
  const before = gate.count('events_parsed');
  await turn();
  return gate.count('events_parsed') - before;
};

const sse = (type: string, data: string): string => `event: ${type}\ndata: ${data}\n\n`;
const CREATED = sse('response.created', '{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","output":[]}}');
const COMPLETED = sse('response.completed', '{"type":"response.completed","sequence_number":9,"response":{"id":"resp_1","output":[1]}}');
const BROKEN = sse('response.output_text.delta', '{"type":"response.output_text.delta","delta":"half a str');
const GARBAGE = sse('response.output_text.delta', '{"type":"response.output_text.delta",]]]\x01\u00e9');

test('events that no rule subscribes to pass byte for byte even if they are not JSON, and only the terminal one is parsed', async () => {
  const text = CREATED + BROKEN + GARBAGE + BROKEN + COMPLETED;
  gate.upstream.next('north', replyBytes(text));
  const parsed = await parsedIn(async () => {
    assert.equal((await gate.send(NATIVE, { body: turnBody('hello') })).text, text);
  });
  assert.equal(parsed, 1);
});

test('a public stream parses the events that its rules subscribe to, and passes the others unread', async () => {
  const unread = sse('response.output_text.delta', '{"type":"response.output_text.delta",]]]\x01\u00e9}');
  gate.upstream.next('north', replyBytes(CREATED + unread + COMPLETED));
  const parsed = await parsedIn(async () => {
    const { text } = await gate.send(PUBLIC, { body: { model: 'model-a', input: 'hello', stream: true } });
    assert.ok(text.includes(unread));
  });
  assert.equal(parsed, 2, 'response.created and response.completed');
});

test('a public stream loses an event that does not begin and end as an object does, and parses no more for it', async () => {
  gate.upstream.next('north', replyBytes(CREATED + BROKEN + GARBAGE + COMPLETED));
  const parsed = await parsedIn(async () => {
    const { text } = await gate.send(PUBLIC, { body: { model: 'model-a', input: 'hello', stream: true } });
    assert.ok(!text.includes('half a str') && !text.includes(']]]'));
  });
  assert.equal(parsed, 2, 'response.created and response.completed');
});

test('a thousand deltas cost no parse, whatever their number', async () => {
  const delta = sse('response.output_text.delta', '{"type":"response.output_text.delta","sequence_number":1,"delta":"word "}');
  gate.upstream.next('north', replyBytes(CREATED + delta.repeat(1_000) + COMPLETED));
  assert.equal(await parsedIn(() => gate.send(NATIVE, { body: turnBody('hello') })), 1);
});

test('a collected answer parses only the events that it needs, not those that rules edit and no client gets', async () => {
  gate.upstream.next('north', replyBytes(CREATED + BROKEN.repeat(100) + COMPLETED));
  const parsed = await parsedIn(async () => {
    const { status } = await gate.send(PUBLIC, { body: { model: 'model-a', input: 'hello' } });
    assert.equal(status, 200);
  });
  assert.equal(parsed, 1, 'response.completed');
});

for (const [path, stream] of [
  [NATIVE, turnBody('hello')],
  [PUBLIC, { model: 'model-a', input: 'hello', stream: true }],
] as const) {
  test(`${path}: the events of one piece are sent in one write, and complete events of every piece at once`, async () => {
    const delta = (n: number): string => sse('response.output_text.delta', `{"type":"response.output_text.delta","sequence_number":${n}}`);
    const first = CREATED + delta(1) + delta(2) + delta(3);
    const second = delta(4) + delta(5) + COMPLETED;
    const half = delta(6);
    // Each piece is sent when the one before has arrived; the second one ends inside an event.
    const bytes = first + second + half;
    const at = [first.length, first.length + second.length - 20];
    gate.upstream.next('north', [replyBytes(bytes), ...at.map((n) => ({ kind: 'stall', at: { bytes: n } }) as const)]);
    using client = await RawClient.connect(gate.url);
    client.write(postOf(path, stream));
    for (const n of [3, 5]) {
      await gate.upstream.stalled('north');
      await client.until(() => client.pending.includes(`"sequence_number":${n}`), `event ${n}`);
      gate.upstream.release('north');
    }
    const { chunks } = await client.answer();
    // The end of a public stream may be sent with the last piece or after it.
    const shown = chunks.filter((chunk) => chunk !== 'data: [DONE]\n\n');
    const numbers = shown.map((chunk) => [...chunk.matchAll(/"sequence_number":(\d)/g)].map(([, n]) => Number(n)));
    assert.deepEqual(numbers, [
      [0, 1, 2, 3],
      [4, 5],
      // A public stream ends at its terminal event (RB16), a native one passes as it came.
      path === NATIVE ? [9, 6] : [9],
    ]);
    for (const chunk of chunks) assert.ok(chunk.endsWith('\n\n'), 'whole events');
  });
}
