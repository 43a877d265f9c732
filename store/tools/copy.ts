// Copies a whole store into an empty one, of either engine, and compares them row by row before the copy is committed.
import { createHash } from 'node:crypto';
import type { Value } from '../driver.ts';
import { StoreError } from '../errors.ts';
import { decode } from '../schema/decoders.ts';
import type { TableColumns } from '../schema/tables.ts';
import type { CopiedRow, CopyRole, CopySide } from './copy-side.ts';

export interface CopiedCount {
  readonly table: string;
  readonly rows: number;
  /** SHA-256 over all rows in the order of their keys. */
  readonly digest: string;
}

/** The most bytes of a table that are in memory at once. */
const CHUNK_BYTES = 4 << 20;
const MOST_ROWS = 1_000;
const FIRST_ROWS = 50;

/**
 * @param from,to URLs as for `openStore`; writes of nodes to the source during the copy are not noticed
 * @param copied called for each table after it was copied and compared
 * @throws StoreError `not_empty` if the destination has rows; after every failure the destination is unchanged
 */
export async function copyStore(from: string, to: string, copied: (count: CopiedCount) => void = () => undefined): Promise<void> {
  await withSide(from, 'source', (source) =>
    withSide(to, 'destination', async (destination) => {
      const tables = await destination.tables();
      await checkEmpty(destination, tables);
      for (const table of await source.tables()) {
        if (!tables.some(({ name }) => name === table.name)) throw new StoreError('failed', `the destination has no table ${table.name}`);
        copied(await copyTable(table, { source, destination }));
      }
      await destination.continueTokens(await source.lastToken());
    }),
  );
}

/** Opens the engine of the URL. The library of an engine that is at neither end is not loaded. */
async function withSide<Result>(url: string, role: CopyRole, work: (side: CopySide) => Promise<Result>): Promise<Result> {
  if (url.startsWith('sqlite:')) return (await import('../sqlite/sqlite-copy.ts')).withSqliteSide(url, role, work);
  return (await import('../postgres/postgres-copy.ts')).withPostgresSide(url, role, work);
}

async function checkEmpty(destination: CopySide, tables: readonly TableColumns[]): Promise<void> {
  const filled: string[] = [];
  for (const { name } of tables) if ((await destination.query(`SELECT 1 FROM ${name} LIMIT 1`, [])).length > 0) filled.push(name);
  if (filled.length > 0) throw new StoreError('not_empty', `the destination has rows in ${filled.join(', ')}; it must be empty`);
}

async function copyTable(
  table: TableColumns,
  { source, destination }: { readonly source: CopySide; readonly destination: CopySide },
): Promise<CopiedCount> {
  const sent = new Digest();
  for await (const rows of chunksOf(source, table)) {
    sent.add(rows);
    await destination.insert(table, rows);
  }
  const [expected, found] = [sent.count(table.name), await countRows(destination, table)];
  if (expected.rows === found.rows && expected.digest === found.digest) return expected;
  throw new StoreError('failed', `${table.name} differs in the destination: ${expected.rows} rows were sent, ${found.rows} arrived`);
}

/** The number and the digest of the rows of a table. */
export async function countRows(side: CopySide, table: TableColumns): Promise<CopiedCount> {
  const digest = new Digest();
  for await (const rows of chunksOf(side, table)) digest.add(rows);
  return digest.count(table.name);
}

/** All rows in the order of the key, which is the same in both engines. */
async function* chunksOf(end: CopySide, table: TableColumns): AsyncGenerator<readonly CopiedRow[]> {
  const { name, columns, key } = table;
  const keys = key.join(', ');
  const behind = ` WHERE (${keys}) > (${key.map((_, i) => `$${i + 1}`).join(', ')})`;
  let last: readonly Value[] | undefined;
  for (let limit = FIRST_ROWS; ; ) {
    const sql = `SELECT ${columns.join(', ')} FROM ${name}${last ? behind : ''} ORDER BY ${keys} LIMIT ${limit}`;
    const rows = (await end.query(sql, last ?? [])).map((record) => rowOf(table, record));
    const final = rows.at(-1);
    if (!final) return;
    yield rows;
    if (rows.length < limit) return;
    last = key.map((column) => final[columns.indexOf(column)] ?? null);
    const bytes = rows.reduce(
      (sum, row) => row.reduce<number>((all, value) => all + (typeof value === 'string' ? value.length : 8), sum),
      0,
    );
    limit = Math.max(1, Math.min(MOST_ROWS, Math.floor((CHUNK_BYTES * rows.length) / bytes)));
  }
}

/** A record as both engines store it: PostgreSQL has no NUL in a text, and no fraction in a BIGINT. */
function rowOf({ name, fields }: TableColumns, record: Readonly<Record<string, unknown>>): CopiedRow {
  return fields.map(({ column, type }) => {
    const value = decode(type, record[column], `${name}.${column}`) as Value;
    return typeof value === 'string' ? value.replaceAll('\0', '\ufffd') : value;
  });
}

class Digest {
  readonly #hash = createHash('sha256');
  #rows = 0;

  add(rows: readonly CopiedRow[]): void {
    for (const row of rows) this.#hash.update(`${JSON.stringify(row)}\n`);
    this.#rows += rows.length;
  }

  count(table: string): CopiedCount {
    return { table, rows: this.#rows, digest: this.#hash.digest('hex') };
  }
}
