// Inspects a SQLite file for operators: integrity, schema version, sizes, and the disk that it is on. The file is opened for reading only.
import { constants } from 'node:fs';
import { access, stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { StoreError } from '../errors.ts';
import type { StoreCondition } from '../schema/condition.ts';
import { schemaCondition } from '../schema/migrations.ts';
import { SqliteConnection } from './sqlite-connection.ts';

export async function inspectSqlite(path: string, deadlineMs: number): Promise<readonly StoreCondition[]> {
  const size = await sizeOf(path);
  const folder = await nearestFolder(path);
  const unwritable = folderConditions(folder, await isWritable(`${folder}/`));
  const further = [...unwritable, ...(await diskConditions(folder))];
  if (size !== undefined) return [...(await contentConditions(path, deadlineMs)), ...(await sizeConditions(path, size)), ...further];
  if (unwritable.length > 0) return further;
  return [{ level: 'ok', message: `${path} does not exist; the first start creates it.` }, ...further];
}

/** SQLite lists at most as many faults. */
const MOST_FAULTS = 20;
/** How often the check is interrupted after the deadline, until it ends. */
const AGAIN_MS = 50;

async function contentConditions(path: string, deadlineMs: number): Promise<readonly StoreCondition[]> {
  let connection: SqliteConnection | undefined;
  try {
    // Without a WAL file no process has the database open, and SQLite would create one.
    const isOpen = (await sizeOf(`${path}-wal`)) !== undefined;
    connection = await SqliteConnection.openReadOnly(path, isOpen ? 'shared' : 'immutable');
    return [...(await versionConditions(connection, path)), await integrityCondition(connection, path, deadlineMs)];
  } catch (thrown) {
    if (thrown instanceof StoreError) return [unreadable(path, thrown)];
    throw thrown;
  } finally {
    await connection?.close();
  }
}

async function integrityCondition(connection: SqliteConnection, path: string, deadlineMs: number): Promise<StoreCondition> {
  let late = false;
  const end = (): void => {
    late = true;
    connection.interrupt();
    // Repeated, because an interrupt does nothing while the statement waits for a thread.
    timer = setTimeout(end, AGAIN_MS);
  };
  let timer = setTimeout(end, deadlineMs);
  try {
    const rows = await connection.query(`PRAGMA integrity_check(${MOST_FAULTS})`, []);
    const faults = rows.map((row) => String(row.integrity_check)).filter((text) => text !== 'ok');
    if (faults.length === 0) return { level: 'ok', message: `${path} passes SQLite's integrity check.` };
    return damaged(path, `SQLite's integrity check finds ${faults.length === MOST_FAULTS ? 'at least ' : ''}${faults.length} faults`);
  } catch (thrown) {
    if (!late) throw thrown;
    return {
      level: 'warning',
      message: `${path}: the integrity check did not end within ${deadlineMs / 1000} s.`,
      advice: `Run it on a copy: sqlite3 ${path} ".backup copy.db", then sqlite3 copy.db "PRAGMA integrity_check".`,
    };
  } finally {
    clearTimeout(timer);
  }
}

async function versionConditions(connection: SqliteConnection, path: string): Promise<readonly StoreCondition[]> {
  const tables = await connection.query("SELECT name FROM sqlite_master WHERE name = 'schema_version'", []);
  if (tables.length === 0) return [{ level: 'ok', message: `${path} has no tables; the next start creates them.` }];
  const condition = await schemaCondition(connection, path);
  return condition ? [condition] : [];
}

function unreadable(path: string, { code, message }: StoreError): StoreCondition {
  if (code === 'corrupt') return damaged(path, 'it is not a SQLite database, or a damaged one');
  if (code === 'locked') {
    return {
      level: 'problem',
      message: `${path} is locked by another process.`,
      advice: 'Find that process, such as `sqlite3`, and end it.',
    };
  }
  return { level: 'problem', message: `${path} cannot be read (${message}).`, advice: 'Run doctor as the user of the gateway.' };
}

const damaged = (path: string, how: string): StoreCondition => ({
  level: 'problem',
  message: `${path} is damaged: ${how}.`,
  advice: `Stop the gateway and restore a backup, or keep what can be read: sqlite3 ${path} ".recover" | sqlite3 new.db.`,
});

/** The gateway lets the WAL grow to 64 MiB. A larger one shows a reader that never ends and keeps it from being emptied. */
const LARGE_LOG_BYTES = 256 << 20;

const OR_MOUNT = ', or mount its file system writable if it is read-only.';

async function sizeConditions(path: string, size: number): Promise<readonly StoreCondition[]> {
  const log = (await sizeOf(`${path}-wal`)) ?? 0;
  const sizes = `${path} has ${mebibytes(size)}, and its log of writes ${mebibytes(log)}`;
  return [
    log <= LARGE_LOG_BYTES
      ? { level: 'ok', message: `${sizes}.` }
      : {
          level: 'warning',
          message: `${sizes}: SQLite could not empty it.`,
          advice: 'End other programs that read the database; the log is emptied then.',
        },
    ...((await isWritable(path))
      ? []
      : [
          {
            level: 'problem',
            message: `${path} cannot be written.`,
            advice: `Give the file to the user of the gateway${OR_MOUNT}`,
          } as const,
        ]),
  ];
}

/** @param folder the folder of the database, or the nearest existing one; SQLite creates the WAL next to the database */
export function folderConditions(folder: string, writable: boolean): readonly StoreCondition[] {
  if (writable) return [];
  const message = `${folder} cannot be written: the gateway cannot create the database in it, or the database's log of writes.`;
  return [{ level: 'problem', message, advice: `Give the folder to the user of the gateway${OR_MOUNT}` }];
}

/** @param path ends with a slash for a folder, so that a file of this name does not count */
const isWritable = (path: string): Promise<boolean> =>
  access(path, path.endsWith('/') ? constants.W_OK | constants.X_OK : constants.W_OK).then(
    () => true,
    () => false,
  );

const SCARCE_BYTES = 100 << 20;
const LOW_BYTES = 1 << 30;

/** Types of network file systems as Linux reports them: NFS, SMB, CIFS, SMB2. WAL needs shared memory, which they do not have. */
const NETWORK_FILE_SYSTEMS: ReadonlySet<number> = new Set([0x6969, 0x517b, 0xff534d42, 0xfe534d42]);

async function diskConditions(folder: string): Promise<readonly StoreCondition[]> {
  const { bavail, bsize, type } = await statfs(folder);
  const remote: StoreCondition = {
    level: 'warning',
    message: `${folder} is on a network file system, on which SQLite can damage the database.`,
    advice: 'Put the store on a local disk.',
  };
  return [freeSpaceCondition(folder, bavail * bsize), ...(NETWORK_FILE_SYSTEMS.has(type >>> 0) ? [remote] : [])];
}

/** Advice for a disk that is almost full. A file does not shrink, because SQLite keeps the pages of deleted rows for new ones. */
const FREE_SOME =
  'Free some. A lower retention.requests_days keeps the database from growing; what it has already does not become smaller.';

export function freeSpaceCondition(folder: string, bytes: number): StoreCondition {
  const message = `${folder} has ${mebibytes(bytes)} of free disk.`;
  if (bytes >= LOW_BYTES) return { level: 'ok', message };
  return { level: bytes < SCARCE_BYTES ? 'problem' : 'warning', message, advice: FREE_SOME };
}

const mebibytes = (bytes: number): string => `${Math.ceil(bytes / (1 << 20))} MiB`;

/** The size of a file; undefined if it does not exist. */
const sizeOf = (path: string): Promise<number | undefined> =>
  stat(path).then(
    ({ size }) => size,
    () => undefined,
  );

/** The folder of a file, or the nearest existing one above it. */
async function nearestFolder(path: string): Promise<string> {
  const folder = dirname(path);
  if (folder === path || (await sizeOf(folder)) !== undefined) return folder;
  return nearestFolder(folder);
}
