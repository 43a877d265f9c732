// If the clock of the database, or of the machine of an embedded store, is set back by an hour, older leases do not delay another holder.
import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import type { Store } from '../../store/store.ts';
import { adapters } from './adapters.ts';
import { newNode } from './samples.ts';
import { openStores } from './stores.ts';

const HOUR = 3_600_000;
const TTL = 30_000;

for (const adapter of adapters) {
  suite(`after the clock was set back an hour, on ${adapter.name}`, () => {
    const openTwo = async (context: TestContext) => {
      const { time, stores } = await openStores(adapter, context, 2);
      time.now += 2 * HOUR;
      return { time, one: stores[0] as Store, other: stores[1] as Store };
    };

    test('[Q34] a lease is taken over at once, and its token fences the former owner', async (context) => {
      const { time, one, other } = await openTwo(context);
      const first = await one.leases.acquire('refresh/north', 'one', TTL);
      assert.ok(first);
      time.now -= HOUR;
      const next = await other.leases.acquire('refresh/north', 'other', TTL);
      assert.ok(next && next.token > first.token);
      assert.equal(await one.leases.renew(first, TTL), undefined);
      assert.equal(await one.catalog.putUnder(first, { account: 'north', entries: '[]', etag: null, read_at: 1 }), false);
      assert.equal(await one.leases.acquire('refresh/north', 'one', TTL), undefined, 'the new lease holds');
    });

    test('[Q34] the name of a node is free, and the lease of one that died ends in its time', async (context) => {
      const { time, one, other } = await openTwo(context);
      assert.ok('joined' in (await one.nodes.join(newNode({ id: 'killed' }), TTL)));
      assert.ok('joined' in (await one.nodes.join(newNode({ id: 'dead' }), TTL)));
      time.now -= HOUR;
      const joined = await other.nodes.join(newNode({ id: 'killed', address: 'http://elsewhere:1' }), TTL);
      assert.ok('joined' in joined);
      assert.equal(await other.nodes.renew(joined.joined, TTL), time.now + TTL);
      assert.deepEqual(
        (await other.nodes.list()).map(({ id }) => id),
        ['dead', 'killed'],
      );
      time.now += TTL;
      assert.deepEqual(await other.nodes.list(), []);
    });

    test('[Q5] a process that starts then stores the health that it finds', async (context) => {
      const { time, one, other } = await openTwo(context);
      const key = { account: 'north', model: '' };
      one.accounts.patch({ ...key, health: 'reauth_required', cooldown_until: null, streak: 1, cause: 'reauth', updated_at: time.now });
      await one.flush();
      time.now -= HOUR;
      assert.equal((await other.accounts.load())[0]?.health, 'reauth_required');
      other.accounts.patch({ ...key, health: 'active', cooldown_until: null, streak: 0, cause: null, updated_at: time.now });
      await other.flush();
      assert.equal((await other.accounts.load())[0]?.health, 'active');
    });

    test('[Q34] a session has another owner at once', async (context) => {
      const { time, one, other } = await openTwo(context);
      const claim = (store: Store, owner: string) =>
        store.sessionOwners.claim({ session: 's', owner, address: `http://${owner}`, lease: `of ${owner}`, ttlMs: TTL });
      assert.equal((await claim(one, 'a')).owner, 'a');
      time.now -= HOUR;
      assert.equal((await claim(other, 'b')).owner, 'b');
      assert.equal((await claim(one, 'a')).owner, 'b');
    });
  });
}
