// An outage of the database: while it lasts, statements fail at once, and a new connection is tried at intervals.
import pg from 'pg';
import { StoreError } from '../../errors.ts';
import type { Notice } from '../../writing/notice.ts';

const CONNECT_MS = 1_000;
const PAUSE_MS = 500;

export interface OutageOptions {
  readonly url: string;
  readonly notice: Notice;
}

export class Outage {
  readonly #options: OutageOptions;
  #lasts = false;
  #trying = false;
  /** How many statements were answered. */
  #answers = 0;
  #closed = false;

  constructor(options: OutageOptions) {
    this.#options = options;
  }

  /** Whether the last attempt to connect failed. */
  get lasts(): boolean {
    return this.#lasts;
  }

  /**
   * Runs statements, or fails at once.
   * @throws StoreError `unreachable` during an outage
   */
  async guard<Result>(act: () => Promise<Result>): Promise<Result> {
    if (this.#lasts) throw new StoreError('unreachable', 'PostgreSQL: no connection');
    return this.watch(act);
  }

  /** Runs statements whose failure may show an outage. */
  async watch<Result>(act: () => Promise<Result>): Promise<Result> {
    try {
      const result = await act();
      this.#answers++;
      return result;
    } catch (error) {
      if (error instanceof StoreError && error.code === 'unreachable') this.suspect();
      throw error;
    }
  }

  /** A connection broke. That alone is no outage: the next attempt to connect decides. */
  suspect(): void {
    if (!this.#trying) void this.#try();
  }

  /** Stops the attempts to connect. */
  close(): void {
    this.#closed = true;
  }

  async #try(): Promise<void> {
    this.#trying = true;
    while (!this.#closed && !(await this.#answersOrConnects())) {
      if (!this.#lasts) this.#options.notice('store_unreachable');
      this.#lasts = true;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS).unref());
    }
    if (this.#lasts && !this.#closed) this.#options.notice('store_reachable');
    this.#lasts = false;
    this.#trying = false;
  }

  /** Whether a connection could be opened, or a statement was answered meanwhile. On a busy machine an answer may come sooner. */
  async #answersOrConnects(): Promise<boolean> {
    const before = this.#answers;
    return (await this.#connects()) || this.#answers > before;
  }

  async #connects(): Promise<boolean> {
    const client = new pg.Client({ connectionString: this.#options.url, connectionTimeoutMillis: CONNECT_MS });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return true;
    } catch {
      return false;
    } finally {
      void client.end().catch(() => undefined);
    }
  }
}
