// The PostgreSQL engine: pools of connections for turns, for the writer and for operators, and the feed; several nodes share one database.
import type { DatabaseStats, Driver } from '../driver.ts';
import type { LeaseVerbs } from '../verbs/lease-verbs.ts';
import { PUT_BACK_MS } from '../verbs/leases.ts';
import type { Notice } from '../writing/notice.ts';
import { BatchWriter } from './batches.ts';
import { DatabaseClock, READ_CLOCK } from './connection/database-clock.ts';
import { Outage } from './connection/outage.ts';
import { PostgresConnections } from './connection/postgres-connections.ts';
import { serialised, updated } from './connection/transactions.ts';
import { upgrade, whenReachable } from './connection/upgrade.ts';
import { reserve } from './limits/postgres-limits.ts';
import { ReservationQueue } from './limits/reservation-queue.ts';
import { PostgresFeed } from './postgres-feed.ts';

export interface PostgresOptions {
  /** Unix milliseconds. */
  readonly clock: () => number;
  /** The machine's own time, which does not jump; Unix milliseconds. */
  readonly machineTime: () => number;
  /** Names this process in the change records. */
  readonly writer: string;
  readonly notice: Notice;
  /** The most connections at once, at least 8. */
  readonly connections: number;
}

/** The pool of turns. It gets all connections except those of the feed, the writer and the operators. */
const TURNS = { waitMs: 1_000, deadlineMs: 2_000 } as const;
const FEEDS = 1;

/** How long the start waits for the database. If containers start together, the database is ready a few seconds later. */
const PATIENCE_MS = 10_000;
/** Two connections for writing: one for pins, one for all other rows. */
const WRITER = { most: 2, waitMs: 2_000, deadlineMs: 5_000 } as const;
const OPERATORS = { most: 2, waitMs: 5_000, deadlineMs: 30_000 } as const;

/** Opens the database and migrates it. @param url a secret: no message has its password */
export async function openPostgres(url: string, { clock, machineTime, writer, notice, connections }: PostgresOptions): Promise<Driver> {
  await upgrade(url, { clock, patienceMs: PATIENCE_MS, notice });
  const time = new DatabaseClock(clock, machineTime, notice);
  const outage = new Outage({ url, notice });
  const turns = new PostgresConnections({ url, ...TURNS, most: connections - WRITER.most - OPERATORS.most - FEEDS, outage });
  const writing = new PostgresConnections({ url, ...WRITER });
  const operators = new PostgresConnections({ url, ...OPERATORS, outage });
  const pools = [turns, writing, operators];
  const batches = new BatchWriter(writing, { clock, writer, repeated: 'once' });
  const besides = new BatchWriter(writing, { clock, writer, repeated: 'again' });
  const reservations = new ReservationQueue((waiting) => reserve(turns, waiting, () => time.now()));
  let feed: PostgresFeed | undefined;
  // These connections are new. On a busy machine they may take longer than a turn or the writer would wait.
  await whenReachable({ patienceMs: PATIENCE_MS, notice }, async () => {
    await batches.forget();
    await turns.use((connection) => time.measure(async () => Number((await connection.query(READ_CLOCK, []))[0]?.now)));
  });
  return {
    shared: true,
    now: () => time.now(),
    query: (sql, values) => turns.use((connection) => connection.query(sql, values)),
    run: (sql, values) => turns.use((connection) => connection.run(sql, values)),
    // With this engine only a start has such transactions.
    transaction: (work) => whenReachable({ patienceMs: PATIENCE_MS, notice }, () => serialised(turns, work)),
    browse: (sql, values) => operators.use(async (connection) => (await connection.sendOnce(sql, values)).rows),
    update: (work) => updated(turns, { clock, writer }, work),
    takeLimits: (turn, bounds) => reservations.take({ turn, bounds }),
    async roughCount(table) {
      // The server's statistics of live rows. They are some seconds late, and miss a few rows that other nodes are just deleting. After a
      // crash of the server they are those of the last vacuum until they are gathered again.
      const sql =
        'SELECT CASE WHEN s.n_live_tup > 0 THEN s.n_live_tup ELSE greatest(c.reltuples, 0) END::bigint AS count ' +
        'FROM pg_class c JOIN pg_stat_user_tables s ON s.relid = c.oid WHERE c.oid = $1::text::regclass';
      const [record] = await operators.use((connection) => connection.query(sql, [table]));
      return Number(record?.count ?? 0);
    },
    maintain: (sql, values) => operators.use((connection) => connection.run(sql, values)),
    write: (batch, guard) => outage.watch(() => batches.write(batch, guard)),
    writeBeside: (batch) => outage.watch(() => besides.write(batch)),
    leases: leasesOf(turns, clock, () => time.now()),
    listen(wake) {
      feed = new PostgresFeed({ url, writer, clock: time, outage, notice }, wake);
    },
    stats(): DatabaseStats {
      const all = pools.map(({ stats }) => stats);
      return {
        reachable: !outage.lasts,
        feed_connected: feed?.stats.connected ?? false,
        feed_losses: feed?.stats.losses ?? 0,
        connections: all.reduce((sum, { open }) => sum + open, 0),
        waiting: all.reduce((sum, { waiting }) => sum + waiting, 0),
        clock_difference_ms: time.differenceMs,
      };
    },
    async close() {
      feed?.close();
      outage.close();
      await Promise.all(pools.map((pool) => pool.close()));
    },
  };
}

/**
 * Takes a lease, unless another owner has it: that case costs a read and no write. If another process takes it between the read and
 * the write, a new token is drawn, which is the greatest.
 */
const ACQUIRE = `
  INSERT INTO leases (name, owner, token, expires_at)
  SELECT $1::text, $2::text, nextval('lease_tokens'), $3::bigint
  WHERE NOT EXISTS (SELECT 1 FROM leases WHERE name = $4 AND expires_at > $5 AND expires_at <= $6)
  ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, token = nextval('lease_tokens'), expires_at = excluded.expires_at
  WHERE leases.expires_at <= $7 OR leases.expires_at > $8
  RETURNING token
`;
const RENEW = 'UPDATE leases SET expires_at = $1 WHERE name = $2 AND token = $3 AND expires_at > $4';
const RELEASE = 'UPDATE leases SET expires_at = 0 WHERE name = $1 AND token = $2';

/**
 * Leases in one statement each. A token comes from a sequence. A released lease stays as an expired row until it is purged.
 * @param now Unix milliseconds by the database's clock; callers get expiry times by their own clock
 */
function leasesOf(connections: PostgresConnections, clock: () => number, now: () => number): LeaseVerbs {
  return {
    async acquire(name, owner, ttlMs) {
      const expires_at = clock() + ttlMs;
      const at = now();
      const latest = at + ttlMs + PUT_BACK_MS;
      const values = [name, owner, at + ttlMs, name, at, latest, at, latest];
      const rows = await connections.use((connection) => connection.query(ACQUIRE, values));
      return rows[0] && { name, owner, token: Number(rows[0].token), expires_at };
    },
    async renew(lease, ttlMs) {
      const expires_at = clock() + ttlMs;
      const at = now();
      const renewed = await connections.use((connection) => connection.run(RENEW, [at + ttlMs, lease.name, lease.token, at]));
      return renewed === 1 ? { ...lease, expires_at } : undefined;
    },
    async release({ name, token }) {
      await connections.use((connection) => connection.run(RELEASE, [name, token]));
    },
  };
}
