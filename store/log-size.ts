// Keeps the request log within a size: rows beyond it are deleted, oldest first, in small chunks (see purge.ts).
// The size of a row is estimated from the newest ones, and the number of rows comes from the engine's statistics: no query reads the whole
// table. SQLite reuses the pages of deleted rows, and so does PostgreSQL after its autovacuum: files stop growing.
import type { Driver } from './driver.ts';
import { operators, select } from './schema/query.ts';
import { attempts, requests, type Table } from './schema/tables.ts';

/** Rows that one transaction deletes. */
const CHUNK_ROWS = 500;
/** The newest rows, from which the size of a row is estimated. */
const SAMPLE_ROWS = 500;
/** What a row takes for an integer, and for the length of a text. */
const VALUE_BYTES = 4;
/** The header of a row and its pointer in the page. */
const ROW_BYTES = 40;
/** What an index entry takes in addition to its values. */
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

/** Deletes attempts that are older than the oldest request. */
async function dropAttempts(driver: Driver): Promise<void> {
  const older = 'SELECT request_id, ordinal FROM attempts WHERE at < (SELECT min(at) FROM requests)';
  const sql = `DELETE FROM attempts WHERE (request_id, ordinal) IN (${older} ORDER BY at LIMIT ${CHUNK_ROWS})`;
  while ((await driver.maintain(sql, [])) === CHUNK_ROWS);
}

/**
 * The average size of a row with its indexes; 0 for an empty table. @param indexes the number of indexes whose entries are about as long as
 * the row's id
 */
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
