// One SQLite connection with promises instead of callbacks, and with StoreErrors for SQLite's error codes.
import { pathToFileURL } from 'node:url';
import { LRUCache } from 'lru-cache';
import sqlite3 from 'sqlite3';
import type { SqlSession, Value } from '../driver.ts';
import { StoreError, type StoreErrorCode } from '../errors.ts';

const codes: Readonly<Record<string, StoreErrorCode>> = {
  SQLITE_BUSY: 'locked',
  SQLITE_LOCKED: 'locked',
  SQLITE_FULL: 'full',
  SQLITE_READONLY: 'not_writable',
  SQLITE_CANTOPEN: 'not_writable',
  SQLITE_PERM: 'not_writable',
  SQLITE_CORRUPT: 'corrupt',
  SQLITE_NOTADB: 'corrupt',
  SQLITE_CONSTRAINT: 'bad_row',
  SQLITE_MISMATCH: 'bad_row',
  SQLITE_TOOBIG: 'bad_row',
};

/** What an operator can look at. The other codes have no cause outside of the file. */
const CAUSES: Readonly<Record<string, string>> = {
  SQLITE_FULL: ', the disk is full',
  SQLITE_IOERR: ', the file cannot be read or written',
  SQLITE_CANTOPEN: ', the file cannot be opened',
};

type Callback<Result> = (error: Error | null, result: Result) => void;

const promised = <Result>(act: (done: Callback<Result>) => void): Promise<Result> => {
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  act((error, result) => {
    if (!error) return resolve(result);
    const native = 'code' in error && typeof error.code === 'string' ? error.code : 'SQLITE_ERROR';
    reject(new StoreError(codes[native] ?? 'failed', `SQLite: ${native}${CAUSES[native] ?? ''}`, { cause: error }));
  });
  return promise;
};

/** Repeated statements have far fewer forms. A statement that was evicted is compiled again. */
const CACHED_STATEMENTS = 100;

const finalize = (statement: sqlite3.Statement): Promise<void> => promised((done) => statement.finalize(() => done(null)));

export class SqliteConnection implements SqlSession {
  readonly #database: sqlite3.Database;
  readonly #statements = new LRUCache<string, Promise<sqlite3.Statement>>({
    max: CACHED_STATEMENTS,
    dispose: (statement, _sql, reason) => {
      if (reason === 'evict') statement.then(finalize).catch(() => {});
    },
  });

  private constructor(database: sqlite3.Database) {
    this.#database = database;
  }

  /** Opens the file, and creates it if it is missing. Nothing is read before the first statement. */
  static open(path: string): Promise<SqliteConnection> {
    return SqliteConnection.#opened(path, sqlite3.OPEN_READWRITE | sqlite3.OPEN_CREATE);
  }

  /**
   * Opens an existing file for reading only.
   * @param use `immutable`: no other process has the file open, and SQLite creates no files in its folder
   */
  static openReadOnly(path: string, use: 'shared' | 'immutable'): Promise<SqliteConnection> {
    if (use === 'shared') return SqliteConnection.#opened(path, sqlite3.OPEN_READONLY);
    return SqliteConnection.#opened(`${pathToFileURL(path)}?immutable=1`, sqlite3.OPEN_READONLY | sqlite3.OPEN_URI);
  }

  static async #opened(path: string, mode: number): Promise<SqliteConnection> {
    let database: sqlite3.Database | undefined;
    await promised<void>((done) => {
      database = new sqlite3.Database(path, mode, (error) => done(error));
    });
    return new SqliteConnection(database as sqlite3.Database);
  }

  async script(sql: string): Promise<void> {
    await promised<void>((done) => this.#database.exec(sql, (error) => done(error)));
  }

  query(sql: string, values: readonly Value[]): Promise<readonly Readonly<Record<string, unknown>>[]> {
    return promised((done) => this.#database.all<Record<string, unknown>>(sql, values, done));
  }

  run(sql: string, values: readonly Value[]): Promise<number> {
    return promised((done) =>
      this.#database.run(sql, values, function (this: sqlite3.RunResult, error) {
        done(error, this.changes);
      }),
    );
  }

  /** Like `run`, for repeated statements: they are compiled once and cached. */
  async repeat(sql: string, values: readonly Value[]): Promise<void> {
    const statement = await this.#prepared(sql);
    await promised<void>((done) => statement.run(values, (error: Error | null) => done(error)));
  }

  /** Ends running statements with an error. */
  interrupt(): void {
    this.#database.interrupt();
  }

  async close(): Promise<void> {
    const statements = await Promise.allSettled(this.#statements.values());
    this.#statements.clear();
    for (const statement of statements) if (statement.status === 'fulfilled') await finalize(statement.value);
    await promised<void>((done) => this.#database.close(done));
  }

  #prepared(sql: string): Promise<sqlite3.Statement> {
    const known = this.#statements.get(sql);
    if (known) return known;
    const statement = promised<sqlite3.Statement>((done) => {
      const made: sqlite3.Statement = this.#database.prepare(sql, (error) => done(error, made));
    });
    this.#statements.set(sql, statement);
    statement.catch(() => this.#statements.delete(sql));
    return statement;
  }
}
