// Connections to PostgreSQL: a bounded pool, statements prepared by name, and a deadline for every wait.
import pg from 'pg';
import type { DatabaseRecord, Session, Value } from '../driver.ts';
import { failureOf } from './failures.ts';
import { storable } from './insertion.ts';

export interface ConnectionsOptions {
  readonly url: string;
  /** Most connections at once; further callers wait. */
  readonly most: number;
  /** How long a caller waits for a connection and for the answer of one statement, together. */
  readonly deadlineMs: number;
}

/** Forms of repeated statements. Those past it are not prepared by name, which the server would keep for as long as the connection. */
const NAMED_STATEMENTS = 300;
const IDLE_MS = 60_000;

/** Texts of prepared statements to their names: the same on every connection. */
const names = new Map<string, string>();

function nameOf(sql: string): string | undefined {
  const known = names.get(sql);
  if (known !== undefined || names.size >= NAMED_STATEMENTS) return known;
  const name = `s${names.size}`;
  names.set(sql, name);
  return name;
}

interface Result {
  readonly rows: readonly DatabaseRecord[];
  readonly rowCount: number | null;
  readonly command: string;
}

/** One connection, for as long as its user has it. Statements may be sent before the answers of earlier ones: they run in order. */
export class Connection implements Session {
  readonly #client: pg.ClientBase;
  readonly #deadline: () => number;

  /** @param deadline milliseconds that the next statement may take */
  constructor(client: pg.ClientBase, deadline: () => number) {
    this.#client = client;
    this.#deadline = deadline;
  }

  async script(sql: string): Promise<void> {
    await this.#send({ text: sql });
  }

  async query(sql: string, values: readonly Value[]): Promise<readonly DatabaseRecord[]> {
    return (await this.send(sql, values)).rows;
  }

  async run(sql: string, values: readonly Value[]): Promise<number> {
    return (await this.send(sql, values)).rowCount ?? 0;
  }

  /** Runs a repeated statement. */
  send(sql: string, values: readonly Value[]): Promise<Result> {
    const name = nameOf(sql);
    return this.#send({ text: sql, values, ...(name === undefined ? {} : { name }) });
  }

  /** Runs a statement that is not repeated. */
  sendOnce(sql: string, values: readonly Value[]): Promise<Result> {
    return this.#send({ text: sql, values });
  }

  async #send({ values = [], ...statement }: { text: string; values?: readonly Value[]; name?: string }): Promise<Result> {
    const storables = values.map((value) => (typeof value === 'string' ? storable(value) : value));
    const query = { ...statement, ...(storables.length > 0 ? { values: storables } : {}), query_timeout: Math.max(1, this.#deadline()) };
    try {
      return await this.#client.query<Record<string, unknown>>(query);
    } catch (thrown) {
      throw failureOf(thrown);
    }
  }
}

export class Connections {
  readonly #pool: pg.Pool;
  readonly #deadlineMs: number;

  constructor({ url, most, deadlineMs }: ConnectionsOptions) {
    this.#deadlineMs = deadlineMs;
    this.#pool = new pg.Pool({
      connectionString: url,
      application_name: 'poolgate',
      max: most,
      min: 1,
      idleTimeoutMillis: IDLE_MS,
      allowExitOnIdle: true,
      connectionTimeoutMillis: deadlineMs,
      // The server ends a statement whose caller has stopped to wait for it.
      statement_timeout: deadlineMs,
      keepAlive: true,
      pipeline: true,
    });
    // An idle connection ended; the pool has removed it.
    this.#pool.on('error', () => undefined);
  }

  /** @throws StoreError */
  async use<Value>(work: (connection: Connection) => Promise<Value>): Promise<Value> {
    const end = performance.now() + this.#deadlineMs;
    const client = await this.#pool.connect().catch((thrown: unknown) => {
      throw failureOf(thrown);
    });
    // Without a listener an error between two statements would end the process; the next statement reports it.
    const ignore = (): void => undefined;
    client.on('error', ignore);
    let broken = false;
    try {
      return await work(new Connection(client, () => end - performance.now()));
    } catch (thrown) {
      broken = failureOf(thrown).code === 'unreachable';
      throw thrown;
    } finally {
      client.removeListener('error', ignore);
      client.release(broken);
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}
