// What an adapter does for the store: a few verbs, in SQL that both SQLite and PostgreSQL understand.
import type { Table } from './tables.ts';

export type Value = string | number | null;

/** Runs SQL. Values are `$1`, `$2`, … in the order of their first use, each used once. Failures are StoreErrors. */
export interface Session {
  /** Statements without values, separated by semicolons. */
  script(sql: string): Promise<void>;
  query(sql: string, values: readonly Value[]): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** One statement that writes; resolves with the number of rows it touched, durable. */
  run(sql: string, values: readonly Value[]): Promise<number>;
}

/** Rows by table; no key occurs twice in one table that replaces or adds. */
export type Batch = ReadonlyMap<Table, readonly object[]>;

export interface Driver extends Omit<Session, 'script'> {
  /** Writes all of it or nothing; durable when it resolves. */
  write(batch: Batch): Promise<void>;
  close(): Promise<void>;
}
