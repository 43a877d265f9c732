// The ledger of a process that runs for years keeps only the last 28 days.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Ledger } from '../../proxy/keys/ledger.ts';
import { noTotals } from '../../proxy/keys/usage-totals.ts';
import { DAY_MS } from '../../store/schema/limit-rows.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function heapUsed(): number {
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

const KEYS = 200;
/** Several times the memory that 28 days take. */
const MOST_GROWTH = 8_000_000;

for (const shared of [false, true]) {
  test(`days that have passed take no memory, ${shared ? 'with several nodes' : 'with one node'}`, () => {
    let now = 0;
    const store = { add: () => undefined, load: async () => [] };
    const ledger = new Ledger(store, { now: () => now, wallTime: () => now, after: () => () => undefined }, { shared });
    const daysPass = (days: number): void => {
      for (let day = 0; day < days; day++, now += DAY_MS)
        for (let key = 0; key < KEYS; key++) ledger.count(`key-${key}`, 'team', { ...noTotals(), requests: 1 });
    };
    daysPass(28);
    const before = heapUsed();
    daysPass(1_000);
    const grown = heapUsed() - before;
    assert.ok(grown < MOST_GROWTH, `${grown} bytes`);
    now -= DAY_MS;
    assert.equal(ledger.ofKey('key-0', 28).requests, 28);
  });
}
