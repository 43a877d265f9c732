// Serving modes over the wire: which mode is effective, by which source, at which accounts, and when a pair has none.
import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { replyJson } from '../../support/rehearsal-replies.ts';
import { asks, dialectOf, entrySaying, ModeStage, NATIVE } from '../../support/stages/mode-stage.ts';
import { BACKEND_MODELS } from '../../support/stages/model-lists.ts';

const stage = await ModeStage.start();
after(() => stage.gate.close());
afterEach(() => stage.reset());

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
  test(`[SM4] ${configured ?? 'nothing'} set for a model with the account name ${model} is ${effective} by ${source}`, async () => {
    await stage.set({ serving_modes: configured === undefined ? {} : { [model]: configured } });
    assert.equal(await stage.shown(model), effective === 'lite');
    for (const path of [NATIVE, '/backend-api/agent/v1/responses', '/v1/responses']) {
      for (const stream of [true, false]) {
        stage.gate.upstream.clear();
        const reply = await stage.gate.send(path, { body: { ...asks(model), stream } });
        assert.deepEqual([reply.status, dialectOf(stage.gate.upstream.turns()[0])], [200, effective]);
        assert.deepEqual(await stage.labels(reply), [configured ?? 'auto', effective, source], '[RM1]');
      }
    }
  });
}

test('[SM1] auto is Lite where any routable source advertises true, on every account of the pair', async () => {
  stage.gate.upstream.next('north', 'refuse 503');
  stage.gate.upstream.next('south', 'refuse 503');
  await stage.gate.send(NATIVE, { body: asks('model-a') });
  assert.deepEqual(stage.gate.upstream.turns().map(dialectOf), ['lite', 'lite']);
  assert.equal(await stage.shown('model-a'), true);
});

for (const [name, setting] of [
  ['inactive', { south: { active: false } }],
  ['ineligible', { south: { eligible: false } }],
  ['of an invisible account', { visible: ['north'] }],
] as const) {
  test(`[SM3] the pair returns to Full when its one Lite source is ${name}, and to Lite with it`, async () => {
    await stage.set(setting);
    assert.deepEqual([await stage.dialect('model-a'), await stage.shown('model-a')], ['full', false]);
    await stage.set({});
    assert.deepEqual([await stage.dialect('model-a'), await stage.shown('model-a')], ['lite', true]);
  });

  test(`[SM5] a pair whose sources are all ${name} is a 503 without any dispatch, whatever its mode`, async () => {
    const all = { ...setting, ...('south' in setting ? { north: setting.south } : { visible: [] }) };
    for (const mode of ['auto', 'lite', 'full']) {
      await stage.set({ ...all, serving_modes: { 'model-a': mode } });
      stage.gate.upstream.clear();
      for (const path of [NATIVE, '/v1/responses']) {
        const { status, json, headers } = await stage.gate.send(path, {
          body: { ...asks('model-a'), tool_choice: { type: 'web_search' }, tools: [{ type: 'web_search' }] },
        });
        assert.deepEqual([status, json.error.code, json.error.type, json.error.param], [503, 'no_eligible_account', 'server_error', null]);
        assert.ok(Number(headers.get('retry-after')) >= 1);
        assert.deepEqual(await stage.labels({ headers }), [null, null, null], '[MC7]');
      }
      assert.equal(stage.gate.upstream.turns().length, 0);
      assert.equal(await stage.shown('model-a'), undefined, '[MC7] a pair without a mode is in no list');
      assert.deepEqual((await stage.gate.send('/v1/models')).json.data, []);
    }
  });
}

test('[SM3] the pair returns to Full while its one Lite source cools down, and to Lite after it', async () => {
  // South is first, and its refusal moves the turn to another account.
  await stage.gate.reconfigure((draft) => {
    Object.assign(draft.pools[0], { strategy: 'fill_first', assignments: [{ account: 'south' }, { account: 'north' }] });
  });
  const before = await stage.etag();
  stage.gate.upstream.next('south', 'refuse 429 rate_limit_exceeded retry 60');
  assert.equal((await stage.gate.send(NATIVE, { body: asks('model-a') })).status, 200);
  assert.deepEqual(stage.gate.upstream.turns().map(dialectOf), ['lite', 'lite'], 'the turn itself keeps its mode');
  assert.deepEqual([await stage.shown('model-a'), await stage.dialect('model-a')], [false, 'full']);
  assert.notEqual(await stage.etag(), before);
  stage.clock.setAhead(61_000);
  assert.deepEqual([await stage.shown('model-a'), await stage.dialect('model-a')], [true, 'lite']);
  assert.equal(await stage.etag(), before);
});

test('[SM3] a source whose quota is exhausted still counts as a source (UA2)', async () => {
  await stage.gate.reconfigure((draft) => {
    Object.assign(draft.pools[0], { strategy: 'fill_first', assignments: [{ account: 'south' }, { account: 'north' }] });
  });
  stage.gate.upstream.next('south', 'refuse 429 usage_limit_reached resets 3600');
  assert.equal((await stage.gate.send(NATIVE, { body: asks('model-a') })).status, 200);
  stage.gate.upstream.clear();
  assert.equal((await stage.gate.send(NATIVE, { body: asks('model-a') })).status, 200);
  assert.deepEqual(
    stage.gate.upstream.turns().map((turn) => [turn.account, dialectOf(turn)]),
    [['north', 'lite']],
  );
});

test('[RM1] the row of a turn that is refused for its content has the mode; one that is refused for its model has none', async () => {
  const content = await stage.gate.send('/v1/responses', { body: { ...asks('lite'), tools: [{ type: 'mcp' }] } });
  assert.deepEqual([content.status, await stage.labels(content)], [400, ['auto', 'lite', 'catalog']]);
  const model = await stage.gate.send('/v1/responses', { body: asks('nobody') });
  assert.deepEqual([model.status, await stage.labels(model)], [400, [null, null, null]]);
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
    for (const account of ['north', 'south'])
      stage.gate.upstream.nextOn(account, BACKEND_MODELS, replyJson({ models: [entrySaying('model-a', value)] }));
    await stage.set({});
    assert.deepEqual([await stage.shown('model-a'), await stage.dialect('model-a')], [effective === 'lite', effective]);
  });
}
