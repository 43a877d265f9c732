// A bounded pool of connections to PostgreSQL, with a deadline for every wait.
import pg from 'pg';
import { StoreError } from '../../errors.ts';
import type { Outage } from './outage.ts';
import { PostgresConnection } from './postgres-connection.ts';
import { connectionFailureOf } from './postgres-failures.ts';

export interface ConnectionsOptions {
  readonly url: string;
  /** Most connections at once; further callers wait. */
  readonly most: number;
  /** How long a caller waits for a free connection, or for a new one. */
  readonly waitMs: number;
  /** How long a caller waits in total. The server cancels a statement that takes longer. */
  readonly deadlineMs: number;
  /** Present for callers that do not wait for the end of an outage. */
  readonly outage?: Outage;
}

export interface PoolStats {
  /** Open, in use or idle. */
  readonly open: number;
  /** Callers that wait for a connection. */
  readonly waiting: number;
}

const IDLE_MS = 60_000;
/** How long `close` waits for running statements. Longer ones are left to the server. */
const CLOSE_MS = 1_000;

/**
 * What is sent first on a connection: the deadlines of a statement, and of a transaction whose process is paused, so that it does not keep
 * its locks. PgBouncer refuses a connection that begins with them.
 */
const beginning = (ms: number): string =>
  `SET statement_timeout = ${ms}; SET idle_in_transaction_session_timeout = ${ms}; SHOW transaction_read_only`;

export class PostgresConnections {
  readonly #pool: pg.Pool;
  readonly #deadlineMs: number;
  readonly #outage: Outage | undefined;
  /**
   * Connections to a server that refuses writes. Each is used once: during a failover the address leads to a standby for a while, and a new
   * connection reaches the new primary.
   */
  readonly #toStandbys = new WeakSet<pg.PoolClient>();
  #closed = false;

  constructor({ url, most, waitMs, deadlineMs, outage }: ConnectionsOptions) {
    this.#deadlineMs = deadlineMs;
    this.#outage = outage;
    this.#pool = new pg.Pool({
      connectionString: url,
      application_name: 'poolgate',
      max: most,
      idleTimeoutMillis: IDLE_MS,
      allowExitOnIdle: true,
      connectionTimeoutMillis: waitMs,
      keepAlive: true,
      pipeline: true,
    });
    // An idle connection was closed. The pool has already removed it.
    this.#pool.on('error', () => undefined);
    // Without a listener an error between two statements would end the process. It may come in one read with the answer that opens the
    // connection, so the listener is added before a caller has the connection. The next statement reports the error.
    this.#pool.on('connect', (client) => {
      client.on('error', () => undefined);
      // Sent before the first statement. If the connection breaks, that statement reports it.
      const begun = client.query(beginning(deadlineMs)) as unknown as Promise<readonly pg.QueryResult[]>;
      begun.then(
        (results) => results.at(-1)?.rows[0]?.transaction_read_only === 'on' && this.#toStandbys.add(client),
        () => undefined,
      );
    });
  }

  get stats(): PoolStats {
    return { open: this.#pool.totalCount, waiting: this.#pool.waitingCount };
  }

  /**
   * Runs work on a connection of its own.
   * @throws StoreError
   */
  use<Result>(work: (connection: PostgresConnection) => Promise<Result>): Promise<Result> {
    return this.#outage ? this.#outage.guard(() => this.#use(work)) : this.#use(work);
  }

  async close(): Promise<void> {
    this.#closed = true;
    const { promise: deadline, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, CLOSE_MS);
    await Promise.race([this.#pool.end(), deadline]);
    clearTimeout(timer);
  }

  async #use<Result>(work: (connection: PostgresConnection) => Promise<Result>): Promise<Result> {
    if (this.#closed) throw new StoreError('closed', 'the store is closed');
    const end = performance.now() + this.#deadlineMs;
    const client = await this.#pool.connect().catch((thrown: unknown) => {
      throw connectionFailureOf(thrown);
    });
    let broken = false;
    try {
      return await work(new PostgresConnection(client, () => end - performance.now()));
    } catch (thrown) {
      broken = connectionFailureOf(thrown).code === 'unreachable';
      throw thrown;
    } finally {
      client.release(broken || this.#toStandbys.has(client));
    }
  }
}
