// Changes: which rows other processes on the same database wrote since a cursor. A process refreshes its copies in memory by them.
// There is one record for each changed row and writer. It is replaced when that row changes again, so that the number of records is bounded
// by the tables. Writers have separate records because they patch different fields: a later write of one does not replace the write of
// another.
import type { Driver, RowBatch } from '../driver.ts';
import type { ChangeRow } from '../schema/rows.ts';
import { type Table, changes as table } from '../schema/tables.ts';

/** Tables of whose rows processes keep copies. Only moves of pins are recorded; a process looks up other pins when it needs them. */
export type TrackedTable = 'account_state' | 'catalog' | 'credentials' | 'nodes' | 'pins' | 'slots' | 'usage';

export interface Change {
  readonly table: TrackedTable;
  /** The fields of the row's key, in the order of the table's key: account and model of an account state. */
  readonly key: readonly (string | number)[];
  readonly writer: string;
}

export interface Changes {
  /** Start of the next read. */
  readonly cursor: number;
  /** Each changed row once per writer, in the order of the last writes. */
  readonly changes: readonly Change[];
  /** Present if the next read has further changes that are already written. */
  readonly hasMore?: true;
}

/** How long changes are kept. A process that reads more rarely has to load the tables again. */
export const CHANGES_KEPT_MS = 86_400_000;

/**
 * The most rows of one read. A node that could not read for an hour finds some hundred thousand: one statement for all of them would reach
 * its deadline each time. More rows than one batch has, because a read ends between two batches.
 */
const MOST_ROWS = 5_000;

export interface ChangesVerbs {
  /** The cursor after all writes so far. Take it before loading the tables. */
  cursor(): Promise<number>;
  /**
   * What other processes wrote after the cursor; all recorded changes if the database does not know the cursor. Costs one read of one row
   * if nothing changed.
   */
  since(cursor: number): Promise<Changes>;
  /** Calls `wake` soon after other processes wrote, if the engine notifies. Called once for a store. */
  listen?(wake: () => void): void;
}

export function changesVerbs(driver: Driver, writer: string): ChangesVerbs {
  const cursorNow = async (): Promise<number> => {
    const [record] = await driver.query("SELECT value FROM counters WHERE name = 'version'", []);
    return Number(record?.value ?? 0);
  };
  const { listen } = driver;
  return {
    ...(listen && { listen }),
    cursor: cursorNow,
    async since(cursor) {
      const next = await cursorNow();
      if (next === cursor) return { cursor, changes: [] };
      // A database that has lost its last transactions, as after a failover to a standby or from a backup, uses their versions again.
      const from = next < cursor ? 0 : cursor;
      // A row that changed between the two reads has a version above `next`. It is returned now, and by the next read again.
      const after = `SELECT ${table.columns.join(', ')} FROM ${table.name} WHERE version > $1 AND writer <> $2`;
      const rows = (await driver.query(`${after} ORDER BY version LIMIT ${MOST_ROWS}`, [from, writer])).map(table.decode);
      const last = rows.at(-1);
      if (!last || rows.length < MOST_ROWS) return { cursor: next, changes: rows.map(changeOf) };
      const whole = rows.filter(({ version }) => version < last.version);
      return { cursor: last.version - 1, changes: whole.map(changeOf), hasMore: true };
    },
  };
}

const changeOf = ({ table_name, row_key, writer }: ChangeRow): Change => ({
  table: table_name as TrackedTable,
  key: JSON.parse(row_key) as Change['key'],
  writer,
});

/** Whether a write of these rows has to be recorded. */
export const isTracked = (batch: RowBatch): boolean => [...batch.keys()].some(({ tracked }) => tracked);

/** The rows of `changes` that record a batch. */
export const changeRows = (batch: RowBatch, stamp: Pick<ChangeRow, 'version' | 'writer' | 'at'>): readonly ChangeRow[] =>
  [...batch].flatMap(([written, rows]) =>
    written.tracked ? rows.map((row) => ({ table_name: written.name, row_key: keyText(written, row), ...stamp })) : [],
  );

function keyText({ key, fields }: Table, row: object): string {
  return JSON.stringify(key.map((column) => fields.find((field) => field.column === column)?.of(row)));
}
