// [S9] Actions of an operator on an account take effect in the running gateway and leave audit rows.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { carrierFailure, statusFailure } from '../../../proxy/turn/errors/failure.ts';
import { type AuditRow, openStore } from '../../../store/store.ts';
import { poolgate } from '../../cli/run.ts';
import { folderFor, SMALL } from '../../config/files.ts';
import { bearerOf, startGateway, type TestGateway } from '../../support/gateway.ts';
import { startProgram } from '../../support/program/program.ts';

/** Writes the file by which commands find the running gateway. */
function found(path: string, { adminUrl }: TestGateway): void {
  writeFileSync(path, `${SMALL}admin: { port: ${new URL(adminUrl).port} }\n`);
}

/** The rows of a program that has stopped, oldest first. */
async function auditOf(folder: string): Promise<readonly Pick<AuditRow, 'actor' | 'action' | 'target' | 'fields'>[]> {
  const store = await openStore(`sqlite:${join(folder, 'data', 'poolgate.db')}`, { clock: () => Date.now() });
  const rows = await store.audit.list({ limit: 1000 });
  await store.close();
  return rows.toReversed().map(({ actor, action, target, fields }) => ({ actor, action, target, fields }));
}

let turns = 0;

/** Each call starts another conversation, so no turn goes to the account of an earlier one. */
const turn = () => ({ body: { model: 'model-a', input: `hello ${turns++}` } });

test('account add reports what keeps the running gateway from the new account', async () => {
  await using program = await startProgram({ here: true });
  const add = (id: string, variable: string) =>
    program.poolgate(
      'account',
      'add',
      id,
      '--api',
      'responses',
      '--base-url',
      'https://provider.example/v1',
      '--env',
      variable,
      '--no-check',
    );
  const refused = await add('lost', 'A_VARIABLE_OF_THE_COMMAND_ALONE');
  const next = 'next: set A_VARIABLE_OF_THE_COMMAND_ALONE where the gateway starts; it is not set here';
  assert.deepEqual([refused.code, refused.out], [1, `account 'lost' was added to ${program.path}, for Pool 'team'\n${next}\n`]);
  assert.match(
    refused.err,
    /^the gateway keeps its configuration; the file has errors:\n\S+:\d+:\d+: accounts\[lost\]\.\S+ the environment variable A_VARIABLE_OF_THE_COMMAND_ALONE is not set\n$/,
  );
});

test('[S9] account pause and resume edit the file with its comments, reach the running gateway and leave rows', async () => {
  await using program = await startProgram({
    here: true,
    config: (draft) => {
      draft.pools[0].strategy = 'fill_first';
    },
    place: (folder, text) => {
      const path = join(folder, 'config.yaml');
      const commented = text.replace(/^( *)- id: north$/m, '$1- id: north # the first one');
      assert.notEqual(commented, text);
      writeFileSync(path, commented);
      return path;
    },
  });
  const went = (): readonly string[] => program.upstream.turns().map(({ account }) => account);
  assert.equal(await program.status('/v1/responses', turn()), 200);
  assert.deepEqual(await program.poolgate('account', 'pause', 'north'), { code: 0, out: "account 'north' is paused\n", err: '' });
  assert.equal(await program.status('/v1/responses', turn()), 200);
  assert.match(readFileSync(program.path, 'utf8'), /- id: north # the first one\n(?:.*\n)*? +paused: true\n/);
  assert.match((await program.poolgate('status')).out, /^north +paused /m);
  assert.match((await program.poolgate('account', 'list')).out, /^north +\S+ +bearer +yes +yes /m);
  assert.match((await program.poolgate('explain', 'POST', '/v1/responses', '--key', 'ci')).out, /north +no: the account is paused/);
  assert.equal((await program.poolgate('account', 'pause', 'north')).out, "account 'north' is already paused\n");
  assert.equal((await program.poolgate('account', 'resume', 'north')).out, "account 'north' is in use\n");
  assert.equal(await program.status('/v1/responses', turn()), 200);
  assert.deepEqual(went(), ['north', 'south', 'north']);
  const unknown = await program.poolgate('account', 'pause', 'nroth');
  assert.deepEqual([unknown.code, unknown.err], [1, "there is no account 'nroth'; did you mean 'north'?\n"]);

  await program.stop();
  const later = await program.poolgate('account', 'pause', 'south', '--json');
  assert.deepEqual(JSON.parse(later.out), { id: 'south', paused: true, changed: true, running: false });
  assert.match(
    (await program.poolgate('account', 'pause', 'south')).out,
    /^account 'south' is already paused in the file; no gateway answers/,
  );

  await program.run();
  await program.stop();
  const rows = await auditOf(program.folder);
  assert.deepEqual(
    rows.filter(({ action }) => action === 'account.change').map(({ actor: _, ...row }) => row),
    [
      { action: 'account.change', target: 'north', fields: [{ path: 'accounts[north].paused', from: false, to: true }] },
      { action: 'account.change', target: 'north', fields: [{ path: 'accounts[north].paused', from: true, to: false }] },
      { action: 'account.change', target: 'south', fields: [{ path: 'accounts[south].paused', from: false, to: true }] },
    ],
  );
  assert.equal(rows.at(-2)?.actor, 'start', 'what was changed while the gateway was down');
});

test('[S9] account restore ends the cooldowns of an account and its models, and its audit row names them', async (context) => {
  const path = join(folderFor(context), 'config.yaml');
  await using gate = await startGateway({ path });
  found(path, gate);
  for (let i = 0; i < 3; i++) gate.fail('north', 'model-a', carrierFailure('connect'));
  const missing = Buffer.from('{"error":{"code":"model_not_found"}}');
  for (let i = 0; i < 3; i++) gate.fail('south', 'model-a', statusFailure(404, {}, missing, Date.now()));
  assert.equal(gate.account('north').status, 'failing');
  const { code, out, err } = await poolgate(['account', 'restore', 'north', '--config', path]);
  assert.deepEqual([code, err], [0, '']);
  assert.match(out, /^accounts\[north\]\.health: failing -> active\naccounts\[north\]\.cooldown: until \S+Z, connect -> none\n$/);
  assert.deepEqual([gate.account('north').status, gate.account('north').cooldown], ['active', undefined]);
  assert.equal(
    (await poolgate(['account', 'restore', 'north', '--config', path])).out,
    "account 'north' has no cooldown and is not failing\n",
  );
  const [row, ...others] = await gate.audit('account.restore');
  assert.deepEqual(others, [], 'an action that changes nothing leaves no row');
  assert.deepEqual([row?.actor, row?.target, row?.pool], ['command', 'north', null]);
  assert.deepEqual(
    row?.fields.map(({ path: field }) => field),
    ['accounts[north].health', 'accounts[north].cooldown'],
  );
});

test('[S9] an account whose credential was refused needs relogin, and restore refuses it', async (context) => {
  const path = join(folderFor(context), 'config.yaml');
  await using gate = await startGateway({ path });
  found(path, gate);
  gate.fail('north', 'model-a', statusFailure(401, {}, Buffer.from('{}'), Date.now()));
  assert.equal(gate.account('north').status, 'reauth_required');
  await gate.flush();
  const [refused] = await gate.audit('credential.refused');
  assert.deepEqual(
    [refused?.actor, refused?.target, refused?.fields],
    ['gateway', 'north', [{ path: 'accounts[north].health', from: 'active', to: 'reauth_required' }]],
  );
  const { code, err } = await poolgate(['account', 'restore', 'north', '--config', path]);
  assert.deepEqual([code, err], [1, "account 'north' needs another login: poolgate account relogin north\n"]);
  const gone = await fetch(`${gate.adminUrl}/api/accounts/west/restore`, { method: 'POST', headers: { 'x-poolgate-command': '1' } });
  assert.deepEqual([gone.status, await gone.json()], [404, { error: "the running gateway has no account 'west'", code: 'not_found' }]);
  const page = await fetch(`${gate.adminUrl}/api/accounts/north/relogin`, { method: 'POST' });
  assert.equal(page.status, 403, 'a web page cannot do it');
});

test('[S9] account relogin reads a static bearer from its file again and ends the need for a login', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'poolgate-relogin-'));
  const file = join(folder, 'north.token');
  await writeFile(file, bearerOf('north'));
  await using program = await startProgram({
    here: true,
    config: (draft) => {
      draft.pools[0].strategy = 'fill_first';
      draft.accounts[0].credential = { bearer: { file } };
    },
  });
  program.upstream.next('north', 'refuse 401');
  assert.equal(await program.status('/v1/responses', turn()), 200);
  assert.match((await program.poolgate('status')).out, /^north +login required /m);
  const same = await program.poolgate('account', 'relogin', 'north');
  assert.deepEqual(
    [same.code, same.err, same.out],
    [
      0,
      '',
      "the login of account 'north' has not changed: the next turn tries it again\naccounts[north].health: reauth_required -> active\n",
    ],
  );
  assert.equal(await program.status('/v1/responses', turn()), 200);
  assert.equal(program.upstream.turns().at(-1)?.account, 'north');
  await writeFile(file, 'another-bearer');
  assert.equal((await program.poolgate('account', 'relogin', 'north')).out, "account 'north' now uses the new login from its file\n");
  await program.stop();
  const rows = await auditOf(program.folder);
  const mine = rows.filter(({ action }) => action === 'account.relogin');
  assert.equal(mine.length, 2);
  assert.deepEqual(mine[1]?.fields[0], { path: 'accounts[north].credential', from: '(changed)', to: '(changed)' });
  assert.ok(!/bearer-of|another-bearer/.test(JSON.stringify(rows)), 'no credential is in a row');
  await rm(folder, { recursive: true });
});

test('[S9] account relogin of an account without a credential says that it has none', async () => {
  await using program = await startProgram({
    here: true,
    config: (draft) => {
      const [{ id, base_url }] = draft.accounts;
      draft.accounts[0] = { id, base_url, api: 'responses', credential: 'none' };
    },
  });
  const { code, out, err } = await program.poolgate('account', 'relogin', 'north');
  assert.deepEqual([code, err], [0, '']);
  assert.match(out, /^account 'north' has no credential; if its provider demands one, add it to the file\n/);
  assert.equal(JSON.parse((await program.poolgate('account', 'relogin', 'north', '--json')).out).credential, null);
});

test('[S9] account relogin of an account whose credential was just removed says that it has none', async () => {
  await using program = await startProgram({
    here: true,
    config: (draft) => {
      const [{ id, base_url }] = draft.accounts;
      draft.accounts[0] = { id, base_url, api: 'responses', credential: { bearer: { env: 'BEARER_NORTH' } } };
    },
  });
  const path = join(program.folder, 'config.yaml');
  const text = readFileSync(path, 'utf8');
  const without = text.replace(/credential:\s+bearer:\s+env: BEARER_NORTH/, 'credential: none');
  assert.notEqual(without, text);
  writeFileSync(path, without);
  const { code, out, err } = await program.poolgate('account', 'relogin', 'north');
  assert.deepEqual([code, err], [0, '']);
  assert.match(out, /^account 'north' has no credential; if its provider demands one, add it to the file\n/);
});

test('[S9] account relogin of an OAuth account imports its tokens file, and asks again for a login that was unlocked', async (context) => {
  const folder = await mkdtemp(join(tmpdir(), 'poolgate-relogin-'));
  const file = join(folder, 'north.json');
  const login = (refresh: string): Promise<void> =>
    writeFile(file, JSON.stringify({ tokens: { refresh_token: refresh, access_token: 'at-first' } }));
  await login('rt-first');
  const path = join(folderFor(context), 'config.yaml');
  await using gate = await startGateway({
    path,
    upstream: { accounts: [{ id: 'north', oauth: { refresh_token: 'rt-first', access_token: 'at-first', expires_in: 3600 } }, 'south'] },
    config: (draft) => {
      const [north] = draft.accounts;
      north.credential = { oauth: { file, token_url: `${north.base_url}/oauth/token`, client_id: 'client-1' } };
    },
  });
  found(path, gate);
  const relogin = () => poolgate(['account', 'relogin', 'north', '--config', path]);
  gate.upstream.loginOf('north').expire();
  gate.upstream.nextOn('north', '/oauth/token', { kind: 'reply', status: 400, body: { json: { error: 'invalid_grant' } } });
  await gate.send('/v1/responses', turn());
  assert.equal(gate.account('north').status, 'reauth_required');

  assert.match(
    (await relogin()).out,
    /^the login of account 'north' has not changed: the next turn tries it again\naccounts\[north\]\.health: reauth_required -> active\n/,
  );
  await gate.send('/v1/responses', turn());
  assert.equal(gate.upstream.turns().at(-1)?.account, 'north');

  gate.upstream.loginOf('north').renew('rt-second');
  await login('rt-second');
  assert.match((await relogin()).out, /^account 'north' now uses the new login from its file\n/);
  assert.equal((await gate.audit('credential.import')).length, 2, 'the first import and this one');
  await writeFile(file, 'not json');
  const { code, err } = await relogin();
  assert.deepEqual([code, err], [1, "the credential file of account 'north' has no tokens that can be read\n"]);
  assert.equal((await gate.audit('account.relogin')).length, 2);
  await rm(folder, { recursive: true });
});

test('[S9] a refresh that fails leaves one row, whatever the number of tries', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'poolgate-relogin-'));
  const file = join(folder, 'north.json');
  await writeFile(file, JSON.stringify({ tokens: { refresh_token: 'rt-first' } }));
  await using gate = await startGateway({
    upstream: { accounts: ['north', 'south'] },
    config: (draft) => {
      draft.accounts[0].credential = { oauth: { file, token_url: 'http://127.0.0.1:9/oauth/token', client_id: 'client-1' } };
    },
  });
  await gate.send('/v1/responses', turn());
  await gate.send('/v1/responses', turn());
  const rows = await gate.audit('credential.refresh_failed');
  assert.deepEqual(
    rows.map(({ actor, target, fields }) => [actor, target, fields]),
    [['gateway', 'north', []]],
  );
  await rm(folder, { recursive: true });
});
