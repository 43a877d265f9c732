// Loading in a worker thread has the same result as loading in the main thread.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfigInBackground } from '../../../proxy/config/loading/background-load.ts';
import { loadConfig } from '../../../proxy/config/loading/load.ts';
import { ConfigError } from '../../../proxy/config/schema/finding.ts';
import { fileWith } from '../files.ts';

/** A file that is large enough for the thread. */
const manyKeys = (pool: string): string => {
  const keys = Array.from(
    { length: 600 },
    (_, i) => `  - { id: key-${i}, pool: ${pool}, secret_sha256: [${String(i).padStart(63, '0')}a] }\n`,
  );
  const account = 'accounts: [{ id: north, base_url: https://a.example, credential: { bearer: { env: TOKEN } }, models: { a: b } }]\n';
  return `${account}pools: [{ id: team, serving_modes: { a: lite }, assignments: [{ account: north }] }]\nkeys:\n${keys.join('')}`;
};

test('a large file is loaded in a worker thread, with the same frozen result', async (context) => {
  const path = fileWith(context, manyKeys('team'));
  const env = { TOKEN: 'x' };
  const [aside, here] = [await loadConfigInBackground(path, { env }), await loadConfig(path, { env })];
  assert.deepEqual(aside, here);
  assert.equal(aside.loaded.bearers.get('north'), 'x');
  assert.ok(Object.isFrozen(aside.loaded.config.pools[0]?.models));
  assert.equal(aside.loaded.config.pools[0]?.models['constructor'], undefined);
});

test('errors of a large file are thrown like those of a small one', async (context) => {
  const path = fileWith(context, manyKeys('taem'));
  await assert.rejects(loadConfigInBackground(path, { env: { TOKEN: 'x' } }), (error) => {
    assert.ok(error instanceof ConfigError);
    assert.equal(error.findings.length, 600);
    return true;
  });
});
