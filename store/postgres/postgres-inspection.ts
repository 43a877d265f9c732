// Inspects a PostgreSQL database for operators: whether it answers and may be written, its version, schema, size, connections and clock.
import { StoreError } from '../errors.ts';
import type { StoreCondition } from '../schema/condition.ts';
import { schemaCondition } from '../schema/migrations.ts';
import type { PostgresConnection } from './connection/postgres-connection.ts';
import { PostgresConnections } from './connection/postgres-connections.ts';
import { checkServer, databasePlaceOf } from './connection/upgrade.ts';

/**
 * The largest difference of clocks that causes no warning. Leases use the database's clock, cooldowns and limits the clock of each node.
 */
const CLOCK_MS = 1_000;

/** @param url a secret: no message has its password */
export async function inspectPostgres(url: string, deadlineMs: number): Promise<readonly StoreCondition[]> {
  const place = databasePlaceOf(url);
  const connections = new PostgresConnections({ url, most: 1, waitMs: Math.min(deadlineMs, 5_000), deadlineMs });
  try {
    return await connections.use(async (connection) => [
      await serverCondition(connection, place),
      ...(await schemaConditions(connection, place)),
      await connectionsCondition(connection),
      await clockCondition(connection),
    ]);
  } catch (thrown) {
    if (!(thrown instanceof StoreError)) throw thrown;
    return [{ level: 'problem', message: `${place} cannot be used (${thrown.message}).`, advice: adviceFor(thrown) }];
  } finally {
    await connections.close();
  }
}

function adviceFor({ code }: StoreError): string {
  if (code === 'unreachable') return 'Check the URL, the server, and the firewalls between them.';
  if (code === 'refused') return 'Check the user, the password, the database and the sslmode of the URL, and the server.';
  return 'Check the URL and its password, the server, and the firewalls between them.';
}

async function serverCondition(connection: PostgresConnection, place: string): Promise<StoreCondition> {
  await checkServer(connection);
  const sql =
    "SELECT current_setting('server_version') AS version, pg_database_size(current_database()) AS size, " +
    "current_setting('transaction_read_only') AS read_only, has_schema_privilege(current_schema(), 'CREATE') AS creates";
  const [record] = await connection.query(sql, []);
  const described = `${place} is PostgreSQL ${String(record?.version).split(' ')[0]} and has ${Math.ceil(Number(record?.size) / (1 << 20))} MiB`;
  if (record?.read_only === 'on') {
    return {
      level: 'problem',
      message: `${described}; it can only be read.`,
      advice: 'Name the primary server in the URL, not a standby.',
    };
  }
  if (record?.creates !== true) {
    return { level: 'problem', message: `${described}; its user cannot create tables.`, advice: 'Grant CREATE on the schema to the user.' };
  }
  return { level: 'ok', message: `${described}.` };
}

async function schemaConditions(connection: PostgresConnection, place: string): Promise<readonly StoreCondition[]> {
  const [found] = await connection.query("SELECT to_regclass('schema_version') IS NOT NULL AS exists", []);
  if (found?.exists !== true) return [{ level: 'ok', message: `${place} has no tables; the next start creates them.` }];
  const condition = await schemaCondition(connection, place);
  return condition ? [condition] : [];
}

async function connectionsCondition(connection: PostgresConnection): Promise<StoreCondition> {
  const sql =
    "SELECT count(*) AS open, current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS most " +
    'FROM pg_stat_activity WHERE backend_type = $1';
  const [record] = await connection.query(sql, ['client backend']);
  const [open, most] = [Number(record?.open), Number(record?.most)];
  const message = `${open} of ${most} connections of the server are open.`;
  if (open <= most * 0.8) return { level: 'ok', message };
  return { level: 'warning', message, advice: 'Raise max_connections of the server, or lower store.connections of the nodes.' };
}

async function clockCondition(connection: PostgresConnection): Promise<StoreCondition> {
  const before = Date.now();
  const [record] = await connection.query('SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now', []);
  const differenceMs = Math.round(Number(record?.now) - (before + Date.now()) / 2);
  if (Math.abs(differenceMs) < CLOCK_MS) return { level: 'ok', message: 'The clock of the database agrees with that of this machine.' };
  const message = `The clock of the database is ${Math.abs(differenceMs) / 1000} s ${differenceMs > 0 ? 'ahead of' : 'behind'} that of this machine.`;
  return { level: 'warning', message, advice: 'Let NTP set both clocks, such as by chrony or systemd-timesyncd.' };
}
