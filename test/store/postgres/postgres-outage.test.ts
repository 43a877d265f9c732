// The database becomes unreachable and comes back: rows wait, reads fail at once, and nothing is lost or written twice.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout as sleep, setImmediate as turnOfTheLoop } from 'node:timers/promises';
import pg from 'pg';
import { type Clock, systemClock } from '../../../proxy/base/time/clock.ts';
import { ChangeFeed } from '../../../store/change-feed.ts';
import { Outage } from '../../../store/postgres/connection/outage.ts';
import { openStore, type Store, type StoreOptions } from '../../../store/store.ts';
import { holdTime } from '../../support/clocks/held-time.ts';
import { freshDatabase, ownPostgres } from '../../support/postgres/postgres.ts';
import { Link } from '../../support/postgres/postgres-link.ts';
import { waitsForDatabase } from '../../support/postgres/waits-for-database.ts';
import { PATIENCE_MS, until } from '../../support/until.ts';
import { auditEntry, credentialRow, fileRow, requestRow, usageRow } from '../samples.ts';

/** After this time a feed reads changes again if a read failed. */
const RETRY_MS = 1_000;

/** The tests stop and start this server. */
const postgresServer = ownPostgres();

const clock = () => 5_000;

const opened = async (context: TestContext, url: string, options: Partial<StoreOptions> = {}): Promise<Store> => {
  const store = await openStore(url, { clock, ...options });
  context.after(() => store.close(100));
  return store;
};

const linked = async (context: TestContext): Promise<{ readonly url: string; readonly link: Link }> => {
  const url = await freshDatabase();
  const link = await Link.open(url);
  context.after(() => link.close());
  return { url, link };
};

const fails = (store: Store): Promise<void> => assert.rejects(store.credentials.find('north'), { code: 'unreachable' });

const back = (store: Store): Promise<unknown> =>
  until('the database', () =>
    store.credentials.find('north').then(
      () => true,
      () => undefined,
    ),
  );

/** A store on a server that refuses writes, as a standby does. */
async function readOnlyStage(context: TestContext) {
  const server = await postgresServer;
  const heard: string[] = [];
  const store = await opened(context, await freshDatabase(), {
    notice: (event, { code = '' } = {}) => void heard.push(`${event} ${code}`.trim()),
  });
  /** Only new connections have this setting. By default, all connections of the stores are new afterwards. */
  const setReadOnly = async (value: 'on' | 'off', connections?: 'keep connections'): Promise<void> => {
    const database = `(SELECT quote_ident(current_database()))`;
    const set = `EXECUTE 'ALTER DATABASE ' || ${database} || ' SET default_transaction_read_only = ${value}'`;
    await server.query(server.url, `BEGIN READ WRITE; DO $$ BEGIN ${set}; END $$; COMMIT`);
    if (connections === 'keep connections') return;
    await server.query(
      server.url,
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname IS NOT NULL',
    );
  };
  await setReadOnly('on');
  context.after(() => setReadOnly('off'));
  return { store, heard, setReadOnly };
}

suite('[Q34] a database that does not answer', () => {
  test('makes reads fail after their deadline, then at once; queued rows wait and are written when it answers again', {
    timeout: 3 * PATIENCE_MS,
  }, async (context) => {
    const { url, link } = await linked(context);
    const notices: string[] = [];
    const store = await opened(context, link.url(url), { notice: (event) => void notices.push(event) });
    await store.credentials.find('north');
    link.stop();
    store.usage.add(usageRow());
    const saved = store.files.save(fileRow());
    await fails(store);
    await until('the outage', () => (store.database()?.reachable === false ? true : undefined));
    const waits = waitsForDatabase(context);
    for (let n = 0; n < 50; n++) await fails(store);
    await assert.rejects(store.requests.list({}), { code: 'unreachable' }, 'operators too');
    await assert.rejects(store.leases.acquire('name', 'owner', 1_000), { code: 'unreachable' });
    assert.equal(waits(), 0, 'they wait for no connection');
    assert.equal(store.stats().queued, 2);
    link.resume();
    await saved;
    await back(store);
    assert.deepEqual(await store.usage.load(0), [usageRow()]);
    // On a busy machine a new connection may take longer than it may, which is another outage.
    assert.deepEqual(notices.slice(0, 2), ['store_unreachable', 'store_reachable']);
  });

  test('makes a read fail within two seconds, also if it waited for a connection before', async (context) => {
    const { url, link } = await linked(context);
    const store = await opened(context, link.url(url));
    await store.credentials.find('north');
    link.stop();
    const pass = holdTime(context);
    const connect = pg.Pool.prototype.connect as (this: pg.Pool) => Promise<pg.PoolClient>;
    const connected = Promise.withResolvers<void>();
    context.mock.method(pg.Pool.prototype, 'connect', async function (this: pg.Pool) {
      await new Promise<void>((resolve) => setTimeout(resolve, 900));
      return connect.call(this).finally(connected.resolve);
    });
    let failed = false;
    const read = fails(store).then(() => {
      failed = true;
    });
    await pass(900);
    // The connection is a real one, and takes real time.
    await connected.promise;
    await pass(1_000);
    assert.equal(failed, false, 'it waits for its statement');
    await pass(100);
    // No more time passes, so the read ends now or never.
    await read;
    context.mock.restoreAll();
    context.mock.timers.reset();
  });

  test('does not wait for connections that were cut: the next statement has a new one', async (context) => {
    const { url, link } = await linked(context);
    const store = await opened(context, link.url(url));
    for (let n = 0; n < 5; n++) {
      await Promise.all(Array.from({ length: 6 }, () => store.credentials.find('north')));
      link.cut();
      await until('the cut', () => (store.database()?.connections === 0 ? true : undefined));
      await store.credentials.find('north');
    }
    assert.equal(store.database()?.reachable, true);
  });

  test('but refuses writes, as a standby does, is reported in the log until it accepts them', async (context) => {
    const { setReadOnly, store, heard } = await readOnlyStage(context);
    store.usage.add(usageRow());
    await until('the notice', () => (heard.includes('store_not_writable not_writable') ? true : undefined));
    assert.equal(store.database()?.reachable, true);
    assert.notEqual(store.stats().failing_since, null);
    await setReadOnly('off');
    await until('the other notice', () => (heard.includes('store_writable') ? true : undefined));
    assert.deepEqual(await store.usage.load(0), [usageRow()]);
  });

  test('but is a standby during a failover is left at once, so that new connections reach the new primary', async (context) => {
    const { setReadOnly, store } = await readOnlyStage(context);
    await back(store);
    await Promise.all(Array.from({ length: 6 }, () => store.credentials.find('north')));
    const saved = store.files.save(fileRow());
    await until('the refused write', () => (store.stats().last_error === 'not_writable' ? true : undefined));
    await assert.rejects(store.leases.acquire('name', 'owner', 1_000), { code: 'not_writable' });
    // Only new connections have the setting, as only they would reach the new primary.
    await setReadOnly('off', 'keep connections');
    await saved;
    assert.ok(await store.leases.acquire('name', 'owner', 1_000));
  });

  test('holds no more log rows than the bound, and all others', async (context) => {
    const { url, link } = await linked(context);
    const store = await opened(context, link.url(url), { queueRows: 20 });
    link.stop();
    for (let n = 0; n < 50; n++) store.requests.append(requestRow({ id: `r${n}` }));
    for (let n = 0; n < 50; n++) store.usage.add(usageRow({ key_id: `k${n}` }));
    assert.equal(store.stats().dropped, 30);
    link.resume();
    assert.equal(await store.flush(15_000), true);
    assert.equal((await store.usage.load(0)).length, 50);
  });
});

suite('[Q34] the feed', () => {
  /** A feed that polls only when it is woken. */
  async function follower(context: TestContext, store: Store) {
    // Changes are read only when they are notified, and again if a read failed because its connection was cut as well.
    const after: Clock['after'] = (ms, run) => (ms === RETRY_MS ? systemClock.after(ms, run) : () => undefined);
    const feed = new ChangeFeed({ changes: store.changes, after });
    const seen: string[] = [];
    feed.on('usage', (keys) => void seen.push(...keys.map(String)));
    await feed.start();
    context.after(() => feed.stop());
    await until('the feed', () => (store.database()?.feed_connected ? true : undefined));
    return seen;
  }

  test('reports the changes of other processes when it is notified, and not those of its own', async (context) => {
    const url = await freshDatabase();
    const [one, other] = [await opened(context, url), await opened(context, url)];
    const [seenByOne, seenByOther] = [await follower(context, one), await follower(context, other)];
    for (let n = 0; n < 5; n++) {
      one.usage.add(usageRow({ key_id: `key-${n}` }));
      await until('the change', () => (seenByOther.length > n ? true : undefined));
    }
    assert.deepEqual(
      seenByOther.map((key) => key.split(',')[0]),
      ['key-0', 'key-1', 'key-2', 'key-3', 'key-4'],
    );
    assert.deepEqual(seenByOne, []);
  });

  test('is connected again after a cut, and delivers the changes that were made before it was', async (context) => {
    const { url, link } = await linked(context);
    const notices: string[] = [];
    const reader = await opened(context, link.url(url), { notice: (event) => void notices.push(event) });
    const writer = await opened(context, url);
    const seen = await follower(context, reader);
    for (let n = 0; n < 3; n++) {
      link.cut();
      writer.usage.add(usageRow({ key_id: `key-${n}` }));
      await writer.flush();
      await until('the change', () => (seen.some((key) => key.startsWith(`key-${n},`)) ? true : undefined));
      await until('the feed', () => {
        const { feed_connected, feed_losses } = reader.database() ?? {};
        return feed_connected && (feed_losses ?? 0) > n ? true : undefined;
      });
    }
    assert.deepEqual(
      // On a busy machine an answer may take longer than it may, which is another loss.
      notices.filter((event) => event.startsWith('store_feed')).slice(0, 6),
      Array.from({ length: 3 }, () => ['store_feed_lost', 'store_feed_connected']).flat(),
    );
  });

  test('notices a connection whose other end is silent', { timeout: 3 * PATIENCE_MS }, async (context) => {
    const { url, link } = await linked(context);
    const reader = await opened(context, link.url(url));
    await follower(context, reader);
    link.stop();
    await until('the loss', () => (reader.database()?.feed_connected ? undefined : true));
    link.resume();
    await until('the feed', () => (reader.database()?.feed_connected ? true : undefined));
  });
});

test('[Q34] a node that starts before its database waits for it', async (context) => {
  const url = await freshDatabase();
  const server = await postgresServer;
  await server.end('SIGINT');
  const { promise: waits, resolve } = Promise.withResolvers<void>();
  const opening = opened(context, url, { notice: (event) => void (event === 'store_unreachable' && resolve()) });
  // A failure is reported where the start is awaited.
  opening.catch(() => undefined);
  await waits;
  await server.run();
  await (await opening).audit.record(auditEntry());
});

test('[Q34] a node whose connections are slow to open after the migration waits for them', async (context) => {
  const url = await freshDatabase();
  const connect = pg.Pool.prototype.connect as (this: pg.Pool) => Promise<pg.PoolClient>;
  const late = new Set<pg.Pool>();
  context.mock.method(pg.Pool.prototype, 'connect', function (this: pg.Pool) {
    const isMigration = this.options.max === 1;
    if (isMigration || late.has(this)) return connect.call(this);
    late.add(this);
    return Promise.reject(new Error('Connection terminated due to connection timeout'));
  });
  const notices: string[] = [];
  const store = await opened(context, url, { notice: (event) => void notices.push(event) });
  assert.equal(await store.credentials.find('north'), undefined);
  assert.equal(late.size, 2, 'those of the writer and of turns');
  assert.deepEqual(notices, ['store_unreachable', 'store_reachable']);
});

test('[Q34] a node that starts while the server has no connection free, as during a rolling restart, waits for one', async (context) => {
  const url = await freshDatabase();
  const connect = pg.Pool.prototype.connect as (this: pg.Pool) => Promise<pg.PoolClient>;
  const refused = new Set<pg.Pool>();
  context.mock.method(pg.Pool.prototype, 'connect', function (this: pg.Pool) {
    if (refused.has(this)) return connect.call(this);
    refused.add(this);
    return Promise.reject(Object.assign(new Error('sorry, too many clients already'), { code: '53300' }));
  });
  const messages: string[] = [];
  const notice: StoreOptions['notice'] = (event, { message = '' } = {}) => void messages.push(`${event} ${message}`.trim());
  const store = await opened(context, url, { notice });
  assert.equal(await store.credentials.find('north'), undefined);
  assert.deepEqual(messages.slice(0, 2), [
    'store_unreachable PostgreSQL: the server has no connection free (53300): the start waits 10 s for it',
    'store_reachable',
  ]);
});

test('[Q34] a node that loses its connection while its secrets are compared waits for another one', async (context) => {
  const notices: string[] = [];
  const store = await opened(context, await freshDatabase(), { notice: (event) => void notices.push(event) });
  const connect = pg.Pool.prototype.connect as (this: pg.Pool) => Promise<pg.PoolClient>;
  let tries = 0;
  context.mock.method(pg.Pool.prototype, 'connect', function (this: pg.Pool) {
    const isOfTurns = this.options.connectionTimeoutMillis === 1_000;
    return isOfTurns && tries++ === 0 ? Promise.reject(new Error('Connection terminated due to connection timeout')) : connect.call(this);
  });
  assert.equal(await store.checkValues.agree('store_key', 'a digest'), true);
  assert.equal(notices[0], 'store_unreachable');
});

test('[Q34] while statements are answered, a new connection that takes too long is no outage', async (context) => {
  const { promise: tried, resolve } = Promise.withResolvers<Socket>();
  const silent = createServer(resolve).listen(0, '127.0.0.1');
  context.after(() => silent.close());
  await once(silent, 'listening');
  const notices: string[] = [];
  const { port } = silent.address() as AddressInfo;
  const outage = new Outage({ url: `postgres://u@127.0.0.1:${port}/db`, notice: (event) => void notices.push(event) });
  outage.suspect();
  const attempt = await tried;
  await outage.watch(async () => 'an answer');
  if (!attempt.closed) await once(attempt.resume(), 'close');
  await turnOfTheLoop();
  assert.deepEqual([outage.lasts, notices], [false, []]);
  outage.close();
});

test('[Q34] PostgreSQL that is restarted and killed under load loses and doubles nothing', {
  timeout: 3 * PATIENCE_MS,
}, async (context) => {
  const url = await freshDatabase();
  const server = await postgresServer;
  const nodes = [await opened(context, url), await opened(context, url)];
  let stopping = false;
  const made = { usage: 0, audit: 0, files: 0, tokens: [0, 0] };
  const load = nodes.flatMap((store, node) => {
    const running = async (act: (n: number) => void | Promise<void>): Promise<void> => {
      for (let n = 1; !stopping; n++) {
        await act(n);
        await sleep(3);
      }
    };
    return [
      running(() => {
        made.usage++;
        store.usage.add(usageRow());
      }),
      running(async (n) => {
        await store.audit.record(auditEntry({ at: n, actor: `node-${node}` }));
        made.audit++;
      }),
      running(async (n) => {
        await store.files.save(fileRow({ id: `file-${node}-${n}` }));
        made.files++;
      }),
      running(async (n) => {
        await store.credentials.save(credentialRow({ account: `account-${node}`, sealed: `token-${n}`, updated_at: n }));
        made.tokens[node] = n;
      }),
    ];
  });
  const failures = (): number => nodes.reduce((sum, store) => sum + store.stats().failures, 0);
  /** Resolves when the nodes have written under load for a while. */
  const loaded = (): Promise<true> => {
    const from = made.audit;
    return until('writes', () => made.audit >= from + 20 || undefined);
  };
  for (const signal of ['SIGINT', 'SIGQUIT', 'SIGINT', 'SIGQUIT'] as const) {
    await loaded();
    const before = failures();
    await server.end(signal);
    await until('a write to fail', () => failures() > before || undefined);
    await server.run();
  }
  await loaded();
  stopping = true;
  await Promise.all(load);
  for (const store of nodes) assert.equal(await store.flush(20_000), true);
  const [store] = nodes as [Store, Store];
  await back(store);
  assert.equal((await store.usage.load(0))[0]?.requests, made.usage);
  assert.equal((await server.query(url, 'SELECT count(*) AS count FROM audit'))[0]?.count, String(made.audit));
  assert.equal((await server.query(url, 'SELECT count(*) AS count FROM files'))[0]?.count, String(made.files));
  for (const node of [0, 1]) assert.equal((await store.credentials.find(`account-${node}`))?.sealed, `token-${made.tokens[node]}`);
  assert.deepEqual(
    nodes.map((one) => one.stats().dropped + one.stats().rejected),
    [0, 0],
  );
});
