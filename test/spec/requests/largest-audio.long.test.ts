// Audio of the largest size that the contract allows is accepted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway } from '../../support/gateway.ts';

test('[F1.2] audio of the whole 52,428,800 decoded bytes fits through the limits of a request', async () => {
  await using gate = await startGateway({ upstream: { accounts: ['north'] } });
  const data = Buffer.alloc(52_428_800).toString('base64');
  const input = [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data, format: 'wav' } }] }];
  const reply = await gate.send('/v1/responses', { body: { model: 'model-a', input } });
  assert.deepEqual([reply.status, gate.upstream.turns().length], [200, 1], reply.text.slice(0, 200));
});
