// The turns of one websocket run in the order of its frames, one at a time, until another node runs them (Q28).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BodyMemory } from '../../../proxy/base/bytes/body-memory.ts';
import { Counters } from '../../../proxy/base/process/metrics.ts';
import type { Frame, TurnFrame } from '../../../proxy/clients/websocket/frame.ts';
import { FrameQueue } from '../../../proxy/clients/websocket/frame-queue.ts';
import { Refusal } from '../../../proxy/turn/errors/refusal.ts';
import type { Limits } from '../../../proxy/turn/settings.ts';

const nameOf = (frame: Frame | undefined): unknown => (frame instanceof Refusal ? frame.code : frame?.json.name);

const frame = (name: string): Buffer => Buffer.from(JSON.stringify({ type: 'response.create', name }));

/** Makes a queue; the test decides when its turns end. */
function world() {
  const connection = { isOpen: true, pause: () => undefined, resume: () => undefined };
  const counters = new Counters();
  const guard = new BodyMemory();
  const served: unknown[] = [];
  const refused: unknown[] = [];
  const controls: unknown[] = [];
  const running: (() => void)[] = [];
  let ends = 0;
  const handlers = {
    counters,
    share: guard.of(),
    limits: { request_body_bytes: 10_000, bodies_in_memory_bytes: 10_000 } as Limits,
    serve: (one: Frame): Promise<void> => {
      served.push(nameOf(one));
      return new Promise<void>((resolve) => running.push(resolve));
    },
    control: ({ json }: TurnFrame): void => void controls.push(json.type),
    refuse: ({ code }: Refusal, one: Frame | undefined): void => void refused.push([code, nameOf(one)]),
  };
  const queue = new FrameQueue(connection, handlers, () => {
    ends += 1;
  });
  return {
    connection,
    counters,
    guard,
    queue,
    served,
    refused,
    controls,
    handlers,
    ends: () => ends,
    /** Ends the turn that began first. */
    end: async (): Promise<void> => {
      running.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

test('a frame waits for the turn before it; the end is reported when none waits', async () => {
  const { queue, served, end, ends } = world();
  for (const name of ['first', 'second', 'third']) queue.take(frame(name));
  assert.deepEqual([served, queue.isRunning], [['first'], true]);
  await end();
  await end();
  assert.deepEqual([served, queue.isRunning, ends()], [['first', 'second', 'third'], true, 0]);
  await end();
  assert.deepEqual([queue.isRunning, ends()], [false, 1]);
});

test('a frame that is not a turn is ignored, and takes no place in the queue', async () => {
  const { queue, served, counters, guard, end } = world();
  queue.take(Buffer.from('{"type":"session.update"}'));
  queue.take(frame('first'));
  queue.take(Buffer.from('{"type":"session.update"}'));
  assert.deepEqual([served, counters.values.websocket_frames_ignored, guard.held], [['first'], 2, 0]);
  queue.take(Buffer.from('no JSON'));
  await end();
  assert.deepEqual(served, ['first', 'invalid_request']);
});

test('[RB29] [RB31] a frame about the running response never waits; a known word of no use is counted by itself', async () => {
  const { queue, served, controls, counters, end } = world();
  queue.take(frame('first'));
  queue.take(frame('second'));
  for (const type of ['response.interrupt', 'response.steer', 'response.processed']) queue.take(Buffer.from(JSON.stringify({ type })));
  assert.deepEqual([served, controls], [['first'], ['response.interrupt', 'response.steer']]);
  assert.deepEqual([counters.values.websocket_frames_unused, counters.values.websocket_frames_ignored], [1, 0]);
  await end();
  assert.deepEqual(served, ['first', 'second']);
});

test('the ninth frame that waits is refused', () => {
  const { queue, refused } = world();
  for (let i = 0; i <= 9; i++) queue.take(frame(`turn ${i}`));
  assert.deepEqual(refused, [['rate_limit_exceeded', 'turn 9']]);
});

test('frames of a closed connection get no turn, and their bytes are released', async () => {
  const { queue, connection, served, guard, end, ends } = world();
  queue.take(frame('first'));
  queue.take(frame('second'));
  connection.isOpen = false;
  queue.take(frame('third'));
  queue.clear();
  await end();
  assert.deepEqual([served, guard.held, ends()], [['first'], 0, 1]);
});

test('once another node runs the turns, frames are passed on as they come, and first those that wait', async () => {
  const { queue, served } = world();
  for (const name of ['first', 'second', 'third']) queue.take(frame(name));
  queue.forward();
  queue.take(frame('fourth'));
  assert.deepEqual(served, ['first', 'second', 'third', 'fourth']);
});

test('[Q38] frames behind a large one, which is parsed in parts, keep their order', async () => {
  const { queue, served, controls, end, handlers } = world();
  Object.assign(handlers.limits, { request_body_bytes: 20_000_000, bodies_in_memory_bytes: 20_000_000, json_values: 1_000_000 });
  const large = (name: string): Buffer =>
    Buffer.from(JSON.stringify({ type: 'response.create', name, input: Array.from({ length: 30 }, () => 'x'.repeat(100_000)) }));
  queue.take(large('first'));
  queue.take(Buffer.from(JSON.stringify({ type: 'response.interrupt', response_id: 'r' })));
  queue.take(frame('second'));
  queue.take(large('third'));
  queue.take(frame('fourth'));
  assert.deepEqual([served, queue.isRunning], [[], true], 'it is not parsed at once');
  for (const [i, name] of ['first', 'second', 'third', 'fourth'].entries()) {
    while (served.length <= i) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(served[i], name);
    await end();
  }
  while (queue.isRunning) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(controls.length, 1);
});

test('[Q38] a large frame that is no turn leaves the connection free, and its end is reported', async () => {
  const { queue, served, ends, handlers, counters } = world();
  Object.assign(handlers.limits, { request_body_bytes: 20_000_000, bodies_in_memory_bytes: 20_000_000, json_values: 1_000_000 });
  queue.take(Buffer.from(JSON.stringify({ type: 'a.type.of.tomorrow', text: 'x'.repeat(3_000_000) })));
  while (queue.isRunning) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual([served, ends(), counters.values.websocket_frames_ignored], [[], 1, 1]);
});
