// Settlements on their way to the store: the first one is sent at once, those of the next moment together.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Counters } from '../../proxy/base/process/metrics.ts';
import { Ledger } from '../../proxy/keys/ledger.ts';
import { SharedLimits } from '../../proxy/keys/limits/shared-limits.ts';
import { Settlements } from '../../proxy/keys/settlements.ts';
import { Refusal } from '../../proxy/turn/errors/refusal.ts';
import { type LimitedTurn, type Settlement, StoreError, type Taken } from '../../store/store.ts';
import { ManualClock } from '../support/clocks/manual-clock.ts';
import { until } from '../support/until.ts';

const settlement = (n: number): Settlement => ({ grant: `grant-${n}`, key: 'ci', at: 0, used: undefined, minute: false });

function world() {
  const batches: number[] = [];
  const limits = {
    settle: async (settled: readonly Settlement[]) => void batches.push(settled.length),
    tidy: async () => undefined,
  };
  return { batches, settlements: new Settlements(limits, new ManualClock()) };
}

/** Adds each settlement in a separate event, as turns end. */
async function addEach(settlements: Settlements, from: number, to: number): Promise<void> {
  for (let n = from; n < to; n++) {
    settlements.add(settlement(n));
    await new Promise(setImmediate);
  }
}

test('[Q34] a settlement is written at once, and those that follow at the same time share a transaction', async () => {
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

test('[Q34] a refusal waits a second at most for settlements that the store does not take', async () => {
  const clock = new ManualClock();
  const running = { requests: 1, tokens: 0, cost_nanos: 0 };
  const limits = {
    settle: () => new Promise<never>(() => undefined),
    take: async (): Promise<Taken> => ({ outcome: 'refused', use: { running, minute: [], days: [] } }),
    tidy: async () => undefined,
    use: () => assert.fail('it is not asked'),
  };
  const settlements = new Settlements(limits, clock);
  const node = { token: 1, lost: async () => undefined };
  const ledger = new Ledger({ add: () => undefined, load: async () => [] }, clock);
  const shared = new SharedLimits({ limits, settlements, node, ledger, clock, counters: new Counters() });
  settlements.add({ ...settlement(0), key: 'ci' });
  let answer: unknown;
  const reserving = shared.reserve({ id: 'ci', limits: { concurrent: 1 } }, () => assert.fail('no estimate is needed'));
  void reserving.then((reserved) => (answer = reserved));
  await until('the refusal', async () => {
    await clock.advance(100);
    return answer instanceof Refusal ? true : undefined;
  });
});

test('[Q34] a turn waits two seconds at most for its reservation, also if its node has to join again in between', async () => {
  const clock = new ManualClock();
  const waits: number[] = [];
  const limits = {
    settle: async () => undefined,
    take: async ({ wait_ms }: LimitedTurn): Promise<Taken> => {
      waits.push(wait_ms);
      clock.skip(900);
      return { outcome: 'lost' };
    },
    tidy: async () => undefined,
    use: () => assert.fail('it is not asked'),
  };
  const node = { token: 1, lost: async () => clock.skip(200) };
  const ledger = new Ledger({ add: () => undefined, load: async () => [] }, clock);
  const shared = new SharedLimits({ limits, settlements: new Settlements(limits, clock), node, ledger, clock, counters: new Counters() });
  const refusal = await shared.reserve({ id: 'ci', limits: { concurrent: 1 } }, () => assert.fail('no estimate is needed'));
  assert.ok(refusal instanceof Refusal && refusal.code === 'server_is_overloaded');
  assert.deepEqual(waits, [2_000, 900]);
});

test('[Q34] after an outage a turn does not wait until the next try: those that ended during it make room at once', async () => {
  const clock = new ManualClock();
  const open = new Set(['grant-0']);
  let gone = true;
  let tries = 0;
  const limits = {
    settle: async (settled: readonly Settlement[]) => {
      tries++;
      if (gone) throw new StoreError('unreachable', 'gone');
      for (const { grant } of settled) open.delete(grant);
    },
    take: async ({ grant }: LimitedTurn): Promise<Taken> => {
      const running = { requests: open.size, tokens: 0, cost_nanos: 0 };
      if (open.size > 0) return { outcome: 'refused', use: { running, minute: [], days: [] } };
      open.add(grant);
      return { outcome: 'granted' };
    },
    tidy: async () => undefined,
    use: () => assert.fail('it is not asked'),
  };
  const settlements = new Settlements(limits, clock);
  const node = { token: 1, lost: async () => undefined };
  const ledger = new Ledger({ add: () => undefined, load: async () => [] }, clock);
  const shared = new SharedLimits({ limits, settlements, node, ledger, clock, counters: new Counters() });
  settlements.add(settlement(0));
  await until('a try', () => (tries === 1 ? true : undefined));
  gone = false;
  // The clock does not advance, so no pause between two tries ends by itself.
  const reserved = await shared.reserve({ id: 'other', limits: { concurrent: 1 } }, () => assert.fail('no estimate is needed'));
  assert.ok(!(reserved instanceof Refusal), 'it is granted');
  assert.deepEqual([settlements.waiting, tries], [0, 2]);
});
