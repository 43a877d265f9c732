// Properties of PostgreSQL: migrations of nodes that start together, different versions at once, batches that are written once, leases of
// nodes with different clocks, and connections that reads of operators leave to turns.
import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { PostgresConnections } from '../../../store/postgres/connection/postgres-connections.ts';
import { inTransaction } from '../../../store/postgres/connection/transactions.ts';
import { applyTo } from '../../../store/postgres/connection/upgrade.ts';
import { type Migration, migrate, migrations } from '../../../store/schema/migrations.ts';
import * as tables from '../../../store/schema/tables.ts';
import { openStore, type Store, type StoreErrorCode, type StoreOptions } from '../../../store/store.ts';
import { freshDatabase, ownPostgres } from '../../support/postgres/postgres.ts';
import { Link } from '../../support/postgres/postgres-link.ts';
import { until } from '../../support/until.ts';
import { accountRow, attemptRow, auditEntry, credentialRow, pinRow, requestRow, usageRow } from '../samples.ts';

/** The tests count the connections of this server. */
const postgresServer = ownPostgres();

const clock = () => 5_000;

const opened = async (context: TestContext, url: string, options: Partial<StoreOptions> = {}): Promise<Store> => {
  const store = await openStore(url, { clock, ...options });
  context.after(() => store.close());
  return store;
};

const refused = (code: StoreErrorCode, text: RegExp) => (error: Error & { readonly code?: string }) => {
  assert.equal(error.code, code);
  assert.match(error.message, text);
  return true;
};

suite('the schema on PostgreSQL', () => {
  const versions = async (url: string) => {
    const rows = await (await postgresServer).query(url, 'SELECT version FROM schema_version ORDER BY version');
    return rows.map(({ version }) => Number(version));
  };
  const all = migrations.map((_, index) => index + 1);

  test('is made once by nodes that start together on an empty database', async (context) => {
    const url = await freshDatabase();
    const stores = await Promise.all(Array.from({ length: 8 }, () => opened(context, url)));
    assert.deepEqual(await versions(url), all);
    for (const [n, store] of stores.entries()) await store.audit.record(auditEntry({ at: n }));
    assert.equal((await stores[0]?.audit.list({}))?.length, 8);
  });

  test('has exactly the columns that the program knows, sorted by bytes', async (context) => {
    const url = await freshDatabase();
    await opened(context, url);
    const server = await postgresServer;
    for (const table of Object.values(tables)) {
      if (typeof table === 'function') continue;
      const columns = await server.query(
        url,
        `SELECT column_name, data_type, collation_name FROM information_schema.columns
         WHERE table_schema = current_schema() AND table_name = '${table.name}' ORDER BY ordinal_position`,
      );
      assert.deepEqual(
        columns.map(({ column_name }) => column_name),
        table.columns,
      );
      for (const { data_type, collation_name } of columns) assert.equal(collation_name, data_type === 'text' ? 'C' : null);
    }
  });

  /** Upgrades the database like a later version of the program at its start. */
  const upgraded = async (url: string, step: Migration): Promise<void> => {
    const connections = new PostgresConnections({ url, most: 1, waitMs: 5_000, deadlineMs: 10_000 });
    await connections.use((connection) =>
      inTransaction(connection, 'BEGIN', () =>
        migrate(connection, { clock, apply: (one) => applyTo(connection, one), steps: [...migrations, step] }),
      ),
    );
    await connections.close();
  };

  test('[Q34] of a newer version is used by nodes of the older one that run on it, and refused to those that start', async (context) => {
    const url = await freshDatabase();
    const running = await opened(context, url);
    running.accounts.patch(accountRow());
    await running.flush();
    await upgraded(url, { sql: `ALTER TABLE account_state ADD COLUMN note TEXT NOT NULL DEFAULT ''; CREATE TABLE notes (id TEXT)` });
    assert.deepEqual(await versions(url), [...all, all.length + 1]);
    running.accounts.patch({ account: 'north', model: '', streak: 1, updated_at: 7 });
    running.accounts.patch({ account: 'new', model: '', updated_at: 7 });
    await running.flush();
    assert.deepEqual(await running.accounts.find([{ account: 'north', model: '' }]), [accountRow({ streak: 1, updated_at: 7 })]);
    assert.deepEqual(await running.leases.acquire('lease', 'owner', 1_000).then((lease) => lease?.owner), 'owner');
    assert.equal((await running.accounts.load()).length, 2);
    const [found, known] = [all.length + 1, all.length];
    await assert.rejects(
      openStore(url, { clock }),
      refused(
        'too_new',
        new RegExp(`the store has schema version ${found}; this program supports version ${known}: start a newer poolgate`),
      ),
    );
  });

  test('is not made by a program that fails in the middle', async () => {
    const url = await freshDatabase();
    await assert.rejects(upgraded(url, { sql: 'CREATE TABLE half (id TEXT); SELECT no_such_function()' }));
    await assert.rejects(versions(url), /schema_version/);
  });
});

suite('a database that cannot be opened is refused with a reason, without the password', () => {
  const at = async (edit: (url: URL) => void): Promise<string> => {
    const url = new URL((await postgresServer).url);
    url.password = 'hunter2';
    edit(url);
    return url.href;
  };
  for (const [what, code, text, edit] of [
    [
      'a database that does not exist',
      'refused',
      /^store postgres:\/\/localhost\/nowhere: PostgreSQL: the database does not exist \(3D000\)$/,
      (url) => (url.pathname = '/nowhere'),
    ],
    [
      'a user that does not exist',
      'refused',
      /^store postgres:\/\/localhost\/postgres: PostgreSQL: the user does not exist or may not log in \(28000\)$/,
      (url) => (url.username = 'nobody'),
    ],
  ] as const satisfies readonly (readonly [string, StoreErrorCode, RegExp, (url: URL) => void])[]) {
    test(what, async () => {
      await assert.rejects(openStore(await at(edit), { clock }), (error: Error) => {
        assert.doesNotMatch(JSON.stringify([error.message, error.stack]), /hunter2/);
        return refused(code, text)(error);
      });
    });
  }
});

suite('a batch whose commit was not answered', () => {
  test('is not written a second time: no sum is doubled, no newer row is replaced', async (context) => {
    const direct = await freshDatabase();
    const link = await Link.open(direct);
    context.after(() => link.close());
    const store = await opened(context, link.url(direct));
    const other = await opened(context, direct);
    await store.credentials.save(credentialRow({ sealed: 'first' }));
    link.lostCommits = 1;
    const written = store.stats().written;
    store.usage.add(usageRow());
    const saved = store.credentials.save(credentialRow({ sealed: 'second' }));
    // The batch is committed, and another node refreshes the token before this node gets the answer.
    await until('the commit', async () => ((await other.credentials.find('north'))?.sealed === 'second' ? true : undefined));
    await other.credentials.save(credentialRow({ sealed: 'third' }));
    await saved;
    assert.equal(link.lostCommits, 0);
    assert.ok(store.stats().failures >= 1, 'the first write failed');
    assert.equal(store.stats().written, written + 2);
    assert.deepEqual(await other.usage.load(0), [usageRow()]);
    assert.equal((await other.credentials.find('north'))?.sealed, 'third');
  });

  test('is written again where it was not committed', async (context) => {
    const direct = await freshDatabase();
    const link = await Link.open(direct);
    context.after(() => link.close());
    const server = await postgresServer;
    const [began] = await server.query(direct, 'SELECT now()::text AS at');
    const store = await opened(context, link.url(direct));
    // The server also has the connections of other files.
    const own = `application_name = 'poolgate' AND datname = current_database() AND backend_start >= '${began?.at}'`;
    for (let n = 1; n <= 5; n++) {
      store.usage.add(usageRow());
      store.requests.append(requestRow({ id: `r${n}` }), [attemptRow({ request_id: `r${n}` })]);
      const flushed = store.flush(10_000);
      link.cut();
      await server.query(direct, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${own}`);
      assert.equal(await flushed, true);
      const [sum] = await store.usage.load(0);
      assert.equal(sum?.requests, n);
      // A second write ignores the log rows, but must not add the sums of their hour again.
      store.requests.append(requestRow({ id: `log-${n}` }), [attemptRow({ request_id: `log-${n}` })]);
      const logged = store.flush(10_000);
      link.cut();
      assert.equal(await logged, true);
      assert.equal((await store.attempts.of(requestRow({ id: `log-${n}` }))).length, 1);
      assert.equal((await store.usage.hours({ by: [] }))[0]?.requests, 2 * n);
    }
  });
});

suite('tracked rows of two writers', () => {
  test('have versions in the order of commits: a reader that follows them misses none', async (context) => {
    const url = await freshDatabase();
    const writers = await Promise.all([opened(context, url), opened(context, url), opened(context, url)]);
    const reader = await opened(context, url);
    const seen = new Set<string>();
    let cursor = 0;
    let done = false;
    const reading = (async () => {
      while (true) {
        const last = done;
        const { cursor: next, changes } = await reader.changes.since(cursor);
        cursor = next;
        for (const { key } of changes) seen.add(String(key[0]));
        if (last) return;
      }
    })();
    await Promise.all(
      writers.map(async (store, w) => {
        for (let n = 0; n < 60; n++) {
          // All of them write these rows, in different orders, and must not wait for each other.
          for (let k = 0; k < 8; k++) store.accounts.patch({ account: `shared-${(k * (w + 1)) % 8}`, model: '', streak: n, updated_at: n });
          store.accounts.patch({ account: `own-${w}-${n}`, model: '', ...(n % 2 ? { streak: n } : { windows: { n } }), updated_at: n });
          store.usage.add(usageRow({ key_id: `key-${(n * (w + 1)) % 5}` }));
          await store.flush();
        }
      }),
    );
    done = true;
    await reading;
    for (let w = 0; w < 3; w++) for (let n = 0; n < 60; n++) assert.ok(seen.has(`own-${w}-${n}`), `own-${w}-${n}`);
    assert.equal(
      (await reader.usage.load(0)).reduce((sum, { requests }) => sum + requests, 0),
      180,
    );
    assert.deepEqual(
      writers.map((store) => store.stats().failures),
      [0, 0, 0],
    );
  });
});

suite('leases of nodes whose clocks differ', () => {
  test('are compared by the clock of the database', async (context) => {
    const url = await freshDatabase();
    const machine = Date.now;
    const HOUR = 3_600_000;
    /** The machine may pause while a clock is read. */
    const isHourAhead = (differenceMs = 0): boolean => Math.abs(differenceMs + HOUR) < HOUR / 60;
    const notices: [event: string, isRight: boolean][] = [];
    const notice: StoreOptions['notice'] = (event, fields) => void notices.push([event, isHourAhead(Number(fields?.difference_ms))]);
    const one = await opened(context, url, { clock: Date.now });
    // The clock of this machine is an hour ahead, and the store uses it for everything.
    Date.now = () => machine() + HOUR;
    context.after(() => {
      Date.now = machine;
    });
    const ahead = await opened(context, url, { clock: () => machine() + HOUR, notice });
    Date.now = machine;
    assert.deepEqual(notices, [['store_clock_differs', true]]);
    assert.ok(isHourAhead(ahead.database()?.clock_difference_ms));
    const lease = await one.leases.acquire('session', 'one', 60_000);
    assert.ok(lease);
    assert.equal(await ahead.leases.acquire('session', 'ahead', 60_000), undefined, 'it has not expired');
    await one.leases.release(lease);
    const next = await ahead.leases.acquire('session', 'ahead', 60_000);
    assert.ok(next && next.expires_at > machine() + HOUR, 'its owner compares the expiry with its own clock');
    assert.equal(await one.leases.acquire('session', 'one', 60_000), undefined);
  });
});

test('a schema with the longest name has notifications like any other', async (context) => {
  const server = await postgresServer;
  const schema = 's'.repeat(63);
  await server.query(server.url, `CREATE SCHEMA ${schema}`);
  const url = `${server.url}&options=${encodeURIComponent(`-c search_path=${schema}`)}`;
  const [one, other] = [await opened(context, url), await opened(context, url)];
  let wakes = 0;
  other.changes.listen?.(() => wakes++);
  await until('the connection of the feed', () => wakes === 1 || undefined);
  one.usage.add(usageRow());
  await one.flush();
  await until('the notification', () => wakes === 2 || undefined);
  assert.deepEqual(await other.usage.load(0), [usageRow()]);
});

test('a purge deletes changes of a long time in small statements, so that none reaches its deadline', async (context) => {
  const url = await freshDatabase();
  const time = { now: 1_000_000 };
  const store = await opened(context, url, { clock: () => time.now });
  const hashes = Array.from({ length: 1_800 }, (_, n) => `pin-${n}`);
  await Promise.all(hashes.map((hash) => store.pins.move(pinRow({ hash }))));
  time.now += 86_400_001;
  await store.pins.move(pinRow({ hash: 'new' }));
  await (await postgresServer).query(
    url,
    `CREATE FUNCTION refuse_many() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF (SELECT count(*) > 500 FROM gone) THEN RAISE EXCEPTION 'too many'; END IF; RETURN NULL; END $$;
    CREATE TRIGGER refuse_many AFTER DELETE ON changes REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION refuse_many()`,
  );
  await store.purge({});
  const reader = await opened(context, url, { clock: () => time.now });
  assert.deepEqual(
    (await reader.changes.since(0)).changes.map(({ key }) => key),
    [['new']],
  );
});

suite('reads of operators', () => {
  test('leave connections to turns, however many wait', async (context) => {
    const url = await freshDatabase();
    const store = await opened(context, url);
    await store.credentials.save(credentialRow());
    const server = await postgresServer;
    // The tables of operators are locked, so their reads and the purge wait.
    const locked = new PostgresConnections({ url, most: 1, waitMs: 1_000, deadlineMs: 10_000 });
    context.after(() => locked.close());
    await locked.use((connection) =>
      inTransaction(connection, 'BEGIN', async () => {
        await connection.script('LOCK TABLE requests, leases IN ACCESS EXCLUSIVE MODE');
        let ended = 0;
        const slow = [...Array.from({ length: 12 }, () => store.requests.list({})), store.purge({ requestsBefore: 1 })];
        for (const one of slow) one.catch(() => undefined).finally(() => ended++);
        for (let n = 0; n < 20; n++) assert.ok(await store.credentials.find('north'));
        assert.equal(ended, 0, 'the reads of turns waited for none of these');
        assert.ok((store.database()?.waiting ?? 0) > 0);
      }),
    );
    assert.ok(await until('the reads', async () => ((store.database()?.waiting ?? 0) === 0 ? true : undefined)));
    assert.ok(server);
  });
});

test('every verb of a turn takes one round trip, and a batch of settlements two', async (context) => {
  const direct = await freshDatabase();
  const link = await Link.open(direct);
  context.after(() => link.close());
  const store = await opened(context, link.url(direct));
  const trips = async (act: () => Promise<unknown>): Promise<number> => {
    // The first call also takes a connection and prepares the statement.
    await act();
    const before = link.roundTrips;
    await act();
    return link.roundTrips - before;
  };
  // The delay is so long that all statements which are sent together are on their way before the first answer.
  link.delayMs = 15;
  let n = 0;
  const lease = await store.leases.acquire('renewed', 'owner', 60_000);
  assert.ok(lease);
  const taken = {
    read: await trips(() => store.credentials.find('north')),
    acquire: await trips(() => store.leases.acquire(`lease-${n++}`, 'owner', 1_000)),
    renew: await trips(() => store.leases.renew(lease, 60_000)),
    release: await trips(() => store.leases.release(lease)),
    logRows: await trips(() => {
      for (let k = 0; k < 100; k++) store.requests.append(requestRow({ id: `r${n++}` }));
      return store.flush();
    }),
    settlements: await trips(() => {
      store.requests.append(requestRow({ id: `r${n++}` }));
      store.usage.add(usageRow());
      return store.flush();
    }),
  };
  assert.deepEqual(taken, { read: 1, acquire: 1, renew: 1, release: 1, logRows: 2, settlements: 2 });
});

test('the connections of a store have a bound', async (context) => {
  const url = await freshDatabase();
  const store = await opened(context, url, { connections: 8 });
  store.changes.listen?.(() => undefined);
  await Promise.all(Array.from({ length: 100 }, (_, n) => store.requests.list({ id: String(n) })));
  await Promise.all(Array.from({ length: 100 }, () => store.accounts.load()));
  store.requests.append(requestRow());
  await store.flush();
  const [{ count } = { count: 0 }] = await (await postgresServer).query(
    url,
    `SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'poolgate%'`,
  );
  assert.ok(Number(count) >= 4 && Number(count) <= 8, `${count}`);
});
