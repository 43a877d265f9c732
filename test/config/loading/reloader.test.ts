// Reloading: a valid file takes effect as a whole, an invalid one changes nothing, and restart settings wait for a restart.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { formatChange, needsRestart } from '../../../proxy/config/config-diff.ts';
import { loadConfig } from '../../../proxy/config/loading/load.ts';
import { Reloader } from '../../../proxy/config/loading/reloader.ts';
import { ConfigError } from '../../../proxy/config/schema/finding.ts';
import { settings } from '../../../proxy/config/schema/schema.ts';
import { fileWith, SMALL } from '../files.ts';

const REAL = SMALL.replace('"rehearsal:"', 'https://a.example\n    credential: { bearer: { env: TOKEN } }');

test('a changed file is applied with its differences; an equal one is not applied', async (context) => {
  const path = fileWith(context, SMALL);
  const { loaded } = await loadConfig(path);
  const applied: string[][] = [];
  const reloader = new Reloader(loaded, (_, changes) => void applied.push(changes.map(formatChange)));

  assert.deepEqual((await reloader.reload()).changes, []);
  assert.equal(reloader.running, loaded);

  writeFileSync(path, `${SMALL}    status: paused\n`);
  await reloader.reload();
  assert.deepEqual(applied, [['keys[ci].status: "active" -> "paused"']]);
  assert.equal(reloader.running.config.keys[0]?.status, 'paused');
});

test('an invalid file changes nothing and is reported', async (context) => {
  const path = fileWith(context, SMALL);
  const { loaded } = await loadConfig(path);
  const reloader = new Reloader(loaded, () => assert.fail('applied'));
  writeFileSync(path, `${SMALL}    status: nothing\n`);
  await assert.rejects(reloader.reload(), ConfigError);
  assert.equal(reloader.running, loaded);
});

test('a restart setting keeps its running value, and is reported until the restart', async (context) => {
  const path = fileWith(context, SMALL);
  const { loaded } = await loadConfig(path);
  const reloader = new Reloader(loaded, () => undefined);
  writeFileSync(
    path,
    `${SMALL}    status: paused
listen: { host: 0.0.0.0, port: 4100 }
admin: false
store: sqlite:other.db
store_key: { file: other.key }
node: { id: other }
limits: { header_bytes: 32768, file_bytes: 1000 }
`,
  );
  const pending = [
    'admin: {"host":"127.0.0.1","port":4001,"console":true} -> false (after a restart)',
    'limits.header_bytes: 65536 -> 32768 (after a restart)',
    'listen.host: "127.0.0.1" -> "0.0.0.0" (after a restart)',
    'listen.port: 4000 -> 4100 (after a restart)',
    `node.id: "${loaded.config.node.id}" -> "other" (after a restart)`,
    `store: ${JSON.stringify(loaded.config.store)} -> ${JSON.stringify(String(loaded.config.store).replace('data/poolgate.db', 'other.db'))} (after a restart)`,
    'store_key: (changed) (after a restart)',
  ];
  const first = (await reloader.reload()).changes.map(formatChange);
  assert.deepEqual(
    first.toSorted(),
    [...pending, 'keys[ci].status: "active" -> "paused"', 'limits.file_bytes: 26214400 -> 1000'].toSorted(),
  );
  assert.deepEqual((await reloader.reload()).changes.map(formatChange).toSorted(), pending.toSorted());

  const { config } = reloader.running;
  for (const { path: setting, node } of settings()) {
    if (node.restart !== true) continue;
    assert.ok(needsRestart(setting));
    const value = (of: object) => setting.split('.').reduce<unknown>((inner, key) => (inner as Record<string, unknown>)[key], of);
    assert.deepEqual(value(config), value(loaded.config), setting);
  }
  assert.equal(config.limits.file_bytes, 1000);
});

test('a node keeps its name, its internal listener and its secret until the restart', async (context) => {
  const env = { URL: 'postgres://localhost/pg', ONE: 'secret-of-the-nodes', TWO: 'another-secret-of-theirs' };
  const file = (node: string, more = ''): string => `${SMALL}${more}store: { postgres: { env: URL } }\nnode: ${node}\n`;
  const path = fileWith(context, file('{ id: a, secret: { env: ONE }, listen: { port: 4002 }, address: http://a:4002 }'));
  const { loaded } = await loadConfig(path, { env });
  const reloader = new Reloader(loaded, () => undefined, { env });
  const next = '{ id: b, secret: { env: TWO }, listen: { port: 4003 }, ready_without_store: false }';
  writeFileSync(path, file(next, '    status: paused\n'));
  const { changes } = await reloader.reload();
  assert.deepEqual(
    changes.filter(({ restart }) => restart).map((change) => change.path),
    ['node.listen.port', 'node.address', 'node.id', 'node.secret'],
  );
  const { config } = reloader.running;
  assert.deepEqual(config.node, { ...loaded.config.node, ready_without_store: false });
  assert.ok(Object.isFrozen(config) && Object.isFrozen(config.node));
  assert.equal(config.keys[0]?.status, 'paused');
});

test('a new secret under the same name is a change, reported without the secret', async (context) => {
  const path = fileWith(context, REAL);
  const env: NodeJS.ProcessEnv = { TOKEN: 'one' };
  const { loaded } = await loadConfig(path, { env });
  const reloader = new Reloader(loaded, () => undefined, { env });
  env.TOKEN = 'two';
  assert.deepEqual((await reloader.reload()).changes.map(formatChange), ['accounts[north].credential: (changed)']);
  assert.equal(reloader.running.bearers.get('north'), 'two');
});

test('concurrent reloads run one after the other', async (context) => {
  const path = fileWith(context, SMALL);
  const { loaded } = await loadConfig(path);
  let inside = 0;
  let most = 0;
  const reloader = new Reloader(loaded, async () => {
    most = Math.max(most, ++inside);
    await new Promise(setImmediate);
    inside--;
  });
  writeFileSync(path, `${SMALL}    status: paused\n`);
  const [first, second] = await Promise.all([reloader.reload(), reloader.reload()]);
  assert.equal(most, 1);
  assert.deepEqual([first?.changes.length, second?.changes.length], [1, 0]);
});

test('a configuration that could not be applied does not become the running one', async (context) => {
  const path = fileWith(context, SMALL);
  const { loaded } = await loadConfig(path);
  const reloader = new Reloader(loaded, () => Promise.reject(new Error('no')));
  writeFileSync(path, `${SMALL}    status: paused\n`);
  await assert.rejects(reloader.reload(), /no/);
  assert.equal(reloader.running, loaded);
});
