// The machine's clock: time that never jumps, and timers of any length.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { LATE, SteadyTime, systemClock, withDeadline } from '../../../proxy/base/time/clock.ts';

const DAY_MS = 86_400_000;

test('a timer longer than Node permits runs at its time, once', (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  let runs = 0;
  systemClock.after(60 * DAY_MS, () => {
    runs += 1;
  });
  for (let day = 0; day < 59; day++) context.mock.timers.tick(DAY_MS);
  assert.equal(runs, 0);
  for (let day = 0; day < 70; day++) context.mock.timers.tick(DAY_MS);
  assert.equal(runs, 1);
});

test('a timer never runs before the clock says that its time has passed', (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  for (const [ms, early] of [
    [50, 50],
    [49.2, 50],
  ] as const) {
    let runs = 0;
    systemClock.after(ms, () => {
      runs += 1;
    });
    // Node can take the last of these milliseconds for one that has passed when it has only begun.
    context.mock.timers.tick(early);
    assert.equal(runs, 0);
    context.mock.timers.tick(1);
    assert.equal(runs, 1);
  }
});

test('a long timer is cancelled at any time', (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const cancel = systemClock.after(60 * DAY_MS, () => assert.fail('it was cancelled'));
  for (let day = 0; day < 30; day++) context.mock.timers.tick(DAY_MS);
  cancel();
  for (let day = 0; day < 70; day++) context.mock.timers.tick(DAY_MS);
});

test('time passes evenly while the wall clock is set back and forward', () => {
  const machine = { wall: 1_700_000_000_000, monotonic: 5_000, uptime: 90_000 };
  const time = new SteadyTime({ wallTime: () => machine.wall, monotonic: () => machine.monotonic, uptime: () => machine.uptime });
  const pass = (ms: number): void => {
    machine.wall += ms;
    machine.monotonic += ms;
    machine.uptime += ms;
  };
  assert.equal(time.now(), 1_700_000_000_000);
  machine.wall -= 3_600_000;
  pass(250);
  assert.equal(time.now(), 1_700_000_000_250);
  machine.wall += 7_200_000;
  pass(10_000);
  assert.equal(time.now(), 1_700_000_010_250);
});

test('the time that the machine slept counts, though its monotonic clock stopped', () => {
  const machine = { monotonic: 5_000, uptime: 90_000 };
  const time = new SteadyTime({ wallTime: () => 1_700_000_000_000, monotonic: () => machine.monotonic, uptime: () => machine.uptime });
  machine.monotonic += 2_000;
  machine.uptime += 2_000 + 3_600_000;
  assert.equal(time.now(), 1_700_000_000_000 + 3_602_000);
  machine.monotonic += 2_000;
  machine.uptime += 2_010;
  assert.equal(time.now(), 1_700_000_000_000 + 3_604_000, 'the two clocks are not read at the same moment');
});

test('the wall clock that the system sets moves no wait', (context) => {
  const { now } = Date;
  const before = systemClock.now();
  for (const ms of [-3_600_000, 3_600_000]) {
    const mock = context.mock.method(Date, 'now', () => now() + ms);
    assert.ok(Math.abs(systemClock.now() - before) < 60_000);
    assert.ok(Math.abs(systemClock.wallTime() - before - ms) < 60_000);
    mock.mock.restore();
  }
});

test('a result that arrived while the process was paused is in time, and a missing one is late', async () => {
  const hasAnswered = new Int32Array(new SharedArrayBuffer(4));
  const answers = `const { parentPort, workerData } = require('node:worker_threads');
    parentPort.once('message', () => {
      parentPort.postMessage('in time');
      Atomics.store(workerData, 0, 1);
      Atomics.notify(workerData, 0);
    });`;
  const worker = new Worker(answers, { eval: true, workerData: hasAnswered });
  await once(worker, 'online');
  const answered = once(worker, 'message').then(([text]) => text as string);
  // After this the event loop runs its timers first.
  await setImmediate();
  const end = performance.now() + 20;
  const result = withDeadline(answered, systemClock, 10);
  worker.postMessage('ask');
  Atomics.wait(hasAnswered, 0, 0);
  while (performance.now() < end);
  assert.equal(await result, 'in time');
  assert.equal(await withDeadline(new Promise(() => undefined), systemClock, 10), LATE);
  await worker.terminate();
});
