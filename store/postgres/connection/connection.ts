// One connection to PostgreSQL, for as long as its user has it: statements prepared by name, errors as StoreErrors.
import type { ClientBase, QueryConfig } from 'pg';
import type { DatabaseRecord, Session, Value } from '../../driver.ts';
import { storable } from '../storable-text.ts';
import { connectionFailureOf } from './failures.ts';

export interface Result {
  readonly rows: readonly DatabaseRecord[];
  readonly rowCount: number | null;
}

interface Statement {
  readonly text: string;
  readonly name?: string;
  readonly values?: readonly Value[];
}

/** The socket under a client, which the types of the library leave out. */
interface OverSocket {
  readonly connection: { readonly stream: { cork(): void; uncork(): void } };
}

/** Statements may be sent before the answers of earlier ones came: they run in order, and after one that failed its transaction runs none. */
export class Connection implements Session {
  readonly #client: ClientBase & OverSocket;
  readonly #remainingMs: () => number;

  /** @param remainingMs how long the next statement may take */
  constructor(client: ClientBase, remainingMs: () => number) {
    this.#client = client as ClientBase & OverSocket;
    this.#remainingMs = remainingMs;
  }

  /** Sends what `act` sends at once in one write: else each statement is a call of the system. */
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

  /** Runs a statement that is repeated: the server keeps its plan. */
  send(sql: string, values: readonly Value[]): Promise<Result> {
    const name = nameOf(sql);
    return this.#send({ text: sql, values, ...(name === undefined ? {} : { name }) });
  }

  /** Runs a statement that has many forms. */
  sendOnce(sql: string, values: readonly Value[]): Promise<Result> {
    return this.#send({ text: sql, values });
  }

  async #send({ values = [], ...statement }: Statement): Promise<Result> {
    // Without values the library uses the protocol that accepts several statements in one text.
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

/** The server keeps a plan for as long as the connection: statements past these are planned each time. */
const MOST_NAMES = 300;
const names = new Map<string, string>();

/** The name of a statement, the same on every connection. */
function nameOf(sql: string): string | undefined {
  const known = names.get(sql);
  if (known !== undefined || names.size >= MOST_NAMES) return known;
  const name = `s${names.size}`;
  names.set(sql, name);
  return name;
}
