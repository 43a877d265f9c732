// One connection to PostgreSQL while a caller has it: prepared statements with names, and errors as StoreErrors.
import type { ClientBase, QueryConfig } from 'pg';
import type { DatabaseRecord, SqlSession, Value } from '../../driver.ts';
import { storable } from '../storable-text.ts';
import { connectionFailureOf } from './postgres-failures.ts';

export interface Result {
  readonly rows: readonly DatabaseRecord[];
  readonly rowCount: number | null;
}

interface Statement {
  readonly text: string;
  readonly name?: string;
  readonly values?: readonly Value[];
}

/** The socket of a client, which the library's types leave out. */
interface OverSocket {
  readonly connection: { readonly stream: { cork(): void; uncork(): void } };
}

/** Statements may be sent before earlier answers arrive. They run in order; after a failure the rest of the transaction does not run. */
export class PostgresConnection implements SqlSession {
  readonly #client: ClientBase & OverSocket;
  readonly #remainingMs: () => number;

  /** @param remainingMs how long the next statement may take */
  constructor(client: ClientBase, remainingMs: () => number) {
    this.#client = client as ClientBase & OverSocket;
    this.#remainingMs = remainingMs;
  }

  /** Collects everything that `act` sends into one write. Otherwise each statement would be a system call. */
  together<Result>(act: () => Result): Result {
    const { stream } = this.#client.connection;
    stream.cork();
    try {
      return act();
    } finally {
      stream.uncork();
    }
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

  /** Sends a statement that is repeated. It is prepared, so that the server keeps its plan. */
  send(sql: string, values: readonly Value[]): Promise<Result> {
    const name = nameOf(sql);
    return this.#send({ text: sql, values, ...(name === undefined ? {} : { name }) });
  }

  /** Sends a statement that is not repeated in the same form. It is not prepared. */
  sendOnce(sql: string, values: readonly Value[]): Promise<Result> {
    return this.#send({ text: sql, values });
  }

  async #send({ values = [], ...statement }: Statement): Promise<Result> {
    // Without values the library uses the simple protocol, which accepts several statements in one text.
    const bound = values.length === 0 ? {} : { values: values.map((value) => (typeof value === 'string' ? storable(value) : value)) };
    const query: QueryConfig & { readonly query_timeout: number } = {
      ...statement,
      ...bound,
      query_timeout: Math.max(1, this.#remainingMs()),
    };
    try {
      return await this.#client.query<Record<string, unknown>>(query);
    } catch (thrown) {
      throw connectionFailureOf(thrown);
    }
  }
}

/** The most prepared statements, whose plans the server keeps for as long as the connection. Later statements are planned each time. */
const MOST_NAMES = 300;
const names = new Map<string, string>();

/** The name of a prepared statement, equal on all connections; undefined if it is not prepared. */
function nameOf(sql: string): string | undefined {
  const known = names.get(sql);
  if (known !== undefined || names.size >= MOST_NAMES) return known;
  const name = `s${names.size}`;
  names.set(sql, name);
  return name;
}
