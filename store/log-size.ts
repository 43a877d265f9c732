// The request log by its size: rows past it are deleted, oldest first, in small chunks (see purge.ts).
// What a row takes is estimated from the newest ones, and their number comes from the engine's own book-keeping: nothing reads the table
// as a whole. SQLite uses the pages of deleted rows for new ones, and so does PostgreSQL after its autovacuum: files stop growing.
import type { Driver } from './driver.ts';
import { operators, select } from './schema/query.ts';
import { attempts, requests, type Table } from './schema/tables.ts';

/** Deleted in one transaction. */
const CHUNK_ROWS = 500;
/** Rows that the size of a row is estimated from. */
const SAMPLE_ROWS = 500;
/** An integer, and the length of a text, in a row. */
const VALUE_BYTES = 4;
/** The header of a row, and its place in a page. */
const ROW_BYTES = 40;
/** An entry of an index, beyond the values in it. */
const ENTRY_BYTES = 24;

/** Deletes the oldest rows until the log fits. @returns the number of requests that were deleted */
export async function trimLog(driver: Driver, bytes: number): Promise<number> {
  const perRequest = await bytesOf(driver, requests, 5);
  if (perRequest === 0) return 0;
  const count = await driver.roughCount('requests');
  const ofAttempts = (await driver.roughCount('attempts')) * (await bytesOf(driver, attempts, 2));
  const kept = Math.floor((bytes * count) / (count * perRequest + ofAttempts));
  let deleted = 0;
  while (count - deleted > kept) {
    const most = Math.min(CHUNK_ROWS, count - deleted - kept);
    const oldest = `SELECT id FROM requests ORDER BY at, id LIMIT ${most}`;
    const gone = await driver.maintain(`DELETE FROM requests WHERE id IN (${oldest})`, []);
    deleted += gone;
    if (gone === 0) break;
  }
  if (deleted > 0) await dropAttempts(driver);
  return deleted;
}

/** Attempts that are older than every request left. */
async function dropAttempts(driver: Driver): Promise<void> {
  const older = 'SELECT request_id, ordinal FROM attempts WHERE at < (SELECT min(at) FROM requests)';
  const sql = `DELETE FROM attempts WHERE (request_id, ordinal) IN (${older} ORDER BY at LIMIT ${CHUNK_ROWS})`;
  while ((await driver.maintain(sql, [])) === CHUNK_ROWS);
}

/** What a row takes on average, the indexes included; 0 for an empty table. @param indexes how many have about the id of the row */
async function bytesOf<Row extends object>(driver: Driver, table: Table<Row>, indexes: number): Promise<number> {
  const rows = await select(operators(driver), table, { order: 'at DESC', limit: SAMPLE_ROWS });
  if (rows.length === 0) return 0;
  let sum = 0;
  for (const row of rows) {
    const [id] = Object.values(row);
    sum += ROW_BYTES + indexes * (ENTRY_BYTES + String(id).length);
    for (const value of Object.values(row)) sum += VALUE_BYTES + textLength(value);
  }
  return sum / rows.length;
}

function textLength(value: unknown): number {
  if (typeof value === 'string') return value.length;
  return typeof value === 'object' && value !== null ? JSON.stringify(value).length : 0;
}
