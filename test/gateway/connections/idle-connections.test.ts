// Client connections between requests are kept for the pauses of a session, announced as kept, and closed if no request follows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway } from '../../support/gateway.ts';
import { RawClient } from '../../support/network/raw.ts';

const REQUEST = 'GET /nowhere HTTP/1.1\r\nhost: a\r\n\r\n';

test('a connection is kept for 75 seconds after its last answer, and closed soon after that', async (context) => {
  context.mock.timers.enable({ apis: ['setInterval'] });
  await using gate = await startGateway({});
  using client = await RawClient.connect(gate.url);
  // The clock advances in steps, like real time.
  const pass = (seconds: number): void => {
    for (let passed = 0; passed < seconds; passed += 5) context.mock.timers.tick(5_000);
  };
  client.write(REQUEST);
  const answer = await client.answer();
  assert.equal(answer.headers['keep-alive'], 'timeout=75');
  pass(70);
  client.write(REQUEST);
  assert.equal((await client.answer()).status, 404);
  pass(90);
  await client.ended();
});
