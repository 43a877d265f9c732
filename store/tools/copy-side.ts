// One end of a copy of a whole store: an engine's tables, read in the order of their keys and filled within one transaction.
import type { Value } from '../driver.ts';
import type { TableColumns } from '../schema/tables.ts';

/** A record as a list of its values, in the order of the table's columns. */
export type CopiedRow = readonly Value[];

export interface CopySide {
  /** All copied tables by name, as the database describes them. */
  tables(): Promise<readonly TableColumns[]>;
  query(sql: string, values: readonly Value[]): Promise<readonly Readonly<Record<string, unknown>>[]>;
  insert(table: TableColumns, rows: readonly CopiedRow[]): Promise<void>;
  /** The greatest token of a lease so far. */
  lastToken(): Promise<number>;
  /** Makes tokens of later leases greater than this one. */
  continueTokens(last: number): Promise<void>;
}

export type CopyRole = 'source' | 'destination';

/** Opens a store, brings its schema up to date, runs the work in one transaction, and commits it or rolls it back. */
export type WithCopySide = <Result>(url: string, role: CopyRole, work: (side: CopySide) => Promise<Result>) => Promise<Result>;

/** The columns of a table in order, with the database's name of their type and their place in the key. */
export interface DescribedColumn {
  readonly table: string;
  readonly column: string;
  readonly type: string;
  /** The column's place in the key, from 1; 0 if it is not in the key. */
  readonly keyPart: number;
}

/** Tables that are not copied, because they belong to running processes or to the engine. */
const NOT_COPIED: ReadonlySet<string> = new Set([
  'changes',
  'counters',
  'key_grants',
  'key_slots',
  'leases',
  'nodes',
  'schema_version',
  'slot_locks',
  'session_owners',
  'slots',
  'written_batches',
]);

export function tablesOf(described: readonly DescribedColumn[]): readonly TableColumns[] {
  const byTable = Map.groupBy(described, ({ table }) => table);
  return [...byTable]
    .filter(([name]) => !NOT_COPIED.has(name))
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, columns]) => {
      const key = columns.filter(({ keyPart }) => keyPart > 0).toSorted((one, other) => one.keyPart - other.keyPart);
      return {
        name,
        columns: columns.map(({ column }) => column),
        key: key.map(({ column }) => column),
        onConflict: 'keep',
        fields: columns.map(({ column, type }, index) => ({
          column,
          type: type.toLowerCase() === 'bigint' ? 'integer' : 'text',
          of: (row: object) => (row as CopiedRow)[index],
          initial: null,
        })),
      };
    });
}
