// Opens the store. No SQL is written outside this folder.
import { randomUUID } from 'node:crypto';
import { StoreError } from './errors.ts';
import { repositories } from './repositories.ts';
import type { Store } from './verbs.ts';
import { Writer, type WriterOptions } from './writer.ts';

export type { Change, Changes, ChangesVerbs, TrackedTable } from './changes.ts';
export { StoreError, type StoreErrorCode } from './errors.ts';
export type * from './filters.ts';
export type { Lease, LeaseVerbs } from './leases.ts';
export type { LimitVerbs, Taken, WindowAmount } from './limits.ts';
export type { Purged, PurgeLimits } from './purge.ts';
export type * from './rows.ts';
export type { SessionClaim, SessionOwner, SessionOwnerVerbs } from './session-owners.ts';
export type { UsageTotal } from './usage-groups.ts';
export type { Store } from './verbs.ts';
export type { WriterStats as StoreStats } from './writer.ts';

export interface StoreOptions extends Partial<WriterOptions> {
  /** Unix milliseconds. */
  readonly clock: () => number;
  /** Names this process in the change records; random by default. */
  readonly writer?: string;
}

/** 50,000 rows are ten seconds of 5,000 turns a second, and about 30 MB. */
const defaults = { queueRows: 50_000, batchRows: 1_000, flushMs: 100, retryMs: [50, 2_000] } as const;

/**
 * Opens the store that a `store:` setting names: `sqlite:PATH`, or `sqlite::memory:` for tests.
 * @throws StoreError `bad_url`, `not_writable`, `corrupt`, `too_new` or `locked`, with a message for the operator.
 */
export async function openStore(url: string, options: StoreOptions): Promise<Store> {
  const [, scheme, place] = /^([a-z]+):(.+)$/s.exec(url) ?? [];
  if (scheme !== 'sqlite' || !place) throw new StoreError('bad_url', 'store: must be sqlite:PATH');
  const { openSqlite } = await import('./sqlite/sqlite.ts');
  const { clock, writer = randomUUID() } = options;
  const driver = await openSqlite(place, { clock, writer });
  return repositories({ driver, writer: new Writer(driver.write, { ...defaults, ...options }), clock, writerId: writer });
}
