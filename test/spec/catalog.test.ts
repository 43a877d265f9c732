// The two model lists over the wire: what stands in them, for whom, and the ETag that tells of a change.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { JsonObject } from '../../proxy/turn.ts';
import { type Draft, eventsOf, type Reply, startGateway, type TestGateway } from '../support/gateway.ts';
import { nativeCatalog } from '../support/native-catalog.ts';
import { modelEntry, replyBytes, replyJson, turnBody } from '../support/rehearsal-replies.ts';

const BACKEND = '/backend-api/agent/models';
const ALIAS = '/backend-api/agent/v1/models';
const PUBLIC = '/v1/models';
const TURNS = '/backend-api/agent/responses';

const window = (tokens: number): JsonObject => ({
  context_window: tokens,
  max_context_window: tokens,
  auto_compact_token_limit: Math.floor(tokens * 0.9),
});

/** Some are good, some are half good, some are what a provider should never send. */
const NORTH: readonly unknown[] = [
  modelEntry({ slug: 'model-a', comp_hash: 'h1', novel: { kept: [1, 2.5, 'x'] }, ...window(272_000) }),
  modelEntry({ slug: 'model-b', use_responses_lite: true, ...window(872_000) }),
  modelEntry({ slug: 'split', ...window(100_000) }),
  modelEntry({ slug: 'lite-on-one', ...window(64_000) }),
  null,
  'model-z',
  { slug: 7 },
  { display_name: 'nameless' },
  modelEntry({ slug: 'bad-window', context_window: '272000' as never }),
  modelEntry({ slug: 'bad-percent', effective_context_window_percent: 0 }),
  modelEntry({ slug: 'lone-surrogate', description: '\ud800' }),
  modelEntry({ slug: 'fraction', priority: 1.5 }),
  modelEntry({ slug: 'said-true', use_responses_lite: 'true' }),
  modelEntry({ slug: 'said-one', use_responses_lite: 1 }),
  modelEntry({ slug: 'said-map', use_responses_lite: { north: true } }),
  modelEntry({ slug: 'inner', ...window(50_000) }),
  { id: 'bare' },
  modelEntry({ slug: 'model-a', description: 'the second of its name', ...window(1_000) }),
];

const SOUTH: readonly JsonObject[] = [
  modelEntry({ slug: 'split', description: 'south', comp_hash: 'h2', ...window(200_000) }),
  modelEntry({ slug: 'lite-on-one', use_responses_lite: true, ...window(64_000) }),
  modelEntry({ slug: 'south-only', ...window(128_000) }),
];

const WEST: readonly JsonObject[] = [modelEntry({ slug: 'split', description: 'west', comp_hash: 'h2', ...window(200_000) })];

const digest = (secret: string): string => hash('sha256', secret, 'hex');

/** A key of the Pool with this policy; its secret is its id. */
const key = (id: string, policy: JsonObject): JsonObject => ({ id, pool: 'team', secret_sha256: [digest(id)], ...policy });

const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null;

const gate = await startGateway({
  upstream: {
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
// What is no object cannot be configured, so the provider says it in an answer of its own.
await reread(gate, { north: catalogAnswer({ models: NORTH }) });

const as = (id: string): { headers: Record<string, string> } => ({ headers: { authorization: `Bearer ${id}` } });
const backend = async (on: TestGateway = gate, init = {}): Promise<ReadonlyMap<string, JsonObject>> =>
  nativeCatalog((await on.send(BACKEND, init)).text);
const listed = async (on: TestGateway = gate, init = {}): Promise<ReadonlyMap<string, JsonObject>> =>
  new Map((await on.send(PUBLIC, init)).json.data.map((entry: JsonObject) => [entry.id, entry]));

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

test('[MC1] bad entries cost themselves, and half good ones their place in the backend list alone', async () => {
  assert.deepEqual(
    [...(await backend()).keys()],
    ['model-a', 'model-b', 'split', 'lite-on-one', 'said-true', 'said-one', 'said-map', 'outer', 'south-only'],
  );
  assert.deepEqual(
    [...(await listed()).keys()],
    ['model-a', 'model-b', 'split', 'lite-on-one', 'fraction', 'said-true', 'said-one', 'said-map', 'outer', 'bare', 'south-only'],
  );
});

test('[MC2] use_responses_lite is a literal boolean, true for literal true alone', async () => {
  const models = await backend();
  const lite = [...models].filter(([, { use_responses_lite }]) => use_responses_lite === true).map(([slug]) => slug);
  assert.deepEqual(lite, ['model-b', 'lite-on-one']);
  assert.ok([...models.values()].every(({ use_responses_lite }) => typeof use_responses_lite === 'boolean'));
});

test('[MC3] where accounts differ, every field comes from the one canonical cohort', async () => {
  assert.deepEqual((await backend()).get('split'), { ...SOUTH[0], use_responses_lite: false });
});

test('[MC5] the backend list has the raw window, /v1/models what the percent leaves of it', async () => {
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

test('[MC6] accounts that differ in Lite support alone are one cohort', async () => {
  assert.equal((await backend()).get('lite-on-one')?.context_window, 64_000);
  const { preferred } = gate.gateway.models.candidates(gate.gateway.loaded.config.pools[0] as never, 'lite-on-one');
  assert.deepEqual(preferred, ['north', 'south']);
});

test('[ML1] a model without context metadata has an id and no context_length', async () => {
  assert.deepEqual((await listed()).get('bare'), { id: 'bare', object: 'model', created: 0, owned_by: 'poolgate' });
});

test('[ML2] /v1/models has nothing of the backend, of serving modes, or of output tokens', async () => {
  const { json } = await gate.send(PUBLIC);
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
  for (const path of [BACKEND, ALIAS, PUBLIC]) assert.equal((await gate.send(path)).status, 200);
  assert.equal(gate.upstream.requests().length, before);
});

test('[A7] the models alias answers the very same, backend-only fields included', async () => {
  const [target, alias] = [await gate.send(BACKEND), await gate.send(ALIAS)];
  assert.deepEqual([alias.text, alias.headers.get('etag')], [target.text, target.headers.get('etag')]);
});

test('[A2] both lists show what the allow-list of the key permits', async () => {
  for (const [id, models] of [
    ['two-models', ['model-b', 'split']],
    ['no-models', []],
  ] as const) {
    assert.deepEqual([...(await backend(gate, as(id))).keys()], models);
    assert.deepEqual([...(await listed(gate, as(id))).keys()], models);
  }
});

for (const [id, levels, preferred] of [
  ['up-to-medium', ['low', 'medium'], 'medium'],
  ['up-to-minimal', [], undefined],
  ['always-high', ['high'], 'high'],
  ['always-xhigh', [], undefined],
] as const) {
  test(`[F4.6] the catalog of a key that is ${id} shows its levels and default, and loses no model`, async () => {
    const [models, all] = [await backend(gate, as(id)), await backend()];
    const entry = models.get('model-a') as { supported_reasoning_levels: { effort: string }[]; default_reasoning_level?: string };
    assert.deepEqual([entry.supported_reasoning_levels.map(({ effort }) => effort), entry.default_reasoning_level], [levels, preferred]);
    assert.deepEqual([...models.keys()], [...all.keys()]);
    assert.equal((await gate.send(PUBLIC, as(id))).text, (await gate.send(PUBLIC)).text);
  });
}

test('[A1] the ETag is weak, and derived from the body alone', async () => {
  const { text, headers } = await gate.send(BACKEND);
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
  const etag = async (init = {}): Promise<string | null> => (await gate.send(BACKEND, init)).headers.get('etag');
  const tags = await Promise.all([etag(), etag(as('two-models')), etag(as('up-to-medium')), etag(as('always-high'))]);
  assert.equal(new Set(tags).size, 4);
  assert.equal(await etag(as('up-to-minimal')), await etag(as('always-xhigh')), 'equal bodies, equal ETags');
});

test('[A1] If-None-Match gets 304 with the ETag and no body, on both routes, weak or strong', async () => {
  const etag = (await gate.send(BACKEND)).headers.get('etag') ?? '';
  for (const path of [BACKEND, ALIAS]) {
    for (const condition of [etag, etag.slice(2), `"other", ${etag}`, '*']) {
      const { status, text, headers } = await gate.send(path, { headers: { 'if-none-match': condition } });
      assert.deepEqual([status, text, headers.get('etag')], [304, '', etag], condition);
    }
    assert.equal((await gate.send(path, { headers: { 'if-none-match': 'W/"other"' } })).status, 200);
  }
});

test('[A1] x-models-etag of a native turn, streamed or not, is the ETag of the lists, byte for byte', async () => {
  const etag = (await gate.send(BACKEND)).headers.get('etag');
  for (const path of [TURNS, '/backend-api/agent/v1/responses']) {
    for (const stream of [true, false]) {
      const reply = await gate.send(path, { body: turnBody('hello', { stream }) });
      assert.deepEqual([reply.status, reply.headers.get('x-models-etag')], [200, etag]);
    }
  }
  const forKey = await gate.send(TURNS, { body: turnBody('hello', { model: 'model-b', tools: [] }), ...as('two-models') });
  assert.equal(forKey.headers.get('x-models-etag'), (await gate.send(BACKEND, as('two-models'))).headers.get('etag'));
});

test('[F1.5] a model that its account calls otherwise stands under the exposed id, and goes out under the other', async () => {
  assert.deepEqual((await backend()).get('outer'), { ...modelEntry({ slug: 'inner', ...window(50_000) }), slug: 'outer' });
  gate.upstream.clear();
  const { text } = await gate.send('/v1/responses', { body: { model: 'outer', input: 'hi', stream: true } });
  assert.equal(bodyOf(gate).model, 'inner');
  assert.doesNotMatch(text, /inner/);
  assert.equal(eventsOf(text)[0]?.data.response.model, 'outer');
  assert.equal((await gate.send('/v1/responses', { body: { model: 'inner', input: 'hi' } })).json.error.code, 'invalid_model');
});

const SHAPES: readonly (readonly [string, (models: readonly JsonObject[]) => unknown])[] = [
  ['{models: […]}', (models) => ({ models })],
  ['{data: […]}', (data) => ({ object: 'list', data })],
  ['a bare list', (models) => models],
];

/** Makes the accounts be read again, with these answers. */
async function reread(
  on: TestGateway,
  answers: Readonly<Record<string, ReturnType<typeof replyBytes>>>,
  edit: (draft: Draft) => void = () => undefined,
): Promise<void> {
  for (const [account, answer] of Object.entries(answers)) on.upstream.nextOn(account, BACKEND, answer);
  await on.reconfigure(edit);
}

function catalogAnswer(body: unknown): ReturnType<typeof replyJson> {
  return replyJson(body as JsonObject);
}

test('[MC1] a provider may answer in three shapes', async () => {
  await using own = await startGateway({ upstream: { accounts: ['north'] } });
  for (const [name, shape] of SHAPES) {
    await reread(own, { north: catalogAnswer(shape([modelEntry({ slug: `of ${name}`.replaceAll(/\W+/g, '-') }), { id: 'bare' }])) });
    assert.deepEqual([...(await listed(own)).keys()], [`of ${name}`.replaceAll(/\W+/g, '-'), 'bare']);
  }
});

test('[VE1] what a native client could see of a change moves the ETag, and what it could not leaves it', async () => {
  await using own = await startGateway({ upstream: { accounts: ['north'] } });
  const entries = [modelEntry({ slug: 'model-a' }), modelEntry({ slug: 'model-b' })] as const;
  const etagAfter = async (models: readonly JsonObject[]): Promise<string | null> => {
    await reread(own, { north: catalogAnswer({ models }) });
    return (await own.send(BACKEND)).headers.get('etag');
  };
  const first = await etagAfter(entries);
  assert.equal(await etagAfter(entries.map((entry) => Object.fromEntries(Object.entries(entry).reverse()))), first, 'the order of members');
  assert.equal(await etagAfter([...entries, { id: 'bare' }, { slug: 7 }]), first, 'entries that are not shown');
  const moved = [
    await etagAfter([entries[0]]),
    await etagAfter([entries[0], { ...entries[1], description: 'new' }]),
    await etagAfter([entries[0], { ...entries[1], use_responses_lite: true }]),
    await etagAfter([entries[0], { ...entries[1], context_window: 1000 }]),
    await etagAfter([entries[1], entries[0]]),
  ];
  assert.equal(new Set([first, ...moved]).size, 6);
  assert.equal(await etagAfter(entries), first, 'and back');
});

test('[VE1] two gateways on the same accounts answer the same bytes under the same ETag', async () => {
  const options = { upstream: { accounts: ['north', 'south'] } };
  await using one = await startGateway(options);
  await using other = await startGateway(options);
  const told = async (on: TestGateway): Promise<unknown> => {
    const { text, headers } = await on.send(BACKEND);
    return [text, headers.get('etag')];
  };
  assert.deepEqual(await told(one), await told(other));
});

test('[A1] a restart answers the same ETag from the store, before any account has been read again', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'poolgate-'));
  try {
    const store = `sqlite:${join(folder, 'gate.db')}`;
    const first = await startGateway({ store, upstream: { accounts: ['north'] } });
    const before = await first.send(BACKEND);
    await first.close();
    const silent = modelEntry({ slug: 'never-read' });
    await using again = await startGateway({
      store,
      upstream: { accounts: [{ id: 'north', models: [silent], credential: 'another' }] },
    });
    const now = await again.send(BACKEND);
    assert.deepEqual([now.text, now.headers.get('etag')], [before.text, before.headers.get('etag')]);
    assert.equal(again.upstream.requests()[0]?.path, BACKEND, 'the account was asked, and refused');
  } finally {
    await rm(folder, { recursive: true });
  }
});

const refusedModel = ({ status, json }: Reply): unknown => [status, json?.error?.code, json?.error?.param];

test('[MC7] a retired model leaves both lists and is unknown to turns; a failed read retires nothing', async () => {
  await using own = await startGateway({ upstream: { accounts: ['north'] } });
  await reread(own, { north: replyJson({ error: {} }, { status: 503 }) });
  assert.ok((await backend(own)).has('model-b'), 'stale');
  await reread(own, { north: replyBytes('<html>', { headers: { 'content-type': 'text/html' } }) });
  assert.ok((await listed(own)).has('model-b'), 'stale');
  await reread(own, { north: catalogAnswer({ models: [modelEntry({ slug: 'model-a' })] }) });
  assert.deepEqual([[...(await backend(own)).keys()], [...(await listed(own)).keys()]], [['model-a'], ['model-a']]);
  own.upstream.nextOn('north', BACKEND, catalogAnswer({ models: [modelEntry({ slug: 'model-a' })] }));
  assert.deepEqual(refusedModel(await own.send('/v1/responses', { body: { model: 'model-b', input: 'hi' } })), [
    400,
    'invalid_model',
    'model',
  ]);
  assert.equal(own.upstream.turns().length, 0);
});

test('[MC7] a suppressed model leaves both lists and is unknown to turns, and returns as it was', async () => {
  await using own = await startGateway({ upstream: { accounts: ['north'] } });
  const before = await own.send(BACKEND);
  await own.reconfigure((draft) => {
    draft.pools[0].models = { 'model-b': { suppressed: true } };
  });
  assert.deepEqual([(await backend(own)).has('model-b'), (await listed(own)).has('model-b')], [false, false]);
  for (const path of ['/v1/responses', TURNS]) {
    assert.deepEqual(refusedModel(await own.send(path, { body: turnBody('hi', { model: 'model-b' }) })), [400, 'invalid_model', 'model']);
  }
  await own.reconfigure((draft) => {
    draft.pools[0].models = {};
  });
  const now = await own.send(BACKEND);
  assert.deepEqual([now.text, now.headers.get('etag')], [before.text, before.headers.get('etag')]);
  assert.equal(own.upstream.turns().length, 0);
});

test('[MC4] the window is the override, else the bucket, then the percent; the serving mode changes none of it', async () => {
  const models = [
    modelEntry({ slug: 'override', ...window(272_000) }),
    modelEntry({ slug: 'long', context_window: 272_000, max_context_window: 872_000, auto_compact_token_limit: 272_000 }),
    modelEntry({ slug: 'short', ...window(272_000) }),
    modelEntry({ slug: 'plain', context_window: 272_000, max_context_window: 872_000 }),
    modelEntry({ slug: 'percent', effective_context_window_percent: 50, ...window(1001) }),
  ];
  await using own = await startGateway({
    upstream: { accounts: [{ id: 'north', models }] },
    config: (draft: Draft) => {
      draft.pools[0].models = {
        override: { context_window: 400_000, pricing_bucket: 'short_context' },
        long: { pricing_bucket: 'long_context' },
        short: { pricing_bucket: 'short_context' },
      };
    },
  });
  const told = async (): Promise<unknown> => {
    const [entries, data] = [await backend(own), await listed(own)];
    return Object.fromEntries(
      [...entries].map(([slug, entry]) => [
        slug,
        [entry.context_window, entry.max_context_window, entry.auto_compact_token_limit, data.get(slug)?.context_length],
      ]),
    );
  };
  const windows = {
    override: [400_000, 400_000, 244_800, 380_000],
    long: [872_000, 872_000, 272_000, 828_400],
    short: [128_000, 272_000, 115_200, 121_600],
    plain: [272_000, 872_000, 244_800, 258_400],
    percent: [1001, 1001, 900, 500],
  };
  assert.deepEqual(await told(), windows);
  for (const mode of ['lite', 'full']) {
    await own.reconfigure((draft) => {
      draft.pools[0].serving_modes = Object.fromEntries(models.map(({ slug }) => [slug, mode]));
    });
    assert.deepEqual(await told(), windows, mode);
  }
});
