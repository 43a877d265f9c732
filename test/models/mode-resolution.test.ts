// Which serving mode a Pool-model pair has.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resolveMode } from '../../proxy/models/mode-resolution.ts';
import type { JsonObject } from '../../proxy/turn/json/json.ts';
import type { ServingMode } from '../../proxy/turn/settings.ts';
import { assignment, entry, world } from './support.ts';

const LITE = { use_responses_lite: true };

const VALUES: readonly (readonly [string, JsonObject, 'lite' | 'full'])[] = [
  ['true', LITE, 'lite'],
  ['false', { use_responses_lite: false }, 'full'],
  ['a missing key', {}, 'full'],
  ['"true"', { use_responses_lite: 'true' }, 'full'],
  ['1', { use_responses_lite: 1 }, 'full'],
  ['null', { use_responses_lite: null }, 'full'],
  ['a list', { use_responses_lite: [true] }, 'full'],
  ['a map', { use_responses_lite: { north: true } }, 'full'],
];

for (const [name, value, effective] of VALUES) {
  test(`[SM2] auto with ${name} is ${effective}`, () => {
    assert.deepEqual(resolveMode('auto', [value]), { configured: 'auto', effective, source: 'catalog' });
  });
}

for (const configured of ['lite', 'full'] as const) {
  test(`[SM4] ${configured} is ${configured}, by override, for any sources`, () => {
    for (const sources of [[LITE], [{}], [{}, LITE]]) {
      assert.deepEqual(resolveMode(configured, sources), { configured, effective: configured, source: 'override' });
    }
  });
}

for (const configured of ['auto', 'lite', 'full'] as const) {
  test(`[MC7] ${configured} without a routable source has no mode`, () => assert.equal(resolveMode(configured, []), undefined));
}

const accounts = {
  north: [entry('model-a')],
  south: [entry('model-a', { use_responses_lite: true, context_window: 128000 })],
};

test('[SM3] one Lite source of any cohort puts the pair in Lite, while it is routable', () => {
  const { models, health } = world(accounts);
  assert.equal(models.find('model-a')?.mode?.effective, 'lite');
  health.down = ['south'];
  assert.equal(models.find('model-a')?.mode?.effective, 'full');
  health.down = ['south/model-b'];
  assert.equal(models.find('model-a')?.mode?.effective, 'lite');
});

test('[UA1] an inactive, ineligible or invisible source does not count', () => {
  for (const fields of [{ active: false }, { eligible: false }]) {
    const { models } = world(accounts, { pool: { assignments: [assignment('north'), assignment('south', fields)] } });
    assert.equal(models.find('model-a')?.mode?.effective, 'full');
  }
  const { models } = world(accounts, { accounts: { south: { visible: false } } });
  assert.equal(models.find('model-a')?.mode?.effective, 'full');
});

test('[UA1] an account that is not assigned to the Pool does not count', () => {
  const { models } = world(accounts, { pool: { assignments: [assignment('north')] } });
  assert.equal(models.find('model-a')?.mode?.effective, 'full');
});

const CHOICES: readonly (readonly [string, Readonly<Record<string, ServingMode>>, ServingMode])[] = [
  ['no row', {}, 'auto'],
  ['auto', { 'model-a': 'auto' }, 'auto'],
  ['lite', { 'model-a': 'lite' }, 'lite'],
  ['another model', { 'model-b': 'full' }, 'auto'],
];

for (const [name, serving_modes, configured] of CHOICES) {
  test(`[PL3] the Pool's choice for a model: ${name}`, () => {
    assert.equal(world(accounts, { pool: { serving_modes } }).models.find('model-a')?.mode?.configured, configured);
  });
}

test('[PL4] the choice belongs to the exposed id, not to the name at the account', () => {
  const { models } = world(
    { north: [entry('inner')] },
    { accounts: { north: { models: { outer: 'inner' } } }, pool: { serving_modes: { inner: 'lite', outer: 'full' } } },
  );
  assert.deepEqual(models.find('outer')?.mode, { configured: 'full', effective: 'full', source: 'override' });
  assert.equal(models.find('inner'), undefined);
});
