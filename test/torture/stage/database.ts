// The database file as another process reads it: its integrity, and the sums of its rows.
import sqlite3 from 'sqlite3';

type Row = Readonly<Record<string, string | number | null>>;

export class Database {
  readonly #database: sqlite3.Database;

  private constructor(database: sqlite3.Database) {
    this.#database = database;
  }

  static open(path: string, mode = sqlite3.OPEN_READONLY): Promise<Database> {
    return new Promise((resolve, reject) => {
      const database = new sqlite3.Database(path, mode, (error) => (error ? reject(error) : resolve(new Database(database))));
      database.configure('busyTimeout', 5_000);
    });
  }

  all(sql: string, ...values: readonly (string | number)[]): Promise<readonly Row[]> {
    return new Promise((resolve, reject) => {
      this.#database.all(sql, values, (error: Error | null, rows: Row[]) => (error ? reject(error) : resolve(rows)));
    });
  }

  close(): Promise<void> {
    return new Promise((resolve, reject) => this.#database.close((error) => (error ? reject(error) : resolve())));
  }
}

/** Runs one query on the database of this path. */
export async function queried(path: string, sql: string, ...values: readonly (string | number)[]): Promise<readonly Row[]> {
  const database = await Database.open(path);
  try {
    return await database.all(sql, ...values);
  } finally {
    await database.close();
  }
}
