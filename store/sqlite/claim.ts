// The claim of a gateway to its SQLite file. If another gateway has the file, the operator's log reports that. The claim is a file lock
// that ends with its process, so that a killed process does not block the next one.
import { open, realpath } from 'node:fs/promises';
import { StoreError } from '../errors.ts';
import type { Notice } from '../writing/notice.ts';
import { SqliteConnection } from './sqlite-connection.ts';

export interface ClaimOptions {
  readonly notice: Notice;
  /** How often to try again to get a claim that another process has. */
  readonly everyMs?: number;
}

/** Longer than the overlap of a restart, in which the previous gateway drains for 25 s. */
const EVERY_MS = 60_000;

const ADVICE = 'each of them counts limits and max_concurrent separately. Stop one of them, or use PostgreSQL for several';

export class DatabaseClaim {
  readonly #database: string;
  readonly #path: string;
  readonly #notice: Notice;
  readonly #timer: NodeJS.Timeout;
  #held: SqliteConnection | undefined;
  #reported = false;
  #last: Promise<void> = Promise.resolve();

  private constructor(database: string, { notice, everyMs = EVERY_MS }: ClaimOptions) {
    this.#database = database;
    this.#path = `${database}-gateway`;
    this.#notice = notice;
    this.#timer = setInterval(() => void this.#try(), everyMs).unref();
  }

  /** Tries to get the claim. Never rejects: a file system without locks, such as some over a network, does not prevent the start. */
  static async of(database: string, options: ClaimOptions): Promise<DatabaseClaim> {
    const path = await realpath(database).catch(() => database);
    const claim = new DatabaseClaim(path, options);
    await claim.#try();
    return claim;
  }

  /** Whether another gateway has the file. */
  get isRefused(): boolean {
    return this.#reported && !this.#held;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#last;
    await this.#held?.close();
  }

  #try(): Promise<void> {
    this.#last = this.#last.then(() => this.#lock()).catch(() => undefined);
    return this.#last;
  }

  async #lock(): Promise<void> {
    if (this.#held) return;
    await (await open(this.#path, 'a', 0o600)).close();
    const connection = await SqliteConnection.open(this.#path);
    try {
      // The transaction stays open until the connection is closed. Nothing is written to the file.
      await connection.script('BEGIN EXCLUSIVE');
      this.#held = connection;
      clearInterval(this.#timer);
    } catch (error) {
      await connection.close();
      if (!(error instanceof StoreError && error.code === 'locked')) return;
      this.#reported = true;
      this.#notice('store_in_use', { message: `another gateway has ${this.#database} open: ${ADVICE}` });
      return;
    }
    if (this.#reported) this.#notice('store_alone');
  }
}
