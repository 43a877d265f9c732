// The change feed and the cache of account states: two processes on one database follow each other.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { AccountStates } from '../../proxy/accounts/health/account-states.ts';
import { ChangeFeed } from '../../store/change-feed.ts';
import { openStore, type Store, StoreError } from '../../store/store.ts';
import type { Changes, ChangesVerbs } from '../../store/verbs/changes.ts';
import { until } from '../support/until.ts';
import { folder } from './adapters.ts';
import { usageRow } from './samples.ts';

const clock = () => 1_000;
const after = () => () => undefined;

const openTwo = async (context: TestContext): Promise<readonly [Store, Store]> => {
  const url = `sqlite:${await folder(context)}/poolgate.db`;
  const stores = [await openStore(url, { clock }), await openStore(url, { clock })] as const;
  for (const store of stores) context.after(() => store.close());
  return stores;
};

const COOLING = { health: 'failing', cooldown_until: 9_000, streak: 1, cause: 'connect' } as const;
const cooling = new Map([['', COOLING]]);

/** Makes account states that follow those of the other process at each poll. */
async function follower(store: Store) {
  const states = new AccountStates(store.accounts, clock);
  const feed = new ChangeFeed({ changes: store.changes, after });
  const changed: string[][] = [];
  feed.on('account_state', async (keys) => {
    changed.push([...(await states.refresh(keys.map(([account, model]) => [String(account), String(model)])))]);
  });
  await feed.start();
  await states.load();
  return { states, feed, changed };
}

test('a cooldown of one process reaches the memory of the other, and a quota write there does not erase it', async (context) => {
  const [one, other] = await openTwo(context);
  const [writing, reading] = [await follower(one), await follower(other)];
  writing.states.putHealth('north', cooling);
  // The other process has not read the cooldown yet.
  reading.states.putWindows('north', { used: 80 });
  await Promise.all([one.flush(), other.flush()]);
  await Promise.all([reading.feed.poll(), writing.feed.poll()]);
  for (const { states } of [writing, reading]) {
    const [row] = states.rows('north');
    assert.deepEqual([row?.cooldown_until, row?.windows], [9_000, { used: 80 }]);
  }
  assert.deepEqual(reading.changed.flat(), ['north']);
  assert.deepEqual(writing.changed.flat(), [], 'windows are no change of health');
});

test('a patch that waits for the disk is not lost to a refresh', async (context) => {
  const [one, other] = await openTwo(context);
  const [writing, reading] = [await follower(one), await follower(other)];
  writing.states.putHealth('north', cooling);
  await one.flush();
  reading.states.putWindows('north', { used: 1 });
  const polled = reading.feed.poll();
  reading.states.putWindows('north', { used: 2 });
  await polled;
  const [row] = reading.states.rows('north');
  assert.deepEqual([row?.cooldown_until, row?.windows], [9_000, { used: 2 }]);
});

test('a value that the memory of a process already has is not written', async (context) => {
  const [one] = await openTwo(context);
  const { states } = await follower(one);
  for (let turn = 0; turn < 5; turn++) {
    states.putHealth('north', cooling);
    states.putHealth('south', new Map());
  }
  states.putHealth('north', new Map([['', { ...COOLING, cooldown_until: 8_999.5 }]]));
  await one.flush();
  assert.equal(one.stats().written, 1);
});

test('changes are delivered by table, and again where a listener or the store failed', async (context) => {
  const [one, other] = await openTwo(context);
  let failing = true;
  const changes = {
    cursor: () => other.changes.cursor(),
    since: (cursor: number) => (failing ? Promise.reject(new StoreError('locked', 'busy')) : other.changes.since(cursor)),
  };
  const feed = new ChangeFeed({ changes, after });
  const seen: unknown[] = [];
  let broken = true;
  feed.on('usage', (keys) => {
    seen.push(keys);
    if (broken) throw new Error('not now');
  });
  feed.on('catalog', () => assert.fail('nothing changed there'));
  await feed.start();
  one.usage.add(usageRow());
  await one.flush();
  await feed.poll();
  assert.equal(seen.length, 0);
  failing = false;
  await feed.poll();
  broken = false;
  await feed.poll();
  await feed.poll();
  assert.deepEqual(seen, [[['ci', 'team', 86_400_000]], [['ci', 'team', 86_400_000]]]);
});

test('when a listener always fails the others still get their changes, and it gets its own again with the next ones', async (context) => {
  const [one, other] = await openTwo(context);
  const feed = new ChangeFeed({ changes: other.changes, after });
  const failing: unknown[] = [];
  const working: unknown[] = [];
  feed.on('usage', (keys) => {
    failing.push(keys);
    throw new Error('never');
  });
  feed.on('account_state', (keys) => void working.push(keys));
  await feed.start();
  const states = new AccountStates(one.accounts, clock);
  one.usage.add(usageRow());
  states.putHealth('north', cooling);
  await one.flush();
  assert.equal(await feed.poll(), false);
  one.usage.add(usageRow({ key_id: 'other' }));
  await one.flush();
  assert.equal(await feed.poll(), false);
  const [first, second] = [
    ['ci', 'team', 86_400_000],
    ['other', 'team', 86_400_000],
  ];
  assert.deepEqual([failing, working], [[[first], [first, second]], [[['north', '']]]]);
});

test('the feed of a store that notifies polls at once after a notification, and every ten seconds for missed changes', async () => {
  const intervals: number[] = [];
  const polls: PromiseWithResolvers<Changes>[] = [];
  let wake = (): void => assert.fail('it does not listen');
  const changes: ChangesVerbs = {
    cursor: async () => 0,
    since() {
      const poll = Promise.withResolvers<Changes>();
      polls.push(poll);
      return poll.promise;
    },
    listen(woken) {
      wake = woken;
    },
  };
  const after = (ms: number): (() => void) => {
    intervals.push(ms);
    return () => undefined;
  };
  const feed = new ChangeFeed({ changes, after });
  await feed.start();
  assert.deepEqual([intervals, polls.length], [[10_000], 0]);
  wake();
  assert.equal(polls.length, 1);
  // The answer of a poll may lack a change that is notified during the poll, so one more poll follows, however many notifications came.
  for (let n = 0; n < 5; n++) wake();
  assert.equal(polls.length, 1);
  polls[0]?.resolve({ cursor: 1, changes: [] });
  await until('the second poll', () => (polls.length === 2 ? true : undefined));
  polls[1]?.reject(new StoreError('unreachable', 'gone'));
  await until('the next interval', () => (intervals.length === 2 ? true : undefined));
  assert.deepEqual([intervals, polls.length], [[10_000, 1_000], 2], 'a failed poll is repeated sooner');
  wake();
  assert.equal(polls.length, 3);
  feed.stop();
});

test('the feed polls every second until it is stopped', async (context) => {
  const [one] = await openTwo(context);
  const timers: { readonly ms: number; readonly run: () => void }[] = [];
  let cancelled = 0;
  const feed = new ChangeFeed({
    changes: one.changes,
    after: (ms, run) => {
      timers.push({ ms, run });
      return () => void cancelled++;
    },
  });
  await feed.start();
  timers[0]?.run();
  while (timers.length < 2) await new Promise(setImmediate);
  feed.stop();
  assert.deepEqual([timers.map(({ ms }) => ms), cancelled], [[1_000, 1_000], 1]);
});
