// Which events are held before commit, and which end a reply.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HeldHead, isHeld } from '../../../../proxy/dispatch/reply/events/hold.ts';
import { ReplyEvent } from '../../../../proxy/turn/reply/reply-event.ts';
import { endOf, TERMINAL_TYPES } from '../../../../proxy/turn/reply/terminal-event.ts';

for (const type of [
  'response.created',
  'response.queued',
  'response.in_progress',
  'response.metadata',
  'keepalive',
  'agent.response.metadata',
  'otherword.response.metadata',
  'agent.rate_limits',
  'otherword.rate_limits',
]) {
  test(`${type} is held`, () => assert.equal(isHeld(type, true), true));
}

for (const type of [
  'response.output_item.added',
  'response.output_text.delta',
  'response.completed',
  'response.failed',
  'error',
  'response.rate_limits.updated',
  'a.type.of.tomorrow',
  '',
]) {
  test(`${type || 'data without a type'} is not held`, () => assert.equal(isHeld(type, true), false));
}

test('a comment is held', () => assert.equal(isHeld('', false), true));

for (const [type, end] of [
  ['response.completed', 'completed'],
  ['response.incomplete', 'incomplete'],
  ['response.failed', 'failed'],
  ['error', 'failed'],
  ['response.created', undefined],
  ['response.output_text.done', undefined],
  ['', undefined],
  ['constructor', undefined],
  ['__proto__', undefined],
] as const) {
  test(`the end of a reply with ${type || 'data without a type'} is ${end}`, () => {
    assert.equal(endOf(type), end);
    assert.equal(TERMINAL_TYPES.has(type), end !== undefined);
  });
}

test('events of one byte count with their memory overhead: a head of many is passed on long before its bytes reach the limit', () => {
  const held = { bytes: 0 };
  const memory = {
    hold(bytes: number) {
      held.bytes += bytes;
    },
    release(bytes: number) {
      held.bytes -= bytes;
    },
  };
  const head = new HeldHead(memory);
  const comment = new ReplyEvent();
  comment.bytes = Buffer.from('\n');
  comment.end = 1;
  let count = 0;
  while (head.hold(comment, undefined)) count += 1;
  assert.ok(count > 1_000 && count < 5_000, `${count} were held`);
  head.release();
  assert.equal(held.bytes, 0);
});

test('[Q38] a held event counts the whole read that it came in once, and its parsed data', () => {
  const held: number[] = [];
  const head = new HeldHead({ hold: (bytes) => void held.push(bytes), release: () => undefined });
  const read = Buffer.alloc(65_536, ' ');
  const data = { type: 'response.created', response: {} };
  const text = `data: ${JSON.stringify(data)}\n\n`;
  read.write(text, 100);
  const event = new ReplyEvent();
  Object.assign(event, { bytes: read, start: 100, end: 100 + text.length, type: 'response.created', hasData: true });
  Object.assign(event, { dataStart: 106, dataEnd: 98 + text.length });
  assert.ok(head.hold(event, undefined) && head.hold(event, data));
  const [without = 0, withData = 0] = held;
  assert.ok(without >= read.length && withData < read.length);
  assert.ok(withData >= 3 * text.length);
  for (const { event: kept } of head.release()) {
    assert.equal(kept.bytes.toString('utf8', kept.start, kept.end), text);
    assert.deepEqual(kept.json(), data);
  }
});
