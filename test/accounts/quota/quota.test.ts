// The quota of all accounts: who hears of changes, what reaches the store and when, and what comes back from it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Quota } from '../../../proxy/accounts/quota/quota.ts';
import type { Statement } from '../../../proxy/accounts/quota/quota-statement.ts';
import { account, HandClock } from '../../models/support.ts';

const HOUR = 3_600_000;

interface World {
  readonly quota: Quota;
  readonly clock: HandClock;
  /** What was saved, in order: account and the shares of its windows. */
  readonly saved: (readonly [string, readonly number[]])[];
  readonly stored: Map<string, object>;
}

const world = (stored = new Map<string, object>(), clock = new HandClock()): World => {
  const saved: World['saved'] = [];
  const quota = new Quota({
    clock,
    load: (id) => stored.get(id) ?? null,
    save: (id, kept) => {
      saved.push([id, (kept as { windows: { used: number }[] }).windows.map(({ used }) => used)]);
      // As the store does it.
      stored.set(id, JSON.parse(JSON.stringify(kept)));
    },
  });
  return { quota, clock, saved, stored };
};

const says = (clock: HandClock, used: number): Statement => ({
  source: 'headers',
  windows: [{ seconds: 18_000, used, resetsAt: Math.floor(clock.now() / 3_600_000) * 3600 + 7200 }],
  reached: false,
});

test('an unknown account has nothing to say, and nothing is kept of it', () => {
  const { quota, clock, saved } = world();
  quota.configure([account('north')]);
  quota.hear('elsewhere', says(clock, 100));
  assert.deepEqual(
    [quota.exhausted('elsewhere', clock.now()), quota.remaining('elsewhere', clock.now()), saved],
    [undefined, undefined, []],
  );
});

test('percentages are written together and late, whole ones only; what closes an account is written at once', async () => {
  const { quota, clock, saved } = world();
  quota.configure([account('north'), account('south')]);
  for (const used of [10, 10.2, 10.4, 11]) quota.hear('north', says(clock, used));
  quota.hear('south', says(clock, 5));
  assert.deepEqual(saved, []);
  await clock.advance(10_000);
  assert.deepEqual(saved, [
    ['north', [11]],
    ['south', [5]],
  ]);
  for (let turn = 0; turn < 1000; turn++) quota.hear('north', says(clock, 11 + turn / 10_000));
  await clock.advance(10_000);
  assert.equal(saved.length, 2, 'a tenth of a percent is nothing to write');
  quota.hear('north', says(clock, 100));
  assert.deepEqual(saved.at(-1), ['north', [100]]);
  assert.equal(clock.pending, 0);
});

test('what is not written yet is written when the gateway stops', () => {
  const { quota, clock, saved } = world();
  quota.configure([account('north')]);
  quota.hear('north', says(clock, 42));
  quota.stop();
  assert.deepEqual(saved, [['north', [42]]]);
  assert.equal(clock.pending, 0);
});

test('a restart knows the windows and the end of a spent quota, and takes nothing that is no window', async () => {
  const before = world();
  before.quota.configure([account('north'), account('south')]);
  before.quota.hear('north', says(before.clock, 60));
  before.quota.refuse('south', before.clock.now() / 1000 + 3600);
  before.quota.stop();
  before.stored.set('west', { windows: [{ seconds: 'long', used: 3 }, null, 7], spent: { at: 'once' } });
  before.stored.set('east', ['nonsense']);

  const { quota, clock } = world(before.stored, before.clock);
  quota.configure([account('north'), account('south'), account('west'), account('east')]);
  assert.equal(quota.remaining('north', clock.now()), 0.4);
  assert.deepEqual(quota.exhausted('south', clock.now()), { until: clock.now() + HOUR });
  assert.equal(quota.exhausted('west', clock.now()), undefined);
  assert.equal(quota.remaining('east', clock.now()), undefined);
  await clock.advance(HOUR);
  assert.equal(quota.exhausted('south', clock.now()), undefined);
});

test('listeners hear of an account only when something else is known of it', () => {
  const { quota, clock } = world();
  quota.configure([account('north'), account('south')]);
  const heard: string[] = [];
  const undo = quota.onChange((id) => heard.push(id));
  quota.hear('north', says(clock, 10));
  quota.hear('north', says(clock, 10));
  quota.hear('south', says(clock, 10));
  quota.refuse('north', clock.now() / 1000 + 60);
  undo();
  quota.hear('north', says(clock, 90));
  assert.deepEqual(heard, ['north', 'south', 'north']);
});

test('an account that is back before its time is told of once', async () => {
  const { quota, clock } = world();
  quota.configure([account('north')]);
  const relieved: string[] = [];
  quota.onRelief((id) => relieved.push(id));
  quota.refuse('north', clock.now() / 1000 + 86_400);
  await clock.advance(60_000);
  quota.hear('north', says(clock, 3));
  quota.hear('north', says(clock, 3));
  assert.deepEqual(relieved, ['north']);
});

test('a usage read that says otherwise is believed against an old refusal, where the turn would be refused for it', async () => {
  const { quota, clock } = world();
  quota.configure([account('north')]);
  const relieved: string[] = [];
  quota.onRelief((id) => relieved.push(id));
  const read = (): void => quota.hear('north', { ...says(clock, 3), source: 'read' });
  quota.refuse('north', clock.now() / 1000 + 86_400);
  await clock.advance(10 * 60_000);
  read();
  assert.equal(quota.recheck(['north']), undefined);
  assert.ok(quota.exhausted('north', clock.now()), 'the refusal is not old yet');
  await clock.advance(5 * 60_000);
  read();
  assert.ok(quota.exhausted('north', clock.now()), 'nobody needs it');
  await quota.recheck(['north']);
  assert.equal(quota.exhausted('north', clock.now()), undefined);
  assert.deepEqual(relieved, ['north']);
});

test('a reload keeps what is known, takes the new reserve, and forgets an account whose address is another', () => {
  const { quota, clock } = world();
  quota.configure([account('north'), account('south')]);
  quota.hear('north', says(clock, 85));
  quota.hear('south', says(clock, 85));
  quota.configure([account('north', { reserve_percent: 20 }), account('south', { base_url: 'https://other.example' })]);
  assert.ok(quota.reserved('north', clock.now()));
  assert.equal(quota.remaining('south', clock.now()), undefined);
});

test('operators see the windows by class, where they are known from, and until when an account is out', () => {
  const { quota, clock } = world();
  quota.configure([account('north'), account('south')]);
  quota.hear('north', says(clock, 100));
  const [north, south] = quota.status();
  assert.equal(north?.status, 'exhausted');
  assert.deepEqual(
    north?.windows.map((window) => [window.class, window.used_percent, window.source]),
    [['primary', 100, 'headers']],
  );
  assert.equal(north?.until, (north?.windows[0]?.resets_at ?? 0) * 1000);
  assert.deepEqual(south, { account: 'south', status: 'unknown', until: null, windows: [] });
});
