// The quota of all accounts: calls of listeners, writes to the store, and what a restart restores.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AccountRecords } from '../../../proxy/accounts/account-record.ts';
import { Quota } from '../../../proxy/accounts/quota/quota.ts';
import type { QuotaStatement } from '../../../proxy/turn/provider/quota-statement.ts';
import { account } from '../../models/support.ts';
import { ManualClock } from '../../support/clocks/manual-clock.ts';

const HOUR = 3_600_000;

interface World {
  readonly quota: Quota;
  readonly clock: ManualClock;
  /** The writes in order, each as the account and the percentages of its windows. */
  readonly saved: (readonly [string, readonly number[]])[];
  readonly stored: Map<string, object>;
}

const world = (stored = new Map<string, object>(), clock = new ManualClock()): World => {
  const saved: World['saved'] = [];
  const quota = new Quota({
    clock,
    records: new AccountRecords(),
    load: (id) => stored.get(id) ?? null,
    save: (id, written) => {
      saved.push([id, (written as { windows: { used: number }[] }).windows.map(({ used }) => used)]);
      stored.set(id, JSON.parse(JSON.stringify(written)));
    },
  });
  return { quota, clock, saved, stored };
};

const statement = (clock: ManualClock, used: number): QuotaStatement => ({
  source: 'headers',
  windows: [{ seconds: 18_000, used, resetsAt: Math.floor(clock.now() / 3_600_000) * 3600 + 7200 }],
  reached: false,
});

test('a statement of an account that is not configured is ignored', () => {
  const { quota, clock, saved } = world();
  quota.configure([account('north')]);
  quota.record('elsewhere', statement(clock, 100));
  assert.deepEqual(
    [quota.stateAt('elsewhere', clock.now())?.exhausted, quota.stateAt('elsewhere', clock.now())?.remaining, saved],
    [undefined, undefined, []],
  );
});

test('whole percentages are written together every 10 s, and a change of eligibility at once', async () => {
  const { quota, clock, saved } = world();
  quota.configure([account('north'), account('south')]);
  for (const used of [10, 10.2, 10.4, 11]) quota.record('north', statement(clock, used));
  quota.record('south', statement(clock, 5));
  assert.deepEqual(saved, []);
  await clock.advance(10_000);
  assert.deepEqual(saved, [
    ['north', [11]],
    ['south', [5]],
  ]);
  for (let turn = 0; turn < 1000; turn++) quota.record('north', statement(clock, 11 + turn / 10_000));
  await clock.advance(10_000);
  assert.equal(saved.length, 2, 'a tenth of a percent is not written');
  quota.record('north', statement(clock, 100));
  assert.deepEqual(saved.at(-1), ['north', [100]]);
  assert.equal(clock.pending, 0);
});

test('unsaved quota is written when the gateway stops', () => {
  const { quota, clock, saved } = world();
  quota.configure([account('north')]);
  quota.record('north', statement(clock, 42));
  quota.stop();
  assert.deepEqual(saved, [['north', [42]]]);
  assert.equal(clock.pending, 0);
});

test('a restart restores windows and the end of an exhaustion, and ignores malformed rows', async () => {
  const before = world();
  before.quota.configure([account('north'), account('south')]);
  before.quota.record('north', statement(before.clock, 60));
  before.quota.recordRefusal('south', before.clock.now() / 1000 + 3600);
  before.quota.stop();
  before.stored.set('west', { windows: [{ seconds: 'long', used: 3 }, null, 7], spent: { at: 'once' } });
  before.stored.set('east', ['nonsense']);

  const { quota, clock } = world(before.stored, before.clock);
  quota.configure([account('north'), account('south'), account('west'), account('east')]);
  assert.equal(quota.stateAt('north', clock.now())?.remaining, 0.4);
  assert.deepEqual(quota.stateAt('south', clock.now())?.exhausted, { until: clock.now() + HOUR });
  assert.equal(quota.stateAt('west', clock.now())?.exhausted, undefined);
  assert.equal(quota.stateAt('east', clock.now())?.remaining, undefined);
  await clock.advance(HOUR);
  assert.equal(quota.stateAt('south', clock.now())?.exhausted, undefined);
});

test('listeners are called only when the state of an account changes', () => {
  const { quota, clock } = world();
  quota.configure([account('north'), account('south')]);
  const changed: string[] = [];
  const unsubscribe = quota.onChange(({ id }) => changed.push(id));
  quota.record('north', statement(clock, 10));
  quota.record('north', statement(clock, 10));
  quota.record('south', statement(clock, 10));
  quota.recordRefusal('north', clock.now() / 1000 + 60);
  unsubscribe();
  quota.record('north', statement(clock, 90));
  assert.deepEqual(changed, ['north', 'south', 'north']);
});

test('the recovery of an account before its stated reset is reported once', async () => {
  const { quota, clock } = world();
  quota.configure([account('north')]);
  const recovered: string[] = [];
  quota.onRecovery((id) => recovered.push(id));
  quota.recordRefusal('north', clock.now() / 1000 + 86_400);
  await clock.advance(60_000);
  quota.record('north', statement(clock, 3));
  quota.record('north', statement(clock, 3));
  assert.deepEqual(recovered, ['north']);
});

test('a usage read ends an older refusal where a turn would be refused otherwise', async () => {
  const { quota, clock } = world();
  quota.configure([account('north')]);
  const recovered: string[] = [];
  quota.onRecovery((id) => recovered.push(id));
  const read = (): void => quota.record('north', { ...statement(clock, 3), source: 'read' });
  quota.recordRefusal('north', clock.now() / 1000 + 86_400);
  await clock.advance(10 * 60_000);
  read();
  assert.equal(quota.recheck(['north']), undefined);
  assert.ok(quota.stateAt('north', clock.now())?.exhausted, 'the refusal is still fresh');
  await clock.advance(5 * 60_000);
  read();
  assert.ok(quota.stateAt('north', clock.now())?.exhausted, 'no turn needs the account');
  await quota.recheck(['north']);
  assert.equal(quota.stateAt('north', clock.now())?.exhausted, undefined);
  assert.deepEqual(recovered, ['north']);
});

test('a reload keeps evidence, takes the new reserve, and drops the evidence of an account whose address changed', () => {
  const { quota, clock } = world();
  quota.configure([account('north'), account('south')]);
  quota.record('north', statement(clock, 85));
  quota.record('south', statement(clock, 85));
  quota.configure([account('north', { reserve_percent: 20 }), account('south', { base_url: 'https://other.example' })]);
  assert.ok(quota.stateAt('north', clock.now())?.reserved);
  assert.equal(quota.stateAt('south', clock.now())?.remaining, undefined);
});

test('the status has each window with its class and source, and the end of an exhaustion', () => {
  const { quota, clock } = world();
  quota.configure([account('north'), account('south')]);
  quota.record('north', statement(clock, 100));
  const [north, south] = quota.status();
  assert.equal(north?.status, 'exhausted');
  assert.deepEqual(
    north?.windows.map((window) => [window.class, window.used_percent, window.source]),
    [['primary', 100, 'headers']],
  );
  assert.equal(north?.until, (north?.windows[0]?.resets_at ?? 0) * 1000);
  assert.deepEqual(south, { account: 'south', status: 'unknown', until: null, windows: [] });
});
