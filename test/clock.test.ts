// The machine's clock: timers of any length.
import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { systemClock } from '../proxy/clock.ts';

const DAY_MS = 86_400_000;

test('a timer of more than 24 days runs when its time has come, and once', (context) => {
  context.after(() => mock.timers.reset());
  mock.timers.enable({ apis: ['setTimeout'] });
  const ran: string[] = [];
  systemClock.after(60 * DAY_MS, () => ran.push('60 days'));
  const cancel = systemClock.after(30 * DAY_MS, () => ran.push('cancelled'));
  for (let day = 0; day < 26; day++) mock.timers.tick(DAY_MS);
  cancel();
  for (let day = 26; day < 59; day++) mock.timers.tick(DAY_MS);
  assert.deepEqual(ran, []);
  for (let day = 59; day < 90; day++) mock.timers.tick(DAY_MS);
  assert.deepEqual(ran, ['60 days']);
});
