// GET /api/config, modes and tokens over the admin API, files that cannot be written or were saved in the meantime, and secrets.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openStore } from '../../../store/store.ts';
import { folderFor } from '../../config/files.ts';
import { tokenOf } from '../../support/mcp.ts';
import { stage } from './stage.ts';

const failing = (code: string) => () => Promise.reject(Object.assign(new Error(code), { code }));

/** Replaces a function of `node:fs/promises` until the test ends. */
function replace(context: TestContext, name: 'access', by: (...args: never[]) => Promise<unknown>): void {
  const mock = context.mock.method(files, name, by as never);
  syncBuiltinESMExports();
  context.after(() => {
    mock.mock.restore();
    syncBuiltinESMExports();
  });
}

test('the file is shown with its comments and without its secrets, with what a reload would change', async (context) => {
  const { as, file, path, gate } = await stage(context, {
    comment: (text) => text.replace('keys:', '# was sk-live-0123456789abcdefghij, of the pipelines\nkeys:'),
    config: (draft) => {
      draft.accounts[0].headers = { 'x-tenant': 'tenant-of-north' };
    },
  });
  const { json } = await as('root', 'GET /api/config');
  assert.deepEqual([json.path, json.edits, json.findings.length, json.changes], [path, { off: null }, 1, []]);
  assert.match(json.findings[0].message, /^admin\.host: the admin listener has no TLS of its own/);
  assert.equal(json.version, json.file_version);
  assert.match(json.text, /# was \(private\), of the pipelines\nkeys:/);
  assert.match(json.text, / {2}- id: ci\n {4}pool: team\n {4}secret_sha256:\n {6}- \(private\)\n/);
  assert.match(json.text, /x-tenant: \(private\)\n/);
  for (const secret of [...file().matchAll(/[0-9a-f]{64}/g), ['tenant-of-north'], ['sk-live'], [gate.upstream.urlOf('north')]]) {
    assert.ok(!json.text.includes(secret[0]), secret[0]);
  }
  assert.equal(json.text.split('\n').length, file().split('\n').length, 'each line is where it was');

  writeFileSync(path, file().replace('label: Team', 'label: Everyone'));
  const changed = (await as('root', 'GET /api/config')).json;
  assert.deepEqual(changed.changes, [{ path: 'pools[team].label', kind: 'changed', from: 'Team', to: 'Everyone', restart: false }]);
  assert.notEqual(changed.version, changed.file_version);

  writeFileSync(path, file().replace('label: Everyone', 'lable: Everyone').replace('pool: lab', 'pool: lab\n    api_key: sk-0123456789'));
  const wrong = (await as('root', 'GET /api/config')).json;
  assert.deepEqual([wrong.file_version, wrong.changes, wrong.version], [null, null, json.version]);
  const found = wrong.findings.filter(({ severity }: { severity: string }) => severity === 'error');
  const lines = wrong.text.split('\n');
  assert.match(lines[found[0].line - 1], /^ +lable: \(private\)$/);
  assert.match(lines[found[1].line - 1], /^ +api_key: \(private\)$/);

  writeFileSync(path, `${file()}\n  - [`);
  const broken = (await as('root', 'GET /api/config')).json;
  assert.equal(broken.text, null, 'what is a secret in it cannot be known');
  assert.ok(broken.findings.length > 0);
});

test('[PL3] a mode is set and taken back; it is in force at once', async (context) => {
  const { as, content, gate } = await stage(context);
  const set = async (mode: string) => (await as('ops', 'PUT /api/pools/team/modes/vendor%2Fmodel-a', { body: { mode } })).json;
  const { version, ...first } = await set('lite');
  assert.deepEqual(first, { pool: 'team', model: 'vendor/model-a', mode: 'lite', changed: true });
  assert.match(version, /^[0-9a-f]{12}$/);
  assert.equal((await set('lite')).changed, false);
  assert.deepEqual(content().pools[0].serving_modes, { 'vendor/model-a': 'lite' });
  assert.equal((await set('auto')).mode, 'auto');
  assert.deepEqual(content().pools[0].serving_modes, {});
  const rows = await gate.audit('mode.set');
  assert.deepEqual(
    rows.map(({ actor, target }) => `${actor} ${target}`),
    Array(2).fill('operator:ops team/vendor/model-a'),
  );
});

test('a token is made by an admin operator, works at once, and ends with its sessions when it is revoked', async (context) => {
  const { as, gate } = await stage(context);
  const { json: made } = await as('root', 'POST /api/tokens', { body: { operator: 'eve', owns: ['team'] } });
  const bearer = { authorization: `Bearer ${made.secret}` };
  const began = await fetch(`${gate.adminUrl}/api/session`, { method: 'POST', headers: { 'x-poolgate-command': '1', ...bearer } });
  const cookie = { cookie: began.headers.getSetCookie()[0]?.split(';')[0] ?? '' };
  assert.equal((await as(null, 'GET /api/session', { headers: cookie })).json.operator, 'eve');
  const listed = (await as('root', 'GET /api/tokens')).json.operators.find(({ id }: { id: string }) => id === 'eve');
  assert.deepEqual(listed, { id: 'eve', owns: ['team'], assigned: [], admin: false, tokens: [made.token] });
  assert.equal(made.token, hash('sha256', made.secret, 'hex').slice(0, 8));
  const { json: second } = await as('root', 'POST /api/tokens', { body: { operator: 'eve' } });
  const refused = await as('root', 'POST /api/tokens', { body: { operator: 'eve', admin: true } });
  assert.deepEqual([refused.status, refused.json.error], [400, "operator 'eve' exists already: change its rights in the file"]);
  assert.equal((await as('root', 'DELETE /api/tokens/eve/00000000')).status, 404);
  const { version: _, ...revoked } = (await as('root', `DELETE /api/tokens/eve/${made.token}`)).json;
  assert.deepEqual(revoked, { operator: 'eve', token: made.token, left: 1 });
  for (const headers of [cookie, bearer]) assert.equal((await as(null, 'GET /api/session', { headers })).status, 401);
  assert.equal((await as('root', `DELETE /api/tokens/eve/${second.token}`)).json.left, 0);
  assert.equal((await as('root', `DELETE /api/tokens/eve/${second.token}`)).status, 404);
});

test('where the file cannot be written edits are off, and everything says why', async (context) => {
  const { as, file, run } = await stage(context);
  const before = file();
  replace(context, 'access', failing('EROFS'));
  const reason = 'the file cannot be edited here, since its file system is read-only (EROFS)';
  assert.deepEqual((await as('root', 'GET /api/config')).json.edits, { off: reason });
  assert.deepEqual((await as('ops', 'GET /api/session')).json.edits, { off: reason });
  for (const [request, body] of [
    ['POST /api/keys', { id: 'x', pool: 'team' }],
    ['PATCH /api/keys/ci', { models: null }],
    ['POST /api/keys/ci/rotate', undefined],
    ['POST /api/keys/ci/revoke', undefined],
    ['PUT /api/pools/team/modes/model-a', { mode: 'lite' }],
    ['POST /api/tokens', { operator: 'eve', admin: true }],
    ['DELETE /api/tokens/ops/00000000', undefined],
    ['POST /api/accounts/north/pause', undefined],
  ] as const) {
    const { status, json } = await as('root', request, { body });
    assert.deepEqual([status, json], [409, { error: reason, code: 'edits_off' }], request);
  }
  assert.equal(file(), before);
  const { out, err } = await run(['key', 'pause', 'ci'], 'root');
  assert.deepEqual([out, err], ["key 'ci' is paused\n", `note: ${reason}; the command edits the file itself\n`]);
});

test('a file that another program saves during an edit keeps what that saved', async (context) => {
  const { as, file, path } = await stage(context);
  const saved = `# by hand\n${file()}`;
  const { open } = files;
  let isSaved = false;
  const mock = context.mock.method(files, 'open', async (...args: Parameters<typeof open>) => {
    const handle = await open(...args);
    const { sync } = handle;
    handle.sync = async () => {
      if (!isSaved) writeFileSync(path, saved);
      isSaved = true;
      return sync.call(handle);
    };
    return handle;
  });
  syncBuiltinESMExports();
  context.after(() => {
    mock.mock.restore();
    syncBuiltinESMExports();
  });
  const refused = await as('ops', 'POST /api/keys/ci/pause');
  assert.deepEqual(
    [refused.status, refused.json],
    [409, { error: 'the file was changed during the edit; try again', code: 'file_changed' }],
  );
  assert.equal(file(), saved);
  assert.equal((await as('ops', 'POST /api/keys/ci/pause')).json.key.status, 'paused');
});

test('a file with errors is not edited; only an operator who may see everything gets the errors', async (context) => {
  const { as, file, path } = await stage(context);
  writeFileSync(path, file().replace('label: Lab', 'lable: Lab'));
  const before = file();
  const { status, json } = await as('ops', 'POST /api/keys/ci/pause');
  assert.deepEqual([status, json], [422, { error: 'the file has errors', code: 'invalid_configuration' }]);
  const { findings } = (await as('root', 'POST /api/keys/ci/pause')).json;
  assert.match(findings[0].message, /unknown key; did you mean 'label'\?$/);
  assert.equal(file(), before);
});

test('an edit that could not be reloaded, for a secret that cannot be read, is refused', async (context) => {
  const { as, file, path } = await stage(context);
  writeFileSync(path, file().replace(/file: (\S+north)/, 'file: $1-gone'));
  const before = file();
  const { status, json } = await as('root', 'POST /api/keys/ci/pause');
  assert.equal(status, 422);
  assert.match(json.findings[0].message, /^accounts\[north\]\.credential\.bearer\.file: /);
  assert.equal(file(), before);
});

test('[S4] a made secret is in its answer, and nowhere else', async (context) => {
  const folder = folderFor(context);
  const { as, gate, file } = await stage(context, {
    config: (draft) => {
      draft.store = `sqlite:${join(folder, 'store.db')}`;
      draft.store_key = { file: join(folder, 'store.key') };
    },
  });
  const secrets: string[] = [];
  for (const [request, body] of [
    ['POST /api/keys', { id: 'robot', pool: 'team' }],
    ['POST /api/keys/robot/rotate', undefined],
    ['POST /api/tokens', { operator: 'ops' }],
  ] as const) {
    secrets.push((await as('root', request, { body })).json.secret);
  }
  assert.ok(secrets.every((secret) => /^pg-(?:mcp-)?[\w-]{43}$/.test(secret)));
  for (const secret of secrets.slice(0, 2)) {
    assert.equal((await gate.send('/v1/models', { headers: { authorization: `Bearer ${secret}` } })).status, 200);
  }
  const seen = [file(), ...gate.logged];
  const reads = ['keys', 'tokens', 'config', 'status', 'overview', 'audit', 'requests', 'usage', 'session', 'pools', 'models', 'nodes'];
  for (const name of reads) seen.push((await as('root', `GET /api/${name}`)).text);
  seen.push(await (await fetch(`${gate.adminUrl}/metrics`, { headers: { authorization: `Bearer ${tokenOf('root')}` } })).text());
  const store = await openStore(`sqlite:${join(folder, 'store.db')}`, { clock: () => Date.now() });
  seen.push(JSON.stringify(await store.audit.list({ limit: 100 })));
  await store.close();
  for (const name of ['store.db', 'store.db-wal']) {
    try {
      seen.push(readFileSync(join(folder, name), 'latin1'));
    } catch {
      // A log that was merged no longer exists.
    }
  }
  for (const secret of secrets) assert.ok(!seen.some((text) => text.includes(secret)));
  // Only the file has hashes.
  for (const secret of secrets) assert.ok(!seen.slice(1).some((text) => text.includes(hash('sha256', secret, 'hex'))));
});

test('a large file is edited and shown in a thread of its own, with the same answers', async (context) => {
  const { as, content } = await stage(context, {
    comment: (text) => text + '# one line of many\n'.repeat(4_000),
  });
  const made = await as('ops', 'POST /api/keys', { body: { id: 'robot', pool: 'team' } });
  assert.equal(made.status, 200, made.text);
  assert.deepEqual(content().keys.at(-1).secret_sha256, [hash('sha256', made.json.secret, 'hex')]);
  const twice = await as('ops', 'POST /api/keys', { body: { id: 'robot', pool: 'team' } });
  assert.deepEqual([twice.status, twice.json.code], [409, 'conflict']);
  const leap = await as('ops', 'POST /api/keys', { body: { id: 'leap', pool: 'team', expires_at: '2999-02-29T00:00:00Z' } });
  assert.deepEqual([leap.status, leap.json.code, leap.json.findings.length], [422, 'invalid_configuration', 1]);
  const { json } = await as('root', 'GET /api/config');
  assert.ok(json.text.includes('id: robot') && !json.text.includes(hash('sha256', made.json.secret, 'hex')));
  assert.deepEqual(json.changes, []);
});
