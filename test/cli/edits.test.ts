// The commands that edit the file: key, token, mode.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { inspect } from '../../proxy/config/load.ts';
import { fileWith, HASH, SMALL } from '../config/files.ts';
import { poolgate } from './run.ts';

const configOf = async (path: string) => {
  const { config } = await inspect(readFileSync(path, 'utf8'), { path });
  assert.ok(config);
  return config;
};

test('key create adds a key, prints its secret alone on stdout, and keeps only its hash', async (context) => {
  const path = fileWith(context, SMALL);
  const args = ['key', 'create', 'nightly', '--model', 'model-a', '--model', 'model-b', '--expires-at', '2027-01-01T00:00:00Z'];
  const { code, out, err } = await poolgate([...args, '--config', path]);
  assert.equal(code, 0);
  assert.match(out, /^pg-[\w-]{43}\n$/);
  assert.match(err, /^key 'nightly' was added to .*shown this once/);
  const secret = out.trim();
  assert.deepEqual((await configOf(path)).keys[1], {
    id: 'nightly',
    pool: 'team',
    secret_sha256: [hash('sha256', secret, 'hex')],
    status: 'active',
    expires_at: Date.UTC(2027, 0, 1),
    models: ['model-a', 'model-b'],
    limits: {},
  });
  assert.ok(!readFileSync(path, 'utf8').includes(secret));
});

test('key create refuses an id that is taken, a Pool that is not there, and a Pool left open', async (context) => {
  const path = fileWith(context, SMALL);
  const taken = await poolgate(['key', 'create', 'ci', '--config', path]);
  assert.deepEqual([taken.code, taken.out], [1, '']);
  const unroutable = await poolgate(['key', 'create', 'b', '--pool', 'taem', '--config', path]);
  assert.deepEqual([unroutable.code, unroutable.err], [1, "there is no Pool 'taem'; did you mean 'team'?\n"]);
  const two = fileWith(context, SMALL.replace('keys:', '  - { id: other, assignments: [{ account: north }] }\nkeys:'));
  const open = await poolgate(['key', 'create', 'b', '--config', two]);
  assert.deepEqual([open.code, open.err], [2, '--pool is missing; there are team, other\n']);
  const bad = await poolgate(['key', 'create', 'two words', '--config', path]);
  assert.equal(bad.code, 1);
  assert.match(bad.err, /^the file was left as it was; with this edit it would be invalid:\n.*:12:9: keys\[1\]\.id: must be an id/);
  assert.equal(readFileSync(path, 'utf8'), SMALL);
});

test('key rotate adds a secret beside the old one', async (context) => {
  const path = fileWith(context, SMALL);
  const { out } = await poolgate(['key', 'rotate', 'ci', '--json', '--config', path]);
  const { id, secret } = JSON.parse(out);
  assert.equal(id, 'ci');
  assert.deepEqual((await configOf(path)).keys[0]?.secret_sha256, [HASH, hash('sha256', secret, 'hex')]);
});

test('a key is paused, resumed and revoked, and revoked is final', async (context) => {
  const path = fileWith(context, SMALL);
  const told = [];
  for (const verb of ['pause', 'pause', 'resume', 'revoke', 'resume']) {
    const { code, out, err } = await poolgate(['key', verb, 'ci', '--config', path]);
    told.push([code, out + err]);
  }
  assert.deepEqual(told, [
    [0, "key 'ci' is paused\n"],
    [0, "key 'ci' is already paused\n"],
    [0, "key 'ci' is active\n"],
    [0, "key 'ci' is revoked\n"],
    [1, "key 'ci' is revoked, and that is final\n"],
  ]);
  assert.equal((await configOf(path)).keys[0]?.status, 'revoked');
});

test('key list, token list and account list show no secret, no hash and no credential', async (context) => {
  const path = fileWith(
    context,
    `${SMALL}operators: [{ id: ops, token_sha256: [${'c'.repeat(64)}], owns: [team] }]\n`.replace(
      '"rehearsal:"',
      'https://a.example\n    credential: { bearer: { env: PROVIDER_BEARER } }',
    ),
  );
  for (const args of [
    ['key', 'list'],
    ['token', 'list'],
    ['account', 'list'],
  ]) {
    for (const format of [[], ['--json']]) {
      const { code, out } = await poolgate([...args, ...format, '--config', path]);
      assert.equal(code, 0);
      for (const secret of [HASH, 'c'.repeat(64), 'PROVIDER_BEARER']) assert.ok(!out.includes(secret));
    }
  }
  const { out } = await poolgate(['key', 'list', '--config', path]);
  assert.equal(out, 'KEY  POOL  STATUS  EXPIRES  SECRETS  MODELS\nci   team  active  never    1        all\n');
});

test('token create adds an operator, then further tokens of it', async (context) => {
  const path = fileWith(context, SMALL);
  const first = await poolgate(['token', 'create', 'ops', '--owns', 'team', '--config', path]);
  assert.match(first.out, /^pg-mcp-[\w-]{43}\n$/);
  const second = await poolgate(['token', 'create', 'ops', '--config', path]);
  const hashes = [first, second].map(({ out }) => hash('sha256', out.trim(), 'hex'));
  assert.deepEqual((await configOf(path)).operators, [{ id: 'ops', token_sha256: hashes, owns: ['team'], assigned: [] }]);
  assert.equal((await poolgate(['token', 'create', 'eve', '--config', path])).code, 2);
});

test('[PL3] mode set writes lite and full, and auto takes the row out', async (context) => {
  const path = fileWith(context, SMALL);
  const set = (mode: string) => poolgate(['mode', 'set', 'team', 'model-a', mode, '--config', path]);
  const modes = async () => ({ ...(await configOf(path)).pools[0]?.serving_modes });
  assert.equal((await set('lite')).out, 'model-a in Pool team is lite\n');
  assert.deepEqual(await modes(), { 'model-a': 'lite' });
  await set('full');
  assert.deepEqual(await modes(), { 'model-a': 'full' });
  assert.equal((await set('full')).out, 'model-a in Pool team is already full\n');
  await set('auto');
  assert.deepEqual(await modes(), {});
  assert.ok(!readFileSync(path, 'utf8').includes('model-a'));
});

test('[PL5] a serving mode stands and stays editable whatever the catalog says of its model', async (context) => {
  const path = fileWith(context, SMALL.replace('    assignments:', '    models: { retired: { suppressed: true } }\n    assignments:'));
  for (const [model, mode] of [
    ['retired', 'lite'],
    ['never-seen', 'full'],
    ['retired', 'full'],
  ] as const) {
    assert.equal((await poolgate(['mode', 'set', 'team', model, mode, '--config', path])).code, 0);
  }
  assert.deepEqual({ ...(await configOf(path)).pools[0]?.serving_modes }, { retired: 'full', 'never-seen': 'full' });
});

test('[PL6] mode set takes the three words only', async (context) => {
  const path = fileWith(context, SMALL);
  // biome-ignore lint/suspicious/noTemplateCurlyInString: that is the point
  for (const mode of ['${MODE}', '$MODE', 'true', 'LITE']) {
    const { code, err } = await poolgate(['mode', 'set', 'team', 'model-a', mode, '--config', path], { MODE: 'lite' });
    assert.equal(code, 2);
    assert.match(err, /Allowed choices are auto, lite, full/);
  }
  assert.equal(readFileSync(path, 'utf8'), SMALL);
});
