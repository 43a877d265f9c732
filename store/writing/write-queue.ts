// The queue of rows to write, in order. A newer row replaces the waiting row of its key, is added to it, or patches it.
import type { Guard, RowBatch } from '../driver.ts';
import type { UsageHourRow } from '../schema/rows.ts';
import { type Table, usageDays, usageHours, usagePoolHours } from '../schema/tables.ts';
import { dayRowOf, poolHourRowOf } from '../schema/usage-sums.ts';

export type TableRow = readonly [table: Table, row: object];

export interface Entry {
  readonly table: Table;
  row: object;
  /** Rows that are written in the same batch or not at all. */
  readonly others?: readonly TableRow[];
  /** Present on rows that are merged by key while they wait. */
  readonly key?: string;
  /** Present on a row that is written only if its guard holds. Such a row has a batch of its own. */
  readonly guard?: () => Guard;
  /** Present if a caller waits for this row to be on disk. */
  settled?: PromiseWithResolvers<void>;
  /** Whether the row is written without delay for that caller. */
  isUrgent?: boolean;
}

export class Queue {
  #entries: Entry[] = [];
  /** The number of rows beyond the first of each entry. */
  #others = 0;
  /** The number of entries with a guard. */
  #guarded = 0;
  readonly #byKey = new Map<Table, Map<string, Entry>>();

  get length(): number {
    return this.#entries.length + this.#others;
  }

  get last(): Entry | undefined {
    return this.#entries.at(-1);
  }

  push(table: Table, row: object): void {
    this.#entries.push({ table, row });
  }

  /** Appends rows that are written together. They are not merged while they wait. */
  pushTogether([table, row]: TableRow, others: readonly TableRow[]): void {
    this.#others += others.length;
    this.#entries.push({ table, row, others });
  }

  /** Appends the row, or merges it into the waiting row of its key. */
  place(table: Table, row: object): Entry {
    const waitingRows = this.#waiting(table);
    const key = table.identity(row);
    const waiting = waitingRows.get(key);
    if (waiting) {
      if (table.onConflict === 'add') table.add(waiting.row, row);
      else if (table.onConflict === 'patch') waiting.row = { ...waiting.row, ...row };
      else waiting.row = row;
      return waiting;
    }
    // The queue adds later rows to its own copy.
    const entry: Entry = { table, row: table.onConflict === 'add' ? { ...row } : row, key };
    waitingRows.set(key, entry);
    this.#entries.push(entry);
    return entry;
  }

  /** Whether a row of this key waits that the given row would replace. */
  isWaiting(table: Table, row: object): boolean {
    return this.#waiting(table).has(table.identity(row));
  }

  /** A stored row of a table that adds, plus the waiting rows of its key. */
  withWaiting<Row extends object>(table: Table<Row>, row: Row): Row {
    const identity = table.identity(row);
    const sum = { ...row };
    const waiting = this.#waiting(table).get(identity);
    if (waiting) table.add(sum, waiting.row as Row);
    for (const entry of this.#others > 0 ? this.#entries : []) {
      for (const [its, other] of entry.others ? rowsByTable(entry) : []) {
        if (its === table && table.identity(other as Row) === identity) table.add(sum, other as Row);
      }
    }
    return sum;
  }

  /** Appends the row. Later rows of its key are appended after it and not merged into earlier ones. */
  placeGuarded(table: Table, row: object, guard: () => Guard): Entry {
    const entry: Entry = { table, row, guard };
    this.#waiting(table).delete(table.identity(row));
    this.#guarded += 1;
    this.#entries.push(entry);
    return entry;
  }

  /** Removes the oldest entries, as many as fill a batch. A newer row of a removed key becomes an entry of its own. */
  take(weight: number): readonly Entry[] {
    let count = 0;
    for (let sum = 0; sum < weight && count < this.#entries.length; count++) sum += weightOf(this.#entries[count] as Entry);
    if (this.#guarded > 0) count = this.#unguarded(count);
    const taken = this.#entries.splice(0, count);
    for (const entry of taken) {
      const { table, key, others = [] } = entry;
      this.#others -= others.length;
      if (key !== undefined && this.#waiting(table).get(key) === entry) this.#waiting(table).delete(key);
    }
    return taken;
  }

  /** The number of entries, up to `count`, before the first guarded one; 1 if the oldest is guarded. */
  #unguarded(count: number): number {
    const first = this.#entries.slice(0, count).findIndex(({ guard }) => guard !== undefined);
    if (first !== 0) return first === -1 ? count : first;
    this.#guarded -= 1;
    return 1;
  }

  #waiting(table: Table): Map<string, Entry> {
    let rows = this.#byKey.get(table);
    if (!rows) {
      rows = new Map();
      this.#byKey.set(table, rows);
    }
    return rows;
  }
}

/** The rows of an entry: one, unless several are written together. */
export const rowsByTable = ({ table, row, others = [] }: Entry): readonly TableRow[] => [[table, row], ...others];

const weightOf = ({ table, others = [] }: Entry): number => others.reduce((sum, [other]) => sum + other.weight, table.weight);

/**
 * Groups entries by table, with each table's rows in order. In a table that adds, rows with equal keys are added up first, and then the
 * hours of the batch are rolled up. So a roll-up costs a few rows of a batch, and none of a turn.
 */
export function batchOf(entries: readonly Entry[]): RowBatch {
  const batch = new Map<Table, object[]>();
  const sums = new Map<Table, Map<string, object>>();
  const include = (table: Table, row: object): void => {
    let rows = batch.get(table);
    if (!rows) {
      rows = [];
      batch.set(table, rows);
    }
    if (table.onConflict !== 'add') {
      rows.push(row);
      return;
    }
    let ofTable = sums.get(table);
    if (!ofTable) {
      ofTable = new Map();
      sums.set(table, ofTable);
    }
    const identity = table.identity(row);
    const sum = ofTable.get(identity);
    if (sum) table.add(sum, row);
    else {
      const copy = { ...row };
      ofTable.set(identity, copy);
      rows.push(copy);
    }
  };
  for (const { table, row, others } of entries) {
    include(table, row);
    if (others) for (const [other, its] of others) include(other, its);
  }
  for (const hour of (batch.get(usageHours) ?? []) as readonly UsageHourRow[]) {
    include(usageDays, dayRowOf(hour));
    include(usagePoolHours, poolHourRowOf(hour));
  }
  return batch;
}
