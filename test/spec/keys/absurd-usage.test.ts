// Usage that a provider states with absurd numbers: it counts as unknown, and does not spoil what other turns used (Q18).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { folder } from '../../store/adapters.ts';
import { startGateway } from '../../support/gateway.ts';
import { replyEvents, turnBody } from '../../support/rehearsal-replies.ts';

const ended = (usage: JsonObject) =>
  replyEvents([
    { type: 'response.output_text.delta', sequence_number: 0, delta: 'hi' },
    { type: 'response.completed', sequence_number: 1, response: { id: 'resp_1', status: 'completed', output: [], usage } },
  ]);

test('[Q18] a number of tokens that no model has is unknown, and other usage is there after a restart', async (context) => {
  let gate = await startGateway({ store: `sqlite:${await folder(context)}/poolgate.db`, upstream: { accounts: ['north'] } });
  context.after(() => gate.close());
  const send = () => gate.send('/backend-api/agent/responses', { body: turnBody('hi') });
  const honest = { input_tokens: 10, output_tokens: 5 };
  for (const usage of [honest, { input_tokens: Number.MAX_SAFE_INTEGER, output_tokens: 7 }, honest, { ...honest, output_tokens: 2e9 }]) {
    gate.upstream.next('north', ended(usage));
    assert.equal((await send()).status, 200);
  }
  const rows = await gate.rows();
  assert.deepEqual(
    rows.map(({ input_tokens, output_tokens }) => [input_tokens, output_tokens]),
    [
      [10, 5],
      [null, 7],
      [10, 5],
      [10, null],
    ],
  );
  gate = await gate.restarted();
  const { json } = await gate.send('/v1/usage');
  assert.deepEqual([json.request_count, json.input_tokens, json.output_tokens], [4, 30, 17]);
});
