// Transactions of a SQLite connection, which wait for the locks of other processes.
import { StoreError } from '../errors.ts';
import type { SqliteConnection } from './sqlite-connection.ts';

/** How long opening and transactions wait for other processes, such as one that migrates. */
const LOCK_WAIT_MS = 5_000;

/** Repeats what locks of other processes prevent: SQLite's change to WAL does not wait for them at all, and BEGIN does not wait long. */
export async function whenUnlocked(act: () => Promise<void>): Promise<void> {
  const end = performance.now() + LOCK_WAIT_MS;
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof StoreError && error.code === 'locked') || performance.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

/** Runs a transaction. IMMEDIATE takes the write lock at once, so that what the transaction reads cannot change before it writes. */
export async function inTransaction<Result>(connection: SqliteConnection, act: () => Promise<Result>): Promise<Result> {
  await whenUnlocked(() => connection.repeat('BEGIN IMMEDIATE', []));
  return committed(connection, act);
}

/** Runs the rest of a transaction that has begun. */
export async function committed<Result>(connection: SqliteConnection, act: () => Promise<Result>): Promise<Result> {
  try {
    const result = await act();
    await connection.repeat('COMMIT', []);
    return result;
  } catch (error) {
    // Some failures end the transaction in SQLite. Then there is nothing to roll back.
    await connection.repeat('ROLLBACK', []).catch(() => {});
    throw error;
  }
}
