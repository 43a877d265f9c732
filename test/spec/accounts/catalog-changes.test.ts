// Catalogs over the wire that change with the accounts, the configuration or a restart, and the ETag that shows the change.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { ShiftedClock } from '../../support/clocks/shifted-clock.ts';
import { type Draft, type Reply, startGateway, type TestGateway } from '../../support/gateway.ts';
import { modelEntry, replyBytes, replyJson, turnBody } from '../../support/rehearsal-replies.ts';
import { BACKEND_MODELS, backendModels, catalogAnswer, publicModels, reread, windowOf } from '../../support/stages/model-lists.ts';

const TURNS = '/backend-api/agent/responses';

const SHAPES: readonly (readonly [string, (models: readonly JsonObject[]) => unknown])[] = [
  ['{models: […]}', (models) => ({ models })],
  ['{data: […]}', (data) => ({ object: 'list', data })],
  ['a bare list', (models) => models],
];

test('[MC1] a provider may answer in three shapes', async () => {
  await using own = await startGateway({ upstream: { accounts: ['north'] } });
  for (const [name, shape] of SHAPES) {
    await reread(own, { north: catalogAnswer(shape([modelEntry({ slug: `of ${name}`.replaceAll(/\W+/g, '-') }), { id: 'bare' }])) });
    assert.deepEqual([...(await publicModels(own)).keys()], [`of ${name}`.replaceAll(/\W+/g, '-'), 'bare']);
  }
});

test('[VE1] a change that a native client could see changes the ETag, and any other change does not', async () => {
  await using own = await startGateway({ upstream: { accounts: ['north'] } });
  const entries = [modelEntry({ slug: 'model-a' }), modelEntry({ slug: 'model-b' })] as const;
  const etagAfter = async (models: readonly JsonObject[]): Promise<string | null> => {
    await reread(own, { north: catalogAnswer({ models }) });
    return (await own.send(BACKEND_MODELS)).headers.get('etag');
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
    const { text, headers } = await on.send(BACKEND_MODELS);
    return [text, headers.get('etag')];
  };
  assert.deepEqual(await told(one), await told(other));
});

test('[A1] a restart answers the same ETag from the store, before any account has been read again', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'poolgate-'));
  try {
    const store = `sqlite:${join(folder, 'gate.db')}`;
    const first = await startGateway({ store, upstream: { accounts: ['north'] } });
    const before = await first.send(BACKEND_MODELS);
    await first.close();
    const silent = modelEntry({ slug: 'never-read' });
    await using again = await startGateway({
      store,
      upstream: { accounts: [{ id: 'north', models: [silent], credential: 'another' }] },
    });
    const now = await again.send(BACKEND_MODELS);
    assert.deepEqual([now.text, now.headers.get('etag')], [before.text, before.headers.get('etag')]);
    assert.equal(again.upstream.requests()[0]?.path, BACKEND_MODELS, 'the account was asked, and refused');
  } finally {
    await rm(folder, { recursive: true });
  }
});

const refusedModel = ({ status, json }: Reply): unknown => [status, json?.error?.code, json?.error?.param];

test('[MC7] a retired model leaves both lists and is unknown to turns; a failed read retires nothing', async () => {
  await using own = await startGateway({ upstream: { accounts: ['north'] } });
  await reread(own, { north: replyJson({ error: {} }, { status: 503 }) });
  assert.ok((await backendModels(own)).has('model-b'), 'stale');
  await reread(own, { north: replyBytes('<html>', { headers: { 'content-type': 'text/html' } }) });
  assert.ok((await publicModels(own)).has('model-b'), 'stale');
  const failures = own.logged.map((line) => JSON.parse(line)).filter(({ event }) => event === 'catalog_read_failed');
  assert.deepEqual(
    failures.map(({ account, failure, status }) => [account, failure, status]),
    [
      ['north', 'status', 503],
      ['north', 'malformed', 200],
    ],
  );
  await reread(own, { north: catalogAnswer({ models: [modelEntry({ slug: 'model-a' })] }) });
  assert.deepEqual([[...(await backendModels(own)).keys()], [...(await publicModels(own)).keys()]], [['model-a'], ['model-a']]);
  own.upstream.nextOn('north', BACKEND_MODELS, catalogAnswer({ models: [modelEntry({ slug: 'model-a' })] }));
  assert.deepEqual(refusedModel(await own.send('/v1/responses', { body: { model: 'model-b', input: 'hi' } })), [
    400,
    'invalid_model',
    'model',
  ]);
  assert.equal(own.upstream.turns().length, 0);
});

test('[MC7] a suppressed model leaves both lists and is unknown to turns, and returns unchanged', async () => {
  await using own = await startGateway({ upstream: { accounts: ['north'] } });
  const before = await own.send(BACKEND_MODELS);
  await own.reconfigure((draft) => {
    draft.pools[0].models = { 'model-b': { suppressed: true } };
  });
  assert.deepEqual([(await backendModels(own)).has('model-b'), (await publicModels(own)).has('model-b')], [false, false]);
  for (const path of ['/v1/responses', TURNS]) {
    assert.deepEqual(refusedModel(await own.send(path, { body: turnBody('hi', { model: 'model-b' }) })), [400, 'invalid_model', 'model']);
  }
  await own.reconfigure((draft) => {
    draft.pools[0].models = {};
  });
  const now = await own.send(BACKEND_MODELS);
  assert.deepEqual([now.text, now.headers.get('etag')], [before.text, before.headers.get('etag')]);
  assert.equal(own.upstream.turns().length, 0);
});

test('[MC4] the window is the override, else the bucket, then the percentage; the serving mode has no effect on it', async () => {
  const models = [
    modelEntry({ slug: 'override', ...windowOf(272_000) }),
    modelEntry({ slug: 'long', context_window: 272_000, max_context_window: 872_000, auto_compact_token_limit: 272_000 }),
    modelEntry({ slug: 'short', ...windowOf(272_000) }),
    modelEntry({ slug: 'plain', context_window: 272_000, max_context_window: 872_000 }),
    modelEntry({ slug: 'percent', effective_context_window_percent: 50, ...windowOf(1001) }),
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
    const [entries, data] = [await backendModels(own), await publicModels(own)];
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

test('[ER1] until a catalog of its Pool was read, a turn gets a 503, which its client may retry, in place of `invalid_model`', async () => {
  const clock = new ShiftedClock();
  let isDown = true;
  await using gate = await startGateway({
    clock,
    upstream: { accounts: ['north', 'south'], script: ({ path }) => (path.endsWith('/models') && isDown ? 'refuse 503' : undefined) },
  });
  const turn = { body: { model: 'model-a', input: 'hello' } };
  const { status, headers, json } = await gate.send('/v1/responses', turn);
  assert.deepEqual([status, json.error.code, headers.get('retry-after')], [503, 'no_eligible_account', '1']);
  isDown = false;
  clock.setAhead(61_000);
  assert.equal((await gate.send('/v1/responses', turn)).status, 200);
  const unknown = await gate.send('/v1/responses', { body: { ...turn.body, model: 'model-z' } });
  assert.deepEqual([unknown.status, unknown.json.error.code], [400, 'invalid_model']);
});

test('[VE1] a turn for a model that a provider has just published is served, and the lists have it from then on', async () => {
  const [old, fresh] = [modelEntry({ slug: 'model-a' }), modelEntry({ slug: 'fresh' })];
  await using own = await startGateway({ upstream: { accounts: [{ id: 'north', models: [old, fresh] }] } });
  await reread(own, { north: catalogAnswer({ models: [old] }) });
  const before = (await own.send(BACKEND_MODELS)).headers.get('etag');
  const [one, other] = await Promise.all(
    ['/v1/responses', TURNS].map((path) => own.send(path, { body: turnBody('hi', { model: 'fresh' }) })),
  );
  assert.deepEqual([one?.status, other?.status], [200, 200]);
  const now = (await own.send(BACKEND_MODELS)).headers.get('etag');
  assert.notEqual(now, before);
  assert.equal(other?.headers.get('x-models-etag'), now);
});
