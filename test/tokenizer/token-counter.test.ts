// The thread that counts tokens is started at first use, is bounded, has a deadline, and is started again after it died.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Counters } from '../../proxy/base/process/metrics.ts';
import { TokenCounter } from '../../proxy/tokenizer/token-counter.ts';
import { ManualClock } from '../support/clocks/manual-clock.ts';

const FAILING = new URL('./failing-worker.ts', import.meta.url);

function counterOf(module?: URL): { tokens: TokenCounter; counters: Counters; clock: ManualClock } & AsyncDisposable {
  const clock = new ManualClock();
  const counters = new Counters();
  const tokens = new TokenCounter({ clock, counters, ...(module ? { module } : {}) });
  return { tokens, counters, clock, [Symbol.asyncDispose]: () => tokens.close() };
}

test('[F7.6] texts are counted in a thread of this process', async () => {
  await using made = counterOf();
  assert.deepEqual(await made.tokens.count(['hello world', '', 'hello world']), [2, 0, 2]);
  assert.equal(made.counters.values.token_counts, 1);
});

test('a text that takes a tokenizer quadratic time is returned without a count, and the next one is counted', async () => {
  await using made = counterOf();
  const hostile = Array.from({ length: 60_000 }, (_, i) => String.fromCharCode(97 + ((i * i + (i >> 3)) % 26)).repeat(1 + (i % 29))).join(
    '',
  );
  let ticks = 0;
  const ticking = setInterval(() => ticks++, 5);
  const [first, second] = await Promise.all([made.tokens.count([hostile]), made.tokens.count(['hello world'])]);
  clearInterval(ticking);
  assert.ok(first === undefined || (first[0] ?? 0) > 0);
  assert.deepEqual(second, [2]);
  assert.ok(ticks > 0, 'the event loop went on');
});

test('the deadline ends the wait, and the thread keeps working', async () => {
  await using made = counterOf(FAILING);
  assert.deepEqual(await made.tokens.count(['abc']), [3]);
  const hanging = made.tokens.count(['hang']);
  await made.clock.advance(5_000);
  assert.equal(await hanging, undefined);
  assert.equal(made.counters.values.token_counts_late, 1);
  assert.deepEqual(await made.tokens.count(['abcd']), [4]);
});

test('a thread that does not answer is ended, and another one is started after a pause', async () => {
  await using made = counterOf(FAILING);
  const hanging = made.tokens.count(['hang']);
  await made.clock.advance(15_000);
  assert.equal(await hanging, undefined);
  assert.equal(made.counters.values.token_threads_ended, 1);
  assert.equal(await made.tokens.count(['abc']), undefined);
  assert.equal(made.counters.values.token_counts_refused, 1);
  await made.clock.advance(10_000);
  assert.deepEqual(await made.tokens.count(['abc']), [3]);
});

for (const order of ['throw', 'exit']) {
  test(`a thread that died (${order}) gives up its tasks, and another one is started after a pause`, async () => {
    await using made = counterOf(FAILING);
    const [first, behind] = await Promise.all([made.tokens.count([order]), made.tokens.count(['behind it'])]);
    assert.deepEqual([first, behind], [undefined, undefined]);
    assert.equal(made.counters.values.token_threads_ended, 1);
    await made.clock.advance(10_000);
    assert.deepEqual(await made.tokens.count(['abc']), [3]);
  });
}

test('a module that does not load counts as a thread that died', async () => {
  await using made = counterOf(new URL('./missing.ts', import.meta.url));
  assert.equal(await made.tokens.count(['abc']), undefined);
  assert.equal(made.counters.values.token_threads_ended, 1);
});

test('the queue is bounded in tasks and in characters', async () => {
  await using made = counterOf(FAILING);
  const hanging = Array.from({ length: 64 }, () => made.tokens.count(['hang']));
  assert.equal(await made.tokens.count(['abc']), undefined);
  await made.clock.advance(15_000);
  await Promise.all(hanging);
  await made.clock.advance(10_000);
  assert.equal(await made.tokens.count(['x'.repeat(16_777_217)]), undefined);
  assert.equal(made.counters.values.token_counts_refused, 2);
  assert.deepEqual(await made.tokens.count(['late', 'x']), undefined);
});

test('a counter that is closed while it counts gives up', async () => {
  const made = counterOf(FAILING);
  const hanging = made.tokens.count(['hang']);
  await made.tokens.close();
  assert.equal(await hanging, undefined);
});

test('a thread without work for ten minutes is ended, and the next count starts another one at once', async () => {
  await using made = counterOf(FAILING);
  assert.deepEqual(await made.tokens.count(['abc']), [3]);
  assert.equal(made.clock.pending, 1);
  await made.clock.advance(600_000);
  assert.equal(made.counters.values.token_threads_ended, 0);
  assert.equal(made.clock.pending, 0);
  assert.deepEqual(await made.tokens.count(['abcd']), [4]);
});
