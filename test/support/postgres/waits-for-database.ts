// Counts how often a reader asked for a connection to PostgreSQL. During an outage a turn that fails at once has asked for none.
import type { TestContext } from 'node:test';
import pg from 'pg';

/** Only the writer waits this long for a connection. Its waits are not counted, because it retries during an outage. */
const WRITER_MS = 2_000;

/** Counts from now on until the test ends. */
export function waitsForDatabase(context: TestContext): () => number {
  const { mock } = context.mock.method(pg.Pool.prototype, 'connect');
  return () => mock.calls.filter(({ this: pool }) => (pool as pg.Pool).options.connectionTimeoutMillis !== WRITER_MS).length;
}
