// Settlements on their way to the store: the first one at once, those of the next moment together.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Settlements } from '../../proxy/keys/settlements.ts';
import type { Settlement } from '../../store/store.ts';
import { HandClock } from '../models/support.ts';
import { until } from '../support/until.ts';

const settlement = (n: number): Settlement => ({ grant: `grant-${n}`, key: 'ci', at: 0, used: undefined, minute: false });

function world() {
  const batches: number[] = [];
  const limits = {
    settle: async (settled: readonly Settlement[]) => void batches.push(settled.length),
    tidy: async () => undefined,
  };
  return { batches, settlements: new Settlements(limits, new HandClock()) };
}

/** Each in an event of its own, as turns end. */
async function addEach(settlements: Settlements, from: number, to: number): Promise<void> {
  for (let n = from; n < to; n++) {
    settlements.add(settlement(n));
    await new Promise(setImmediate);
  }
}

test('[Q34] a settlement is written at once, and those that follow it in the same moment share a transaction', async () => {
  const { batches, settlements } = world();
  await addEach(settlements, 0, 20);
  assert.equal(batches[0], 1);
  await until('all are written', () => (settlements.waiting === 0 ? true : undefined));
  assert.equal(
    batches.reduce((sum, length) => sum + length, 0),
    20,
  );
  assert.ok(batches.length <= 10, `20 settlements took ${batches.length} transactions`);
});

test('[Q34] a refusal that settlements may lift, and the end of the process, do not wait until more are gathered', async () => {
  const { batches, settlements } = world();
  await addEach(settlements, 0, 1);
  for (const end of [() => settlements.written(), () => settlements.close(1_000)]) {
    const { length } = batches;
    settlements.add(settlement(length));
    await end();
    assert.equal(settlements.waiting, 0);
    assert.equal(batches.length, length + 1);
  }
});
