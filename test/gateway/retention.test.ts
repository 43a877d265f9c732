// Rows that are past their retention are deleted soon after the start, and then every hour.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Log } from '../../proxy/base/process/log.ts';
import { Counters } from '../../proxy/base/process/metrics.ts';
import { keepRetention } from '../../proxy/gateway/retention.ts';
import { openStore, type Store } from '../../store/store.ts';
import { requestRow } from '../store/samples.ts';
import { ManualClock, settled } from '../support/clocks/manual-clock.ts';

const DAY_MS = 86_400_000;

const parts = (store: Store, clock: ManualClock) => ({ store, clock, log: new Log('error', () => undefined), counters: new Counters() });

test('a gateway that never runs for an hour deletes old rows, and a retention that a reload changes holds with the next hour', async (context) => {
  const clock = new ManualClock();
  const store = await openStore('sqlite::memory:', { clock: () => clock.now() });
  context.after(() => store.close());
  for (const days of [1, 3, 9]) store.requests.append(requestRow({ id: `${days}`, at: clock.now() - days * DAY_MS }));
  await store.flush();
  let requests_days = 5;
  const left = async (): Promise<readonly string[]> => {
    // The deletions are statements that run one after the other.
    for (let i = 0; i < 40; i++) await store.audit.list({ limit: 1 }).then(settled);
    return (await store.requests.list({ limit: 9 })).map(({ id }) => id);
  };
  const stop = keepRetention({ ...parts(store, clock), retention: () => ({ requests_days, requests_bytes: 2 ** 30, audit_days: 1 }) });
  await clock.advance(59_999);
  assert.deepEqual(await left(), ['1', '3', '9']);
  await clock.advance(1);
  assert.deepEqual(await left(), ['1', '3']);
  requests_days = 2;
  await clock.advance(3_600_000);
  assert.deepEqual(await left(), ['1']);
  stop();
  assert.equal(clock.pending, 0);
});

test('a wall clock that was set forward deletes nothing before its time', async (context) => {
  const clock = new ManualClock();
  const store = await openStore('sqlite::memory:', { clock: () => clock.now() });
  context.after(() => store.close());
  store.requests.append(requestRow({ id: 'kept', at: clock.now() }));
  await store.flush();
  const stop = keepRetention({ ...parts(store, clock), retention: () => ({ requests_days: 5, requests_bytes: 2 ** 30, audit_days: 1 }) });
  context.after(stop);
  clock.setWallClock(366 * DAY_MS);
  await clock.advance(60_000);
  for (let i = 0; i < 40; i++) await store.audit.list({ limit: 1 }).then(settled);
  assert.equal((await store.requests.list({ limit: 9 })).length, 1);
});
