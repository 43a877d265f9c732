// Counts how often a reader asked for a connection to PostgreSQL. During an outage a turn that fails at once has asked for none.
import type { TestContext } from 'node:test';
import pg from 'pg';

/** Only connections of the writer have this statement deadline. They are not counted, because the writer retries during an outage. */
const WRITER_MS = 5_000;

/** Counts from now on until the test ends. */
export function waitsForDatabase(context: TestContext): () => number {
  const { mock } = context.mock.method(pg.Pool.prototype, 'connect');
  return () => mock.calls.filter(({ this: pool }) => (pool as pg.Pool).options.statement_timeout !== WRITER_MS).length;
}
