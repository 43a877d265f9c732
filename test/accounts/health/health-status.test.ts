// The health that the store keeps through a restart, and how often it is written.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openStore } from '../../../store/store.ts';
import { failure, healthOf, healthOver, MemoryStore } from './support.ts';

test('a cooldown and its streak survive a restart', async () => {
  const first = await healthOf();
  first.attempt('north', failure('connect'));
  const { clock, store } = first;
  await clock.advance(4_000);
  const { health, attempt } = await healthOf({ clock, store });
  assert.equal(health.routable('north', 'model-a'), false);
  await clock.advance(6_000);
  attempt('north', failure('connect'));
  assert.equal(health.cooldownEnd('north', 'model-a'), clock.now() + 20_000);
});

test('a cooldown that ended between two processes is followed by a probe', async () => {
  const first = await healthOf();
  for (let i = 0; i < 3; i++) first.attempt('north', failure('server'));
  const { clock, store } = first;
  await clock.advance(60_000);
  const { health } = await healthOf({ clock, store });
  assert.ok(health.begin('north', 'model-a').probes);
});

test('an exempt model stays exempt after a restart', async () => {
  const alternatives = { existFor: (model: string) => model !== 'model-b' };
  const first = await healthOf({ alternatives });
  first.attempt('north', failure('connect'));
  const { clock, store } = first;
  const { health } = await healthOf({ clock, store, alternatives });
  assert.deepEqual([health.routable('north', 'model-a'), health.routable('north', 'model-b')], [false, true]);
});

test('[UA2] an exhausted quota survives a restart, and the account stays routable', async () => {
  const first = await healthOf();
  first.attempt('north', failure('quota', { retryAfterMs: 3_600_000 }));
  const { clock, store } = first;
  const { health } = await healthOf({ clock, store });
  assert.deepEqual([health.availability('north', 'model-a'), health.routable('north', 'model-a')], ['quota', true]);
});

test('reauth_required survives a restart with the refused credential and ends with another one', async () => {
  const first = await healthOf({ bearers: { north: 'old' } });
  first.attempt('north', failure('credential'));
  const { clock, store } = first;
  const same = await healthOf({ clock, store, bearers: { north: 'old' } });
  assert.equal(same.health.availability('north', 'model-a'), 'reauth_required');
  const other = await healthOf({ clock, store, bearers: { north: 'new' } });
  assert.equal(other.health.availability('north', 'model-a'), 'available');
  assert.equal(store.rows.get('north/')?.health, 'active');
});

test('[S4] of a refused credential only a digest is stored', async () => {
  const { attempt, store } = await healthOf({ bearers: { north: 'a-secret-bearer' } });
  attempt('north', failure('credential'));
  const kept = JSON.stringify([await store.accounts.load(), await store.credentials.load()]);
  assert.match(kept, /reauth_required/);
  assert.doesNotMatch(kept, /a-secret-bearer/);
});

test('a row is written only when stored health changes, not once a turn', async () => {
  const { attempt, store, clock } = await healthOf();
  for (let i = 0; i < 100; i++) attempt('north', 'completed');
  for (let i = 0; i < 50; i++) {
    attempt('north', failure('server'));
    attempt('north', 'completed');
  }
  assert.equal(store.puts.length, 0, 'a failure below the threshold is not written');
  for (let i = 0; i < 3; i++) attempt('north', failure('server'));
  for (let i = 0; i < 20; i++) attempt('north', failure('server'));
  assert.deepEqual(
    store.puts.map(({ health, streak }) => [health, streak]),
    [['failing', 1]],
  );
  await clock.advance(10_000);
  attempt('north', 'completed');
  assert.deepEqual(
    store.puts.slice(1).map(({ health, streak, cooldown_until }) => [health, streak, cooldown_until]),
    [['active', 0, null]],
  );
});

test('an account that is removed from the configuration loses its health, because its name may be used again', async () => {
  const first = await healthOf();
  first.attempt('north', failure('connect'));
  first.attempt('north', failure('model'), 'model-b');
  first.configure(['south']);
  first.configure(['north', 'south']);
  assert.equal(first.health.routable('north', 'model-a'), true);
  const { clock, store } = first;
  const { health } = await healthOf({ clock, store });
  assert.deepEqual([health.routable('north', 'model-a'), health.routable('north', 'model-b')], [true, true]);
});

test('an account that was removed between two processes loses its health', async () => {
  const first = await healthOf();
  first.attempt('north', failure('connect'));
  const { clock, store } = first;
  await healthOf({ clock, store, accounts: ['south'] });
  const { health } = await healthOf({ clock, store });
  assert.equal(health.routable('north', 'model-a'), true);
});

test('health and quota write their fields of one row without overwriting each other’s', async () => {
  const { states, attempt, store } = await healthOf();
  states.putWindows('north', { used: 80 });
  attempt('north', failure('connect'));
  attempt('north', failure('connect'));
  const row = store.rows.get('north/');
  assert.deepEqual([row?.health, row?.windows], ['failing', { used: 80 }]);
  states.putWindows('north', { used: 90 });
  assert.equal(store.rows.get('north/')?.health, 'failing');
});

test('a store that cannot be read does not prevent the start', async () => {
  const store = new MemoryStore();
  store.accounts.load = () => Promise.reject(new Error('locked'));
  const { health } = await healthOf({ store });
  assert.equal(health.routable('north', 'model-a'), true);
});

test('the health of a process that was killed (kill -9) survives', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'poolgate-killed-'));
  const url = `sqlite:${join(folder, 'store.db')}`;
  try {
    const child = spawn(process.execPath, [new URL('killed-process.ts', import.meta.url).pathname, url], {
      stdio: 'inherit',
    });
    assert.deepEqual(await once(child, 'exit'), [null, 'SIGKILL']);
    const store = await openStore(url, { clock: Date.now });
    const { health } = await healthOver(store, { bearers: { south: 'old' } });
    assert.deepEqual([health.availability('north', 'model-a'), health.availability('south', 'model-b')], ['cooldown', 'reauth_required']);
    health.stop();
    await store.close();
  } finally {
    await rm(folder, { recursive: true });
  }
});
