// Gateways on PostgreSQL: turns are served, and what one gateway stores the other finds.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway } from '../support/gateway.ts';
import { freshDatabase } from '../support/postgres.ts';

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
