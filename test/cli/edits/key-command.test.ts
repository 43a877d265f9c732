// `key`: creating, rotating, pausing and listing keys, and lists that show no secret.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ALONE, configOf, fileWith, HASH } from '../../config/files.ts';
import { poolgate } from '../run.ts';

test('key create adds a key, prints only its secret on stdout, and keeps only its hash', async (context) => {
  const path = fileWith(context, ALONE);
  const args = ['key', 'create', 'nightly', '--model', 'model-a', '--model', 'model-b', '--expires-at', '2999-01-01T00:00:00Z'];
  const { code, out, err } = await poolgate([...args, '--config', path]);
  assert.equal(code, 0);
  assert.match(out, /^pg-[\w-]{43}\n$/);
  assert.match(err, /^key 'nightly' was added to .*shown only once/);
  const secret = out.trim();
  assert.deepEqual((await configOf(path)).keys[1], {
    id: 'nightly',
    pool: 'team',
    secret_sha256: [hash('sha256', secret, 'hex')],
    status: 'active',
    weight: 1,
    expires_at: Date.UTC(2999, 0, 1),
    models: ['model-a', 'model-b'],
    limits: {},
    overflow: true,
  });
  assert.ok(!readFileSync(path, 'utf8').includes(secret));
});

test('key create refuses an existing id, an unknown Pool, and a missing --pool', async (context) => {
  const path = fileWith(context, ALONE);
  const taken = await poolgate(['key', 'create', 'ci', '--config', path]);
  assert.deepEqual([taken.code, taken.out], [1, '']);
  const unknown = await poolgate(['key', 'create', 'b', '--pool', 'taem', '--config', path]);
  assert.deepEqual([unknown.code, unknown.err], [1, "there is no Pool 'taem'; did you mean 'team'?\n"]);
  const two = fileWith(context, ALONE.replace('keys:', '  - { id: other, assignments: [{ account: north }] }\nkeys:'));
  const open = await poolgate(['key', 'create', 'b', '--config', two]);
  assert.deepEqual([open.code, open.err], [2, '--pool is missing; the Pools of the file: team, other\n']);
  const bad = await poolgate(['key', 'create', 'two words', '--config', path]);
  assert.equal(bad.code, 1);
  assert.match(bad.err, /^the file is unchanged; with this edit it would be invalid:\n.*:12:9: keys\[1\]\.id: must be an id/);
  assert.equal(readFileSync(path, 'utf8'), ALONE);
});

test('key create refuses an expiry time in the past, and one that does not exist', async (context) => {
  const path = fileWith(context, ALONE);
  const past = await poolgate(['key', 'create', 'b', '--expires-at', '2020-01-01T00:00:00Z', '--config', path]);
  assert.deepEqual([past.code, past.out, past.err], [2, '', 'expires_at 2020-01-01T00:00:00Z is in the past\n']);
  const none = await poolgate(['key', 'create', 'b', '--expires-at', '2999-02-29T00:00:00Z', '--config', path]);
  assert.deepEqual([none.code, none.out], [1, '']);
  assert.match(none.err, /: keys\[b\]\.expires_at: this date or time does not exist\n$/);
  assert.equal(readFileSync(path, 'utf8'), ALONE);
});

test('key rotate adds a secret and keeps the old one', async (context) => {
  const path = fileWith(context, ALONE);
  const { out } = await poolgate(['key', 'rotate', 'ci', '--json', '--config', path]);
  const { id, secret } = JSON.parse(out);
  assert.equal(id, 'ci');
  assert.deepEqual((await configOf(path)).keys[0]?.secret_sha256, [HASH, hash('sha256', secret, 'hex')]);
});

test('a key is paused, resumed and revoked, and a revoked key stays revoked', async (context) => {
  const path = fileWith(context, ALONE);
  const answers = [];
  for (const verb of ['pause', 'pause', 'resume', 'revoke', 'revoke', 'resume', 'pause', 'rotate']) {
    const { code, out, err } = await poolgate(['key', verb, 'ci', '--config', path]);
    answers.push([code, out + err]);
  }
  assert.deepEqual(answers, [
    [0, "key 'ci' is paused\n"],
    [0, "key 'ci' is already paused\n"],
    [0, "key 'ci' is active\n"],
    [0, "key 'ci' is revoked\n"],
    [0, "key 'ci' is already revoked\n"],
    [1, "key 'ci' is revoked, and that is final\n"],
    [1, "key 'ci' is revoked, and that is final\n"],
    [1, "key 'ci' is revoked, and that is final\n"],
  ]);
  const [key] = (await configOf(path)).keys;
  assert.deepEqual([key?.status, key?.secret_sha256], ['revoked', [HASH]]);
});

test('key list, token list and account list show no secret, no hash and no credential', async (context) => {
  const path = fileWith(
    context,
    `${ALONE}operators: [{ id: ops, token_sha256: [${'c'.repeat(64)}], owns: [team] }]\n`.replace(
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
  assert.equal(out, 'KEY  POOL  STATUS  EXPIRES  SECRETS  MODELS  LIMITS\nci   team  active  never    1        all     none\n');
});
