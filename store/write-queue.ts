// The queue of rows to write, in order; a newer row of a key replaces the one that still waits, is added to it, or patches it.
import type { Batch } from './driver.ts';
import type { Table } from './tables.ts';

export interface Entry {
  readonly table: Table;
  row: object;
  /** Present on rows that are merged by key while they wait. */
  readonly key?: string;
  /** Present where a caller waits for this row to be on disk. */
  settled?: PromiseWithResolvers<void>;
}

export class Queue {
  #entries: Entry[] = [];
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

  /** Puts the row behind all others, or merges it into the waiting row of its key. */
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

  /** Removes the oldest entries that fill a batch; after that a newer row of the same key is an entry of its own. */
  take(weight: number): readonly Entry[] {
    let count = 0;
    for (let sum = 0; sum < weight && count < this.#entries.length; count++) sum += this.#entries[count]?.table.weight ?? 0;
    const taken = this.#entries.splice(0, count);
    for (const { table, key } of taken) if (key !== undefined) this.#waiting(table).delete(key);
    return taken;
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
