// Inspects a PostgreSQL database for operators: whether it answers and can be written, its version, schema, clock and free connections.
import type { StoreCondition } from '../condition.ts';
import { StoreError } from '../errors.ts';
import { SCHEMA_VERSION, schemaOf } from '../migrations.ts';
import type { Connection } from './connection.ts';
import { Connections } from './connections.ts';
import { DatabaseClock, READ_CLOCK } from './database-clock.ts';
import { placeOf } from './place.ts';
import { OLDEST_SERVER } from './upgrade.ts';

export interface InspectionOptions {
  readonly deadlineMs: number;
  /** Those that a node takes. */
  readonly connections: number;
}

export async function inspectPostgres(url: string, { deadlineMs, connections }: InspectionOptions): Promise<readonly StoreCondition[]> {
  const place = placeOf(url);
  const pool = new Connections({ url, most: 1, waitMs: Math.min(deadlineMs, 5_000), deadlineMs });
  try {
    return await pool.use(async (connection) => [
      await serverCondition(connection, place),
      ...(await writingConditions(connection, place)),
      ...(await schemaConditions(connection, place)),
      ...(await connectionConditions(connection, { place, needed: connections })),
      ...(await clockConditions(connection, place)),
    ]);
  } catch (thrown) {
    if (!(thrown instanceof StoreError)) throw thrown;
    return [unusable(place, thrown)];
  } finally {
    await pool.close();
  }
}

function unusable(place: string, { code, message }: StoreError): StoreCondition {
  const advice = {
    refused: 'Correct user, password and database of the URL, or create them on the server.',
    unreachable: 'Look at the server, at firewalls between it and this machine, and at the host and sslmode of the URL.',
    busy: 'Look at the load of the server, and at its max_connections.',
  };
  return {
    level: 'problem',
    message: `${place} cannot be used (${message}).`,
    advice: code in advice ? advice[code as keyof typeof advice] : 'Look at the log of the server.',
  };
}

async function serverCondition(connection: Connection, place: string): Promise<StoreCondition> {
  const sql = "SELECT current_setting('server_version_num')::int AS version, pg_database_size(current_database()) AS bytes";
  const [record] = await connection.sendOnce(sql, []).then(({ rows }) => rows);
  const major = Math.floor(Number(record?.version) / 10_000);
  const message = `${place} is PostgreSQL ${major}; the database has ${Math.ceil(Number(record?.bytes) / (1 << 20))} MiB.`;
  if (Number(record?.version) >= OLDEST_SERVER) return { level: 'ok', message };
  return { level: 'problem', message, advice: `Upgrade it to PostgreSQL ${OLDEST_SERVER / 10_000} or newer.` };
}

async function writingConditions(connection: Connection, place: string): Promise<readonly StoreCondition[]> {
  const sql = 'SELECT pg_is_in_recovery() AS standby, has_schema_privilege(current_schema(), $1) AS creates, current_setting($2) AS fsync';
  const [record] = await connection.query(sql, ['CREATE', 'fsync']);
  const standby: StoreCondition = {
    level: 'problem',
    message: `${place} is a standby server, which cannot be written.`,
    advice: 'Name the primary server in the URL.',
  };
  const forbidden: StoreCondition = {
    level: 'problem',
    message: `${place}: the user of the URL may not create tables.`,
    advice: 'GRANT CREATE ON the schema TO the user.',
  };
  const unsafe: StoreCondition = {
    level: 'warning',
    message: `${place} does not wait for its disk (fsync = off): a crash of its machine can damage the database.`,
    advice: 'Set fsync = on.',
  };
  return [
    ...(record?.standby === true ? [standby] : []),
    ...(record?.creates === true ? [] : [forbidden]),
    ...(record?.fsync === 'off' ? [unsafe] : []),
  ];
}

async function schemaConditions(connection: Connection, place: string): Promise<readonly StoreCondition[]> {
  const [table] = await connection.query('SELECT to_regclass($1) AS name', ['schema_version']);
  if (!table?.name) return [{ level: 'ok', message: `${place} has no tables; the first start creates them.` }];
  const { version, oldest } = await schemaOf(connection);
  if (oldest <= SCHEMA_VERSION) return [];
  const message = `${place} has schema version ${version}; this program knows ${SCHEMA_VERSION}.`;
  return [{ level: 'problem', message, advice: 'Start a poolgate on it that is at least as new as the last one.' }];
}

async function connectionConditions(
  connection: Connection,
  { place, needed }: { readonly place: string; readonly needed: number },
): Promise<readonly StoreCondition[]> {
  const sql =
    "SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS most, " +
    '(SELECT count(*) FROM pg_stat_activity WHERE backend_type = $1) AS used';
  const [record] = await connection.query(sql, ['client backend']);
  const [most, used] = [Number(record?.most), Number(record?.used)];
  const message = `${place} has ${used} of ${most} connections in use; a node takes up to ${needed}.`;
  if (most - used >= needed) return [{ level: 'ok', message }];
  return [{ level: 'warning', message, advice: 'Raise max_connections of the server, or lower store.connections of the nodes.' }];
}

async function clockConditions(connection: Connection, place: string): Promise<readonly StoreCondition[]> {
  const clock = new DatabaseClock(Date.now, () => undefined);
  await clock.measure(async () => Number((await connection.query(READ_CLOCK, []))[0]?.now));
  const seconds = Math.round(Math.abs(clock.differenceMs) / 1_000);
  if (seconds === 0) return [];
  const message = `The clock of this machine is ${seconds} s ${clock.differenceMs > 0 ? 'behind' : 'ahead of'} that of ${place}.`;
  return [{ level: 'warning', message, advice: 'Let NTP set both clocks, such as by chrony or systemd-timesyncd.' }];
}
