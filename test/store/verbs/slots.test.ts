// Slots of accounts in a store, on every engine: never more than there are, fair if all nodes need more, with notifications of other nodes.
import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import type { SlotGrant, Store } from '../../../store/store.ts';
import { adapters } from '../adapters.ts';
import { joinedAs } from '../samples.ts';
import { openStores } from '../stores.ts';

const LEASE = 30_000;

for (const adapter of adapters) {
  const open = async (context: TestContext, count = 3) => {
    const { time, stores } = await openStores(adapter, context, count);
    const nodes: number[] = [];
    for (const [i, store] of stores.entries()) nodes.push(await joinedAs(store, `node-${i}`, LEASE));
    /** Claims slots of an account with four slots, and returns those that the node has. */
    const claim = async (
      node: number,
      wanted: number,
      { kept = 0, most = 4, account = 'north' } = {},
    ): Promise<Omit<SlotGrant, 'contended'>> => {
      const granted = await (stores[node] as Store).slots.claim(nodes[node] as number, [{ account, most, kept, wanted }]);
      assert.ok(granted?.[0], 'the lease of the node was lost');
      const { contended: _, ...grant } = granted[0];
      return grant;
    };
    return { time, stores, nodes, claim };
  };
  const held = (count: number, allowed = count): Omit<SlotGrant, 'contended'> => ({ account: 'north', held: count, allowed });

  suite(`[Q34] slots on ${adapter.name}`, () => {
    test('a single node gets one and a half times what it asks for, at least an equal share, and never more than there are', async (context) => {
      const { claim } = await open(context, 2);
      assert.deepEqual(await claim(0, 0), held(2));
      assert.deepEqual(await claim(0, 2, { kept: 2 }), held(3));
      assert.deepEqual(await claim(0, 3, { kept: 3 }), held(4));
      assert.deepEqual(await claim(0, 100, { kept: 4 }), held(4));
    });

    test('held slots are not given to another node until they are given back', async (context) => {
      const { claim } = await open(context);
      await claim(0, 4, { kept: 3 });
      assert.deepEqual(await claim(1, 1), held(0));
      assert.deepEqual(await claim(0, 3, { kept: 3 }), held(3));
      assert.deepEqual(await claim(1, 1), held(1));
    });

    test('a node keeps slots that it uses beyond its share, but begins no further turn there', async (context) => {
      const { claim } = await open(context);
      await claim(0, 9, { kept: 4 });
      await claim(1, 9);
      assert.deepEqual(await claim(0, 9, { kept: 4 }), held(4, 2));
      assert.deepEqual(await claim(0, 9, { kept: 3 }), held(3, 2));
      assert.deepEqual(await claim(1, 9), held(1));
      assert.deepEqual(await claim(0, 9, { kept: 2 }), held(2));
      assert.deepEqual(await claim(1, 9, { kept: 1 }), held(2));
    });

    test('fewer slots than nodes rotate among them', async (context) => {
      const { claim, time } = await open(context);
      const most = 1;
      assert.deepEqual(await claim(0, 5, { most, kept: 0 }), held(1));
      time.now += 10;
      assert.deepEqual(await claim(1, 5, { most }), held(0));
      time.now += 10;
      assert.deepEqual(await claim(2, 5, { most }), held(0));
      assert.deepEqual(await claim(0, 5, { most, kept: 1 }), held(1), 'for a second the node goes on with its next turns');
      const had: number[] = [];
      for (let holder = 0; had.length < 6; ) {
        time.now += 1_000;
        assert.deepEqual(await claim(holder, 5, { most, kept: 1 }), held(1, 0));
        assert.deepEqual(await claim(holder, 5, { most }), held(0));
        const answers = [];
        for (const node of [0, 1, 2].filter((node) => node !== holder)) answers.push({ node, ...(await claim(node, 5, { most })) });
        holder = answers.find((answer) => answer.held === 1)?.node ?? -1;
        had.push(holder);
      }
      assert.deepEqual(had, [1, 2, 0, 1, 2, 0]);
    });

    test('the slots of a dead node are free when its lease has expired, and its claims are refused', async (context) => {
      const { claim, time, stores, nodes } = await open(context);
      await claim(0, 4, { kept: 4 });
      time.now += LEASE - 1;
      await stores[1]?.nodes.renew({ id: 'node-1', token: nodes[1] as number, config_digest: '' }, LEASE);
      assert.deepEqual(await claim(1, 4), held(0));
      time.now += 1;
      assert.deepEqual(await claim(1, 4), held(4));
      assert.equal(await stores[0]?.slots.claim(nodes[0] as number, [{ account: 'north', most: 4, kept: 4, wanted: 4 }]), undefined);
    });

    test('slots that a node uses under a new lease count, also beyond the number of slots', async (context) => {
      const { claim } = await open(context);
      await claim(1, 4, { kept: 4 });
      assert.deepEqual(await claim(0, 3, { kept: 3 }), held(3, 2));
      assert.deepEqual(await claim(1, 4, { kept: 4 }), held(4, 2));
      assert.deepEqual(await claim(1, 4, { kept: 2 }), held(2));
      assert.deepEqual(await claim(0, 3, { kept: 2 }), held(2));
    });

    test('the others are notified of a node that is short, and of slots that are given back for it, and of nothing else', async (context) => {
      const { claim, stores, nodes } = await open(context, 2);
      const [one, other] = stores as [Store, Store];
      let cursor = await one.changes.cursor();
      const heard = async (store: Store): Promise<readonly unknown[]> => {
        const read = await store.changes.since(cursor);
        cursor = read.cursor;
        return read.changes.map(({ table, key }) => [table, ...key]);
      };
      await claim(0, 4, { kept: 1 });
      await claim(0, 3, { kept: 1 });
      assert.deepEqual(await heard(other), []);
      assert.deepEqual(await other.slots.short(nodes[1] as number), []);
      await claim(0, 4, { kept: 1 });
      await claim(1, 2);
      assert.deepEqual(await heard(one), [['slots', 'north', nodes[1]]]);
      assert.deepEqual(await one.slots.short(nodes[0] as number), ['north']);
      assert.deepEqual(await other.slots.short(nodes[1] as number), []);
      await claim(1, 2);
      assert.deepEqual(await heard(one), []);
      await claim(0, 1, { kept: 1 });
      assert.deepEqual(await heard(other), [['slots', 'north', nodes[0]]]);
      await claim(1, 2);
      assert.deepEqual(await one.slots.short(nodes[0] as number), []);
    });

    test('many accounts are claimed in one call, and nodes that claim at once never hold more than there are', async (context) => {
      const { stores, nodes } = await open(context);
      const accounts = Array.from({ length: 40 }, (_, i) => `account-${i}`);
      const rounds = Array.from({ length: 5 }, () =>
        stores.map((store, i) =>
          store.slots.claim(
            nodes[i] as number,
            (i % 2 ? accounts : [...accounts].reverse()).map((account) => ({ account, most: 5, kept: 0, wanted: 3 })),
          ),
        ),
      );
      await Promise.all(rounds.flat());
      const last = await Promise.all(
        stores.map((store, i) =>
          store.slots.claim(
            nodes[i] as number,
            accounts.map((account) => ({ account, most: 5, kept: 0, wanted: 3 })),
          ),
        ),
      );
      for (const account of accounts) {
        const all = last.map((granted) => granted?.find((one) => one.account === account)?.held ?? 0);
        assert.ok(all.reduce((sum, one) => sum + one, 0) <= 5, `${account}: ${all}`);
      }
    });
  });
}
