// Accounts of other APIs, tiers and chains of models in /mcp after known turns (AA84).
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { failure } from '../../accounts/health/support.ts';
import { finish, streamed, text, USAGE, usageChunk } from '../../providers/chat/completions.ts';
import { type Platform, startPlatform } from '../../providers/responses/platform.ts';
import { type Draft, type Reply, startGateway, type TestGateway } from '../../support/gateway.ts';
import { call, withOperator } from '../../support/mcp.ts';
import { modelEntry } from '../../support/rehearsal-replies.ts';

const ROW_PRICES = { input: 1000, cached_input: 100, output: 2000 };
const POOL_PRICES = { input: 1, cached_input: 0.5, output: 2 };

let gate: TestGateway;
let platform: Platform;
before(async () => {
  platform = await startPlatform();
  gate = await startGateway({
    upstream: {
      accounts: [
        { id: 'north', models: ['model-a', 'model-b'].map((slug) => modelEntry({ slug, context_window: 100_000 })) },
        'router',
        'box',
      ],
      strict: false,
    },
    config: (draft: Draft) => {
      const server = () => ({ base_url: platform.url, query: { 'api-version': 'secret-version' }, read_models: false });
      const catalog = { context_window: 100_000 };
      draft.accounts[1] = {
        ...{ id: 'router', preset: 'openrouter', credential: { bearer: { env: 'BEARER_ROUTER' } }, models: { 'model-a': 'own-a' } },
        ...{ ...server(), headers: { 'x-title': 'secret-title' } },
        catalog: [{ ...catalog, id: 'own-a', prices: ROW_PRICES }],
      };
      draft.accounts[2] = { ...{ id: 'box', preset: 'vllm', credential: 'none' }, ...server(), catalog: [{ ...catalog, id: 'model-a' }] };
      Object.assign(draft.pools[0], {
        models: { 'model-a': { fallback: ['model-b'], prices: POOL_PRICES } },
        overflow: { on: ['quota', 'failing'], wait_ms: 250, reasoning: 'keep', usd_per_month: 50, tiers: { 1: { usd_per_day: 5 } } },
        assignments: [{ account: 'north' }, { account: 'router', tier: 1 }, { account: 'box', tier: 2 }],
      });
      withOperator(draft);
    },
  });
});
after(async () => {
  await gate.close();
  await platform.close();
});
beforeEach(() => gate.heal());

const turn = (changes: object = {}): Promise<Reply> => gate.send('/v1/responses', { body: { model: 'model-a', input: 'hi', ...changes } });
const outOfQuota = (account: string): void => gate.fail(account, 'model-a', failure('quota', { retryAfterMs: 60_000 }));
const rowOf = async (reply: Reply): Promise<Draft> => {
  await gate.row(reply);
  return (await call(gate, 'list_requests', { id: reply.headers.get('x-request-id') })).requests[0];
};

test('[AA84] list_pools has the overflow settings, and what was spent and is left of each cap', async () => {
  const poolOf = async (): Promise<Draft> => (await call(gate, 'list_pools', { id: 'team' })).pools[0];
  const { tiers, overflow } = await poolOf();
  assert.deepEqual(tiers, [0, 1, 2]);
  assert.deepEqual(overflow, {
    ...{ on: ['quota', 'failing'], wait_ms: 250, reasoning: 'keep' },
    caps: [
      { tier: null, window: 'month', max: 50, spent: 0, left: 50 },
      { tier: 1, window: 'day', max: 5, spent: 0, left: 5 },
    ],
  });
  outOfQuota('north');
  platform.next.push(streamed([text('Hi'), finish('stop'), usageChunk({ ...USAGE, cost: 0.25 }), '[DONE]']));
  await gate.row(await turn());
  assert.deepEqual(
    (await poolOf()).overflow.caps.map(({ spent, left }: Draft) => [spent, left]),
    [
      [0.25, 49.75],
      [0.25, 4.75],
    ],
  );
});

test('[AA84] list_models has the prices of each account, its tier and API, and the chain', async () => {
  const { models } = await call(gate, 'list_models', { id: 'model-a' });
  const [{ prices, apis, fallback, sources }] = models;
  assert.deepEqual([prices, apis, fallback], [POOL_PRICES, ['agent', 'chat'], ['model-b']]);
  assert.deepEqual(sources, [
    { account: 'north', api: 'agent', tier: 0, prices: POOL_PRICES },
    { account: 'router', api: 'chat', tier: 1, prices: ROW_PRICES },
    { account: 'box', api: 'chat', tier: 2, prices: POOL_PRICES },
  ]);
  const [other] = (await call(gate, 'list_models', { id: 'model-b' })).models;
  assert.deepEqual([other.apis, other.sources[0].prices, other.fallback], [['agent'], null, []]);
});

test('[AA84] list_requests has the API, the tier, the reason for it, and what was adapted and estimated', async () => {
  const native = await rowOf(await turn());
  const { api, tier, overflow, requested_model, adapted, tokens_estimated } = native;
  assert.deepEqual(
    { api, tier, overflow, requested_model, adapted, tokens_estimated },
    { api: 'agent', tier: 0, overflow: null, requested_model: null, adapted: null, tokens_estimated: false },
  );
  outOfQuota('north');
  platform.next.push(streamed([text('Hi'), finish('stop'), '[DONE]']));
  const other = await rowOf(await turn({ tools: [{ type: 'custom', name: 'patch' }], metadata: { a: 'b' } }));
  assert.deepEqual([other.account, other.api, other.tier, other.overflow], ['router', 'chat', 1, 'quota']);
  assert.deepEqual([other.adapted, other.tokens_estimated], ['metadata,tools.custom', true]);
});

test('[AA83] metrics count the attempts of an API, what was adapted, and estimated usage', async () => {
  const value = async (sample: string): Promise<number> => {
    const metrics = await gate.metrics();
    const line = metrics.split('\n').find((one) => one.startsWith(`poolgate_${sample} `));
    return Number(line?.split(' ')[1] ?? 0);
  };
  const samples = [
    'account_attempts_total{account="router",api="chat",outcome="answered"}',
    'adapted_total{account="router",name="metadata"}',
    'adapted_total{account="router",name="tools.custom"}',
    'usage_estimated_total{account="router"}',
  ];
  const before = await Promise.all(samples.map(value));
  outOfQuota('north');
  platform.next.push(streamed([text('Hi'), finish('stop'), '[DONE]']), streamed([text('Hi'), finish('stop'), usageChunk(), '[DONE]']));
  await gate.row(await turn({ metadata: { a: 'b' } }));
  await gate.row(await turn({ metadata: { a: 'b' } }));
  const after = await Promise.all(samples.map(value));
  assert.deepEqual(
    after.map((now, i) => now - (before[i] ?? 0)),
    [2, 2, 0, 1],
  );
});

test('[AA84] list_requests has the asked model of a turn that went on to another one', async () => {
  gate.fail('north', 'model-a', failure('model'));
  for (const account of ['router', 'box']) outOfQuota(account);
  const row = await rowOf(await turn());
  assert.deepEqual([row.model, row.requested_model, row.account], ['model-b', 'model-a', 'NORTH']);
});

test('[AA84] no tool shows the address, the query or the headers of an account', async () => {
  const { sources } = (await call(gate, 'list_models', { id: 'model-a' })).models[0];
  assert.equal(sources.length, 3);
  for (const tool of ['service_status', 'list_pools', 'list_accounts', 'list_models', 'list_requests', 'list_audit', 'explain_selection']) {
    const shown = JSON.stringify(await call(gate, tool, tool === 'explain_selection' ? { key: 'ci', model: 'model-a' } : {}));
    for (const secret of [new URL(platform.url).host, 'secret-version', 'api-version', 'secret-title', 'x-title']) {
      assert.ok(!shown.includes(secret), `${tool} shows ${secret}`);
    }
  }
});
