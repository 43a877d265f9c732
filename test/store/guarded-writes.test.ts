// Writes under leases: a process that was paused past its lease overwrites nothing; and notifications of pins and usage between processes.
import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { type Lease, openStore, type Store } from '../../store/store.ts';
import { adapters } from './adapters.ts';
import { accountRow, credentialRow, pinRow, usageRow } from './samples.ts';

const LEASE_MS = 10_000;

for (const { name, fresh } of adapters) {
  suite(`[Q34] ${name}: `, () => {
    const opened = async (context: TestContext) => {
      const clock = { now: 1_000_000 };
      const url = await fresh(context);
      const open = async (writer: string): Promise<Store> => {
        const store = await openStore(url, { clock: () => clock.now, writer });
        context.after(() => store.close());
        return store;
      };
      const stores = { one: await open('one'), other: await open('other') };
      const lease = async (store: Store, of = 'work'): Promise<Lease> =>
        (await store.leases.acquire(of, 'owner', LEASE_MS)) ?? assert.fail('held');
      return { clock, ...stores, lease };
    };
    const catalog = { account: 'north', entries: '[]', etag: null, read_at: 1 };
    const key = { account: 'north', model: '' };

    test('a write under a lost lease does not change what its successor wrote', async (context) => {
      const { clock, one, other, lease } = await opened(context);
      const former = await lease(one);
      assert.equal(await one.catalog.putUnder(former, catalog), true);
      assert.equal(await one.accounts.patchUnder(former, { ...key, streak: 1, updated_at: 1 }), true);
      clock.now += LEASE_MS;
      assert.equal(await one.catalog.putUnder(former, { ...catalog, read_at: 9 }), false, 'it has expired');
      const next = await lease(other);
      assert.equal(await other.accounts.patchUnder(next, { ...key, streak: 2, updated_at: 2 }), true);
      assert.equal(await one.accounts.patchUnder(former, { ...key, streak: 9, updated_at: 9 }), false);
      assert.equal(await one.credentials.saveUnder(former, credentialRow()), false);
      assert.deepEqual(
        [(await other.catalog.find('north'))?.read_at, (await other.accounts.find([key]))[0]?.streak, await other.credentials.load()],
        [1, 2, []],
      );
      assert.equal(one.stats().rejected + one.stats().dropped, 0);
    });

    test('a write under a lease comes between the writes before and after it', async (context) => {
      const { clock, one, lease } = await opened(context);
      const held = await lease(one);
      one.accounts.patch({ ...key, streak: 1, cause: 'first', updated_at: 1 });
      const guarded = one.accounts.patchUnder(held, { ...key, streak: 2, updated_at: 2 });
      one.accounts.patch({ ...key, streak: 3, updated_at: 3 });
      assert.equal(await guarded, true);
      await one.flush();
      assert.deepEqual(await one.accounts.find([key]), [
        accountRow({
          ...key,
          health: 'active',
          cooldown_until: null,
          windows: null,
          missing_compact_path: null,
          compact_path_missing_at: null,
          streak: 3,
          cause: 'first',
          updated_at: 3,
          health_at: clock.now,
        }),
      ]);
    });

    test('health that was decided earlier does not replace later health, however late it is written', async (context) => {
      const { clock, one, other } = await opened(context);
      const healthy = { health: 'active', cooldown_until: null, streak: 0, cause: null } as const;
      const cooling = { health: 'failing', cooldown_until: 9, streak: 1, cause: 'connect' } as const;
      one.accounts.patch({ ...key, ...healthy, windows: { used: 1 }, updated_at: 1 });
      clock.now += 1;
      other.accounts.patch({ ...key, ...cooling, updated_at: 2 });
      await other.flush();
      await one.flush();
      const [row] = await other.accounts.find([key]);
      assert.deepEqual(
        [row?.health, row?.cooldown_until, row?.streak, row?.cause, row?.windows],
        ['failing', 9, 1, 'connect', { used: 1 }],
      );
      clock.now += 1;
      one.accounts.patch({ ...key, ...healthy, updated_at: 3 });
      assert.equal((await one.accounts.find([key]))[0]?.health, 'active');
    });

    test('rows are found by their keys, however many there are', async (context) => {
      const { one } = await opened(context);
      const keys = Array.from({ length: 300 }, (_, n) => ({ account: `account-${n}`, model: n % 2 ? 'model-a' : '' }));
      for (const [n, of] of keys.entries()) one.accounts.patch({ ...of, streak: n, updated_at: 1 });
      const found = await one.accounts.find([...keys, { account: 'unknown', model: '' }]);
      assert.deepEqual(
        found.map(({ account, model, streak }) => [account, model, streak]).sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
        keys.map(({ account, model }, n) => [account, model, n]).sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
      );
      assert.deepEqual(await one.accounts.find([]), []);
    });

    test('a refresh token is sent once, and its answer is stored by the process that sent it, also after its lease', async (context) => {
      const { clock, one, other, lease } = await opened(context);
      await one.credentials.save(credentialRow());
      const former = await lease(one);
      assert.equal(await one.credentials.exchange.begin({ account: 'north', sealed: 'another' }, former), false);
      assert.equal(await one.credentials.exchange.begin(credentialRow(), former), true);
      assert.deepEqual(await other.credentials.find('north'), credentialRow({ exchange_token: former.token, exchange_at: clock.now }));
      clock.now += LEASE_MS;
      const next = await lease(other);
      assert.equal(await other.credentials.exchange.begin(credentialRow(), next), false, 'it is open');
      assert.equal(await other.credentials.exchange.complete(credentialRow({ sealed: 'of the other' }), next), false);
      await other.credentials.exchange.cancel('north', next);
      assert.equal(await one.credentials.exchange.complete(credentialRow({ sealed: 'new' }), former), true);
      assert.deepEqual(await other.credentials.find('north'), credentialRow({ sealed: 'new' }));
      assert.equal(await one.credentials.exchange.complete(credentialRow({ sealed: 'newer' }), former), false, 'it is over');
      assert.equal(await other.credentials.exchange.begin(credentialRow({ sealed: 'new' }), next), true);
      await one.credentials.exchange.cancel('north');
      assert.equal((await one.credentials.find('north'))?.exchange_token, null);
      assert.equal(await one.credentials.exchange.begin(credentialRow({ sealed: 'new' }), former), false, 'its lease was lost');
    });

    test('logins that were imported are remembered', async (context) => {
      const { one, other } = await opened(context);
      for (let twice = 0; twice < 2; twice++) await one.credentials.recordImport({ account: 'north', imported: 'cd34', at: 1 });
      assert.deepEqual(
        [await other.credentials.wasImported('north', 'cd34'), await other.credentials.wasImported('south', 'cd34')],
        [true, false],
      );
    });

    test('other processes are notified of pins that moved, and of no others', async (context) => {
      const { clock, one, other } = await opened(context);
      const cursor = await other.changes.cursor();
      await Promise.all([one.pins.save(pinRow()), one.pins.save(pinRow({ hash: 'cd34' }))]);
      assert.deepEqual((await other.changes.since(cursor)).changes, []);
      await one.pins.move(pinRow({ account: 'south', expires_at: clock.now + 1 }));
      const { changes } = await other.changes.since(cursor);
      assert.deepEqual(changes, [{ table: 'pins', key: ['ab12'], writer: 'one' }]);
      assert.equal((await other.pins.find('ab12'))?.account, 'south');
    });

    test('usage is read together with rows that wait to be written, each once, while two processes add to it', async (context) => {
      const { one, other } = await opened(context);
      const of = { key_id: 'ci', pool: 'team', day: 86_400_000 };
      const add = (store: Store): void => store.usage.add({ ...usageRow(), ...of, requests: 1 });
      const read = async (store: Store): Promise<number> => {
        let requests = 0;
        await store.usage.read([of], (rows) => {
          requests = rows[0]?.requests ?? 0;
        });
        return requests;
      };
      add(other);
      await other.flush();
      for (let n = 0; n < 20; n++) {
        add(one);
        // Some of these rows are queued, and some are being written.
        if (n % 3 === 0) void one.flush();
        assert.equal(await read(one), n + 2);
      }
      add(other);
      await other.flush();
      assert.equal(await read(one), 22);
    });
  });
}
