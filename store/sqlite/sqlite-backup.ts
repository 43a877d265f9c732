// Backups of a SQLite file: creation while a gateway runs, check, and restore. A backup is one file with all rows at one point in time and
// their digests.
import { constants } from 'node:fs';
import { access, copyFile, link, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { StoreError } from '../errors.ts';
import { codeOf, makeFolderOf, writeFaultOf } from '../folder.ts';
import { migrations } from '../schema/migrations.ts';
import { type CopiedCount, countRows } from '../tools/copy.ts';
import type { CopySide } from '../tools/copy-side.ts';
import { SqliteConnection } from './sqlite-connection.ts';
import { sideOf } from './sqlite-copy.ts';

/** What a backup states about itself. */
export interface Manifest {
  /** When the backup was made, ISO 8601. */
  readonly made_at: string;
  /** The version of poolgate. */
  readonly version: string;
  readonly schema_version: number;
  /**
   * A digest under the key of the store. It shows whether a key is the one that encrypted the credentials. Null if the key was not known.
   */
  readonly key_check: string | null;
  readonly tables: readonly CopiedCount[];
}

export interface CheckedBackup {
  /** Undefined if the file is no backup. */
  readonly manifest: Manifest | undefined;
  /** Sentences for operators; empty for a backup that can be restored. */
  readonly faults: readonly string[];
}

const TABLE = 'backup_manifest';
const WAIT_MS = 5_000;

/**
 * @param path of the database; a gateway may have it open
 * @param file must not exist
 */
export async function backupSqlite(path: string, file: string, about: Pick<Manifest, 'version' | 'key_check'>): Promise<Manifest> {
  const fault = await readFaultOf(path);
  if (fault !== undefined) {
    throw new StoreError('bad_url', `store ${path}: ${fault}${fault === NO_FILE ? '; the first start of the gateway creates it' : ''}`);
  }
  if (await exists(file)) throw new StoreError('not_empty', `${file} exists: name a file that does not`);
  const part = `${file}.part`;
  await prepared(part);
  try {
    // Readers see one snapshot, without rows that are written during the copy.
    await using(path, async (source) => {
      await source.run('VACUUM INTO $1', [part]);
    }).catch((thrown) => {
      throw sourceFault(thrown, path, file);
    });
    const manifest = await using(part, (copy) => written(copy, about));
    await synced(part);
    await link(part, file).catch((thrown) => {
      throw new StoreError('not_writable', `${file}: ${writeFaultOf(thrown)}`, { cause: thrown });
    });
    return manifest;
  } finally {
    await Promise.all([part, `${part}-journal`].map((one) => rm(one, { force: true })));
  }
}

/** Reads every row and compares it with the manifest. The file is not written. */
export async function checkBackup(file: string): Promise<CheckedBackup> {
  const fault = await readFaultOf(file);
  if (fault !== undefined) throw new StoreError('bad_url', `${file}: ${fault}`);
  const connection = await SqliteConnection.openReadOnly(file, 'immutable');
  try {
    const manifest = await manifestIn(connection);
    if (!manifest) return { manifest, faults: [`${file} is not a backup of poolgate.`] };
    const found = await connection.query('PRAGMA integrity_check(1)', []);
    if (String(found[0]?.integrity_check) !== 'ok') return { manifest, faults: [`${file} is damaged: SQLite's integrity check fails.`] };
    if (manifest.schema_version > migrations.length) {
      const message = `${file} has schema version ${manifest.schema_version}; this program supports ${migrations.length}: use a newer poolgate.`;
      return { manifest, faults: [message] };
    }
    return { manifest, faults: await differences(sideOf(connection), manifest, file) };
  } catch (thrown) {
    if (!(thrown instanceof StoreError)) throw thrown;
    const why = thrown.code === 'corrupt' ? 'SQLite cannot read it' : thrown.message;
    return { manifest: undefined, faults: [`${file} is not a backup of poolgate, or it is damaged: ${why}.`] };
  } finally {
    await connection.close();
  }
}

/**
 * Replaces the database by a checked backup.
 * @param now for the name that the previous database gets
 * @returns the path of the previous database; undefined if there was none
 * @throws StoreError `locked` if a gateway has the database
 */
export async function restoreSqlite(file: string, path: string, { force, now }: { readonly force: boolean; readonly now: Date }) {
  const hasFormer = await exists(path);
  if (hasFormer && !force)
    throw new StoreError('not_empty', `${path} exists: with --force it is moved aside, and the backup takes its place`);
  await makeFolderOf(path);
  const lock = await gatewayLock(path);
  const part = `${path}.part`;
  try {
    await prepared(part);
    await copyFile(file, part);
    await using(part, (copy) => copy.script(`DROP TABLE ${TABLE}`));
    await synced(part);
    const aside = hasFormer ? `${path}.before-${now.toISOString().replace(/[:.]/g, '-')}` : undefined;
    // The WAL is moved with its database.
    if (aside !== undefined) for (const end of ['', '-wal', '-shm']) await rename(path + end, aside + end).catch(ifMissing);
    await rename(part, path);
    return aside;
  } finally {
    await lock.close();
    await Promise.all([part, `${part}-journal`].map((one) => rm(one, { force: true })));
  }
}

/** Takes the lock that a running gateway claims. */
async function gatewayLock(path: string): Promise<SqliteConnection> {
  const connection = await SqliteConnection.open(`${path}-gateway`);
  try {
    await connection.script('BEGIN EXCLUSIVE');
    return connection;
  } catch (thrown) {
    await connection.close();
    if (thrown instanceof StoreError && thrown.code === 'locked')
      throw new StoreError('locked', `a gateway has ${path} open: stop it, then restore`, { cause: thrown });
    throw thrown;
  }
}

async function written(copy: SqliteConnection, about: Pick<Manifest, 'version' | 'key_check'>): Promise<Manifest> {
  const [record] = await copy.query('SELECT max(version) AS version FROM schema_version', []);
  const manifest = {
    made_at: new Date().toISOString(),
    ...about,
    schema_version: Number(record?.version ?? 0),
    tables: await countsOf(sideOf(copy)),
  };
  await copy.script(`CREATE TABLE ${TABLE} (id BIGINT NOT NULL PRIMARY KEY, content TEXT NOT NULL)`);
  await copy.run(`INSERT INTO ${TABLE} (id, content) VALUES (1, $1)`, [JSON.stringify(manifest)]);
  return manifest;
}

async function manifestIn(connection: SqliteConnection): Promise<Manifest | undefined> {
  const [table] = await connection.query('SELECT name FROM sqlite_schema WHERE name = $1', [TABLE]);
  if (!table) return undefined;
  const [record] = await connection.query(`SELECT content FROM ${TABLE}`, []);
  return JSON.parse(String(record?.content)) as Manifest;
}

async function countsOf(side: CopySide): Promise<readonly CopiedCount[]> {
  const counts: CopiedCount[] = [];
  for (const table of await side.tables()) if (table.name !== TABLE) counts.push(await countRows(side, table));
  return counts;
}

async function differences(side: CopySide, manifest: Manifest, file: string): Promise<readonly string[]> {
  const found = new Map((await countsOf(side)).map((count) => [count.table, count]));
  return manifest.tables.flatMap(({ table, rows, digest }) => {
    const other = found.get(table);
    if (other?.rows === rows && other.digest === digest) return [];
    return [`${file}: the rows of ${table} are not those that were backed up (${rows} then, ${other?.rows ?? 0} now).`];
  });
}

async function using<Result>(path: string, work: (connection: SqliteConnection) => Promise<Result>): Promise<Result> {
  const connection = await SqliteConnection.open(path);
  try {
    await connection.script(`PRAGMA busy_timeout = ${WAIT_MS}`);
    return await work(connection);
  } finally {
    await connection.close();
  }
}

/** Creates an empty file that only its owner may read, because it will have metadata and encrypted credentials. */
async function prepared(part: string): Promise<void> {
  try {
    await makeFolderOf(part);
    await rm(part, { force: true });
    await (await open(part, 'wx', 0o600)).close();
  } catch (thrown) {
    throw new StoreError('not_writable', `${dirname(part)}: ${writeFaultOf(thrown)}`, { cause: thrown });
  }
}

async function synced(file: string): Promise<void> {
  const handle = await open(file, 'r+');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Names the files of an error while a store is copied, because SQLite's own message names none. */
function sourceFault(thrown: unknown, path: string, file: string): unknown {
  if (!(thrown instanceof StoreError)) return thrown;
  const { code, message } = thrown;
  const why = code === 'corrupt' ? 'it is not a SQLite database, or it is damaged' : `it cannot be copied to ${file} (${message})`;
  return new StoreError(code, `store ${path}: ${why}; \`poolgate doctor\` gives advice`, { cause: thrown });
}

const NO_FILE = 'there is no such file';

/** Why this user cannot read a file; undefined if it can be read. */
async function readFaultOf(path: string): Promise<string | undefined> {
  try {
    if ((await stat(path)).isDirectory()) return 'it is a folder';
    await access(path, constants.R_OK);
    return undefined;
  } catch (thrown) {
    const code = codeOf(thrown);
    if (code === 'ENOENT' || code === 'ENOTDIR') return NO_FILE;
    return code === 'EACCES' || code === 'EPERM' ? `this user may not read it (${code})` : `it cannot be read (${code})`;
  }
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

function ifMissing(thrown: NodeJS.ErrnoException): void {
  if (thrown.code !== 'ENOENT') throw thrown;
}
