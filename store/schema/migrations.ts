// The schema as numbered steps that are never edited after their release, and the one function that applies them.
import type { SqlSession } from '../driver.ts';
import { StoreError } from '../errors.ts';
import { RESERVE_LIMITS } from '../postgres/limits/reserve-limits.ts';
import type { StoreCondition } from './condition.ts';
import { FIRST_POSTGRES, FIRST_SCHEMA } from './first-schema.ts';
import { LARGE_LOGS } from './large-logs.ts';

export interface Migration {
  /** SQL for both engines. */
  readonly sql?: string;
  /** Additions for PostgreSQL: functions, sequences. A released function is never changed; a later step makes one of another name. */
  readonly postgres?: string;
}

/**
 * Step n upgrades a database from version n - 1 to n. During a rollout nodes of the previous version keep running. Therefore a step only
 * adds what they do not name: tables, indexes, and columns with a default.
 */
export const migrations: readonly Migration[] = [
  { sql: FIRST_SCHEMA, postgres: FIRST_POSTGRES + RESERVE_LIMITS },
  { sql: 'ALTER TABLE requests ADD COLUMN client_address TEXT' },
  {
    sql: `CREATE TABLE usage_hours (
      hour BIGINT NOT NULL, pool TEXT NOT NULL, account TEXT NOT NULL, model TEXT NOT NULL, requests BIGINT NOT NULL, failed BIGINT NOT NULL,
      unknown BIGINT NOT NULL, input_tokens BIGINT NOT NULL, cached_input_tokens BIGINT NOT NULL, output_tokens BIGINT NOT NULL,
      cost_nanos BIGINT NOT NULL, duration_ms BIGINT NOT NULL, first_events BIGINT NOT NULL, first_event_ms BIGINT NOT NULL,
      PRIMARY KEY (hour, pool, account, model)
    )`,
  },
  { sql: LARGE_LOGS },
  { sql: 'ALTER TABLE requests ADD COLUMN first_event_ms BIGINT' },
];

export interface MigrationOptions {
  readonly clock: () => number;
  /** Runs those statements of a step that the engine needs. */
  readonly apply: (step: Migration) => Promise<void>;
  /** The program's steps by default; tests append to them. */
  readonly steps?: readonly Migration[];
}

/**
 * Upgrades a database to the current schema. The adapter begins a transaction that excludes other migrations and commits it afterwards.
 * @throws StoreError `too_new` for the schema of a newer program
 */
export async function migrate(session: SqlSession, { clock, apply, steps = migrations }: MigrationOptions): Promise<void> {
  await session.script('CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL PRIMARY KEY, applied_at BIGINT NOT NULL)');
  const version = await versionOf(session);
  if (version > steps.length) {
    const found = `the store has schema version ${version}; this program supports version ${steps.length}`;
    throw new StoreError('too_new', `${found}: start a newer poolgate on it`);
  }
  for (const [index, step] of steps.entries()) {
    if (index < version) continue;
    await apply(step);
    await session.run('INSERT INTO schema_version (version, applied_at) VALUES ($1, $2)', [index + 1, clock()]);
  }
}

/** A condition for operators if this program cannot use the schema of the database; undefined if it can. */
export async function schemaCondition(session: Pick<SqlSession, 'query'>, place: string): Promise<StoreCondition | undefined> {
  const version = await versionOf(session);
  if (version <= migrations.length) return undefined;
  const message = `${place} has schema version ${version}; this program supports ${migrations.length}.`;
  return { level: 'problem', message, advice: 'Start a poolgate on it that is at least as new as the last one.' };
}

async function versionOf(session: Pick<SqlSession, 'query'>): Promise<number> {
  const [record] = await session.query('SELECT max(version) AS version FROM schema_version', []);
  return Number(record?.version ?? 0);
}
