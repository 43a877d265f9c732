// A node whose clock is ahead of the database's deletes nothing that still counts for other nodes.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { openStore } from '../../../store/store.ts';
import { freshDatabase } from '../../support/postgres/postgres.ts';
import { fileRow, joinedAs, limitedTurn, pinRow, requestRow, usageRow } from '../samples.ts';

/** Longer than slots of the last minute are kept. */
const AHEAD_MS = 300_000;
const TTL = 30_000;

const openAhead = (context: TestContext) => async (url: string, aheadMs: number) => {
  const clock = (): number => Date.now() + aheadMs;
  const store = await openStore(url, { clock, machineTime: clock });
  context.after(() => store.close());
  return store;
};

test('[Q10] pins, files and rows of other nodes are not old because the clock of one node is ahead', async (context) => {
  const open = openAhead(context);
  const url = await freshDatabase();
  const [one, ahead] = [await open(url, 0), await open(url, AHEAD_MS)];
  const now = Date.now();
  one.requests.append(requestRow({ at: now }));
  await Promise.all([one.pins.save(pinRow({ expires_at: now + TTL })), one.files.save(fileRow({ expires_at: now + TTL })), one.flush()]);
  const { requests, pins, files } = await ahead.purge({
    requestsBefore: now + AHEAD_MS - TTL,
    pinsBefore: now + AHEAD_MS,
    filesBefore: now + AHEAD_MS,
  });
  assert.deepEqual([requests, pins, files], [0, 0, 0]);
  assert.equal((await one.purge({ pinsBefore: now + TTL + 1 })).pins, 1);
});

test('[Q34] leases and the usage of the last minute outlast the purge of a node whose clock is five minutes ahead', async (context) => {
  const url = await freshDatabase();
  const open = openAhead(context);
  const [one, ahead] = [await open(url, 0), await open(url, AHEAD_MS)];
  assert.ok((ahead.database()?.clock_difference_ms ?? 0) < -AHEAD_MS / 2);
  const node = await joinedAs(one, 'a', TTL);
  const lease = await one.leases.acquire('refresh/north', 'one', TTL);
  assert.ok(lease);
  const bounds = { requests_per_minute: 2 };
  for (const grant of ['first', 'second']) {
    assert.equal((await one.limits.take(limitedTurn({ node, grant }), bounds)).outcome, 'granted');
    await one.limits.settle([{ grant, key: 'ci', used: usageRow(), at: Date.now(), minute: true }]);
  }
  await ahead.purge({});
  assert.equal(await ahead.leases.acquire('refresh/north', 'ahead', TTL), undefined);
  assert.ok(await one.leases.renew(lease, TTL));
  assert.equal((await one.limits.take(limitedTurn({ node, grant: 'third' }), bounds)).outcome, 'refused');
});
