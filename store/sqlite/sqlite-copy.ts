// A SQLite file as one end of a copy.
import { stat } from 'node:fs/promises';
import { StoreError } from '../errors.ts';
import { type CopySide, type DescribedColumn, tablesOf, type WithCopySide } from '../tools/copy-side.ts';
import { openSqlite } from './sqlite.ts';
import { SqliteConnection } from './sqlite-connection.ts';
import { insertionOf } from './sqlite-insertion.ts';

const COLUMNS = `
  SELECT m.name AS "table", c.name AS "column", c.type AS "type", c.pk AS "keyPart"
  FROM sqlite_schema m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' ORDER BY m.name, c.cid
`;

/** A source is read in one snapshot, even while a gateway runs. */
const BEGIN = { source: 'BEGIN', destination: 'BEGIN IMMEDIATE' } as const;
const WAIT_MS = 5_000;

export const withSqliteSide: WithCopySide = async (url, role, work) => {
  const path = url.slice('sqlite:'.length);
  if (role === 'source') await checkExists(path);
  // Migrates the file and checks that it can be used.
  await (await openSqlite(path, { clock: Date.now, writer: 'copy' })).close();
  const connection = await SqliteConnection.open(path);
  try {
    await connection.script(`PRAGMA busy_timeout = ${WAIT_MS}; ${BEGIN[role]}`);
    const result = await work(sideOf(connection));
    await connection.script('COMMIT');
    return result;
  } finally {
    // Closing rolls back uncommitted changes.
    await connection.close();
  }
};

/** Checks that the file exists, because opening it would create it. */
async function checkExists(path: string): Promise<void> {
  await stat(path).catch(() => {
    throw new StoreError('bad_url', `store ${path}: there is no such file`);
  });
}

export const sideOf = (connection: SqliteConnection): CopySide => ({
  tables: async () => tablesOf((await connection.query(COLUMNS, [])) as unknown as readonly DescribedColumn[]),
  query: (sql, values) => connection.query(sql, values),
  async insert(table, rows) {
    const { sql, values } = insertionOf(table, rows);
    await connection.repeat(sql, values);
  },
  async lastToken() {
    const [record] = await connection.query("SELECT value FROM counters WHERE name = 'lease_token'", []);
    return Number(record?.value);
  },
  async continueTokens(last) {
    await connection.run("UPDATE counters SET value = max(value, $1) WHERE name = 'lease_token'", [last]);
  },
});
