// What a restart keeps of health, and how little is written for it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openStore } from '../../../store/store.ts';
import { failure, healthOf, healthOver, MemoryStore } from './support.ts';

test('a cooldown survives a restart, with its level', async () => {
  const first = await healthOf();
  first.visit('north', failure('connect'));
  const { clock, store } = first;
  await clock.advance(4_000);
  const { health, visit } = await healthOf({ clock, store });
  assert.equal(health.routable('north', 'model-a'), false);
  await clock.advance(6_000);
  visit('north', failure('connect'));
  assert.equal(health.until('north', 'model-a'), clock.now() + 20_000);
});

test('a cooldown that ended while nobody was there leaves its probe to be made', async () => {
  const first = await healthOf();
  for (let i = 0; i < 3; i++) first.visit('north', failure('server'));
  const { clock, store } = first;
  await clock.advance(60_000);
  const { health } = await healthOf({ clock, store });
  assert.ok(health.begin('north', 'model-a').probes);
});

test('a exemptModels model stays exemptModels', async () => {
  const others = { couldTake: (model: string) => model !== 'model-b' };
  const first = await healthOf({ others });
  first.visit('north', failure('connect'));
  const { clock, store } = first;
  const { health } = await healthOf({ clock, store, others });
  assert.deepEqual([health.routable('north', 'model-a'), health.routable('north', 'model-b')], [false, true]);
});

test('a lack of quota survives, and leaves the account routable [UA2]', async () => {
  const first = await healthOf();
  first.visit('north', failure('quota', { retryAfterMs: 3_600_000 }));
  const { clock, store } = first;
  const { health } = await healthOf({ clock, store });
  assert.deepEqual([health.standing('north', 'model-a'), health.routable('north', 'model-a')], ['quota', true]);
});

test('reauth_required survives under the credential that was refused, and ends under another', async () => {
  const first = await healthOf({ bearers: { north: 'old' } });
  first.visit('north', failure('credential'));
  const { clock, store } = first;
  const same = await healthOf({ clock, store, bearers: { north: 'old' } });
  assert.equal(same.health.standing('north', 'model-a'), 'reauth_required');
  const other = await healthOf({ clock, store, bearers: { north: 'new' } });
  assert.equal(other.health.standing('north', 'model-a'), 'open');
  assert.equal(store.rows.get('north/')?.health, 'active');
});

test('the credential that was refused is kept as a digest alone [S4]', async () => {
  const { visit, store } = await healthOf({ bearers: { north: 'a-secret-bearer' } });
  visit('north', failure('credential'));
  const kept = JSON.stringify([await store.accounts.load(), await store.credentials.load()]);
  assert.match(kept, /reauth_required/);
  assert.doesNotMatch(kept, /a-secret-bearer/);
});

test('rows are written where something changed that a restart must not forget, and never once a turn', async () => {
  const { visit, store, clock } = await healthOf();
  for (let i = 0; i < 100; i++) visit('north', 'completed');
  for (let i = 0; i < 50; i++) {
    visit('north', failure('server'));
    visit('north', 'completed');
  }
  assert.equal(store.puts.length, 0, 'a failure that opens nothing is not worth a row');
  for (let i = 0; i < 3; i++) visit('north', failure('server'));
  for (let i = 0; i < 20; i++) visit('north', failure('server'));
  assert.deepEqual(
    store.puts.map(({ health, streak }) => [health, streak]),
    [['failing', 1]],
  );
  await clock.advance(10_000);
  visit('north', 'completed');
  assert.deepEqual(
    store.puts.slice(1).map(({ health, streak, cooldown_until }) => [health, streak, cooldown_until]),
    [['active', 0, null]],
  );
});

test('an account that left the configuration is forgotten: under its name another one may come', async () => {
  const first = await healthOf();
  first.visit('north', failure('connect'));
  first.visit('north', failure('model'), 'model-b');
  first.configure(['south']);
  first.configure(['north', 'south']);
  assert.equal(first.health.routable('north', 'model-a'), true);
  const { clock, store } = first;
  const { health } = await healthOf({ clock, store });
  assert.deepEqual([health.routable('north', 'model-a'), health.routable('north', 'model-b')], [true, true]);
});

test('an account that left while nobody was there is forgotten as well', async () => {
  const first = await healthOf();
  first.visit('north', failure('connect'));
  const { clock, store } = first;
  await healthOf({ clock, store, accounts: ['south'] });
  const { health } = await healthOf({ clock, store });
  assert.equal(health.routable('north', 'model-a'), true);
});

test('health and quota keep their fields of one row without overwriting each other’s', async () => {
  const { states, visit, store } = await healthOf();
  states.putWindows('north', { used: 80 });
  visit('north', failure('connect'));
  visit('north', failure('connect'));
  const row = store.rows.get('north/');
  assert.deepEqual([row?.health, row?.windows], ['failing', { used: 80 }]);
  states.putWindows('north', { used: 90 });
  assert.equal(store.rows.get('north/')?.health, 'failing');
});

test('a store that cannot be read costs what it knew, not the start', async () => {
  const store = new MemoryStore();
  store.accounts.load = () => Promise.reject(new Error('locked'));
  const { health } = await healthOf({ store });
  assert.equal(health.routable('north', 'model-a'), true);
});

test('what a process knew that was killed (kill -9), the next one knows', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'poolgate-killed-'));
  const url = `sqlite:${join(folder, 'store.db')}`;
  try {
    const child = spawn(process.execPath, ['--import', 'tsx', new URL('killed.ts', import.meta.url).pathname, url], { stdio: 'inherit' });
    assert.deepEqual(await once(child, 'exit'), [null, 'SIGKILL']);
    const store = await openStore(url, { clock: Date.now });
    const { health } = await healthOver(store, { bearers: { south: 'old' } });
    assert.deepEqual([health.standing('north', 'model-a'), health.standing('south', 'model-b')], ['cooldown', 'reauth_required']);
    health.stop();
    await store.close();
  } finally {
    await rm(folder, { recursive: true });
  }
});
