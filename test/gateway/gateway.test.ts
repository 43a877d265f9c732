// The basics as a client sees them: turns stream through a Pool, and fail over if the client has no output yet.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway } from '../support/gateway.ts';
import { eventsOf } from '../support/network/sse-events.ts';

const TURN = { model: 'model-a', input: 'hello', stream: true };

test('a turn fails over from an account that refuses to one that answers', async () => {
  await using gate = await startGateway();
  gate.upstream.next('north', 'refuse 503');
  const { status, text } = await gate.send('/v1/responses', { body: TURN });
  assert.equal(status, 200);
  assert.equal(eventsOf(text).at(-1)?.data, '[DONE]');
  assert.deepEqual(
    gate.upstream.turns().map(({ account }) => account),
    ['north', 'south'],
  );
  const [row] = await gate.rows();
  assert.equal(row?.retries, 1);
});
