// `init`, and the message of `serve` if there is no file.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { inspect } from '../../../proxy/config/loading/load.ts';
import { PRESETS } from '../../../proxy/turn/provider/presets.ts';
import { answering, poolgate } from '../run.ts';

function emptyFolder(context: TestContext): { readonly folder: string; readonly path: string } {
  const folder = mkdtempSync(join(tmpdir(), 'poolgate-init-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return { folder, path: join(folder, 'config.yaml') };
}

/** The findings of `check --strict` on the file. */
async function configOf(path: string, env: NodeJS.ProcessEnv = {}) {
  const { config, findings } = await inspect(readFileSync(path, 'utf8'), { path, env, strictEnv: true });
  assert.ok(config, findings.map(({ message }) => message).join('\n'));
  return config;
}

test('init --yes writes a commented file of 30 to 60 lines with a key that is printed once', async (context) => {
  const { path } = emptyFolder(context);
  const { code, out } = await poolgate(['init', '--yes', '--config', path]);
  assert.equal(code, 0);
  const text = readFileSync(path, 'utf8');
  const lines = text.trimEnd().split('\n');
  assert.ok(lines.length >= 30 && lines.length <= 60, String(lines.length));
  const { accounts, pools, keys } = await configOf(path);
  assert.deepEqual(
    accounts.map(({ base_url }) => base_url),
    ['rehearsal:', 'rehearsal:flaky'],
  );
  assert.deepEqual(
    pools[0]?.assignments.map(({ account }) => account),
    ['north', 'south'],
  );
  const secret = /POOLGATE_KEY=(pg-[\w-]{43})$/m.exec(out)?.[1] ?? '';
  assert.deepEqual(keys[0]?.secret_sha256, [hash('sha256', secret, 'hex')]);
  assert.ok(!text.includes(secret));
  assert.match(out, /npx poolgate serve/);
});

test('init leaves an existing file alone without --force', async (context) => {
  const { path } = emptyFolder(context);
  await poolgate(['init', '--yes', '--config', path]);
  const before = readFileSync(path, 'utf8');
  const again = await poolgate(['init', '--yes', '--config', path]);
  assert.equal(again.code, 1);
  assert.match(again.err, /exists already, and is left alone; --force replaces it, and `poolgate account add` adds to it\n$/);
  assert.equal(readFileSync(path, 'utf8'), before);
  assert.equal((await poolgate(['init', '--yes', '--force', '--config', path])).code, 0);
  assert.notEqual(readFileSync(path, 'utf8'), before);
});

test('init names a folder that is a file, and writes nothing', async (context) => {
  const { path, folder } = emptyFolder(context);
  writeFileSync(path, 'kept');
  const below = join(path, 'other.yaml');
  const { code, out, err } = await poolgate(['init', '--yes', '--config', below]);
  assert.deepEqual([code, out], [1, '']);
  assert.match(err, /other\.yaml cannot be written: one of its folders is a file \((?:EEXIST|ENOTDIR)\)\n$/);
  assert.deepEqual([readdirSync(folder), readFileSync(path, 'utf8')], [['config.yaml'], 'kept']);
});

for (const [preset, { base_url, credential }] of Object.entries(PRESETS).map(
  ([name, one]) => [name, { base_url: undefined, ...one }] as const,
)) {
  test(`init --preset ${preset} writes a file without errors, once its variable is set`, async (context) => {
    const { path } = emptyFolder(context);
    const address = base_url === undefined ? ['--base-url', 'https://own.example/v1'] : [];
    const { code, out, err } = await poolgate(['init', '--preset', preset, ...address, '--client', 'openai', '--config', path]);
    assert.equal(code, 0, err);
    assert.doesNotMatch(out, /is not set/);
    assert.equal(
      new RegExp(`^  export ${preset.toUpperCase()}_API_KEY=… +# the secret of account ${preset}`, 'm').test(out),
      credential !== 'none',
    );
    const [account] = (await configOf(path, { [`${preset.toUpperCase()}_API_KEY`]: 'x' })).accounts;
    assert.equal(account?.id, preset);
    assert.equal(account?.credential === undefined ? 'none' : Object.keys(account.credential)[0], credential);
  });
}

test('init asks for the account, and puts a typed secret into a file that only its owner can read', async (context) => {
  const { path, folder } = emptyFolder(context);
  const input = answering('openai', 'work', 'sk-typed', 'n', 'codex');
  const { code, out, err } = await poolgate(['init', '--config', path], {}, { input });
  assert.equal(code, 0, err);
  const { accounts, wire } = await configOf(path);
  assert.deepEqual([accounts[0]?.id, wire.agent], ['work', 'codex']);
  const file = join(folder, 'secrets', 'work.key');
  assert.deepEqual([readFileSync(file, 'utf8'), statSync(file).mode & 0o777], ['sk-typed\n', 0o600]);
  assert.ok(!readFileSync(path, 'utf8').includes('sk-typed') && !`${out}${err}`.includes('sk-typed'));
  assert.match(out, /model_provider = "poolgate"/);
  assert.match(out, /^Only with `model_catalog_url` .{1,200}$/m);
  assert.doesNotMatch(out, /wire: |Tried with/, 'neither what the file has already, nor what only the documentation needs');
});

test('init asks for the addresses of a login, and names the next command', async (context) => {
  const { path } = emptyFolder(context);
  const answers = [
    '2',
    'https://provider.example',
    '2',
    'north',
    'provider.example',
    'https://provider.example',
    'https://auth.example/token',
    'client-1',
    'https://auth.example/device',
    '',
    'openid offline',
  ];
  const { code, out, err } = await poolgate(['init', '--config', path], {}, { input: answering(...answers, 'n', '') });
  assert.equal(code, 0, err);
  const [account] = (await configOf(path)).accounts;
  assert.ok(account?.credential && 'oauth' in account.credential);
  assert.deepEqual(account.credential.oauth.scopes, ['openid', 'offline']);
  assert.match(out, /npx poolgate account login north/);
  assert.match(err, /'https:\/\/provider\.example' is no name: .*\n[\s\S]*'provider\.example' is no address: it begins with https:/);
});

test('init without a terminal and without options says which options there are', async (context) => {
  const { path } = emptyFolder(context);
  const { code, err } = await poolgate(['init', '--config', path]);
  assert.deepEqual(
    [code, err],
    [2, 'there is no terminal for questions: say what account it is with --preset, --base-url or --simulated\n'],
  );
  const unknown = await poolgate(['init', '--preset', 'opena', '--config', path]);
  assert.deepEqual([unknown.code, unknown.err], [2, "there is no preset 'opena'; did you mean 'openai'?\n"]);
});

test('serve without a file says that init writes one, and that --demo needs none', async (context) => {
  const { path } = emptyFolder(context);
  const { code, err } = await poolgate(['serve', '--config', path]);
  assert.equal(code, 1);
  assert.match(err, /^there is no file \S+config\.yaml: `poolgate init` writes one, and `poolgate serve --demo` serves simulated accounts/);
});

test('serve with --demo and a file is refused, because the file would be ignored', async (context) => {
  const { path } = emptyFolder(context);
  const { code, err } = await poolgate(['serve', '--demo', '--config', path]);
  assert.deepEqual([code, err], [2, '--demo serves simulated accounts without a file: leave out --demo or --config\n']);
});
