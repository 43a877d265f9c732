// The leases of a node on its sessions: when they are claimed, renewed and given up, and the effect of a lost lease (Q34).
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { Counters } from '../../proxy/base/process/metrics.ts';
import { KeyedDigest } from '../../proxy/encryption/digest.ts';
import { SessionOwners } from '../../proxy/sessions/session-owners.ts';
import type { SessionClaim, SessionOwner, SessionOwnerVerbs } from '../../store/store.ts';
import { ManualClock } from '../support/clocks/manual-clock.ts';

const OTHER: SessionOwner = { owner: 'b/1', address: 'http://b', lease: 'theirs' };

/** A store that records the calls that it gets. */
class Recorded implements SessionOwnerVerbs {
  readonly calls: string[] = [];
  /** Sessions of other owners, by their stored name. */
  readonly others = new Map<string, SessionOwner>();
  readonly own = new Set<string>();

  async claim({ session, owner, address, lease, instead }: SessionClaim): Promise<SessionOwner> {
    this.calls.push('claim');
    const other = this.others.get(session);
    if (other && other.lease !== instead) return other;
    this.others.delete(session);
    this.own.add(session);
    return { owner, address, lease };
  }

  async renew(): Promise<ReadonlySet<string>> {
    this.calls.push('renew');
    return new Set([...this.own].filter((session) => !this.others.has(session)));
  }

  async release(_owner: string, sessions: readonly string[]): Promise<void> {
    this.calls.push(`release ${sessions.length}`);
    for (const session of sessions) this.own.delete(session);
  }

  async releaseAll(): Promise<void> {
    this.calls.push('release all');
    this.own.clear();
  }
}

function bench() {
  const clock = new ManualClock();
  const store = new Recorded();
  const counters = new Counters();
  const digest = new KeyedDigest(Buffer.alloc(32));
  const running = new Set<string>();
  const disowned: string[] = [];
  const owners = new SessionOwners({
    store,
    owner: 'a/1',
    address: () => 'http://a',
    digest,
    clock,
    counters,
    turns: { has: (session) => running.has(session), disown: (session) => disowned.push(session) },
  });
  /** Lets a renewal period pass, and waits for all that it causes. */
  const period = async (): Promise<void> => {
    await clock.advance(15_000);
    for (let i = 0; i < 5; i++) await turnOfTheLoop();
  };
  return { clock, store, counters, digest, running, disowned, owners, period };
}

suite('[Q34] the sessions of a node', () => {
  test('are stored under keyed digests', async () => {
    const { owners, store, digest } = bench();
    await owners.claim('ci\nthread-1');
    assert.deepEqual([...store.own], [digest.of('ci\nthread-1')]);
  });

  test('are renewed every 15 s in one statement, however many there are', async () => {
    const { owners, store, running, period } = bench();
    for (let i = 0; i < 50; i++) {
      running.add(`s${i}`);
      await owners.claim(`s${i}`);
    }
    store.calls.length = 0;
    for (let i = 0; i < 4; i++) await period();
    assert.deepEqual([store.calls, owners.count], [['renew', 'renew', 'renew', 'renew'], 50]);
  });

  test('stay leased through a tool loop, whose turns come and go: one claim, and one statement every 15 s', async () => {
    const { owners, store, running, period } = bench();
    await owners.claim('s');
    for (let i = 0; i < 20; i++) {
      running.add('s');
      owners.hold('s');
      running.delete('s');
      if (i % 5 === 4) {
        running.add('s');
        await period();
      }
    }
    assert.deepEqual(store.calls, ['claim', 'renew', 'renew', 'renew', 'renew']);
  });

  test('are given up when they had no turn for a whole period, all in one statement, and no timer runs after that', async () => {
    const { owners, store, period } = bench();
    await owners.claim('s');
    await owners.claim('t');
    store.calls.length = 0;
    await period();
    assert.equal(owners.count, 2);
    await period();
    assert.deepEqual([store.calls, owners.count], [['renew', 'release 2'], 0]);
    for (let i = 0; i < 3; i++) await period();
    assert.equal(store.calls.length, 2);
  });

  test('are claimed again by a later turn of the connection, which does not wait for it', async () => {
    const { owners, store, running, period } = bench();
    await owners.claim('s');
    await period();
    await period();
    store.calls.length = 0;
    running.add('s');
    assert.equal(owners.hold('s'), undefined);
    assert.equal(owners.count, 0);
    await turnOfTheLoop();
    assert.deepEqual([store.calls, owners.count], [['claim'], 1]);
    owners.hold('s');
    await turnOfTheLoop();
    assert.deepEqual(store.calls, ['claim']);
  });

  test('that another node has are reported, and taken over where that node is dead', async () => {
    const { owners, store, digest, disowned } = bench();
    store.others.set(digest.of('s'), OTHER);
    assert.deepEqual(await owners.claim('s'), OTHER);
    assert.equal(owners.count, 0);
    assert.equal(await owners.claim('s', OTHER), undefined);
    assert.deepEqual([owners.count, disowned], [1, []]);
  });

  test('that were lost are detected by the next claim, and by the next renewal, and their turns are disowned', async () => {
    for (const how of ['claim', 'renewal']) {
      const { owners, store, digest, running, disowned, counters, period } = bench();
      running.add('s');
      await owners.claim('s');
      store.others.set(digest.of('s'), OTHER);
      if (how === 'claim') assert.deepEqual(await owners.claim('s'), OTHER);
      else await period();
      assert.deepEqual([disowned, owners.count, counters.values.sessions_lost], [['s'], 0, 1]);
    }
  });

  test('that the store lost are claimed again, and keep their turns where no other node has them', async () => {
    const { owners, store, running, disowned, period } = bench();
    running.add('s');
    await owners.claim('s');
    store.own.clear();
    await period();
    assert.deepEqual([owners.count, disowned, store.own.size], [1, [], 1]);
  });

  test('continue while the store fails or does not answer, which is counted, and are renewed when it is back', async () => {
    const { owners, store, clock, running, disowned, counters, period } = bench();
    running.add('s');
    await owners.claim('s');
    const { renew } = store;
    store.renew = () => Promise.reject(new Error('gone'));
    await period();
    store.renew = () => new Promise(() => undefined);
    await period();
    await clock.advance(5_000);
    await turnOfTheLoop();
    store.renew = renew;
    store.calls.length = 0;
    await period();
    assert.deepEqual([store.calls, owners.count, disowned, counters.values.session_claims_failed], [['renew'], 1, [], 2]);
  });

  test('that could not be given up are given up later', async () => {
    const { owners, store, period } = bench();
    await owners.claim('s');
    await period();
    const { release } = store;
    store.release = () => Promise.reject(new Error('gone'));
    await period();
    assert.equal(owners.count, 1);
    store.release = release;
    await period();
    assert.deepEqual([store.own.size, owners.count], [0, 0]);
  });

  test('are not waited for longer than two seconds', async () => {
    const { owners, store, clock, counters } = bench();
    store.claim = () => new Promise(() => undefined);
    const claimed = owners.claim('s');
    await clock.waiting();
    await clock.advance(1_999);
    assert.equal(counters.values.session_claims_failed, 0);
    await clock.advance(1);
    assert.equal(await claimed, undefined);
    assert.equal(counters.values.session_claims_failed, 1);
  });

  test('are claimed after they were given up, not before', async () => {
    const { owners, store, period } = bench();
    await owners.claim('s');
    await period();
    const released = Promise.withResolvers<void>();
    store.release = () => released.promise;
    await period();
    store.calls.length = 0;
    const claimed = owners.claim('s');
    await turnOfTheLoop();
    assert.deepEqual(store.calls, []);
    released.resolve();
    await claimed;
    assert.deepEqual(store.calls, ['claim']);
  });

  test('are all given up when the process ends', async () => {
    const { owners, store, period } = bench();
    await owners.claim('s');
    store.calls.length = 0;
    await owners.stop();
    await period();
    assert.deepEqual([store.calls, store.own.size, owners.count], [['release all'], 0, 0]);
  });
});
