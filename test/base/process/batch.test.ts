// Batches of steps run together and in order, run at once if something must follow them, and stay within bounds.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { Batches } from '../../../proxy/base/process/batch.ts';

test('arrivals are handled after the reads of their turn of the event loop, in order', async () => {
  const { arrivals } = new Batches();
  const handled: number[] = [];
  for (const number of [1, 2, 3]) arrivals.add(() => handled.push(number));
  await undefined;
  assert.deepEqual(handled, []);
  await setImmediate();
  assert.deepEqual(handled, [1, 2, 3]);
});

test('the steps of turns that arrive together run in turn', async () => {
  const { arrivals } = new Batches();
  const steps: string[] = [];
  const turn = async (name: string): Promise<void> => {
    steps.push(`${name} begins`);
    await undefined;
    steps.push(`${name} ends`);
  };
  for (const name of ['a', 'b']) arrivals.add(() => void turn(name));
  await setImmediate();
  assert.deepEqual(steps, ['a begins', 'b begins', 'a ends', 'b ends']);
});

test('a flush handles everything that waits, each step once', async () => {
  const { arrivals } = new Batches();
  const handled: number[] = [];
  for (const number of [1, 2]) arrivals.add(() => handled.push(number));
  arrivals.flush();
  assert.deepEqual(handled, [1, 2]);
  arrivals.add(() => handled.push(3));
  await setImmediate();
  assert.deepEqual(handled, [1, 2, 3]);
});

test('a flush from inside keeps the order', async () => {
  const { arrivals } = new Batches();
  const handled: string[] = [];
  arrivals.add(() => {
    arrivals.flush();
    handled.push('close');
  });
  arrivals.add(() => handled.push('frame'));
  await setImmediate();
  assert.deepEqual(handled, ['frame', 'close']);
});

test('an error in a step does not keep the others from running', async () => {
  const { arrivals } = new Batches();
  const handled: string[] = [];
  arrivals.add(() => handled.push('before'));
  arrivals.add(() => {
    throw new Error('a fault');
  });
  arrivals.add(() => handled.push('behind'));
  assert.throws(() => arrivals.flush(), /a fault/);
  assert.deepEqual(handled, ['before']);
  await setImmediate();
  assert.deepEqual(handled, ['before', 'behind']);
});

test('arrivals of 64 KiB, and 128 of any size, do not wait', () => {
  const { arrivals } = new Batches();
  let handled = 0;
  const add = (bytes: number): void => arrivals.add(() => handled++, bytes);
  add(65_535);
  assert.equal(handled, 0);
  add(1);
  assert.equal(handled, 2);
  for (let i = 1; i < 128; i++) add(0);
  assert.equal(handled, 2);
  add(0);
  assert.equal(handled, 130);
});

test('the writes of turns are made after the steps of all of them', async () => {
  const { arrivals, departures } = new Batches();
  const steps: string[] = [];
  const turn = async (name: string): Promise<void> => {
    departures.add(() => steps.push(`${name} is written`));
    await undefined;
    steps.push(`${name} is served`);
  };
  for (const name of ['a', 'b']) arrivals.add(() => void Promise.resolve().then(() => turn(name)));
  await setImmediate();
  assert.deepEqual(steps, ['a is served', 'b is served', 'a is written', 'b is written']);
});
