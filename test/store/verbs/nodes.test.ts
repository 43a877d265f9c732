// The nodes of a store, on every engine: one process at a time has a name, and a renewal does not restore a lost lease.
import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import type { Store } from '../../../store/store.ts';
import { adapters } from '../adapters.ts';
import { joinedAs, limitedTurn, newNode } from '../samples.ts';
import { openStores } from '../stores.ts';

for (const adapter of adapters) {
  const openTwo = async (context: TestContext) => {
    const { time, stores } = await openStores(adapter, context, 2);
    return { time, one: stores[0] as Store, other: stores[1] as Store };
  };

  suite(`nodes on ${adapter.name}`, () => {
    test('join with a token of their own, and are listed until their lease expires', async (context) => {
      const { time, one, other } = await openTwo(context);
      const first = await one.nodes.join(newNode({ id: 'a' }), 30_000);
      const second = await other.nodes.join(newNode({ id: 'b', address: null }), 10_000);
      assert.ok('joined' in first && 'joined' in second);
      assert.ok(second.joined.token > first.joined.token);
      assert.deepEqual(await one.nodes.list(), [first.joined, second.joined]);
      assert.deepEqual(first.joined, { ...newNode({ id: 'a' }), token: first.joined.token, expires_at: time.now + 30_000 });
      time.now += 10_000;
      assert.deepEqual(await other.nodes.list(), [first.joined]);
      const known = [first, second].map(({ joined }) => ({ ...joined, slots: 0, leases: 0 }));
      assert.deepEqual(await other.nodes.known(), known);
    });

    test('[Q34] are refused while another process has their name, and take it over when its lease has expired', async (context) => {
      const { time, one, other } = await openTwo(context);
      const first = await one.nodes.join(newNode(), 30_000);
      assert.ok('joined' in first);
      assert.deepEqual(await other.nodes.join(newNode({ address: 'http://elsewhere:1' }), 30_000), { taken: first.joined });
      time.now += 30_000;
      const second = await other.nodes.join(newNode({ address: 'http://elsewhere:1' }), 30_000);
      assert.ok('joined' in second && second.joined.token > first.joined.token);
      assert.equal(await one.nodes.renew(first.joined, 30_000), undefined);
      assert.deepEqual(await one.nodes.list(), [second.joined]);
    });

    test('[Q34] join again where the answer to a join was lost', async (context) => {
      const { one } = await openTwo(context);
      const lost = await one.nodes.join(newNode({ address: 'http://here:1' }), 30_000);
      const again = await one.nodes.join(newNode({ address: 'http://here:1' }), 30_000);
      assert.ok('joined' in lost && 'joined' in again && again.joined.token > lost.joined.token);
      const restarted = newNode({ address: 'http://here:1', started_at: again.joined.started_at + 1 });
      assert.deepEqual(await one.nodes.join(restarted, 30_000), { taken: again.joined });
    });

    test('renew their lease and their digest, but not a lease that has expired', async (context) => {
      const { time, one } = await openTwo(context);
      const answer = await one.nodes.join(newNode(), 30_000);
      assert.ok('joined' in answer);
      time.now += 29_999;
      assert.equal(await one.nodes.renew({ ...answer.joined, config_digest: 'other' }, 30_000), time.now + 30_000);
      assert.deepEqual(await one.nodes.list(), [{ ...answer.joined, config_digest: 'other', expires_at: time.now + 30_000 }]);
      time.now += 30_000;
      assert.equal(await one.nodes.renew(answer.joined, 30_000), undefined);
    });

    test('are listed with what they hold', async (context) => {
      const { one, other } = await openTwo(context);
      const a = await joinedAs(one, 'a_b');
      await joinedAs(other, 'axb');
      await one.slots.claim(a, [{ account: 'north', most: 8, kept: 0, wanted: 1 }]);
      for (const name of ['probe/north', 'usage/north']) await one.leases.acquire(name, 'a_b/1', 10_000);
      await one.leases.acquire('other', 'a_bc/1', 10_000);
      assert.deepEqual(
        (await other.nodes.known()).map(({ id, slots, leases }) => [id, slots, leases]),
        [
          ['a_b', 4, 2],
          ['axb', 0, 0],
        ],
      );
    });

    test('are reported to the others when they join and when they leave', async (context) => {
      const { one, other } = await openTwo(context);
      const cursor = await other.changes.cursor();
      const a = await joinedAs(one, 'a');
      const joined = await other.changes.since(cursor);
      assert.deepEqual(
        joined.changes.map(({ table, key }) => [table, ...key]),
        [['nodes', 'a']],
      );
      await one.nodes.leave(a);
      assert.equal((await other.changes.since(joined.cursor)).changes.length, 1);
    });

    test('leave at once with all that they hold', async (context) => {
      const { one, other } = await openTwo(context);
      const [a, b] = [await joinedAs(one, 'a'), await joinedAs(other, 'b')];
      await one.slots.claim(a, [{ account: 'north', most: 2, kept: 2, wanted: 2 }]);
      await one.limits.take(limitedTurn({ node: a }), { concurrent: 1 });
      await one.nodes.leave(a);
      assert.deepEqual(
        (await other.nodes.known()).map(({ id }) => id),
        ['b'],
      );
      assert.deepEqual(await other.slots.claim(b, [{ account: 'north', most: 2, kept: 0, wanted: 2 }]), [
        { account: 'north', held: 2, allowed: 2, contended: false },
      ]);
      assert.equal((await other.limits.take(limitedTurn({ node: b, grant: 'grant_2' }), { concurrent: 1 })).outcome, 'granted');
    });

    test('that died are forgotten after a day', async (context) => {
      const { time, one } = await openTwo(context);
      await joinedAs(one, 'a');
      time.now += 30_000 + 86_400_001;
      assert.deepEqual(await one.nodes.known(), []);
      await one.purge({});
      time.now = 1_000_000;
      assert.deepEqual(await one.nodes.known(), []);
    });

    test('whose names no process has keep their configuration as long as the audit log', async (context) => {
      const { time, one } = await openTwo(context);
      await joinedAs(one, 'runs', 2_000);
      const save = (name: string, at: number) => one.runningConfig.save({ name, config: {}, version: 'abc', at });
      await Promise.all([save('running', 1), save('node/runs', 1), save('node/gone', 1), save('node/stopped', time.now)]);
      await one.purge({ auditBefore: time.now });
      const names = ['running', 'node/runs', 'node/gone', 'node/stopped'];
      const kept = await Promise.all(names.map((name) => one.runningConfig.find(name)));
      assert.deepEqual(
        kept.flatMap((row) => row?.name ?? []),
        ['running', 'node/runs', 'node/stopped'],
      );
    });
  });
}
