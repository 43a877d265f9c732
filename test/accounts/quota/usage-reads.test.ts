// Usage reads: which accounts are read, when, how many at once, and how long turns wait for them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AccountRecords } from '../../../proxy/accounts/account-record.ts';
import { Quota } from '../../../proxy/accounts/quota/quota.ts';
import { type UsageAnswer, UsageReads } from '../../../proxy/accounts/quota/usage-reads.ts';
import { Counters } from '../../../proxy/base/process/metrics.ts';
import { quotaFromUsageRead } from '../../../proxy/providers/agent/agent-quota.ts';
import type { AccountConfig } from '../../../proxy/turn/settings.ts';
import { account } from '../../models/support.ts';
import { ManualClock, settled } from '../../support/clocks/manual-clock.ts';

const MINUTE = 60_000;

class World {
  readonly clock = new ManualClock();
  readonly counters = new Counters();
  readonly requested: string[] = [];
  running = 0;
  most = 0;
  /** The answer of each account; an account without an entry answers at once. */
  readonly answers = new Map<string, () => Promise<UsageAnswer>>();
  readonly quota = new Quota({ clock: this.clock, records: new AccountRecords(), load: () => null, save: () => undefined });
  readonly reads = new UsageReads({
    clock: this.clock,
    quota: this.quota,
    counters: this.counters,
    read: async (id) => {
      this.requested.push(id);
      this.running += 1;
      this.most = Math.max(this.most, this.running);
      try {
        return await (this.answers.get(id)?.() ?? Promise.resolve(usage(20)));
      } finally {
        this.running -= 1;
      }
    },
    parse: (_id, body, now) => quotaFromUsageRead(body, now),
  });

  configure(...accounts: readonly AccountConfig[]): void {
    this.quota.configure(accounts);
    this.reads.configure(accounts);
  }

  /** The accounts that were read since the last call. */
  async newReads(): Promise<readonly string[]> {
    await settled();
    return this.requested.splice(0).sort();
  }
}

const usage = (used: number): UsageAnswer => ({
  status: 200,
  headers: {},
  body: { rate_limit: { allowed: true, limit_reached: false, primary_window: { used_percent: used, limit_window_seconds: 18_000 } } },
});

test('accounts without evidence are read at once and then every five minutes; invisible ones are not read', async () => {
  const world = new World();
  world.configure(account('north'), account('south'), account('hidden', { visible: false }));
  assert.deepEqual(await world.newReads(), ['north', 'south']);
  assert.equal(world.quota.stateAt('north', world.clock.now())?.remaining, 0.8);
  await world.clock.advance(4 * MINUTE);
  assert.deepEqual(await world.newReads(), []);
  await world.clock.advance(MINUTE);
  assert.deepEqual(await world.newReads(), ['north', 'south']);
  assert.equal(world.counters.values.quota_reads, 4);
});

test('evidence from the future is ignored: an account is read again when the clock was set back', async () => {
  const world = new World();
  world.configure(account('north'));
  assert.deepEqual(await world.newReads(), ['north']);
  world.clock.skip(-24 * 60 * MINUTE);
  world.configure(account('north'));
  assert.deepEqual(await world.newReads(), ['north']);
  world.configure(account('north'));
  assert.deepEqual(await world.newReads(), [], 'but not again and again');
  await world.clock.advance(5 * MINUTE);
  assert.deepEqual(await world.newReads(), ['north']);
});

test('evidence from a clock that is a little ahead counts as current', async () => {
  const world = new World();
  world.clock.skip(5_000);
  world.configure(account('north'));
  await world.newReads();
  world.clock.skip(-5_000);
  assert.equal(world.quota.age('north'), 0);
  world.configure(account('north'));
  assert.deepEqual(await world.newReads(), []);
});

test('an account with evidence from its turns is not read', async () => {
  const world = new World();
  world.configure(account('north'));
  await world.newReads();
  for (let minute = 0; minute < 20; minute++) {
    world.quota.record('north', { source: 'headers', windows: [{ seconds: 18_000, used: minute, resetsAt: undefined }], reached: false });
    await world.clock.advance(MINUTE);
  }
  assert.deepEqual(await world.newReads(), []);
  await world.clock.advance(4 * MINUTE);
  assert.deepEqual(await world.newReads(), ['north']);
});

test('eight reads run at once, and the next one starts when one has ended', async () => {
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

test('reads are spread over time', async () => {
  const world = new World();
  const accounts = Array.from({ length: 40 }, (_, index) => account(`a${index}`));
  world.configure(...accounts);
  await world.newReads();
  await world.clock.advance(4.75 * MINUTE);
  const early = await world.newReads();
  await world.clock.advance(0.25 * MINUTE);
  const late = await world.newReads();
  assert.equal(early.length + late.length, 40);
  assert.ok(early.length > 8 && late.length > 8, `${early.length} and ${late.length}`);
});

test('the interval of an account that does not answer doubles, and is reset by an answer', async () => {
  const world = new World();
  world.answers.set('north', () => Promise.reject(new Error('no answer')));
  world.configure(account('north'));
  const times: number[] = [];
  for (let second = 0; second < 130 * 60; second++) {
    if ((await world.newReads()).length > 0) times.push(second);
    if (second === 100 * 60) world.answers.set('north', async () => usage(5));
    await world.clock.advance(1000);
  }
  const gaps = times.slice(1).map((time, index) => Math.round((time - (times[index] as number)) / 60));
  assert.deepEqual(gaps, [5, 10, 20, 40, 40, 5, 5, 5]);
  assert.equal(world.counters.values.quota_read_failures, 5);
});

for (const [what, answer] of Object.entries<UsageAnswer>({
  'a refusal': { status: 401, headers: {}, body: usage(1).body },
  'a body of another shape': { status: 200, headers: {}, body: { detail: 'Not Found' } },
  'a body that is not JSON': { status: 200, headers: {}, body: undefined },
})) {
  test(`an answer with ${what} is a failed read and changes no evidence`, async () => {
    const world = new World();
    world.configure(account('north'));
    await world.newReads();
    world.answers.set('north', async () => answer);
    await world.clock.advance(5 * MINUTE);
    assert.equal(world.quota.stateAt('north', world.clock.now())?.remaining, 0.8);
    assert.equal(world.counters.values.quota_read_failures, 1);
  });
}

test('before a refusal stale accounts are read once for all turns that wait; fresh ones are not read', async () => {
  const world = new World();
  world.answers.set('north', () => Promise.reject(new Error('no answer')));
  world.configure(account('north'), account('south'));
  await world.newReads();
  assert.equal(world.reads.recheck(['south']), undefined);
  await world.clock.advance(2 * MINUTE);
  const answer = Promise.withResolvers<UsageAnswer>();
  world.answers.set('north', () => answer.promise);
  let back = 0;
  for (let turn = 0; turn < 3; turn++) void world.reads.recheck(['north', 'south'])?.then(() => back++);
  assert.deepEqual(await world.newReads(), ['north']);
  assert.equal(back, 0);
  answer.resolve(usage(7));
  await settled();
  assert.equal(back, 3);
  assert.equal(world.quota.stateAt('north', world.clock.now())?.remaining, 0.93);
});

test('a turn waits at most two seconds, and an account is read at most once a minute before refusals', async () => {
  const world = new World();
  world.answers.set('north', () => Promise.reject(new Error('no answer')));
  world.configure(account('north'));
  await world.newReads();
  assert.equal(world.reads.recheck(['north']), undefined, 'it was read just now');
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

test('a reload reads new accounts and those with a new address; a late answer of the old address is dropped', async () => {
  const world = new World();
  const late = Promise.withResolvers<UsageAnswer>();
  world.answers.set('moves', () => late.promise);
  world.configure(account('stays'), account('moves'));
  await world.newReads();
  world.answers.delete('moves');
  world.configure(account('stays'), account('moves', { base_url: 'https://other.example' }), account('new'));
  assert.deepEqual(await world.newReads(), ['moves', 'new']);
  late.resolve(usage(99));
  await settled();
  assert.equal(world.quota.stateAt('moves', world.clock.now())?.remaining, 0.8);
});

test('after stop no read and no timer starts', async () => {
  const world = new World();
  world.configure(account('north'));
  await world.newReads();
  world.reads.stop();
  world.quota.stop();
  assert.equal(world.clock.pending, 0);
  await world.clock.advance(60 * MINUTE);
  assert.deepEqual(await world.newReads(), []);
});

test('[RB23] an account that states a limit is read a moment later, also where a read was under way at that time', async () => {
  const world = new World();
  const held: (() => void)[] = [];
  world.answers.set('north', () => new Promise((resolve) => held.push(() => resolve(usage(1)))));
  world.configure(account('north'));
  assert.deepEqual(await world.newReads(), ['north']);
  world.reads.readLater('north');
  held.shift()?.();
  assert.deepEqual(await world.newReads(), []);
  await world.clock.advance(MINUTE);
  assert.deepEqual(await world.newReads(), ['north']);
});
