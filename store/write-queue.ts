// The queue of rows to write, in order; a newer row of a key replaces the one that still waits, is added to it, or patches it.
import type { Batch, Guard } from './driver.ts';
import type { Table } from './tables.ts';

export interface Entry {
  readonly table: Table;
  row: object;
  /** Present on rows that are merged by key while they wait. */
  readonly key?: string;
  /** Present on a row that is written only where its guard holds, in a batch of its own. */
  readonly guard?: () => Guard;
  /** Present where a caller waits for this row to be on disk. */
  settled?: PromiseWithResolvers<void>;
  /** Whether it is written without delay for that caller. */
  isUrgent?: boolean;
}

export class Queue {
  #entries: Entry[] = [];
  /** Entries with a guard. */
  #guarded = 0;
  readonly #byKey = new Map<Table, Map<string, Entry>>();

  get length(): number {
    return this.#entries.length;
  }

  get last(): Entry | undefined {
    return this.#entries.at(-1);
  }

  push(table: Table, row: object): void {
    this.#entries.push({ table, row });
  }

  /** Puts the row after all others, or merges it into the waiting row of its key. */
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
    // A row that is added to is the queue's own copy.
    const entry: Entry = { table, row: table.onConflict === 'add' ? { ...row } : row, key };
    waitingRows.set(key, entry);
    this.#entries.push(entry);
    return entry;
  }

  /** A stored row of a table that adds, with what waits for it. */
  withWaiting<Row extends object>(table: Table<Row>, row: Row): Row {
    const waiting = this.#waiting(table).get(table.identity(row));
    if (!waiting) return row;
    const sum = { ...row };
    table.add(sum, waiting.row as Row);
    return sum;
  }

  /** Puts the row after all others. Later rows of its key are not merged into earlier ones: they come after it. */
  placeGuarded(table: Table, row: object, guard: () => Guard): Entry {
    const entry: Entry = { table, row, guard };
    this.#waiting(table).delete(table.identity(row));
    this.#guarded += 1;
    this.#entries.push(entry);
    return entry;
  }

  /** Removes the oldest entries that fill a batch; after that a newer row of the same key is an entry of its own. */
  take(weight: number): readonly Entry[] {
    let count = 0;
    for (let sum = 0; sum < weight && count < this.#entries.length; count++) sum += this.#entries[count]?.table.weight ?? 0;
    if (this.#guarded > 0) count = this.#unguarded(count);
    const taken = this.#entries.splice(0, count);
    for (const entry of taken) {
      const { table, key } = entry;
      if (key !== undefined && this.#waiting(table).get(key) === entry) this.#waiting(table).delete(key);
    }
    return taken;
  }

  /** The number of oldest entries, up to `count`, before the first guarded one; 1 if the oldest is guarded. */
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

/** Groups entries by table, each table's rows in order. */
export function batchOf(entries: readonly Entry[]): Batch {
  const batch = new Map<Table, object[]>();
  for (const { table, row } of entries) {
    const rows = batch.get(table);
    if (rows) rows.push(row);
    else batch.set(table, [row]);
  }
  return batch;
}
