// Transactions: one round trip a statement, repeated where the server rolled one back in favour of another.
import type { Session } from '../driver.ts';
import { StoreError } from '../errors.ts';
import type { Connection } from './connection.ts';
import type { Connections } from './connections.ts';

/** How long a transaction is repeated. */
const CONTENTION_MS = 5_000;
const LONGEST_PAUSE_MS = 50;

/** Commits what `act` did, or nothing. */
export async function inTransaction<Result>(connection: Connection, begin: string, act: () => Promise<Result>): Promise<Result> {
  await connection.script(begin);
  try {
    const result = await act();
    await connection.script('COMMIT');
    return result;
  } catch (error) {
    await connection.script('ROLLBACK').catch(() => {});
    throw error;
  }
}

/** Serialisable isolation: the result is as if no two transactions had overlapped. */
export async function serialised<Result>(connections: Connections, work: (session: Session) => Promise<Result>): Promise<Result> {
  const end = performance.now() + CONTENTION_MS;
  for (let pause = 1; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      return await connections.use((connection) => inTransaction(connection, 'BEGIN ISOLATION LEVEL SERIALIZABLE', () => work(connection)));
    } catch (error) {
      if (!(error instanceof StoreError && error.code === 'locked') || performance.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause * Math.random()));
    }
  }
}
