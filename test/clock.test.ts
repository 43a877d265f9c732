// The machine's clock: a timer of any length, and its end.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../proxy/clock.ts';

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

test('a long timer is cancelled at any time', (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const cancel = systemClock.after(60 * DAY_MS, () => assert.fail('it was cancelled'));
  for (let day = 0; day < 30; day++) context.mock.timers.tick(DAY_MS);
  cancel();
  for (let day = 0; day < 70; day++) context.mock.timers.tick(DAY_MS);
});
