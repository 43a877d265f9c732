// Inspects a database for operators, without changing it: each engine has checks of its own.
import type { StoreCondition } from './condition.ts';
import type { InspectionOptions } from './postgres/inspection.ts';

const SQLITE = 'sqlite:';
const IN_MEMORY = 'sqlite::memory:';

/**
 * @param url as for `openStore`
 * @param options the deadline is for all checks together; one that it ends is a warning
 */
export async function inspectStore(url: string, options: InspectionOptions): Promise<readonly StoreCondition[]> {
  if (url === IN_MEMORY) return [{ level: 'ok', message: 'The store is in memory: nothing is kept after a stop.' }];
  if (!url.startsWith(SQLITE)) return (await import('./postgres/inspection.ts')).inspectPostgres(url, options);
  const { inspectSqlite } = await import('./sqlite/inspection.ts');
  return inspectSqlite(url.slice(SQLITE.length), options.deadlineMs);
}

/** Files of a database, which may be missing; none where it is not in files of this machine. */
export function storeFiles(url: string): readonly string[] {
  if (url === IN_MEMORY || !url.startsWith(SQLITE)) return [];
  const path = url.slice(SQLITE.length);
  return [path, `${path}-wal`, `${path}-shm`];
}
