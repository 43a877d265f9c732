// Transactions with one round trip for each statement. One that the server rolled back in favour of another is repeated.
import type { SqlSession, Transaction, Update } from '../../driver.ts';
import { StoreError } from '../../errors.ts';
import { COMMIT, insertionsOf, type RecordOptions, sendAll } from '../batches.ts';
import type { PostgresConnection } from './postgres-connection.ts';
import type { PostgresConnections } from './postgres-connections.ts';

/** How long a transaction is repeated before it fails. */
const CONTENTION_MS = 5_000;
const LONGEST_PAUSE_MS = 50;

/** Commits what `act` did, or nothing. */
export async function inTransaction<Result>(connection: PostgresConnection, begin: string, act: () => Promise<Result>): Promise<Result> {
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
export const serialised = <Result>(connections: PostgresConnections, work: (session: SqlSession) => Promise<Result>): Promise<Result> =>
  uncontended(() =>
    connections.use((connection) => inTransaction(connection, 'BEGIN ISOLATION LEVEL SERIALIZABLE', () => work(connection))),
  );

/**
 * Read committed isolation: every statement sees what others have committed by then. BEGIN is sent with the first statement, COMMIT with
 * the batch.
 */
export const updated = <Result>(
  connections: PostgresConnections,
  options: RecordOptions,
  work: (transaction: Transaction) => Promise<Update<Result>>,
): Promise<Result> =>
  uncontended(() =>
    connections.use(async (connection) => {
      const [begun, working] = connection.together(() => [
        connection.script('BEGIN'),
        work({
          query: (sql, values) => connection.query(sql, values),
          run: (sql, values) => connection.run(sql, values),
          lock: (table, rows) => sendAll(connection, insertionsOf(new Map([[table, rows]]), options)),
        }),
      ]);
      try {
        const [{ result, batch }] = await Promise.all([working, begun]);
        await sendAll(connection, [...insertionsOf(batch, options), COMMIT]);
        return result;
      } catch (error) {
        await connection.script('ROLLBACK').catch(() => {});
        throw error;
      }
    }),
  );

async function uncontended<Result>(act: () => Promise<Result>): Promise<Result> {
  const end = performance.now() + CONTENTION_MS;
  for (let pause = 1; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof StoreError && error.code === 'locked') || performance.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause * Math.random()));
    }
  }
}
