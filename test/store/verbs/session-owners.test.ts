// The owners of sessions, on every engine: one at a time, until its lease expires, is given up, or is taken over.
import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import type { SessionOwner, Store } from '../../../store/store.ts';
import { adapters } from '../adapters.ts';
import { openStores } from '../stores.ts';

const TTL = 45_000;

for (const adapter of adapters) {
  suite(`session owners on ${adapter.name}`, () => {
    const openTwo = async (context: TestContext) => {
      const { time, stores } = await openStores(adapter, context, 2);
      const [one, other] = stores as [Store, Store];
      let leases = 0;
      /** Claims the session for this process, and returns the owner afterwards. */
      const claim = async (owner: 'a' | 'b', session = 's', instead?: string): Promise<SessionOwner> => {
        const { sessionOwners } = owner === 'a' ? one : other;
        return sessionOwners.claim({ session, owner, address: `http://${owner}`, lease: `lease-${++leases}`, ttlMs: TTL, instead });
      };
      return { one, other, time, claim };
    };

    test('a claim of a free session makes an owner, and others get its name and address', async (context) => {
      const { claim } = await openTwo(context);
      const a = { owner: 'a', address: 'http://a', lease: 'lease-1' };
      assert.deepEqual(await claim('a'), a);
      assert.deepEqual(await claim('b'), a);
      assert.deepEqual(await claim('b', 'other'), { owner: 'b', address: 'http://b', lease: 'lease-3' });
    });

    test('a claim of the owner renews its lease, which stays the same', async (context) => {
      const { claim, time } = await openTwo(context);
      await claim('a');
      time.now += TTL - 1;
      assert.equal((await claim('a')).lease, 'lease-1');
      time.now += TTL - 1;
      assert.equal((await claim('b')).owner, 'a');
    });

    test('an expired lease is free, and its former owner gets the next owner', async (context) => {
      const { claim, one, time } = await openTwo(context);
      await claim('a');
      time.now += TTL;
      assert.deepEqual(await claim('b'), { owner: 'b', address: 'http://b', lease: 'lease-2' });
      assert.equal((await claim('a')).owner, 'b');
      assert.deepEqual([...(await one.sessionOwners.renew('a', TTL))], []);
    });

    test('an expired lease that no other node has taken is renewed', async (context) => {
      const { claim, one, time } = await openTwo(context);
      await claim('a');
      time.now += 10 * TTL;
      assert.deepEqual([...(await one.sessionOwners.renew('a', TTL))], ['s']);
      assert.equal((await claim('b')).owner, 'a');
    });

    test('all leases of an owner are renewed at once, and no other’s', async (context) => {
      const { claim, one, time } = await openTwo(context);
      await claim('a', 's1');
      await claim('a', 's2');
      await claim('b', 's3');
      time.now += TTL - 1;
      assert.deepEqual([...(await one.sessionOwners.renew('a', TTL))].sort(), ['s1', 's2']);
      time.now += 1;
      assert.deepEqual([(await claim('b', 's1')).owner, (await claim('a', 's3')).owner], ['a', 'a']);
    });

    test('a claim that names the lease of a dead owner takes it over; of an earlier lease it does not', async (context) => {
      const { claim } = await openTwo(context);
      const { lease } = await claim('a');
      assert.equal((await claim('b', 's', lease)).owner, 'b');
      assert.equal((await claim('a', 's', lease)).owner, 'b');
    });

    test('of many that take the same dead owner over, one gets the session, and the others get that owner', async (context) => {
      const { claim, one } = await openTwo(context);
      const { lease } = await claim('a');
      const claims = Array.from({ length: 20 }, (_, i) =>
        one.sessionOwners.claim({ session: 's', owner: `c${i}`, address: '', lease: `new-${i}`, ttlMs: TTL, instead: lease }),
      );
      const owners = new Set((await Promise.all(claims)).map(({ owner }) => owner));
      assert.equal(owners.size, 1);
      assert.ok(!owners.has('a'));
    });

    test('only the owner of sessions can give them up, some or all', async (context) => {
      const { claim, one, other } = await openTwo(context);
      const sessions = Array.from({ length: 1_100 }, (_, i) => `s${i}`);
      for (const session of ['s0', 's1', 's2']) await claim('a', session);
      await other.sessionOwners.release('b', sessions);
      await other.sessionOwners.releaseAll('b');
      assert.equal((await claim('b', 's0')).owner, 'a');
      await one.sessionOwners.release('a', sessions.slice(1));
      assert.deepEqual([(await claim('b', 's0')).owner, (await claim('b', 's1')).owner, (await claim('b', 's2')).owner], ['a', 'b', 'b']);
      await one.sessionOwners.releaseAll('a');
      assert.equal((await claim('b', 's0')).owner, 'b');
    });

    test('a purge removes leases that expired an hour ago', async (context) => {
      const { claim, one, time } = await openTwo(context);
      await claim('a', 'old');
      time.now += 3_600_000;
      await claim('a', 'new');
      time.now += TTL + 1;
      await one.purge({});
      assert.deepEqual([...(await one.sessionOwners.renew('a', TTL))], ['new']);
    });
  });
}
