// Slices of long work: one slice in a turn of the event loop, keys in rotation, with turns for other work in between (Q38).
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { SlicedWork, SliceTurns } from '../../../proxy/base/process/slices.ts';

/** Counts the turns of the event loop, each of which also does some work. */
function loop(context: TestContext, work: () => void): { turns: number } {
  const counted = { turns: 0 };
  let isOver = false;
  const count = (): void => {
    counted.turns += 1;
    work();
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  context.after(() => {
    isOver = true;
  });
  return counted;
}

function spin(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

test('[Q38] a turn of the loop has one slice at most, and keys take turns', async (context) => {
  const counted = loop(context, () => undefined);
  const slices = new SliceTurns();
  const begun: { readonly key: string; readonly at: number }[] = [];
  const begin = async (key: string): Promise<void> => {
    await slices.next(key);
    begun.push({ key, at: counted.turns });
  };
  await Promise.all(['many', 'many', 'many', 'one', 'other'].map(begin));
  assert.deepEqual(
    begun.map(({ key }) => key),
    ['many', 'one', 'other', 'many', 'many'],
  );
  assert.equal(new Set(begun.map(({ at }) => at)).size, begun.length);
});

test('[Q38] other work has turns of the loop between two slices, and long work goes on beside it', async (context) => {
  const counted = loop(context, () => spin(1));
  const slices = new SliceTurns();
  const begun: number[] = [];
  const work = new SlicedWork('ci', slices);
  for (let i = 0; i < 10; i++) {
    await work.pause();
    begun.push(counted.turns);
    spin(2);
  }
  const between = begun.slice(1).map((at, i) => at - (begun[i] as number));
  assert.ok(
    between.every((turns) => turns >= 2),
    between.join(' '),
  );
});

test('[Q38] after a slice a small turn has the loop for twice its time, even if it only waits, until it is not new any more', async () => {
  let now = 0;
  const slices = new SliceTurns(() => now);
  const slice = async (): Promise<void> => {
    await slices.next('ci');
    now += 2;
  };
  const first = slice();
  slices.smallTurn();
  await first;
  for (let i = 0; i < 2; i++) {
    let isGranted = false;
    const next = slice().then(() => {
      isGranted = true;
    });
    // Turns of the loop in which no time passes.
    await sleep(10);
    assert.equal(isGranted, false);
    now += 4;
    await next;
  }
  now += 20;
  await slice();
});
