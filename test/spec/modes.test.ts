// Serving modes over the wire: configured, effective and source; per Pool and model; and when a pair has none.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { after, afterEach, test } from 'node:test';
import type { JsonObject } from '../../proxy/turn.ts';
import { type Draft, loadedFrom, type Reply, startGateway } from '../support/gateway.ts';
import type { Arrival } from '../support/rehearsal.ts';
import { modelEntry, replyJson, turnBody } from '../support/rehearsal-replies.ts';
import { ShiftedClock } from '../support/shifted-clock.ts';

const MODELS = '/backend-api/agent/models';
const NATIVE = '/backend-api/agent/responses';
const MARKER = 'x-internal-agent-responses-lite';

const asks = (model: string): JsonObject => turnBody('hi', { model });
const asOther = { headers: { authorization: 'Bearer other' } };

/** model-a is Lite at south alone; lite and full are Lite at both and at neither. */
const clock = new ShiftedClock();
const gate = await startGateway({
  clock,
  upstream: {
    accounts: [
      { id: 'north', models: [entry('model-a', false), entry('lite', true), entry('full', false)] },
      { id: 'south', models: [entry('model-a', true), entry('lite', true), entry('full', false)] },
    ],
  },
  config: (draft: Draft) => {
    draft.pools.push({ id: 'other', assignments: [{ account: 'north' }, { account: 'south' }] });
    draft.keys.push(
      { id: 'second', pool: 'team', secret_sha256: [digest('second')] },
      { id: 'other', pool: 'other', secret_sha256: [digest('other')] },
    );
  },
});
after(() => gate.close());

/** Back to how the gateway started, whatever a test made of it. */
afterEach(() => {
  gate.upstream.clear();
  clock.setAhead(600_000);
  return reconfigured({});
});

function entry(slug: string, use_responses_lite: JsonObject[string]): JsonObject {
  return modelEntry({ slug, use_responses_lite });
}

function digest(secret: string): string {
  return hash('sha256', secret, 'hex');
}

interface Setting {
  readonly serving_modes?: JsonObject;
  readonly models?: JsonObject;
  readonly south?: JsonObject;
  readonly north?: JsonObject;
  readonly visible?: readonly string[];
}

function reconfigured({ serving_modes = {}, models = {}, north = {}, south = {}, visible = ['north', 'south'] }: Setting): Promise<void> {
  return gate.reconfigure((draft) => {
    Object.assign(draft.pools[0], {
      serving_modes,
      models,
      assignments: [
        { account: 'north', ...north },
        { account: 'south', ...south },
      ],
    });
    for (const account of draft.accounts) Object.assign(account, { visible: visible.includes(account.id), models: {} });
  });
}

/** The dialect in which a turn of this model reached its account. */
async function dialect(model: string, init = {}, path = NATIVE): Promise<'lite' | 'full'> {
  gate.upstream.clear();
  const reply = await gate.send(path, { body: asks(model), ...init });
  assert.equal(reply.status, 200, reply.text);
  return dialectOf(gate.upstream.turns()[0]);
}

function dialectOf(turn: Arrival | undefined): 'lite' | 'full' {
  assert.ok(turn, 'a turn arrived');
  const { input } = turn.json as { readonly input: readonly JsonObject[] };
  const shape = input[0]?.type === 'additional_tools' ? 'lite' : 'full';
  assert.equal(turn.headers[MARKER], shape === 'lite' ? 'true' : undefined);
  return shape;
}

async function shown(model: string, init = {}): Promise<unknown> {
  const { json } = await gate.send(MODELS, init);
  return json.models.find(({ slug }: JsonObject) => slug === model)?.use_responses_lite;
}

async function labels({ headers }: Pick<Reply, 'headers'>): Promise<unknown> {
  await gate.gateway.store.flush();
  const [row] = await gate.gateway.store.requests.list({ id: headers.get('x-request-id') ?? '' });
  return [row?.configured_mode, row?.effective_mode, row?.mode_source];
}

for (const [model, configured, effective, source] of [
  ['full', undefined, 'full', 'catalog'],
  ['full', 'auto', 'full', 'catalog'],
  ['full', 'lite', 'lite', 'override'],
  ['full', 'full', 'full', 'override'],
  ['lite', undefined, 'lite', 'catalog'],
  ['lite', 'auto', 'lite', 'catalog'],
  ['lite', 'lite', 'lite', 'override'],
  ['lite', 'full', 'full', 'override'],
] as const) {
  test(`[SM4] ${configured ?? 'nothing'} set for a model that its accounts call ${model} is ${effective} by ${source}`, async () => {
    await reconfigured({ serving_modes: configured === undefined ? {} : { [model]: configured } });
    assert.equal(await shown(model), effective === 'lite');
    for (const path of [NATIVE, '/backend-api/agent/v1/responses', '/v1/responses']) {
      for (const stream of [true, false]) {
        gate.upstream.clear();
        const reply = await gate.send(path, { body: { ...asks(model), stream } });
        assert.deepEqual([reply.status, dialectOf(gate.upstream.turns()[0])], [200, effective]);
        assert.deepEqual(await labels(reply), [configured ?? 'auto', effective, source], '[RM1]');
      }
    }
  });
}

test('[PL3] auto is the same as no override: the two have one ETag', async () => {
  const etag = (await gate.send(MODELS)).headers.get('etag');
  await reconfigured({ serving_modes: { lite: 'auto', full: 'auto' } });
  assert.equal((await gate.send(MODELS)).headers.get('etag'), etag);
});

test('[SM1] auto is Lite where any routable source says true, on every account of the pair', async () => {
  gate.upstream.next('north', 'refuse 503');
  gate.upstream.next('south', 'refuse 503');
  await gate.send(NATIVE, { body: asks('model-a') });
  assert.deepEqual(gate.upstream.turns().map(dialectOf), ['lite', 'lite']);
  assert.equal(await shown('model-a'), true);
});

for (const [name, setting] of [
  ['inactive', { south: { active: false } }],
  ['ineligible', { south: { eligible: false } }],
  ['of an invisible account', { visible: ['north'] }],
] as const) {
  test(`[SM3] the pair returns to Full when its one Lite source is ${name}, and to Lite with it`, async () => {
    await reconfigured(setting);
    assert.deepEqual([await dialect('model-a'), await shown('model-a')], ['full', false]);
    await reconfigured({});
    assert.deepEqual([await dialect('model-a'), await shown('model-a')], ['lite', true]);
  });

  test(`[SM5] a pair whose sources are all ${name} is a 503 without any dispatch, whatever its mode`, async () => {
    const all = { ...setting, ...('south' in setting ? { north: setting.south } : { visible: [] }) };
    for (const mode of ['auto', 'lite', 'full']) {
      await reconfigured({ ...all, serving_modes: { 'model-a': mode } });
      gate.upstream.clear();
      for (const path of [NATIVE, '/v1/responses']) {
        const { status, json, headers } = await gate.send(path, {
          body: { ...asks('model-a'), tool_choice: { type: 'web_search' }, tools: [{ type: 'web_search' }] },
        });
        assert.deepEqual([status, json.error.code, json.error.type, json.error.param], [503, 'no_eligible_account', 'server_error', null]);
        assert.ok(Number(headers.get('retry-after')) >= 1);
        assert.deepEqual(await labels({ headers }), [null, null, null], '[MC7]');
      }
      assert.equal(gate.upstream.turns().length, 0);
      assert.equal(await shown('model-a'), undefined, '[MC7] a pair without a mode stands in no list');
      assert.deepEqual((await gate.send('/v1/models')).json.data, []);
    }
  });
}

test('[PL4] a choice is one Pool’s and one model’s, for every key of the Pool and for no other Pool', async () => {
  await reconfigured({ serving_modes: { full: 'lite' } });
  const second = { headers: { authorization: 'Bearer second' } };
  assert.deepEqual([await dialect('full'), await dialect('full', second), await dialect('full', asOther)], ['lite', 'lite', 'full']);
  assert.deepEqual([await shown('full'), await shown('full', second), await shown('full', asOther)], [true, true, false]);
  assert.equal(await dialect('model-a', asOther), 'lite', 'another model keeps its own');
});

test('[PL4] a choice is for the exposed id, not for what an account calls the model', async () => {
  await gate.reconfigure((draft) => {
    draft.pools[0].serving_modes = { outer: 'lite', full: 'lite' };
    for (const account of draft.accounts) account.models = { outer: 'full' };
  });
  assert.deepEqual([await shown('outer'), await shown('full')], [true, undefined]);
  assert.equal(await dialect('outer'), 'lite');
  await gate.reconfigure((draft) => {
    draft.pools[0].serving_modes = { full: 'lite' };
  });
  assert.deepEqual([await shown('outer'), await dialect('outer')], [false, 'full']);
});

test('[PL5] a choice persists while its model is suppressed, stays editable, and re-applies when it returns', async () => {
  await reconfigured({ serving_modes: { full: 'lite' }, models: { full: { suppressed: true } } });
  assert.equal(await shown('full'), undefined);
  await reconfigured({ serving_modes: { full: 'lite' } });
  assert.deepEqual([await shown('full'), await dialect('full')], [true, 'lite']);
  await reconfigured({ serving_modes: { lite: 'full' }, models: { lite: { suppressed: true } } });
  await reconfigured({ serving_modes: { lite: 'full' } });
  assert.deepEqual([await shown('lite'), await dialect('lite')], [false, 'full']);
});

test('[PL5] a choice persists while its model is retired or stale, and re-applies when it returns', async () => {
  const without = replyJson({ models: [entry('model-a', false)] });
  gate.upstream.nextOn('north', MODELS, without);
  gate.upstream.nextOn('south', MODELS, without);
  await reconfigured({ serving_modes: { full: 'lite' } });
  assert.equal(await shown('full'), undefined, 'retired');
  await reconfigured({ serving_modes: { full: 'lite' } });
  assert.deepEqual([await shown('full'), await dialect('full')], [true, 'lite'], 'returned');
  gate.upstream.nextOn('north', MODELS, 'refuse 503');
  gate.upstream.nextOn('south', MODELS, 'refuse 503');
  await reconfigured({ serving_modes: { full: 'lite' } });
  assert.deepEqual([await shown('full'), await dialect('full')], [true, 'lite'], 'stale');
});

const LITERALS: readonly (readonly [string, JsonObject[string], 'lite' | 'full'])[] = [
  ['literal true', true, 'lite'],
  ['false', false, 'full'],
  ['nothing', undefined, 'full'],
  ['null', null, 'full'],
  ['the word true', 'true', 'full'],
  ['the number 1', 1, 'full'],
  ['a list', [true], 'full'],
  ['a map', { south: true }, 'full'],
];

for (const [name, value, effective] of LITERALS) {
  test(`[SM2] ${name} in the catalog of the accounts selects ${effective}`, async () => {
    for (const account of ['north', 'south']) gate.upstream.nextOn(account, MODELS, replyJson({ models: [entry('model-a', value)] }));
    await reconfigured({});
    assert.deepEqual([await shown('model-a'), await dialect('model-a')], [effective === 'lite', effective]);
  });
}

test('[PL6] nothing but a literal word sets a mode: what could bring one in from outside is refused', async () => {
  const draft = (mode: unknown): Draft => ({
    accounts: [{ id: 'north', base_url: 'rehearsal:' }],
    pools: [{ id: 'team', assignments: [{ account: 'north' }], serving_modes: { 'model-a': mode } }],
  });
  for (const mode of ['$' + '{MODE}', '$MODE', { env: 'MODE' }, { file: '/mode' }, true, 'LITE', 'light']) {
    await assert.rejects(loadedFrom(draft(mode)), /serving_modes\.model-a: a serving mode is the literal word auto, lite or full/);
  }
  for (const mode of ['auto', 'lite', 'full']) await loadedFrom(draft(mode));
});

test('[RM1] a turn that is refused for its content says its mode, one that is refused for its model has none', async () => {
  const content = await gate.send('/v1/responses', { body: { ...asks('lite'), tools: [{ type: 'mcp' }] } });
  assert.deepEqual([content.status, await labels(content)], [400, ['auto', 'lite', 'catalog']]);
  const model = await gate.send('/v1/responses', { body: asks('nobody') });
  assert.deepEqual([model.status, await labels(model)], [400, [null, null, null]]);
});
