// [S9] Actions of operators leave audit rows with the operator, the action and the fields, and without secrets.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Log } from '../../../proxy/base/process/log.ts';
import { loadConfig } from '../../../proxy/config/loading/load.ts';
import type { ReloadActor } from '../../../proxy/gateway/config-follower.ts';
import { Gateway } from '../../../proxy/gateway/gateway.ts';
import { type AuditRow, openStore } from '../../../store/store.ts';
import { fileWith, SMALL } from '../../config/files.ts';
import { bearerOf, KEY } from '../../support/gateway.ts';
import { Probes } from '../../support/probes.ts';
import { type Program, startProgram } from '../../support/program/program.ts';

/** All audit rows of a program that has stopped, oldest first, without the values that differ between runs. */
async function auditOf({ folder }: Program): Promise<readonly Omit<AuditRow, 'id' | 'at'>[]> {
  const store = await openStore(`sqlite:${join(folder, 'data', 'poolgate.db')}`, { clock: () => Date.now() });
  const rows = await store.audit.list({ limit: 1000 });
  await store.close();
  return rows.toReversed().map(({ id: _, at: __, ...row }) => row);
}

const of = (rows: readonly Omit<AuditRow, 'id' | 'at'>[], action: string) => rows.filter((row) => row.action === action);

/** Runs `act`, and waits until the gateway has read its file again. */
async function settled(program: Program, act: () => unknown): Promise<void> {
  const before = program.lines('config_read').filter(({ changes }) => changes > 0).length;
  await act();
  await program.line('config_read', before);
}

test('[S9] key, token and mode commands leave rows of their own, in the Pool that they concern, without secrets', async () => {
  await using program = await startProgram({ here: true });
  const secrets: string[] = [];
  const run = (...args: readonly string[]) =>
    settled(program, async () => {
      const { code, out, err } = await program.poolgate(...args);
      assert.equal(code, 0, err);
      secrets.push(out.trim());
    });
  await run('key', 'create', 'robot', '--pool', 'team');
  await run('key', 'pause', 'robot');
  await run('key', 'rotate', 'robot');
  await run('token', 'create', 'ops', '--owns', 'team');
  await run('mode', 'set', 'team', 'model-a', 'lite');
  await run('mode', 'set', 'team', 'model-a', 'auto');
  await program.stop();

  const rows = await auditOf(program);
  const mine = rows.filter(({ action }) => !action.startsWith('config.'));
  const row = (action: string, target: string, pool: string | null, fields: AuditRow['fields']) => ({
    actor: 'command',
    action,
    target,
    pool,
    fields,
  });
  assert.deepEqual(mine, [
    row('key.create', 'robot', 'team', [{ path: 'keys[robot] (added)', from: null, to: null }]),
    row('key.change', 'robot', 'team', [{ path: 'keys[robot].status', from: 'active', to: 'paused' }]),
    row('key.change', 'robot', 'team', [{ path: 'keys[robot].secret_sha256', from: '(changed)', to: '(changed)' }]),
    row('operator.create', 'ops', null, [{ path: 'operators[ops] (added)', from: null, to: null }]),
    row('mode.set', 'team/model-a', 'team', [{ path: 'pools[team].serving_modes.model-a (added)', from: null, to: 'lite' }]),
    row('mode.set', 'team/model-a', 'team', [{ path: 'pools[team].serving_modes.model-a (removed)', from: 'lite', to: null }]),
  ]);
  // Each row of a reload also has the version of the configuration that it started.
  const versions = of(rows, 'config.reload').map(({ target }) => target);
  assert.equal(versions.length, 6);
  assert.ok(versions.every((version) => /^[0-9a-f]{12}$/.test(version)));
  assert.equal(versions[3], versions[5], 'a mode that is set and taken back is the configuration from before');

  const text = JSON.stringify(rows);
  for (const secret of [...secrets.slice(0, 1), ...secrets.slice(2, 4), KEY, bearerOf('north')]) {
    assert.ok(!text.includes(secret) && !text.includes(hash('sha256', secret, 'hex')), secret);
  }
});

test('[S9] a saved file is audited field by field, with the actor that caused the reload; addresses and credentials only as changed', async () => {
  await using program = await startProgram({ here: true });
  await settled(program, () =>
    program.save((draft) => {
      draft.pools[0].max_attempts = 5;
      draft.limits = { audio_bytes: 1000 };
      draft.accounts[0].base_url = 'https://elsewhere.example';
      draft.accounts[1].headers = { 'x-tenant': 'tenant-of-south' };
      draft.keys[0].models = ['model-a'];
    }),
  );
  const { code } = await program.poolgate('reload');
  assert.equal(code, 0);
  await program.stop();
  const rows = await auditOf(program);
  assert.deepEqual(of(rows, 'pool.change'), [
    { actor: 'file', action: 'pool.change', target: 'team', pool: 'team', fields: [{ path: 'pools[team].max_attempts', from: 3, to: 5 }] },
  ]);
  assert.deepEqual(
    of(rows, 'account.change')
      .toSorted((a, b) => a.target.localeCompare(b.target))
      .map(({ target, pool, fields }) => [target, pool, fields]),
    [
      ['north', null, [{ path: 'accounts[north].base_url', from: '(changed)', to: '(changed)' }]],
      ['south', null, [{ path: 'accounts[south].headers', from: '(changed)', to: '(changed)' }]],
    ],
  );
  assert.deepEqual(of(rows, 'key.change')[0]?.fields, [{ path: 'keys[ci].models (added)', from: null, to: '["model-a"]' }]);
  const reloads = of(rows, 'config.reload');
  assert.equal(reloads.length, 1, 'a reload that changes nothing is no action');
  assert.deepEqual(reloads[0]?.fields, [{ path: 'limits.audio_bytes', from: 52428800, to: 1000 }]);
  const text = JSON.stringify(rows) + program.written;
  const address = new URL(program.upstream.urlOf('north')).host;
  for (const known of ['elsewhere.example', 'tenant-of-south', address]) assert.ok(!text.includes(known), known);
});

test('[S9] a change that needs a restart is audited when it takes effect, and so are changes made while no gateway ran', async () => {
  await using program = await startProgram({ here: true });
  await settled(program, () => program.save((draft) => Object.assign(draft.listen, { host: 'localhost' })));
  await program.stop();
  const before = await auditOf(program);
  assert.deepEqual(
    before.map(({ action, actor }) => [action, actor]),
    [['config.start', 'start']],
  );
  await program.run();
  await program.stop();
  program.save((draft) => {
    draft.pools[0].max_attempts = 7;
  });
  await program.run();
  await program.stop();
  await program.run();
  await program.stop();
  const starts = of(await auditOf(program), 'config.start');
  assert.equal(starts.length, 3, 'a start on what ran before changes nothing');
  assert.deepEqual(
    starts.map(({ fields }) => fields[0]?.from),
    [null, ...starts.slice(0, -1).map(({ target }) => target)],
  );
  assert.deepEqual(starts[1]?.fields[1], { path: 'listen.host', from: '127.0.0.1', to: 'localhost' });
});

test('[S9] changes that were made while no gateway ran are audited field by field at the start, without secrets', async () => {
  await using program = await startProgram({ here: true });
  await settled(program, () => program.poolgate('mode', 'set', 'team', 'model-a', 'lite'));
  await program.stop();
  const before = await auditOf(program);
  const { out: secret } = await program.poolgate('key', 'create', 'robot', '--pool', 'team');
  await program.poolgate('mode', 'set', 'team', 'model-a', 'full');
  const text = readFileSync(program.path, 'utf8').replace(/base_url: \S+/, 'base_url: https://elsewhere.example');
  writeFileSync(program.path, `${text}retention: { audit_days: 100 }\n`);
  await program.run();
  await program.stop();
  const rows = (await auditOf(program)).slice(before.length);
  assert.deepEqual(new Set(rows.map(({ actor }) => actor)), new Set(['start']));
  const fields = (action: string) => of(rows, action).map(({ target, pool, fields: changed }) => [target, pool, changed]);
  assert.deepEqual(fields('mode.set'), [
    ['team/model-a', 'team', [{ path: 'pools[team].serving_modes.model-a', from: 'lite', to: 'full' }]],
  ]);
  assert.deepEqual(fields('key.create'), [['robot', 'team', [{ path: 'keys[robot] (added)', from: null, to: null }]]]);
  assert.deepEqual(fields('account.change'), [['north', null, [{ path: 'accounts[north].base_url', from: '(changed)', to: '(changed)' }]]]);
  assert.deepEqual(of(rows, 'config.start')[0]?.fields.slice(1), [{ path: 'retention.audit_days', from: 365, to: 100 }]);
  const stored = readFileSync(join(program.folder, 'data', 'poolgate.db'), 'latin1') + JSON.stringify(rows);
  const digest = hash('sha256', secret.trim(), 'hex');
  for (const known of [secret.trim(), digest, 'elsewhere.example', 'BEARER_NORTH']) assert.ok(!stored.includes(known), known);
});

test('[S9] the actor is what caused the gateway to read its file', async (context) => {
  const path = fileWith(context, `${SMALL}listen: { port: 0 }\nadmin: false\nstore: "sqlite::memory:"\n`);
  const { loaded } = await loadConfig(path);
  const gateway = await Gateway.open({ loaded, log: new Log('error') });
  await gateway.listen();
  const actors: readonly ReloadActor[] = ['command', 'signal', 'file'];
  for (const [i, actor] of actors.entries()) {
    writeFileSync(path, readFileSync(path, 'utf8').replace(/^admin:.*$/m, `admin: false\nretention: { audit_days: ${100 + i} }`));
    await gateway.follower.reload(actor);
    writeFileSync(path, readFileSync(path, 'utf8').replace(/^retention:.*\n/m, ''));
  }
  const rows = await new Probes(gateway).audit('config.reload');
  assert.deepEqual(new Set(rows.map(({ actor }) => actor)), new Set(actors));
  await gateway.close();
});
