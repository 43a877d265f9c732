// The findings of `doctor` about the model lists of API accounts.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { inspect } from '../../proxy/config/loading/load.ts';
import type { Diagnosis } from '../../proxy/doctor/diagnosis.ts';
import { modelListDiagnoses } from '../../proxy/doctor/model-list-checks.ts';
import { answers, type Platform, startPlatform } from '../providers/responses/platform.ts';

let platform: Platform;
before(async () => {
  platform = await startPlatform();
});
after(() => platform.close());
beforeEach(() => {
  platform.clear();
  platform.reading.set('/v1/models', answers(200, { data: [{ id: 'own-a', context_length: 1_000 }] }));
});

async function diagnosed(more: string, base = platform.url): Promise<readonly Diagnosis[]> {
  const text = `accounts:\n  - { id: box, api: chat, base_url: "${base}", credential: { header: { name: api-key, env: KEY } }, ${more} }\npools: []\n`;
  const { config, ...ways } = await inspect(text, { path: 'config.yaml', env: { KEY: 'secret-of-box' } });
  assert.ok(config, JSON.stringify(ways.findings));
  return modelListDiagnoses(config, ways);
}

const said = (found: readonly Diagnosis[]): readonly string[] => found.map(({ level, message }) => `${level}: ${message}`);

test('[AA86] one read of the models with the credential and the query, and no turn', async () => {
  assert.deepEqual(said(await diagnosed('query: { a: b }')), ['ok: box lists 1 model.']);
  assert.deepEqual(
    platform.reads.map(({ method, path, headers }) => [method, path, headers['api-key']]),
    [['GET', '/v1/models?a=b', 'secret-of-box']],
  );
  assert.deepEqual(platform.requests, []);
});

test('[AA86] own ids that are not listed, and declared windows above the listed', async () => {
  const found = await diagnosed('models: { model-a: own-x }, catalog: [{ id: own-a, context_window: 2000 }, { id: own-y }]');
  assert.deepEqual(said(found), [
    'ok: box lists 1 model.',
    'warning: box does not list own-x, own-y.',
    'warning: box states a window of 1000 for own-a, and its catalog row 2000.',
  ]);
});

test('[AA86] a wrong credential, and a 404 with a hint about /v1', async () => {
  platform.reading.set('/v1/models', answers(401, { error: { message: 'no' } }));
  assert.deepEqual(said(await diagnosed('read_models: all')), ['problem: box refuses its credential (401).']);
  platform.reading.set('/models', answers(404, { error: { message: 'no' } }));
  const [missing] = await diagnosed('read_models: all', platform.url.replace('/v1', ''));
  assert.equal(missing?.message, 'box has no list of models below its base_url (404).');
  assert.match(missing?.advice ?? '', /\/v1/);
});

test('[AA86] an account whose list is not read is not asked', async () => {
  assert.deepEqual(await diagnosed('read_models: false, catalog: [{ id: own-a, context_window: 5 }]'), []);
  assert.deepEqual(platform.reads, []);
});
