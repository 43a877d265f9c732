// Gateways on PostgreSQL serve turns, find each other's rows, and need equal secrets.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { folder } from '../store/adapters.ts';
import { type Draft, startGateway } from '../support/gateway.ts';
import { freshDatabase } from '../support/postgres/postgres.ts';
import { Link } from '../support/postgres/postgres-link.ts';
import { waitsForDatabase } from '../support/postgres/waits-for-database.ts';
import { PATIENCE_MS, until } from '../support/until.ts';

test('[Q34] two gateways on one PostgreSQL serve turns and share the request log', async () => {
  await using gate = await startGateway({ store: await freshDatabase() });
  await using twin = await gate.twin();
  for (const one of [gate, twin]) {
    const answer = await one.send('/v1/responses', { body: { model: 'model-a', input: 'hello' } });
    assert.equal(answer.status, 200, answer.text);
    await one.flush();
  }
  const rows = await gate.rows();
  assert.deepEqual(
    rows.map(({ endpoint, status }) => [endpoint, status]),
    [
      ['/v1/responses', 200],
      ['/v1/responses', 200],
    ],
  );
});

test('[Q34] a gateway with another store_key than those on its database does not start', async (context) => {
  const store = await freshDatabase();
  await using gate = await startGateway({ store });
  const file = `${await folder(context)}/other.key`;
  writeFileSync(file, 'another key of 32 characters ....');
  const config = (draft: Draft): void => {
    draft.store_key = { file };
  };
  await assert.rejects(startGateway({ store, config }), {
    name: 'StoreError',
    message: 'store_key: the nodes on this database have another secret; give this node theirs',
  });
  await using twin = await gate.twin();
  assert.equal((await twin.send('/v1/responses', { body: { model: 'model-a', input: 'hello' } })).status, 200);
});

test('[Q34] /status and /metrics show the state of the database', async () => {
  await using gate = await startGateway({ store: await freshDatabase() });
  const state = async () => (await (await fetch(`${gate.adminUrl}/api/status`)).json()) as { store: Record<string, unknown> };
  await until('the feed', async () => ((await state()).store.feed_connected === true ? true : undefined));
  const { reachable, feed_losses, clock_difference_ms, dropped } = (await state()).store;
  assert.deepEqual(
    { reachable, feed_losses, clock_difference_ms, dropped },
    { reachable: true, feed_losses: 0, clock_difference_ms: 0, dropped: 0 },
  );
  const metrics = await gate.metrics();
  for (const line of ['store_reachable 1', 'store_feed_connected 1', 'store_feed_losses_total 0', 'store_connections_waiting 0'])
    assert.match(metrics, new RegExp(`^poolgate_${line}$`, 'm'));
});

test('[Q34] turns of keys without limits continue while the database does not answer, and their rows are written when it does', {
  timeout: 3 * PATIENCE_MS,
}, async (context) => {
  const url = await freshDatabase();
  const link = await Link.open(url);
  context.after(() => link.close());
  await using gate = await startGateway({ store: link.url(url) });
  const turn = async (): Promise<void> => {
    const answer = await gate.send('/v1/responses', { body: { model: 'model-a', input: 'hello' } });
    assert.equal(answer.status, 200, answer.text);
  };
  await turn();
  link.stop();
  for (let n = 0; n < 3; n++) await turn();
  const isOut = () => (gate.logged.some((line) => line.includes('"store_unreachable"')) ? true : undefined);
  await until('the outage', isOut);
  const waits = waitsForDatabase(context);
  await turn();
  assert.equal(waits(), 0, 'it waits for no connection');
  link.resume();
  await gate.flush();
  assert.equal((await until('the rows', async () => gate.rows().catch(() => undefined))).length, 5);
});
