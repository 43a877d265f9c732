// Lets another process read and lock the database file. If the gateway's disk is mounted in a namespace, only a process in the namespace
// reaches it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import sqlite3 from 'sqlite3';

export type Row = Readonly<Record<string, string | number | null>>;

export interface Query {
  readonly sql: string;
  readonly values: readonly (string | number)[];
}

export type DatabaseOrder = { readonly lock: true } | Query;

export const BUSY_MS = 10_000;

const PROGRAM = fileURLToPath(new URL('./database-process.ts', import.meta.url));

export class Database {
  readonly #path: string;
  readonly #inside: readonly string[];

  /** @param inside a command that runs the rest of its line where the file is; empty if this process can reach it */
  constructor(path: string, inside: readonly string[] = []) {
    this.#path = path;
    this.#inside = inside;
  }

  async all(sql: string, ...values: readonly (string | number)[]): Promise<readonly Row[]> {
    if (this.#inside.length === 0) return rowsOf(this.#path, { sql, values });
    const child = this.#start({ sql, values });
    const out = await text(child.stdout);
    if (out === '') throw new Error(`the database could not be read: ${sql}`);
    return JSON.parse(out) as readonly Row[];
  }

  /** Locks it like a process that writes. Resolves with a function that ends the lock. */
  async lock(): Promise<() => Promise<void>> {
    const child = this.#start({ lock: true });
    await once(child.stdout, 'data');
    return async () => {
      const over = once(child, 'exit');
      child.kill('SIGKILL');
      await over;
    };
  }

  #start(order: DatabaseOrder) {
    const node = [process.execPath, '--import', import.meta.resolve('tsx/esm'), PROGRAM, this.#path, JSON.stringify(order)];
    const [program = '', ...args] = [...this.#inside, ...node];
    return spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  }
}

/** The rows of a query, on a separate connection. */
export function rowsOf(path: string, { sql, values }: Query): Promise<readonly Row[]> {
  return new Promise((resolve, reject) => {
    const database = new sqlite3.Database(path, sqlite3.OPEN_READONLY, (error) => error && reject(error));
    database.configure('busyTimeout', BUSY_MS);
    database.all(sql, values, (error: Error | null, rows: Row[]) => database.close(() => (error ? reject(error) : resolve(rows))));
  });
}
