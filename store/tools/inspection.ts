// Inspects a database for operators without changing it. Each engine has its own checks.
import { isPostgres, sqlitePath } from '../engine.ts';
import { StoreError } from '../errors.ts';
import type { StoreCondition } from '../schema/condition.ts';

const MEMORY = ':memory:';

/**
 * @param url as for `openStore`
 * @param deadlineMs for all checks together; a check that it cuts off becomes a warning
 * @throws StoreError `bad_url`
 */
export async function inspectStore(url: string, deadlineMs: number): Promise<readonly StoreCondition[]> {
  if (isPostgres(url)) return (await import('../postgres/postgres-inspection.ts')).inspectPostgres(url, deadlineMs);
  const path = sqlitePath(url);
  if (path === undefined) throw new StoreError('bad_url', 'store: must be sqlite:PATH or the URL of a PostgreSQL database');
  if (path === MEMORY) return [{ level: 'ok', message: 'The store is in memory: nothing is kept after a stop.' }];
  return (await import('../sqlite/sqlite-inspection.ts')).inspectSqlite(path, deadlineMs);
}

/** The files of a database, which may be missing; an empty list if it is not in files of this machine. */
export function storeFiles(url: string): readonly string[] {
  const path = sqlitePath(url);
  return path === undefined || path === MEMORY ? [] : [path, `${path}-wal`, `${path}-shm`];
}
