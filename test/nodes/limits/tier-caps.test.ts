// Caps of tiers over three nodes: all nodes together spend as much as one node would, and nothing without the database (AA69).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failure } from '../../accounts/health/support.ts';
import type { Reply, TestGateway } from '../../support/gateway.ts';
import { replyEvents, turnBody } from '../../support/rehearsal-replies.ts';
import { until } from '../../support/until.ts';
import { threeNodes } from '../three-nodes.ts';

const NATIVE = '/backend-api/agent/responses';
const turn = (gate: TestGateway): Promise<Reply> => gate.send(NATIVE, { body: turnBody('hi', { max_output_tokens: 10 }) });

const reply = replyEvents([
  {
    type: 'response.completed',
    sequence_number: 0,
    response: { id: 'resp_1', object: 'response', status: 'completed', output: [], usage: { input_tokens: 1, output_tokens: 10 } },
  },
]);

test('[AA69] a cap holds over three nodes: of 30 turns at once as many run as it has room for, and the audit log says so once', async () => {
  await using nodes = await threeNodes({
    upstream: { accounts: ['north', 'south'], strict: false },
    config: (draft) => {
      draft.pools[0].assignments = [{ account: 'north' }, { account: 'south', tier: 1 }];
      draft.pools[0].overflow = { usd_per_day: 50, usd_per_month: 500 };
      draft.pools[0].models = { 'model-a': { prices: { input: 0, cached_input: 0, output: 1_000_000 } } };
    },
  });
  for (const gate of nodes.all) gate.fail('north', 'model-a', failure('quota', { retryAfterMs: 3_600_000 }));
  nodes.all[0].upstream.always('south', reply);
  const replies = await Promise.all(Array.from({ length: 30 }, (_, i) => turn(nodes.all[i % 3] as TestGateway)));
  assert.equal(replies.filter(({ status }) => status === 200).length, 5);
  assert.ok(replies.every(({ status, json }) => status === 200 || json.error.code === 'usage_limit_reached'));
  assert.equal(nodes.all[0].upstream.turns().filter(({ account }) => account === 'south').length, 5);
  assert.ok((await Promise.all(nodes.all.map(turn))).every(({ status }) => status === 429));
  const rows = await until('the audit rows', async () => {
    const [used, spent] = [await nodes.all[1].audit('overflow.used'), await nodes.all[1].audit('overflow.spent')];
    return used.length > 0 && spent.length > 0 ? { used, spent } : undefined;
  });
  assert.deepEqual([rows.used.length, rows.spent.length], [1, 1]);
  await until('the other nodes to see what is left', async () => {
    const metrics = await nodes.all[2].metrics();
    return metrics.includes('poolgate_overflow_left_usd{pool="team",tier="all",window="day"} 0\n') ? true : undefined;
  });
});
