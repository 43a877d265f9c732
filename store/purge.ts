// Retention: old rows go in small chunks, each a transaction of its own, so that nobody waits long for the database.
import type { Driver } from './driver.ts';
import { attempts, audit, pins, requests, type Table, usage } from './tables.ts';

/** Rows strictly older than these go; what is absent stays. */
export interface PurgeLimits {
  readonly requestsBefore?: number;
  readonly auditBefore?: number;
  /** By expiry. */
  readonly pinsBefore?: number;
  readonly usageBefore?: number;
}

/** How many rows went. */
export interface Purged {
  readonly requests: number;
  readonly attempts: number;
  readonly audit: number;
  readonly pins: number;
  readonly usage: number;
}

const CHUNK_ROWS = 500;

export async function purge(driver: Driver, { requestsBefore, auditBefore, pinsBefore, usageBefore }: PurgeLimits): Promise<Purged> {
  return {
    attempts: await remove(driver, attempts, 'at', requestsBefore),
    requests: await remove(driver, requests, 'at', requestsBefore),
    audit: await remove(driver, audit, 'at', auditBefore),
    pins: await remove(driver, pins, 'expires_at', pinsBefore),
    usage: await remove(driver, usage, 'day', usageBefore),
  };
}

async function remove(driver: Driver, { name, key }: Table, column: string, before: number | undefined): Promise<number> {
  if (before === undefined) return 0;
  const keys = key.join(', ');
  const oldest = `SELECT ${keys} FROM ${name} WHERE ${column} < $1 ORDER BY ${column} LIMIT ${CHUNK_ROWS}`;
  let total = 0;
  for (;;) {
    const gone = await driver.run(`DELETE FROM ${name} WHERE (${keys}) IN (${oldest})`, [before]);
    total += gone;
    if (gone < CHUNK_ROWS) return total;
  }
}
