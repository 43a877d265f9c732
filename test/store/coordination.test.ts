// The coordination of several processes on one database, for every engine: changes, patches and leases. Each suite opens two stores on one
// database; a real second process contends for leases and limits.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { suite, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ChangeFeed } from '../../store/change-feed.ts';
import { StoreError } from '../../store/errors.ts';
import { openStore, type Store } from '../../store/store.ts';
import { PATIENCE_MS } from '../support/until.ts';
import { adapters } from './adapters.ts';
import { accountRow, credentialRow, joinedAs, limitedTurn, pinRow, usageRow } from './samples.ts';

for (const adapter of adapters) {
  /** Opens the stores of two processes, with a clock that the test moves. */
  const openTwo = async (context: TestContext) => {
    const url = await adapter.fresh(context);
    const time = { now: 1_000_000 };
    const open = async (writer: string): Promise<Store> => {
      const store = await openStore(url, { clock: () => time.now, writer });
      context.after(() => store.close());
      return store;
    };
    return { url, time, one: await open('one'), other: await open('other') };
  };

  suite(`patches on ${adapter.name}`, () => {
    const health = { health: 'failing', cooldown_until: 9_000, streak: 2, cause: 'connect' } as const;
    const healthy = { health: 'active', cooldown_until: null, streak: 0, cause: null } as const;
    const key = { account: 'north', model: '' } as const;
    /** The time at which the stores open. */
    const DECIDED = 1_000_000;

    test('of different fields of one row do not erase each other, whichever process writes first', async (context) => {
      const { one, other } = await openTwo(context);
      for (const [first, second] of [
        [one, other],
        [other, one],
      ] as const) {
        first.accounts.patch({ ...key, ...healthy, windows: null, updated_at: 1 });
        await first.flush();
        // Both have the current row, and each writes only its own change.
        first.accounts.patch({ ...key, ...health, updated_at: 2 });
        second.accounts.patch({ ...key, windows: { used: 80 }, updated_at: 3 });
        await Promise.all([first.flush(), second.flush()]);
        const expected = accountRow({
          ...health,
          windows: { used: 80 },
          updated_at: 3,
          health_at: DECIDED,
          missing_compact_path: null,
          compact_path_missing_at: null,
        });
        const { updated_at, ...row } = (await one.accounts.find([key]))[0] ?? { updated_at: 0 };
        assert.deepEqual({ ...row, updated_at: 3 }, expected);
        assert.ok(updated_at === 2 || updated_at === 3);
      }
    });

    test('interleave without loss over many writes', async (context) => {
      const { one, other } = await openTwo(context);
      for (let n = 1; n <= 40; n++) {
        one.accounts.patch({ ...key, streak: n, updated_at: n });
        other.accounts.patch({ ...key, windows: { n }, updated_at: n });
        if (n % 3 === 0) await one.flush();
        if (n % 5 === 0) await other.flush();
      }
      await Promise.all([one.flush(), other.flush()]);
      const [row] = await other.accounts.find([key]);
      assert.deepEqual([row?.streak, row?.windows, row?.health], [40, { n: 40 }, 'active']);
    });

    test('of one row that wait together are written as one, each field with its last value', async (context) => {
      const { one } = await openTwo(context);
      one.accounts.patch({ ...key, windows: { used: 1 }, updated_at: 1 });
      one.accounts.patch({ ...key, ...health, updated_at: 2 });
      one.accounts.patch({ ...key, windows: null, updated_at: 3 });
      assert.deepEqual(await one.accounts.find([key]), [
        accountRow({
          ...health,
          windows: null,
          updated_at: 3,
          health_at: DECIDED,
          missing_compact_path: null,
          compact_path_missing_at: null,
        }),
      ]);
      assert.equal(one.stats().written, 1);
    });

    test('of many rows with different fields are all written in one batch', async (context) => {
      const { one } = await openTwo(context);
      const accounts = Array.from({ length: 30 }, (_, n) => `account-${n}`);
      for (const [n, account] of accounts.entries()) {
        const fields = [health, { windows: { n } }, { cause: 'x' }][n % 3];
        one.accounts.patch({ account, model: n % 2 ? 'model-a' : '', updated_at: n, ...fields });
      }
      await one.flush();
      const rows = new Map((await one.accounts.load()).map((row) => [row.account, row]));
      for (const [n, account] of accounts.entries()) {
        const health_at = n % 3 === 1 ? 0 : DECIDED;
        const fresh = { ...healthy, windows: null, missing_compact_path: null, compact_path_missing_at: null };
        const initial = accountRow({ ...fresh, account, model: n % 2 ? 'model-a' : '', updated_at: n, health_at });
        assert.deepEqual(rows.get(account), { ...initial, ...[health, { windows: { n } }, { cause: 'x' }][n % 3] });
      }
    });
  });

  suite(`changes on ${adapter.name}`, () => {
    test('are the rows that other processes wrote after the cursor, each once, and not those of the same process', async (context) => {
      const { one, other } = await openTwo(context);
      one.accounts.patch({ account: 'before', model: '', streak: 1, updated_at: 1 });
      await one.flush();
      const cursor = await other.changes.cursor();
      assert.deepEqual(await other.changes.since(cursor), { cursor, changes: [] });
      for (let n = 0; n < 3; n++) {
        one.accounts.patch({ account: 'north', model: 'model-a', streak: n, updated_at: n });
        one.usage.add(usageRow());
        await one.flush();
      }
      await one.credentials.save(credentialRow());
      one.catalog.put({ account: 'north', entries: '[]', etag: null, read_at: 1 });
      await one.flush();
      other.accounts.patch({ account: 'south', model: '', streak: 1, updated_at: 1 });
      await other.flush();
      const seen = await other.changes.since(cursor);
      assert.deepEqual(seen.changes.map(({ table, key, writer }) => `${table} ${key.join('/')} ${writer}`).sort(), [
        'account_state north/model-a one',
        'catalog north one',
        'credentials north one',
        'usage ci/team/86400000 one',
      ]);
      assert.deepEqual((await other.changes.since(seen.cursor)).changes, []);
      assert.deepEqual(
        (await one.changes.since(cursor)).changes.map(({ key, writer }) => [key, writer]),
        [[['south', ''], 'other']],
      );
    });

    test('do not record pins, which are looked up', async (context) => {
      const { one, other } = await openTwo(context);
      const cursor = await other.changes.cursor();
      one.pins.put(pinRow());
      await one.flush();
      assert.equal(await other.changes.cursor(), cursor);
    });

    test('are returned again after the database has lost its last transactions, as after a restored backup', async (context) => {
      const { one, other } = await openTwo(context);
      await one.credentials.save(credentialRow({ account: 'north' }));
      const cursor = await other.changes.cursor();
      const lost = 10;
      const { cursor: next, changes } = await other.changes.since(cursor + lost);
      assert.equal(next, cursor);
      assert.deepEqual(
        changes.map(({ key }) => key),
        [['north']],
      );
    });

    test('are read in parts where there are many, each once', async (context) => {
      const { one, other } = await openTwo(context);
      const cursor = await other.changes.cursor();
      const hashes = Array.from({ length: 12_000 }, (_, n) => `pin-${n}`);
      await Promise.all(hashes.map((hash) => one.pins.move(pinRow({ hash }))));
      const feed = new ChangeFeed({ changes: other.changes, after: () => () => undefined });
      const parts: (readonly unknown[])[] = [];
      feed.on('pins', (keys) => void parts.push(keys.map(([hash]) => hash)));
      assert.ok(await feed.poll());
      assert.deepEqual(parts.flat().toSorted(), hashes.toSorted());
      assert.ok(parts.every(({ length }) => length <= 5_000));
      assert.equal((await other.changes.since(cursor)).hasMore, true);
      assert.equal((await other.changes.since(await other.changes.cursor())).hasMore, undefined);
    });

    test('are purged after a day', async (context) => {
      const { one, other, time } = await openTwo(context);
      await one.credentials.save(credentialRow({ account: 'old' }));
      time.now += 86_400_000;
      await one.credentials.save(credentialRow({ account: 'new' }));
      time.now += 1;
      await one.purge({});
      assert.deepEqual(
        (await other.changes.since(0)).changes.map(({ key }) => key),
        [['new']],
      );
    });
  });

  suite(`leases on ${adapter.name}`, () => {
    test('have one owner at a time, and a greater token each time', async (context) => {
      const { one, other } = await openTwo(context);
      const first = await one.leases.acquire('probe/north', 'one', 1_000);
      assert.ok(first);
      assert.deepEqual([first.name, first.owner, first.expires_at], ['probe/north', 'one', 1_001_000]);
      assert.equal(await other.leases.acquire('probe/north', 'other', 1_000), undefined);
      assert.equal(await one.leases.acquire('probe/north', 'one', 1_000), undefined, 'nor a second time for its owner');
      const elsewhere = await other.leases.acquire('probe/south', 'other', 1_000);
      assert.ok(elsewhere && elsewhere.token > first.token);
      await one.leases.release(first);
      const next = await other.leases.acquire('probe/north', 'other', 1_000);
      assert.ok(next && next.token > elsewhere.token);
    });

    test('are taken over when they expire, and their former owner detects it', async (context) => {
      const { one, other, time } = await openTwo(context);
      const first = await one.leases.acquire('session', 'one', 1_000);
      assert.ok(first);
      time.now += 999;
      assert.equal(await other.leases.acquire('session', 'other', 1_000), undefined);
      time.now += 1;
      assert.equal(await one.leases.renew(first, 1_000), undefined, 'expired, though free');
      const next = await other.leases.acquire('session', 'other', 1_000);
      assert.ok(next && next.token > first.token);
      assert.equal(await one.leases.renew(first, 1_000), undefined);
      await one.leases.release(first);
      assert.equal(await one.leases.acquire('session', 'one', 1_000), undefined, 'a late release frees nothing');
    });

    test('last longer when renewed, and are no more once released', async (context) => {
      const { one, other, time } = await openTwo(context);
      const first = await one.leases.acquire('session', 'one', 1_000);
      assert.ok(first);
      time.now += 800;
      const renewed = await one.leases.renew(first, 1_000);
      assert.deepEqual(renewed, { ...first, expires_at: time.now + 1_000 });
      time.now += 900;
      assert.equal(await other.leases.acquire('session', 'other', 1_000), undefined);
      await one.leases.release(first);
      assert.equal(await one.leases.renew(first, 1_000), undefined);
      assert.ok(await other.leases.acquire('session', 'other', 1_000));
    });

    test('go to one of many callers at the same time', async (context) => {
      const { one, other } = await openTwo(context);
      const tries = Array.from({ length: 20 }, (_, n) => [one, other][n % 2]?.leases.acquire('session', `owner-${n}`, 1_000));
      const outcomes = await Promise.allSettled(tries);
      const leases = outcomes.filter((outcome) => outcome.status === 'fulfilled' && outcome.value !== undefined);
      const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
      assert.equal(leases.length, 1);
      // A caller waits a second for a connection, and on a busy machine the last callers may get none.
      for (const failure of failures) assert.ok(failure instanceof StoreError && failure.code === 'busy', failure);
    });
  });

  test(`a second process on ${adapter.name} contends for leases and limits`, { timeout: 3 * PATIENCE_MS }, async (context) => {
    const { url, one } = await openTwo(context);
    const turn = limitedTurn({ node: await joinedAs(one, 'here', 1_000_000_000) });
    const script = fileURLToPath(new URL('contending-process.ts', import.meta.url));
    const child = spawn(process.execPath, [script, url], { stdio: ['pipe', 'pipe', 'inherit'] });
    const lines: string[] = [];
    child.stdout.setEncoding('utf8').on('data', (text: string) => lines.push(...text.trim().split('\n')));
    const exit = once(child, 'exit');
    await once(child.stdout, 'data');
    child.stdin.end('start\n');
    let granted = 0;
    let leases = 0;
    for (let n = 0; n < 60; n++) {
      if ((await one.limits.take({ ...turn, grant: `here-${n}` }, { concurrent: 50 })).outcome === 'granted') granted++;
      if (await one.leases.acquire(`lease-${n}`, 'here', 1_000_000_000)) leases++;
    }
    assert.deepEqual(await exit, [0, null]);
    const [there, leasesThere] = (lines.at(-1) ?? '').split(' ').map(Number);
    assert.equal(granted + (there as number), 50, `${granted} here, ${there} there`);
    assert.equal(leases + (leasesThere as number), 60, `${leases} here, ${leasesThere} there`);
  });
}
