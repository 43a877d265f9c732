// The two model lists over the wire: their content, the keys that see it, and their ETag.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { after, test } from 'node:test';
import { isObject, type JsonObject } from '../../../proxy/turn/json/json.ts';
import { type Draft, startGateway, type TestGateway } from '../../support/gateway.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { modelEntry, turnBody } from '../../support/rehearsal-replies.ts';
import {
  BACKEND_MODELS,
  BACKEND_MODELS_ALIAS,
  backendModels,
  catalogAnswer,
  PUBLIC_MODELS,
  publicModels,
  reread,
  windowOf,
} from '../../support/stages/model-lists.ts';

const TURNS = '/backend-api/agent/responses';

/** Some of these entries are valid, some are partly valid, and some are entries that a provider should never send. */
const NORTH: readonly unknown[] = [
  modelEntry({ slug: 'model-a', comp_hash: 'h1', novel: { kept: [1, 2.5, 'x'] }, ...windowOf(272_000) }),
  modelEntry({ slug: 'model-b', use_responses_lite: true, ...windowOf(872_000) }),
  modelEntry({ slug: 'split', ...windowOf(100_000) }),
  modelEntry({ slug: 'lite-on-one', ...windowOf(64_000) }),
  null,
  'model-z',
  { slug: 7 },
  { display_name: 'nameless' },
  modelEntry({ slug: 'bad-window', context_window: '272000' as never }),
  modelEntry({ slug: 'bad-percent', effective_context_window_percent: 0 }),
  modelEntry({ slug: 'lone-surrogate', description: '\ud800' }),
  modelEntry({ slug: 'fraction', priority: 1.5 }),
  modelEntry({ slug: 'odd-flag', supports_parallel_tool_calls: 'yes' }),
  modelEntry({ slug: 'said-true', use_responses_lite: 'true' }),
  modelEntry({ slug: 'said-one', use_responses_lite: 1 }),
  modelEntry({ slug: 'said-map', use_responses_lite: { north: true } }),
  modelEntry({ slug: 'inner', ...windowOf(50_000) }),
  { id: 'bare' },
  modelEntry({ slug: 'model-a', description: 'the second of its name', ...windowOf(1_000) }),
];

const SOUTH: readonly JsonObject[] = [
  modelEntry({ slug: 'split', description: 'south', comp_hash: 'h2', ...windowOf(200_000) }),
  modelEntry({ slug: 'lite-on-one', use_responses_lite: true, ...windowOf(64_000) }),
  modelEntry({ slug: 'south-only', ...windowOf(128_000) }),
];

const WEST: readonly JsonObject[] = [modelEntry({ slug: 'split', description: 'west', comp_hash: 'h2', ...windowOf(200_000) })];

const digest = (secret: string): string => hash('sha256', secret, 'hex');

/** A key of the Pool with this policy; its secret is its id. */
const key = (id: string, policy: JsonObject): JsonObject => ({ id, pool: 'team', secret_sha256: [digest(id)], ...policy });

const gate = await startGateway({
  upstream: {
    manners: { streamedUnstoredLists: false },
    accounts: [
      { id: 'north', models: NORTH.filter(isObject) },
      { id: 'south', models: SOUTH },
      { id: 'west', models: WEST },
    ],
  },
  config: (draft: Draft) => {
    draft.accounts[0].models = { outer: 'inner' };
    draft.keys.push(
      key('two-models', { models: ['model-b', 'split'] }),
      key('no-models', { models: [] }),
      key('up-to-medium', { reasoning_effort: { allow_up_to: 'medium' } }),
      key('up-to-minimal', { reasoning_effort: { allow_up_to: 'minimal' } }),
      key('always-high', { reasoning_effort: { always: 'high' } }),
      key('always-xhigh', { reasoning_effort: { always: 'xhigh' } }),
    );
  },
});
after(() => gate.close());
// The configuration allows only objects as entries, so the provider sends the other values in its own answer.
await reread(gate, { north: catalogAnswer({ models: NORTH }) });

const as = (id: string): { headers: Record<string, string> } => ({ headers: { authorization: `Bearer ${id}` } });
const backend = (init = {}) => backendModels(gate, init);
const listed = (init = {}) => publicModels(gate, init);

/** The body of the one turn that arrived. */
function bodyOf(on: TestGateway): JsonObject {
  const [turn] = on.upstream.turns();
  assert.ok(isObject(turn?.json));
  return turn.json;
}

test('[MC1] a native client reads the whole catalog, with the fields of the contract and everything else as the provider sent it', async () => {
  const entry = (await backend()).get('model-a');
  assert.deepEqual(entry, { ...(NORTH[0] as JsonObject), use_responses_lite: false });
});

test('[MC1] only the invalid entry is left out, and an incomplete one is left out of the backend list only', async () => {
  assert.deepEqual(
    [...(await backend()).keys()],
    ['model-a', 'model-b', 'split', 'lite-on-one', 'said-true', 'said-one', 'said-map', 'outer', 'south-only'],
  );
  assert.deepEqual(
    [...(await listed()).keys()],
    [
      'model-a',
      'model-b',
      'split',
      'lite-on-one',
      'fraction',
      'odd-flag',
      'said-true',
      'said-one',
      'said-map',
      'outer',
      'bare',
      'south-only',
    ],
  );
});

test('[MC2] use_responses_lite is a literal boolean, true only for literal true', async () => {
  const models = await backend();
  const lite = [...models].filter(([, { use_responses_lite }]) => use_responses_lite === true).map(([slug]) => slug);
  assert.deepEqual(lite, ['model-b', 'lite-on-one']);
  assert.ok([...models.values()].every(({ use_responses_lite }) => typeof use_responses_lite === 'boolean'));
});

test('[MC3] where accounts differ, every field comes from the one canonical cohort', async () => {
  assert.deepEqual((await backend()).get('split'), { ...SOUTH[0], use_responses_lite: false });
});

test('[MC5] the backend list has the raw window, /v1/models the window after the percentage', async () => {
  const [models, data] = [await backend(), await listed()];
  const seen = ['model-a', 'model-b'].map((id) => [
    models.get(id)?.context_window,
    models.get(id)?.effective_context_window_percent,
    data.get(id)?.context_length,
  ]);
  assert.deepEqual(seen, [
    [272_000, 95, 258_400],
    [872_000, 95, 828_400],
  ]);
});

test('[MC6] accounts that differ only in Lite support are one cohort: a turn goes to either, in the one mode of the pair', async () => {
  assert.equal((await backend()).get('lite-on-one')?.context_window, 64_000);
  gate.upstream.clear();
  for (const account of ['north', 'south']) gate.upstream.next(account, 'refuse 503');
  await gate.send(TURNS, { body: turnBody('hi', { model: 'lite-on-one' }) });
  const turns = gate.upstream.turns();
  assert.deepEqual(turns.map(({ account }) => account).sort(), ['north', 'south']);
  assert.ok(turns.every(({ headers }) => headers['x-internal-agent-responses-lite'] === 'true'));
});

test('[ML1] a model without context metadata has an id and no context_length', async () => {
  assert.deepEqual((await listed()).get('bare'), { id: 'bare', object: 'model', created: 0, owned_by: 'poolgate' });
});

test('[ML2] /v1/models has nothing of the backend, of serving modes, or of output tokens', async () => {
  const { json } = await gate.send(PUBLIC_MODELS);
  assert.equal(json.object, 'list');
  for (const entry of json.data) {
    assert.deepEqual(
      Object.keys(entry).filter((member) => !['id', 'object', 'created', 'owned_by', 'context_length'].includes(member)),
      [],
    );
  }
});

test('[ML3] neither list makes an upstream request', async () => {
  const before = gate.upstream.requests().length;
  for (const path of [BACKEND_MODELS, BACKEND_MODELS_ALIAS, PUBLIC_MODELS]) assert.equal((await gate.send(path)).status, 200);
  assert.equal(gate.upstream.requests().length, before);
});

test('[A7] the models alias gives the same answer, backend-only fields included', async () => {
  const [target, alias] = [await gate.send(BACKEND_MODELS), await gate.send(BACKEND_MODELS_ALIAS)];
  assert.deepEqual([alias.text, alias.headers.get('etag')], [target.text, target.headers.get('etag')]);
});

test('[A2] both lists show what the allow-list of the key permits', async () => {
  for (const [id, models] of [
    ['two-models', ['model-b', 'split']],
    ['no-models', []],
  ] as const) {
    assert.deepEqual([...(await backend(as(id))).keys()], models);
    assert.deepEqual([...(await listed(as(id))).keys()], models);
  }
});

for (const [id, levels, preferred] of [
  ['up-to-medium', ['low', 'medium'], 'medium'],
  ['up-to-minimal', [], undefined],
  ['always-high', ['high'], 'high'],
  ['always-xhigh', [], undefined],
] as const) {
  test(`[F4.6] the catalog of a key that is ${id} shows its levels and default, and loses no model`, async () => {
    const [models, all] = [await backend(as(id)), await backend()];
    const entry = models.get('model-a') as { supported_reasoning_levels: { effort: string }[]; default_reasoning_level?: string };
    assert.deepEqual([entry.supported_reasoning_levels.map(({ effort }) => effort), entry.default_reasoning_level], [levels, preferred]);
    assert.deepEqual([...models.keys()], [...all.keys()]);
    assert.equal((await gate.send(PUBLIC_MODELS, as(id))).text, (await gate.send(PUBLIC_MODELS)).text);
  });
}

test('[A1] the ETag is weak, and derived from the body only', async () => {
  const { text, headers } = await gate.send(BACKEND_MODELS);
  const sorted = (value: unknown): unknown =>
    Array.isArray(value)
      ? value.map(sorted)
      : typeof value === 'object' && value !== null
        ? Object.fromEntries(
            Object.entries(value)
              .sort(([a], [b]) => (a < b ? -1 : 1))
              .map(([name, member]) => [name, sorted(member)]),
          )
        : value;
  assert.equal(headers.get('etag'), `W/"${digest(JSON.stringify(sorted(JSON.parse(text))))}"`);
});

test('[A1] keys of another policy have another ETag, keys of the same policy the same', async () => {
  const etag = async (init = {}): Promise<string | null> => (await gate.send(BACKEND_MODELS, init)).headers.get('etag');
  const tags = await Promise.all([etag(), etag(as('two-models')), etag(as('up-to-medium')), etag(as('always-high'))]);
  assert.equal(new Set(tags).size, 4);
  assert.equal(await etag(as('up-to-minimal')), await etag(as('always-xhigh')), 'equal bodies, equal ETags');
});

test('[A1] If-None-Match gets 304 with the ETag and no body, on both routes, weak or strong', async () => {
  const etag = (await gate.send(BACKEND_MODELS)).headers.get('etag') ?? '';
  for (const path of [BACKEND_MODELS, BACKEND_MODELS_ALIAS]) {
    for (const condition of [etag, etag.slice(2), `"other", ${etag}`, '*']) {
      const { status, text, headers } = await gate.send(path, { headers: { 'if-none-match': condition } });
      assert.deepEqual([status, text, headers.get('etag')], [304, '', etag], condition);
    }
    assert.equal((await gate.send(path, { headers: { 'if-none-match': 'W/"other"' } })).status, 200);
  }
});

test('[A1] x-models-etag of a native turn, streamed or not, is the ETag of the lists, byte for byte', async () => {
  const etag = (await gate.send(BACKEND_MODELS)).headers.get('etag');
  for (const path of [TURNS, '/backend-api/agent/v1/responses']) {
    for (const stream of [true, false]) {
      const reply = await gate.send(path, { body: turnBody('hello', { stream }) });
      assert.deepEqual([reply.status, reply.headers.get('x-models-etag')], [200, etag]);
    }
  }
  const forKey = await gate.send(TURNS, { body: turnBody('hello', { model: 'model-b', tools: [] }), ...as('two-models') });
  assert.equal(forKey.headers.get('x-models-etag'), (await gate.send(BACKEND_MODELS, as('two-models'))).headers.get('etag'));
});

test('[F1.5] a model with another name at its account is listed under the exposed id, and sent under the account’s name', async () => {
  assert.deepEqual((await backend()).get('outer'), { ...modelEntry({ slug: 'inner', ...windowOf(50_000) }), slug: 'outer' });
  gate.upstream.clear();
  const { text } = await gate.send('/v1/responses', { body: { model: 'outer', input: 'hi', stream: true } });
  assert.equal(bodyOf(gate).model, 'inner');
  assert.doesNotMatch(text, /inner/);
  assert.equal(eventsOf(text)[0]?.data.response.model, 'outer');
  assert.equal((await gate.send('/v1/responses', { body: { model: 'inner', input: 'hi' } })).json.error.code, 'invalid_model');
});
