// Usage reads: whom they ask, when, how many at once, and who waits for them; time is the test's.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Quota } from '../../../proxy/accounts/quota/quota.ts';
import { type UsageAnswer, UsageReads } from '../../../proxy/accounts/quota/usage-reads.ts';
import { Counters } from '../../../proxy/metrics.ts';
import type { AccountConfig } from '../../../proxy/turn/settings.ts';
import { account, HandClock, settled } from '../../models/support.ts';

const MINUTE = 60_000;

class World {
  readonly clock = new HandClock();
  readonly counters = new Counters();
  readonly asked: string[] = [];
  running = 0;
  most = 0;
  /** Per account; an account without one answers at once. */
  readonly answers = new Map<string, () => Promise<UsageAnswer>>();
  readonly quota = new Quota({ clock: this.clock, load: () => null, save: () => undefined });
  readonly reads = new UsageReads({
    clock: this.clock,
    quota: this.quota,
    counters: this.counters,
    read: async (id) => {
      this.asked.push(id);
      this.running += 1;
      this.most = Math.max(this.most, this.running);
      try {
        return await (this.answers.get(id)?.() ?? Promise.resolve(usage(20)));
      } finally {
        this.running -= 1;
      }
    },
  });

  configure(...accounts: readonly AccountConfig[]): void {
    this.quota.configure(accounts);
    this.reads.configure(accounts);
  }

  /** The accounts that were asked since the last time. */
  async taken(): Promise<readonly string[]> {
    await settled();
    return this.asked.splice(0).sort();
  }
}

const usage = (used: number): UsageAnswer => ({
  status: 200,
  body: { rate_limit: { allowed: true, limit_reached: false, primary_window: { used_percent: used, limit_window_seconds: 18_000 } } },
});

test('accounts of which nobody heard are asked at once, and then within every five minutes; invisible ones never', async () => {
  const world = new World();
  world.configure(account('north'), account('south'), account('hidden', { visible: false }));
  assert.deepEqual(await world.taken(), ['north', 'south']);
  assert.equal(world.quota.remaining('north', world.clock.now()), 0.8);
  await world.clock.advance(4 * MINUTE);
  assert.deepEqual(await world.taken(), []);
  await world.clock.advance(MINUTE);
  assert.deepEqual(await world.taken(), ['north', 'south']);
  assert.equal(world.counters.values.quota_reads, 4);
});

test('an account whose turns say enough is not asked', async () => {
  const world = new World();
  world.configure(account('north'));
  await world.taken();
  for (let minute = 0; minute < 20; minute++) {
    world.quota.hear('north', { source: 'headers', windows: [{ seconds: 18_000, used: minute, resetsAt: undefined }], reached: false });
    await world.clock.advance(MINUTE);
  }
  assert.deepEqual(await world.taken(), []);
  await world.clock.advance(4 * MINUTE);
  assert.deepEqual(await world.taken(), ['north']);
});

test('eight are asked at once, and the next when one has answered', async () => {
  const world = new World();
  const held: (() => void)[] = [];
  const accounts = Array.from({ length: 50 }, (_, index) => account(`a${index}`));
  for (const { id } of accounts) world.answers.set(id, () => new Promise((resolve) => held.push(() => resolve(usage(1)))));
  world.configure(...accounts);
  for (let rounds = 0; rounds < 60 && world.counters.values.quota_reads < 50; rounds++) {
    await settled();
    assert.ok(world.running <= 8);
    held.shift()?.();
  }
  while (held.length > 0) held.shift()?.();
  await settled();
  assert.deepEqual([world.most, world.counters.values.quota_reads, world.running], [8, 50, 0]);
});

test('accounts are not all asked in one moment', async () => {
  const world = new World();
  const accounts = Array.from({ length: 40 }, (_, index) => account(`a${index}`));
  world.configure(...accounts);
  await world.taken();
  await world.clock.advance(4.75 * MINUTE);
  const early = await world.taken();
  await world.clock.advance(0.25 * MINUTE);
  const late = await world.taken();
  assert.equal(early.length + late.length, 40);
  assert.ok(early.length > 8 && late.length > 8, `${early.length} and ${late.length}`);
});

test('an account that does not answer is asked less and less often, and as ever once it does', async () => {
  const world = new World();
  world.answers.set('north', () => Promise.reject(new Error('no answer')));
  world.configure(account('north'));
  const times: number[] = [];
  for (let second = 0; second < 130 * 60; second++) {
    if ((await world.taken()).length > 0) times.push(second);
    if (second === 100 * 60) world.answers.set('north', async () => usage(5));
    await world.clock.advance(1000);
  }
  const gaps = times.slice(1).map((time, index) => Math.round((time - (times[index] as number)) / 60));
  assert.deepEqual(gaps, [5, 10, 20, 40, 40, 5, 5, 5]);
  assert.equal(world.counters.values.quota_read_failures, 5);
});

for (const [what, answer] of Object.entries<UsageAnswer>({
  'a status of refusal': { status: 401, body: usage(1).body },
  'another path’s answer': { status: 200, body: { detail: 'Not Found' } },
  'no JSON': { status: 200, body: undefined },
})) {
  test(`${what} is a failed read, and changes nothing of what is known`, async () => {
    const world = new World();
    world.configure(account('north'));
    await world.taken();
    world.answers.set('north', async () => answer);
    await world.clock.advance(5 * MINUTE);
    assert.equal(world.quota.remaining('north', world.clock.now()), 0.8);
    assert.equal(world.counters.values.quota_read_failures, 1);
  });
}

test('before a refusal stale accounts are asked once more, for all who wait together; young word is not doubted', async () => {
  const world = new World();
  world.answers.set('north', () => Promise.reject(new Error('no answer')));
  world.configure(account('north'), account('south'));
  await world.taken();
  assert.equal(world.reads.recheck(['south']), undefined);
  await world.clock.advance(2 * MINUTE);
  const answer = Promise.withResolvers<UsageAnswer>();
  world.answers.set('north', () => answer.promise);
  let back = 0;
  for (let turn = 0; turn < 3; turn++) void world.reads.recheck(['north', 'south'])?.then(() => back++);
  assert.deepEqual(await world.taken(), ['north']);
  assert.equal(back, 0);
  answer.resolve(usage(7));
  await settled();
  assert.equal(back, 3);
  assert.equal(world.quota.remaining('north', world.clock.now()), 0.93);
});

test('nobody waits longer than two seconds, and nobody asks twice within a minute', async () => {
  const world = new World();
  world.answers.set('north', () => Promise.reject(new Error('no answer')));
  world.configure(account('north'));
  await world.taken();
  assert.equal(world.reads.recheck(['north']), undefined, 'it was asked just now');
  await world.clock.advance(MINUTE);
  world.answers.set('north', () => new Promise(() => undefined));
  let back = false;
  void world.reads.recheck(['north'])?.then(() => {
    back = true;
  });
  await world.clock.advance(1_999);
  assert.equal(back, false);
  await world.clock.advance(1);
  assert.equal(back, true);
});

test('a reload asks new accounts and those that moved, and leaves the others; a late answer of the old address is dropped', async () => {
  const world = new World();
  const late = Promise.withResolvers<UsageAnswer>();
  world.answers.set('moves', () => late.promise);
  world.configure(account('stays'), account('moves'));
  await world.taken();
  world.answers.delete('moves');
  world.configure(account('stays'), account('moves', { base_url: 'https://other.example' }), account('new'));
  assert.deepEqual(await world.taken(), ['moves', 'new']);
  late.resolve(usage(99));
  await settled();
  assert.equal(world.quota.remaining('moves', world.clock.now()), 0.8);
});

test('nothing is asked once it has stopped, and no timer is left', async () => {
  const world = new World();
  world.configure(account('north'));
  await world.taken();
  world.reads.stop();
  world.quota.stop();
  assert.equal(world.clock.pending, 0);
  await world.clock.advance(60 * MINUTE);
  assert.deepEqual(await world.taken(), []);
});
