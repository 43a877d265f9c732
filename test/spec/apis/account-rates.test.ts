// API accounts state rate limits in their answers; these are evidence for the choice of an account, by the account's own model id (AA39).
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { type Platform, refuses, startPlatform, streams, textEvents } from '../../providers/responses/platform.ts';
import { type Reply, startGateway, type TestGateway } from '../../support/gateway.ts';
import { call, withOperator } from '../../support/mcp.ts';

const PUBLIC = '/v1/responses';

let [east, west]: readonly Platform[] = [];
let gate: TestGateway;
before(async () => {
  [east, west] = await Promise.all([startPlatform(), startPlatform()]);
  const urls = [east, west].map(({ url }) => url);
  gate = await startGateway({
    upstream: { accounts: ['east', 'west'] },
    config(draft) {
      draft.accounts = ['east', 'west'].map((id, i) => ({
        id,
        label: id.toUpperCase(),
        preset: 'openai',
        base_url: urls[i],
        credential: { bearer: { env: `BEARER_${id.toUpperCase()}` } },
        models: { 'model-a': 'own-a', 'model-b': 'own-b' },
        catalog: ['own-a', 'own-b'].map((own) => ({ id: own, context_window: 100_000 })),
      }));
      draft.pools[0].strategy = 'headroom';
      draft.pools[0].prompt_cache_locality = false;
      withOperator(draft);
    },
  });
});
after(async () => {
  await gate.close();
  await Promise.all([east?.close(), west?.close()]);
});
beforeEach(() => {
  east?.clear();
  west?.clear();
  gate.heal();
});

const limits = (left: number, reset = '5m0s', kind = 'requests'): Record<string, string> => ({
  [`x-ratelimit-limit-${kind}`]: '100',
  [`x-ratelimit-remaining-${kind}`]: String(left),
  [`x-ratelimit-reset-${kind}`]: reset,
});
const ask = (model = 'model-a'): Promise<Reply> => gate.send(PUBLIC, { body: { model, input: 'hi' } });
const taken = (): readonly number[] => [east, west].map((platform) => platform?.requests.length ?? 0);

/** Both accounts state what is left for the model. */
async function states(eastLeft: Record<string, string>, westLeft: Record<string, string>, model = 'model-a'): Promise<void> {
  await strategy('rotation');
  east?.next.push(streams(textEvents('hi'), eastLeft));
  west?.next.push(streams(textEvents('hi'), westLeft));
  for (const _ of [1, 2]) assert.equal((await ask(model)).status, 200);
  assert.deepEqual(taken(), [1, 1]);
  east?.clear();
  west?.clear();
  await strategy('headroom');
}

const strategy = (name: string): Promise<void> =>
  gate.reconfigure((draft) => {
    draft.pools[0].strategy = name;
  });

test('[AA39] headroom follows the smallest share that is left of the model', async () => {
  await states({ ...limits(90), ...limits(10, '5m0s', 'tokens') }, limits(60));
  for (const _ of [1, 2, 3]) await ask();
  assert.deepEqual(taken(), [0, 3]);
});

test('[AA39] the evidence of one own id is none for another', async () => {
  await states(limits(5), limits(95));
  await states(limits(95), limits(5), 'model-b');
  await ask();
  assert.deepEqual(taken(), [0, 1]);
  await ask('model-b');
  assert.deepEqual(taken(), [1, 1]);
});

test('[AA39] a limit that is used up cools its model until the reset, and it alone', async () => {
  await states(limits(0), limits(50));
  for (const _ of [1, 2, 3, 4]) assert.equal((await ask()).status, 200);
  assert.equal(taken()[0], 0);
  const { models } = gate.account('east');
  assert.deepEqual(Object.keys(models), ['model-a']);
  const reply = await ask();
  assert.deepEqual((await gate.row(reply))?.why?.others, { cooldown: 1 });
});

test('[AA61] a rate refusal without Retry-After waits for the stated reset', async () => {
  const body = { message: 'slow down', type: 'rate_limit_error', code: 'rate_limit_exceeded' };
  east?.next.push(refuses(429, body, limits(0, '40s')));
  west?.next.push(refuses(429, body, limits(0, '40s')));
  const before = Date.now();
  const refused = await ask();
  const after = Date.now();
  assert.equal(refused.status, 429, refused.text);
  const ends = ['east', 'west'].flatMap((id) => Object.values(gate.account(id).models).map(({ until }) => (until ?? 0) - 40_000));
  assert.ok(ends.length > 0 && ends.every((at) => at >= before - 1 && at <= after + 1), `${before} ${ends} ${after}`);
});

test('[AA83] [AA84] /metrics and list_accounts have the smallest share that is left of what an account stated', async () => {
  await states({ ...limits(90), ...limits(10, '5m0s', 'tokens') }, limits(60));
  const text = await gate.metrics();
  assert.match(text, /^poolgate_rate_remaining_ratio\{account="east",kind="requests"\} 0\.\d+$/m);
  assert.match(text, /^poolgate_rate_remaining_ratio\{account="east",kind="tokens"\} 0\.1$/m);
  const { accounts } = await call(gate, 'list_accounts');
  const [first] = accounts.filter(({ id }: { id: string }) => id === 'east');
  assert.deepEqual([first.api, first.preset, first.rates.tokens], ['responses', 'openai', 0.1]);
  assert.ok(!JSON.stringify(first).includes(east?.url ?? 'http'), 'no addresses');
});
