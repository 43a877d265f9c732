// `explain` for a turn in a Pool with accounts of several APIs, tiers and a chain of models; it sends nothing to an account (AA77, AA85).
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { stringify } from 'yaml';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { failure } from '../../accounts/health/support.ts';
import { poolgate } from '../../cli/run.ts';
import { fileWith } from '../../config/files.ts';
import { answers, type Platform, startPlatform } from '../../providers/responses/platform.ts';
import { type Draft, startGateway, type TestGateway } from '../../support/gateway.ts';
import { call, withOperator } from '../../support/mcp.ts';
import { modelEntry } from '../../support/rehearsal-replies.ts';
import { until } from '../../support/until.ts';

const PRICES = { input: 1.25, cached_input: 0.125, output: 10 };
const FREE = { input: 0, cached_input: 0, output: 0 };

let gate: TestGateway;
let platform: Platform;
before(async () => {
  platform = await startPlatform();
  gate = await startGateway({
    upstream: {
      accounts: [
        { id: 'north', models: ['model-a', 'model-b'].map((slug) => modelEntry({ slug, context_window: 400_000 })) },
        'far',
        'box',
      ],
      strict: false,
    },
    config: configure,
  });
});
after(async () => {
  await gate.close();
  await platform.close();
});
beforeEach(() => gate.heal());

/** Three accounts: a native one, a platform with a cap, and a local server that takes no images and few efforts. */
function configure(draft: Draft): void {
  const server = { base_url: platform.url, read_models: false };
  draft.accounts[1] = {
    ...{ id: 'far', preset: 'xai', credential: { bearer: { env: 'BEARER_FAR' } }, models: { 'model-a': 'own-a' } },
    ...server,
    catalog: [
      {
        id: 'own-a',
        context_window: 400_000,
        reasoning_levels: ['low', 'high'],
        input_modalities: ['text', 'image'],
        prices: { ...PRICES },
      },
    ],
  };
  draft.accounts[2] = {
    ...{ id: 'box', preset: 'vllm', credential: 'none', models: { 'model-a': 'own-c' } },
    ...server,
    quirks: { effort_values: { high: 'most' } },
    catalog: [{ id: 'own-c', context_window: 32_000, tools: false, reasoning_levels: ['medium', 'high'] }],
  };
  Object.assign(draft.pools[0], {
    models: { 'model-a': { fallback: ['model-z', 'model-b'] } },
    overflow: { on: ['quota', 'failing'], usd_per_day: 20, tiers: { 1: { usd_per_month: 100 } } },
    assignments: [{ account: 'north' }, { account: 'far', tier: 1 }, { account: 'box', tier: 2 }],
    aliases: { 'claude-*': 'model-a' },
  });
  const [key] = draft.keys;
  const base = { ...key, id: 'base', secret_sha256: ['0'.repeat(64)], overflow: false };
  const most = { ...key, id: 'most', secret_sha256: ['1'.repeat(64)], reasoning_effort: { always: 'xhigh' } };
  draft.keys = [key, base, most];
  withOperator(draft);
}

// biome-ignore lint/suspicious/noExplicitAny: assertions look where they expect something
async function asked(query: Readonly<Record<string, string>>, body?: unknown): Promise<any> {
  const params = new URLSearchParams({ method: 'POST', path: '/v1/responses', ...query });
  const reply = await fetch(`${gate.adminUrl}/api/explain?${params}`, {
    ...(body !== undefined && {
      method: 'POST',
      headers: { 'x-poolgate-command': '1', 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  });
  const json = await reply.json();
  return reply.status === 200 ? (json as Draft).turns[0] : { status: reply.status, ...(json as object) };
}

const image = { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' };
const user = (...content: readonly JsonObject[]): JsonObject => ({ type: 'message', role: 'user', content });
const text = (said: string): JsonObject => ({ type: 'input_text', text: said });
const look = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} } };
const patch = { type: 'custom', name: 'patch', format: { type: 'text' } };
const request = (changes: JsonObject = {}): JsonObject => ({ model: 'model-a', input: [user(text('hi'))], ...changes });

// biome-ignore lint/suspicious/noExplicitAny: an explanation, of which a test names the members
const of = ({ accounts }: any, ...members: readonly string[]): unknown =>
  Object.fromEntries(accounts.map((account: Draft) => [account.account, members.map((member) => account[member])]));

test('[AA85] [AA1] [AA72] explain has the API, preset, tier, price, caps and efforts of each account', async () => {
  const turn = await asked({ key: 'ci', model: 'model-a' });
  assert.deepEqual(of(turn, 'api', 'preset', 'tier', 'takes', 'lack'), {
    north: ['agent', null, 0, 'first', null],
    far: ['responses', 'xai', 1, 'higher_tier', null],
    box: ['chat', 'vllm', 2, 'higher_tier', null],
  });
  const day = { tier: null, window: 'day', max: 20, spent: 0, left: 20 };
  const month = { tier: 1, window: 'month', max: 100, spent: 0, left: 100 };
  assert.deepEqual(of(turn, 'prices', 'caps'), { north: [null, []], far: [PRICES, [day, month]], box: [FREE, [day]] });
  assert.match(
    turn.accounts[1].why,
    /^tier 1, asked where the lower tiers are quota or failing; 1\.25 USD .* 10 of output; cap usd_per_day 20 of all tiers, usd_per_month 100; /,
  );
  assert.deepEqual(of(turn, 'efforts', 'adapted'), {
    north: [{}, null],
    far: [{ none: 'low', low: 'low', medium: 'low', high: 'high', xhigh: 'high', max: 'high' }, null],
    box: [{ none: 'medium', low: 'medium', medium: 'medium', high: 'most', xhigh: 'most', max: 'most' }, null],
  });
  assert.deepEqual(of(await asked({ key: 'most', model: 'model-a' }), 'efforts'), {
    north: [{}],
    far: [{ xhigh: 'high' }],
    box: [{ xhigh: 'most' }],
  });
});

test('[AA85] with a body explain has the effort as it goes out and what is adapted, as the attempt then has it', async () => {
  const body = request({
    reasoning: { effort: 'medium', summary: 'auto' },
    tools: [patch],
    metadata: { a: 'b' },
    max_output_tokens: 100,
  });
  const turn = await asked({ key: 'ci' }, body);
  assert.deepEqual([turn.model, turn.refused, turn.choice.account], ['model-a', null, 'north']);
  assert.deepEqual(of(turn, 'takes', 'lack', 'efforts'), {
    north: ['first', null, { medium: 'medium' }],
    far: ['higher_tier', null, { medium: 'low' }],
    box: ['no', 'tools', {}],
  });
  const [north, far, box] = turn.accounts;
  assert.deepEqual([north.adapted, box.adapted], [[], null]);
  assert.deepEqual(far.adapted, ['metadata', 'reasoning.effort', 'tools.custom']);
  assert.deepEqual([gate.upstream.turns().length, platform.requests.length], [0, 0], 'nothing was sent');
  gate.fail('north', 'model-a', failure('quota', { retryAfterMs: 60_000 }));
  const sent = await gate.send('/v1/responses', { body });
  assert.equal((await gate.row(sent))?.adapted, far.adapted.join(','), 'as the turn itself');
  assert.equal(platform.requests.splice(0)[0]?.json.reasoning.effort, 'low');
});

test('[AA85] [AA18] the reasons of a body: what it needs, its window, its tier and its key', async () => {
  const lacks = async (body: JsonObject, key = 'ci') => of(await asked({ key }, body), 'lack');
  assert.deepEqual(await lacks(request({ input: [user(image)] })), { north: [null], far: [null], box: ['modality'] });
  assert.deepEqual(await lacks(request({ tools: [look] })), { north: [null], far: [null], box: ['tools'] });
  const long = request({ input: [user(text('word '.repeat(40_000)))] });
  assert.deepEqual(await lacks(long), { north: [null], far: [null], box: ['window'] });
  assert.deepEqual(await lacks(request(), 'base'), { north: [null], far: ['no_overflow'], box: ['no_overflow'] });
  const dear = { input: 1_000_000, cached_input: 1_000_000, output: 1_000_000 };
  await gate.reconfigure((draft) => {
    configure(draft);
    draft.accounts[1].catalog[0].prices = dear;
  });
  assert.deepEqual(await lacks(request()), { north: [null], far: ['overflow_spent'], box: [null] });
  platform.reading.set('/v1/models', answers(200, { data: [{ id: 'own-a', context_length: 400_000 }] }));
  await gate.reconfigure((draft) => {
    configure(draft);
    Object.assign(draft.accounts[1], { catalog: [], read_models: 'all' });
  });
  const read = () => gate.catalogs().some(({ account, models }) => account === 'far' && models > 0);
  await until('the list was read', () => read() || undefined);
  assert.deepEqual(await lacks(request()), { north: [null], far: ['no_price'], box: [null] });
  await gate.reconfigure(configure);
  const refused = await asked({ key: 'ci' }, request({ input: 7 as never }));
  assert.match(refused.refused, /^400 invalid_request at input/);
  const drawn = await asked({ key: 'ci', path: '/v1/images/generations', model: 'model-a' });
  assert.deepEqual(of(drawn, 'lack'), { north: [null], far: ['kind'], box: ['kind'] });
});

test('[AA85] a body of Chat and of Messages is read as its surface reads it; one of a route without JSON is refused', async () => {
  const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }];
  const chat = await asked(
    { key: 'ci', path: '/v1/chat/completions' },
    { model: 'model-a', messages: [{ role: 'user', content: 'hi' }], tools, reasoning_effort: 'medium' },
  );
  assert.deepEqual(of(chat, 'lack', 'efforts'), {
    north: [null, { medium: 'medium' }],
    far: [null, { medium: 'low' }],
    box: ['tools', {}],
  });
  const message = await asked(
    { key: 'ci', path: '/v1/messages' },
    { model: 'claude-opus-5-5', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] },
  );
  assert.deepEqual([message.model, message.alias, message.refused], ['model-a', 'claude-*', null]);
  assert.deepEqual(of(message, 'lack'), { north: [null], far: [null], box: [null] });
  const files = await asked({ key: 'ci', path: '/v1/audio/transcriptions' }, {});
  assert.deepEqual([files.status, /has no JSON body/.test(files.error)], [400, true]);
  assert.deepEqual((await asked({ key: 'ci' }, [])).status, 400);
});

test('[AA85] [AA79] a body of embeddings is explained once its row is served, and an embedding model takes no turns', async () => {
  const embeds = (draft: Draft): void => {
    configure(draft);
    draft.accounts[2].catalog.push({ id: 'model-e', kind: 'embedding', prices: { ...PRICES } });
  };
  await gate.reconfigure(embeds);
  const body = { model: 'model-e', input: ['one', 'two'] };
  const path = '/v1/embeddings';
  assert.match((await asked({ key: 'ci', path }, body)).refused, /^404 unsupported_endpoint/);
  await gate.reconfigure((draft) => {
    embeds(draft);
    draft.routes = [
      { POST: path, status: 'supported', serve: 'embeddings' },
      { POST: '/v1/responses', status: 'translated', serve: 'public-responses', to: '/backend-api/agent/responses', class: 'stream' },
    ];
  });
  const turn = await asked({ key: 'ci', path }, body);
  assert.deepEqual([turn.model, turn.refused, turn.choice?.account], ['model-e', null, 'box']);
  assert.deepEqual(of(turn, 'lack', 'prices'), { north: ['kind', null], far: ['kind', null], box: [null, PRICES] });
  assert.match((await asked({ key: 'ci', path }, { ...body, input: [] })).refused, /^400 /);
  assert.match((await asked({ key: 'ci', model: 'model-e' })).refused, /^400 invalid_model: model-e makes embeddings/);
  await gate.reconfigure((draft) => {
    configure(draft);
    delete draft.routes;
  });
});

test('[AA77] [AA85] explain shows the chain of models, and where it would end now', async () => {
  const chainOf = async (): Promise<Draft> => (await asked({ key: 'ci', model: 'model-a' })).chain;
  const healthy = await chainOf();
  assert.equal(healthy.ends, 'model-a');
  assert.deepEqual(
    healthy.models.map(({ model, account }: Draft) => [model, account]),
    [
      ['model-a', 'north'],
      ['model-z', null],
      ['model-b', 'north'],
    ],
  );
  assert.match(healthy.models[1].why, /^400 invalid_model: no account of Pool team lists model-z/);
  gate.fail('north', 'model-a', failure('model'));
  assert.deepEqual(
    [(await chainOf()).ends, (await chainOf()).models[0].account],
    ['model-a', 'far'],
    'a higher tier comes before a fallback',
  );
  for (const account of ['far', 'box']) gate.fail(account, 'model-a', failure('quota', { retryAfterMs: 60_000 }));
  assert.deepEqual([(await chainOf()).ends, (await chainOf()).models[0].account], ['model-b', null]);
  const served = await gate.send('/v1/responses', { body: { model: 'model-a', input: 'hi' } });
  assert.equal(served.headers.get('x-poolgate-model'), 'model-b', 'as the turn itself');
  const anchored = await asked({ key: 'ci' }, request({ previous_response_id: served.json.id }));
  assert.equal(anchored.chain.ends, null, 'what continues a response stays with its model');
  const compacted = await asked({ key: 'ci' }, request({ input: [user(text('hi')), { type: 'compaction_trigger' }] }));
  assert.equal(compacted.chain, null, 'a compaction does not go on');
  gate.fail('north', 'model-b', failure('quota', { retryAfterMs: 60_000 }));
  assert.equal((await chainOf()).ends, null);
  assert.equal((await asked({ key: 'ci', model: 'model-b' })).chain, null);
});

test('[AA85] [AA82] nothing of a body is logged, stored or repeated, and no counter of turns moves', async () => {
  const marked = 'canary-of-a-body';
  const before = ['turns', 'attempts'].map((name) => gate.count(name as 'turns'));
  const body = request({
    instructions: marked,
    input: [user(text(marked))],
    metadata: { [marked]: marked },
    tools: [{ ...patch, name: marked }],
  });
  const turn = await asked({ key: 'ci' }, body);
  assert.equal(turn.refused, null);
  assert.ok(!JSON.stringify(turn).includes(marked));
  assert.ok(gate.logged.every((line) => !line.includes(marked)));
  assert.ok(!JSON.stringify(await gate.rows()).includes(marked));
  assert.deepEqual(
    ['turns', 'attempts'].map((name) => gate.count(name as 'turns')),
    before,
  );
});

test('[AA85] [AA77] the command prints it all for a file with a body', async (context) => {
  const config = fileWith(context, stringify({ admin: { port: Number(new URL(gate.adminUrl).port) }, accounts: [], pools: [], keys: [] }));
  const body = fileWith(context, JSON.stringify(request({ reasoning: { effort: 'medium' }, tools: [patch] })));
  const { code, out, err } = await poolgate(['explain', 'POST', '/v1/responses', '--body', body, '--config', config]);
  assert.equal(code, 0, err);
  assert.match(out, /\n {2}Pool team, any key, model model-a:\n/);
  assert.match(out, /\n {6}far {4}if lower tiers cannot: tier 1, /);
  assert.match(
    out,
    /\n {6} {5} {2}responses, preset xai; tier 1; 1\.25 USD in, 0\.125 cached, 10 out per million tokens; [\d.]+ of 20 USD of this day left/,
  );
  assert.match(out, /; effort medium as low; adapted: reasoning\.effort, tools\.custom\n/);
  assert.match(out, /\n {6}box {4}no: it has this model without tools: tools \(tools\)\n {6} {5} {2}chat, preset vllm; tier 2; 0 USD in/);
  assert.match(out, /\n {4}chain {5}model-a, then model-z, then model-b: ends at model-a now\n/);
  const wrong = await poolgate(['explain', 'POST', '/v1/responses', '--body', '/nowhere.json', '--config', config]);
  assert.deepEqual([wrong.code, wrong.err], [2, '/nowhere.json cannot be read\n']);
  const audio = await poolgate(['explain', 'POST', '/v1/audio/transcriptions', '--body', body, '--config', config]);
  assert.deepEqual([audio.code, /has no JSON body/.test(audio.err)], [2, true]);
});

test('[AA85] from the file alone explain has the APIs, tiers, prices and caps, and what an account cannot be asked', async (context) => {
  const base_url = 'http://127.0.0.1:9/v1';
  const file = fileWith(
    context,
    stringify({
      admin: false,
      accounts: [{ id: 'box', preset: 'vllm', base_url, catalog: [{ id: 'model-a', prices: PRICES }] }],
      pools: [{ id: 'team', overflow: { usd_per_day: 1 }, assignments: [{ account: 'box', tier: 1 }] }],
      keys: [],
    }),
  );
  const explained = async (path: string): Promise<Draft> =>
    JSON.parse((await poolgate(['explain', 'POST', path, '--model', 'model-a', '--json', '--config', file])).out).turns[0].accounts[0];
  const cap = { tier: null, window: 'day', max: 1, spent: null, left: null };
  const { api, preset, tier, prices, caps, lack } = await explained('/v1/responses');
  assert.deepEqual(
    { api, preset, tier, prices, caps, lack },
    { api: 'chat', preset: 'vllm', tier: 1, prices: PRICES, caps: [cap], lack: null },
  );
  assert.deepEqual((await explained('/backend-api/files')).lack, 'kind');
});

test('[AA85] [AM69] [AA77] explain_selection names the alias, the chain, and what each account is', async () => {
  const ask = async (model: string) => (await call(gate, 'explain_selection', { key: 'ci', model, endpoint: 'POST /v1/messages' })).now[0];
  const turn = await ask('claude-haiku-4-5');
  assert.deepEqual([turn.model, turn.alias, (await ask('model-a')).alias], ['model-a', 'claude-*', null]);
  assert.deepEqual([turn.chain.ends, turn.chain.models.length, turn.chosen], ['model-a', 3, 'north']);
  assert.deepEqual(of(turn, 'api', 'tier', 'lack', 'prices'), {
    north: ['agent', 0, null, null],
    far: ['responses', 1, null, PRICES],
    box: ['chat', 2, null, FREE],
  });
  assert.deepEqual(turn.accounts[1].caps[0].max, 20);
  assert.deepEqual(turn.accounts[1].efforts[2], { effort: 'medium', sent: 'low' });
  assert.ok(!JSON.stringify(turn).includes('127.0.0.1'), 'no address');
});
