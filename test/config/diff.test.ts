// Differences between configurations: paths, no secrets, and restart marks.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Config } from '../../proxy/config/config.ts';
import { diffConfigs, formatChange, redact, versionOf } from '../../proxy/config/config-diff.ts';
import { inspect } from '../../proxy/config/loading/load.ts';
import { HASH, SMALL } from './files.ts';

const configOf = async (text: string): Promise<Config> => {
  const { config, findings } = await inspect(text, { path: 'config.yaml', env: { TOKEN: 'x', OTHER: 'y' } });
  assert.ok(config, JSON.stringify(findings));
  return config;
};

const BEFORE = `
listen: { port: 4000 }
accounts:
  - { id: north, base_url: "https://north.example", credential: { bearer: { env: TOKEN } }, headers: { x-account-id: n-1 } }
  - { id: south, base_url: "rehearsal:" }
  - { id: west, base_url: "rehearsal:" }
pools:
  - id: team
    serving_modes: { model-a: lite }
    models: { model-a: { context_window: 1000 } }
    assignments: [{ account: north, weight: 2 }, { account: south }]
keys:
  - { id: ci, pool: team, secret_sha256: [${HASH}], models: [model-a] }
  - { id: old, pool: team, secret_sha256: [${'a'.repeat(64)}] }
routes:
  - { POST: /v1/embeddings, status: unsupported }
`;

const AFTER = `
listen: { port: 4100 }
limits: { header_bytes: 32768, file_bytes: 1000 }
accounts:
  - { id: south, base_url: "rehearsal:", max_concurrent: 8 }
  - { id: north, base_url: "https://new.example", credential: { bearer: { env: OTHER } }, headers: { x-account-id: n-2 } }
  - { id: east, base_url: "rehearsal:" }
pools:
  - id: team
    serving_modes: { model-b: full }
    models: { model-a: { context_window: 2000, prices: { input: 1, cached_input: 0, output: 2 } } }
    assignments: [{ account: north, weight: 3 }, { account: south }]
keys:
  - { id: ci, pool: team, secret_sha256: [${'f'.repeat(64)}], models: [model-a, model-b], status: paused, expires_at: 2027-01-01T00:00:00Z }
routes:
  - { POST: /v1/embeddings, status: supported, serve: forward }
`;

const EXPECTED = `
listen.port: 4000 -> 4100 (after a restart)
limits.header_bytes: 65536 -> 32768 (after a restart)
limits.file_bytes: 26214400 -> 1000
accounts[north].base_url: (changed)
accounts[north].credential: (changed)
accounts[north].headers: (changed)
accounts[south].max_concurrent: 32 -> 8
accounts[west]: removed
accounts[east]: added
accounts: reordered
pools[team].serving_modes.model-a: removed "lite"
pools[team].serving_modes.model-b: added "full"
pools[team].models.model-a.context_window: 1000 -> 2000
pools[team].models.model-a.prices: added
pools[team].assignments[north].weight: 2 -> 3
keys[ci].secret_sha256: (changed)
keys[ci].models: ["model-a"] -> ["model-a","model-b"]
keys[ci].status: "active" -> "paused"
keys[ci].expires_at: added 2027-01-01T00:00:00.000Z
keys[old]: removed
routes[POST /v1/embeddings].status: "unsupported" -> "supported"
routes[POST /v1/embeddings].serve: added "forward"
`;

const sorted = (lines: readonly string[]): readonly string[] => lines.toSorted();

test('every difference has its path, with rows by id, and secrets and addresses only as changed', async () => {
  const lines = diffConfigs(await configOf(BEFORE), await configOf(AFTER)).map(formatChange);
  assert.deepEqual(sorted(lines), sorted(EXPECTED.trim().split('\n')));
});

test('redacted configurations have the same differences as the configurations', async () => {
  const [before, after] = [await configOf(BEFORE), await configOf(AFTER)];
  const shown = JSON.parse(JSON.stringify(redact(before))) as ReturnType<typeof redact>;
  assert.deepEqual(diffConfigs(shown, redact(after)), diffConfigs(before, after));
});

test('a redacted configuration has no hash, address, credential or added header', async () => {
  const shown = JSON.stringify(redact(await configOf(BEFORE)));
  for (const secret of [HASH, 'north.example', 'TOKEN', 'n-1', 'store.key']) assert.ok(!shown.includes(secret), secret);
});

test('the version depends on the settings of a file, not on its layout', async () => {
  const config = await configOf(SMALL);
  assert.match(versionOf(config), /^[0-9a-f]{12}$/);
  assert.equal(versionOf(await configOf(`# a comment\nlisten: { port: 4000 }\n${SMALL}`)), versionOf(config));
  assert.notEqual(versionOf(await configOf(`${SMALL}listen: { port: 4001 }\nadmin: false\n`)), versionOf(config));
});

test('equal configurations have no differences', async () => {
  assert.deepEqual(diffConfigs(await configOf(BEFORE), await configOf(BEFORE)), []);
});

test('turning the admin listener off is marked as a restart', async () => {
  const changes = diffConfigs(await configOf(SMALL), await configOf(`${SMALL}admin: false\n`));
  assert.deepEqual(changes.map(formatChange), ['admin: {"host":"127.0.0.1","port":4001,"console":true} -> false (after a restart)']);
});
