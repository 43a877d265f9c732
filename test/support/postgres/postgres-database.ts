// A PostgreSQL database for tests: it provides empty schemas, settings of gateways, and statements.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';

export const addressOf = (folder: string, database: string): string =>
  `postgres://poolgate@localhost/${database}?host=${encodeURIComponent(folder)}`;

/** A database, with the rights of its owner. */
export class Postgres {
  readonly #folder: string;
  #schemas = 0;
  #urls = 0;
  readonly url: string;

  /** @param folder the folder for what gateways read: files with its address, and their key */
  constructor(url: string, folder: string) {
    this.url = url;
    this.#folder = folder;
  }

  /**
   * The URL of an empty database. It is a schema of one database, which takes a fiftieth of the time to create. Schemas share only
   * notifications and advisory locks.
   */
  async fresh(): Promise<string> {
    const schema = `test_${++this.#schemas}`;
    await this.query(this.url, `CREATE SCHEMA ${schema}`);
    return `${this.url}&options=${encodeURIComponent(`-c search_path=${schema}`)}`;
  }

  /** The settings for a gateway on this database, with the key that all gateways on this server share. */
  settings(url: string): { readonly store: object; readonly store_key: object } {
    const file = join(this.#folder, `url-${++this.#urls}`);
    writeFileSync(file, url);
    return { store: { postgres: { file } }, store_key: { file: join(this.#folder, 'store.key') } };
  }

  /** Runs one statement on a separate connection. */
  async query(url: string, sql: string): Promise<readonly Record<string, unknown>[]> {
    const client = await connected(url);
    try {
      return (await client.query<Record<string, unknown>>(sql)).rows;
    } finally {
      await client.end();
    }
  }
}

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/**
 * A database on the server of all files. The connection of a statement stays open for the next one, because the server starts a process for
 * each connection.
 */
export class SharedPostgres extends Postgres {
  #last: { readonly url: string; readonly client: pg.Client } | undefined;
  #statements: Promise<unknown> = Promise.resolve();

  /** Creates a database on the server of this folder, so that notifications and advisory locks are separate too. */
  static async on(folder: string): Promise<SharedPostgres> {
    const name = `process_${process.pid}`;
    const own = join(folder, name);
    mkdirSync(own);
    const server = new Postgres(addressOf(folder, 'postgres'), own);
    await server.query(server.url, `CREATE DATABASE ${name}`);
    return new SharedPostgres(addressOf(folder, name), own);
  }

  override query(url: string, sql: string): Promise<readonly Record<string, unknown>[]> {
    const rows = this.#statements.then(async () => (await (await this.#at(url)).query<Record<string, unknown>>(sql)).rows);
    this.#statements = rows.catch(() => undefined);
    return rows;
  }

  async #at(url: string): Promise<pg.Client> {
    if (this.#last?.url !== url) {
      await this.#last?.client.end();
      const client = await connected(url);
      client.once('end', () => {
        if (this.#last?.client === client) this.#last = undefined;
      });
      this.#last = { url, client };
    }
    return this.#last.client;
  }
}
