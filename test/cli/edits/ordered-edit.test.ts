// Commands that edit use the gateway that runs on the file, otherwise the file itself; both write the same text.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { secretName } from '../../../proxy/config/file/edits/new-secret.ts';
import { stage } from '../../admin/edits/stage.ts';
import { fileWith } from '../../config/files.ts';
import { poolgate } from '../run.ts';

const COMMANDS = [
  ['key', 'create', 'robot', '--pool', 'team', '--model', 'model-a', '--expires-at', '2999-01-01T00:00:00Z'],
  ['key', 'rotate', 'ci'],
  ['key', 'pause', 'bench'],
  ['key', 'pause', 'bench'],
  ['key', 'revoke', 'robot'],
  ['key', 'resume', 'robot'],
  ['key', 'pause', 'cj'],
  ['key', 'list'],
  ['key', 'list', '--json'],
  ['account', 'list', '--json'],
  ['token', 'list', '--json'],
  ['key', 'edit', 'ci', '--limit', 'requests_per_day=100', '--limit', 'usd_per_day=2.5', '--effort', 'medium', '--output-tokens', '4000'],
  ['key', 'edit', 'ci', '--limit', 'requests_per_day=100'],
  ['key', 'edit', 'ci', '--limit', 'requests_per_day=none', '--model', 'model-a', '--expires-at', '2999-01-01T00:00:00Z'],
  ['key', 'list', '--json'],
  [
    'key',
    'edit',
    'ci',
    '--any-model',
    '--effort',
    'none',
    '--output-tokens',
    'none',
    '--expires-at',
    'none',
    '--limit',
    'usd_per_day=none',
  ],
  ['key', 'edit', 'ci', '--effort-always', 'low', '--json'],
  ['key', 'edit', 'cj', '--any-model'],
  ['key', 'edit', 'robot', '--any-model'],
  ['key', 'edit', 'ci'],
  ['key', 'edit', 'ci', '--limit', 'request_per_day=5'],
  ['key', 'edit', 'ci', '--limit', 'requests_per_day=many'],
  ['key', 'edit', 'ci', '--model', 'model-a', '--any-model'],
  ['key', 'create', 'ci', '--pool', 'team'],
  ['key', 'create', 'old', '--pool', 'team', '--expires-at', '2020-01-01T00:00:00Z'],
  ['key', 'create', 'leap', '--pool', 'team', '--expires-at', '2999-02-29T00:00:00Z'],
  ['mode', 'set', 'team', 'model-a', 'lite'],
  ['mode', 'set', 'team', 'model-a', 'lite'],
  ['mode', 'set', 'team', 'vendor/model b', 'full'],
  ['mode', 'set', 'taem', 'model-a', 'full'],
  ['token', 'create', 'eve', '--owns', 'team', '--assigned', 'lab'],
  ['token', 'create', 'eve'],
  ['token', 'create', 'eve', '--admin'],
  ['token', 'create', 'new'],
  ['token', 'revoke', 'ops', '00000000'],
  ['account', 'pause', 'south'],
  ['account', 'resume', 'south'],
  ['account', 'pause', 'suoth'],
] as const;

const readCopy = (path: string): string => readFileSync(path, 'utf8');

/** The text without secrets and their hashes, which differ in each run. */
const withoutSecrets = (text: string): string => text.replace(/pg-(?:mcp-)?[\w-]{43}|\b[0-9a-f]{64}\b/g, 'SECRET');

test('the API and the file alone give the same file, the same words and the same exit codes', async (context) => {
  const { gate, file, run, path } = await stage(context, {
    onLoopback: true,
    comment: (text) => text.replace('- id: ci', '- id: ci # of the pipelines').replace('pools:', '# who shares what\npools:'),
  });
  const copy = fileWith(context, file());
  const alone = file().replace(`port: ${new URL(gate.adminUrl).port}`, 'port: 0');
  writeFileSync(copy, alone);
  for (const args of COMMANDS) {
    const [here, there] = [await run(args), await poolgate([...args, '--config', copy])];
    const plain = ({ code, out, err }: typeof here) => {
      const text = withoutSecrets(`${out}\n${err}`).replaceAll(copy, 'FILE').replaceAll(path, 'FILE');
      return {
        code,
        text: text
          .replace(/ in the file; the admin listener takes a free port .*/, '')
          .replace(/the file is unchanged; with this edit it would .*:/, 'INVALID'),
      };
    };
    assert.deepEqual(plain(here), plain(there), args.join(' '));
  }
  const admin = /admin:\n.*\n.*\n/;
  assert.equal(withoutSecrets(file()).replace(admin, ''), withoutSecrets(readCopy(copy)).replace(admin, ''));
  assert.match(file(), /# who shares what\npools:/);
  assert.match(file(), /- id: ci # of the pipelines\n/);
  const actors = new Set((await gate.audit('key.create')).map(({ actor }) => actor));
  assert.deepEqual(actors, new Set(['command']), 'the gateway audited them as they were made');
});

test('a token is revoked by its name, and an operator goes with its last token', async (context) => {
  const { run, content } = await stage(context, { onLoopback: true });
  const { secret } = JSON.parse((await run(['token', 'create', 'ops', '--json'])).out);
  const [former, added] = content().operators[0].token_sha256;
  assert.ok(secret.startsWith('pg-mcp-'));
  const listed = JSON.parse((await run(['token', 'list', '--json'])).out);
  assert.deepEqual(listed[0].tokens, [former, added].map(secretName));
  assert.equal(
    (await run(['token', 'revoke', 'ops', secretName(former)])).out,
    `token '${secretName(former)}' of operator 'ops' is revoked\n`,
  );
  assert.deepEqual(content().operators[0].token_sha256, [added]);
  assert.equal((await run(['token', 'revoke', 'ops', secretName(added)])).code, 0);
  assert.deepEqual(
    content().operators.map(({ id }: { id: string }) => id),
    ['lab', 'root'],
  );
  const gone = await run(['token', 'revoke', 'ops', secretName(added)]);
  assert.deepEqual([gone.code, gone.err], [1, "there is no operator 'ops'\n"]);
});

test('a gateway on another file is named; an edit is made in the file, and what only a gateway can do is refused', async (context) => {
  const { file, path } = await stage(context, { onLoopback: true });
  const other = fileWith(context, file());
  const reason = `this gateway runs on ${path}, not on ${other}: name its file with --config`;
  for (const args of [['reload'], ['diff'], ['account', 'restore', 'north'], ['account', 'relogin', 'north']]) {
    const { code, out, err } = await poolgate([...args, '--config', other]);
    assert.deepEqual([code, out, err], [1, '', `${reason}\n`], args.join(' '));
  }
  const before = file();
  const paused = await poolgate(['key', 'pause', 'ci', '--config', other]);
  assert.deepEqual(
    [paused.code, paused.out, paused.err],
    [0, "key 'ci' is paused\n", `note: ${reason}; the command edits the file itself\n`],
  );
  assert.equal(file(), before, 'the file of the gateway');
  assert.match(readCopy(other), /status: paused/);
});

test('outside loopback edits are those of POOLGATE_TOKEN; without one, who may write the file edits it', async (context) => {
  const { gate, run, content } = await stage(context);
  const refused = await run(['key', 'pause', 'bench'], 'ops');
  assert.deepEqual([refused.code, refused.err], [1, "Pool 'lab' is not one that you own\n"]);
  const admin = await run(['token', 'create', 'eve', '--admin'], 'ops');
  assert.deepEqual([admin.code, admin.out, admin.err], [1, '', 'only an operator with `admin: true` may do this\n']);
  assert.equal((await run(['key', 'pause', 'ci'], 'ops')).out, "key 'ci' is paused\n");
  assert.deepEqual(
    (await gate.audit('key.change')).map(({ actor }) => actor),
    ['operator:ops'],
  );
  const wrong = await run(['key', 'resume', 'ci'], 'nobody');
  assert.match(wrong.err, /requires an operator: no operator has the token in POOLGATE_TOKEN\n$/);
  assert.deepEqual([wrong.code, content().keys[0].status], [1, 'paused']);
  const local = await run(['key', 'resume', 'ci']);
  assert.match(local.err, /^note: http:\S+ requires an operator: .*; the command edits the file itself\n$/);
  assert.deepEqual([local.code, content().keys[0].status], [0, 'active']);
});
