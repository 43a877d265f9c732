// Silent replies time out when their time has passed, at most a thirty-second of it later; active and ended replies never do.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { IdleTimeouts, Timed } from '../../../proxy/base/time/idle-timeouts.ts';

const LONGEST_MS = 800;
const TICK_MS = LONGEST_MS / 32;

test('a silent wait times out after its timeout plus at most a thirty-second of it, and an active one does not', (context) => {
  context.mock.timers.enable({ apis: ['setInterval'] });
  const silence = new IdleTimeouts(LONGEST_MS);
  const told: string[] = [];
  class Answer extends Timed {
    readonly name: string;
    constructor(name: string) {
      super();
      this.name = name;
    }
    timedOut(): void {
      told.push(this.name);
      silence.forget(this);
    }
  }
  const [quiet, chatty, gone, late] = ['quiet', 'chatty', 'gone', 'late'].map((name) => new Answer(name)) as [
    Answer,
    Answer,
    Answer,
    Answer,
  ];
  for (const one of [quiet, gone, chatty]) silence.watch(one);
  const pass = (ms: number): void => {
    for (let passed = 0; passed < ms; passed += TICK_MS) {
      context.mock.timers.tick(TICK_MS);
      chatty.quietTicks = 0;
    }
  };
  pass(LONGEST_MS / 2);
  silence.forget(gone);
  silence.forget(gone);
  silence.watch(late);
  pass(LONGEST_MS / 2);
  assert.deepEqual(told, []);
  pass(TICK_MS);
  assert.deepEqual(told, ['quiet']);
  pass(LONGEST_MS / 2);
  assert.deepEqual(told, ['quiet', 'late']);
  pass(10 * LONGEST_MS);
  silence.forget(chatty);
  assert.deepEqual(told, ['quiet', 'late']);
  // The timer ends without a waiter, and the next waiter starts it again.
  pass(2 * LONGEST_MS);
  silence.watch(quiet);
  pass(2 * LONGEST_MS);
  assert.deepEqual(told, ['quiet', 'late', 'quiet']);
});

test('several that fall silent at once all time out, whatever each does to the list', (context) => {
  context.mock.timers.enable({ apis: ['setInterval'] });
  const silence = new IdleTimeouts(LONGEST_MS);
  let told = 0;
  class Answer extends Timed {
    timedOut(): void {
      told += 1;
      silence.forget(this);
    }
  }
  for (let i = 0; i < 100; i++) silence.watch(new Answer());
  context.mock.timers.tick(2 * LONGEST_MS);
  assert.equal(told, 100);
});
