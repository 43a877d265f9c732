// A PostgreSQL database as one end of a copy.
import { type CopySide, type DescribedColumn, tablesOf, type WithCopySide } from '../tools/copy-side.ts';
import type { PostgresConnection } from './connection/postgres-connection.ts';
import { PostgresConnections } from './connection/postgres-connections.ts';
import { inTransaction } from './connection/transactions.ts';
import { upgrade } from './connection/upgrade.ts';
import { insertionOf } from './postgres-insertion.ts';

/** The deadline of a statement: copying a large table takes hours. */
const DAY_MS = 86_400_000;

const COLUMNS = `
  SELECT c.table_name::text AS "table", c.column_name::text AS "column", c.data_type::text AS "type",
    coalesce(k.ordinal_position, 0)::int AS "keyPart"
  FROM information_schema.columns c
  LEFT JOIN information_schema.table_constraints t
    ON t.table_schema = c.table_schema AND t.table_name = c.table_name AND t.constraint_type = 'PRIMARY KEY'
  LEFT JOIN information_schema.key_column_usage k
    ON k.constraint_schema = t.constraint_schema AND k.constraint_name = t.constraint_name AND k.table_name = t.table_name
    AND k.column_name = c.column_name
  WHERE c.table_schema = current_schema()
  ORDER BY c.table_name, c.ordinal_position
`;

export const withPostgresSide: WithCopySide = async (url, _role, work) => {
  await upgrade(url, { clock: Date.now, patienceMs: 0, notice: () => undefined });
  const connections = new PostgresConnections({ url, most: 1, waitMs: 5_000, deadlineMs: DAY_MS });
  try {
    // One snapshot, so that all tables are read at the same point in time.
    return await connections.use((connection) =>
      inTransaction(connection, 'BEGIN ISOLATION LEVEL REPEATABLE READ', () => work(sideOf(connection))),
    );
  } finally {
    await connections.close();
  }
};

const sideOf = (connection: PostgresConnection): CopySide => ({
  tables: async () => tablesOf((await connection.query(COLUMNS, [])) as unknown as readonly DescribedColumn[]),
  query: (sql, values) => connection.query(sql, values),
  async insert(table, rows) {
    const { sql, values } = insertionOf(table, rows);
    await connection.sendOnce(sql, values);
  },
  async lastToken() {
    const [record] = await connection.query('SELECT last_value FROM lease_tokens', []);
    return Number(record?.last_value);
  },
  async continueTokens(last) {
    await connection.query("SELECT setval('lease_tokens', greatest(last_value, $1::bigint)) FROM lease_tokens", [last + 1]);
  },
});
