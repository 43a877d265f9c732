// The schema, as numbered steps that are never edited once released, and the one way to apply them.
// Plain SQL that SQLite and PostgreSQL read alike: BIGINT for every number, TEXT for the rest (JSON too), booleans as 0 and 1.

import type { Session } from '../driver.ts';
import { StoreError } from '../errors.ts';
import { RESERVE_LIMITS } from '../postgres/limits/reserve-limits.ts';
import { TAKE_LIMITS } from '../postgres/limits/take-limits.ts';
import type { StoreCondition } from './condition.ts';

const first = `
  CREATE TABLE requests (
    id TEXT NOT NULL PRIMARY KEY, at BIGINT NOT NULL, family TEXT NOT NULL, endpoint TEXT NOT NULL, method TEXT NOT NULL,
    status BIGINT NOT NULL, status_class TEXT NOT NULL, pool TEXT, pool_label TEXT, account TEXT, key_id TEXT, model TEXT, code TEXT,
    retries BIGINT NOT NULL, duration_ms BIGINT NOT NULL, input_tokens BIGINT, cached_input_tokens BIGINT, output_tokens BIGINT,
    tokens_estimated BIGINT NOT NULL, configured_mode TEXT, effective_mode TEXT, mode_source TEXT, reason_class TEXT, error_class TEXT,
    payload_compression TEXT, upstream_error_param TEXT, why TEXT, outcome TEXT NOT NULL
  );
  CREATE INDEX requests_newest ON requests (at, id);
  CREATE INDEX requests_newest_of_pool ON requests (pool, at, id);

  CREATE TABLE attempts (
    request_id TEXT NOT NULL, ordinal BIGINT NOT NULL, at BIGINT NOT NULL, account TEXT NOT NULL, cause TEXT NOT NULL, status BIGINT,
    error_class TEXT, duration_ms BIGINT NOT NULL, upstream_error_param TEXT, PRIMARY KEY (request_id, ordinal)
  );
  CREATE INDEX attempts_oldest ON attempts (at);

  CREATE TABLE catalog (account TEXT NOT NULL PRIMARY KEY, entries TEXT NOT NULL, etag TEXT, read_at BIGINT NOT NULL);

  CREATE TABLE account_state (
    account TEXT NOT NULL, model TEXT NOT NULL, health TEXT NOT NULL, cooldown_until BIGINT, streak BIGINT NOT NULL, cause TEXT,
    windows TEXT, updated_at BIGINT NOT NULL, PRIMARY KEY (account, model)
  );

  CREATE TABLE pins (
    kind TEXT NOT NULL, pool TEXT NOT NULL, key_id TEXT NOT NULL, hash TEXT NOT NULL, account TEXT NOT NULL, expires_at BIGINT NOT NULL,
    PRIMARY KEY (kind, pool, key_id, hash)
  );
  CREATE INDEX pins_oldest ON pins (expires_at);

  CREATE TABLE audit (
    id TEXT NOT NULL PRIMARY KEY, at BIGINT NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL, target TEXT NOT NULL, pool TEXT,
    fields TEXT NOT NULL
  );
  CREATE INDEX audit_newest ON audit (at, id);
`;

const credentials = `
  CREATE TABLE credentials (account TEXT NOT NULL PRIMARY KEY, imported TEXT NOT NULL, sealed TEXT, updated_at BIGINT NOT NULL);
`;

const usage = `
  CREATE TABLE usage (
    key_id TEXT NOT NULL, pool TEXT NOT NULL, day BIGINT NOT NULL, requests BIGINT NOT NULL, unknown BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL, cached_input_tokens BIGINT NOT NULL, output_tokens BIGINT NOT NULL, cost_nanos BIGINT NOT NULL,
    held_tokens BIGINT NOT NULL, held_nanos BIGINT NOT NULL, PRIMARY KEY (key_id, pool, day)
  );
  CREATE INDEX usage_oldest ON usage (day);
`;

/** The digest covers kind, Pool and key. */
const leanPins = `
  CREATE TABLE lean_pins (hash TEXT NOT NULL PRIMARY KEY, account TEXT NOT NULL, expires_at BIGINT NOT NULL);
  INSERT INTO lean_pins SELECT hash, account, expires_at FROM pins;
  DROP TABLE pins;
  ALTER TABLE lean_pins RENAME TO pins;
  CREATE INDEX pins_oldest ON pins (expires_at);
`;

/** What several processes on one database need: changes, leases, limits. */
const coordination = `
  CREATE TABLE counters (name TEXT NOT NULL PRIMARY KEY, value BIGINT NOT NULL);
  INSERT INTO counters (name, value) VALUES ('version', 0), ('lease_token', 0);

  CREATE TABLE changes (
    table_name TEXT NOT NULL, row_key TEXT NOT NULL, version BIGINT NOT NULL, writer TEXT NOT NULL, at BIGINT NOT NULL,
    PRIMARY KEY (table_name, row_key, writer)
  );
  CREATE INDEX changes_newest ON changes (version);

  CREATE TABLE leases (name TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, token BIGINT NOT NULL, expires_at BIGINT NOT NULL);

  CREATE TABLE limit_slots (window_name TEXT NOT NULL, slot BIGINT NOT NULL, used BIGINT NOT NULL, PRIMARY KEY (window_name, slot));
  CREATE INDEX limit_slots_oldest ON limit_slots (slot);
  CREATE TABLE limit_grants (
    grant_id TEXT NOT NULL, window_name TEXT NOT NULL, slot BIGINT NOT NULL, amount BIGINT NOT NULL, settled BIGINT NOT NULL,
    at BIGINT NOT NULL, PRIMARY KEY (grant_id, window_name)
  );
  CREATE INDEX limit_grants_oldest ON limit_grants (at);
`;

const files = `
  CREATE TABLE files (
    pool TEXT NOT NULL, id TEXT NOT NULL, account TEXT NOT NULL, filename TEXT NOT NULL, bytes BIGINT NOT NULL, purpose TEXT NOT NULL,
    status TEXT NOT NULL, created_at BIGINT NOT NULL, expires_at BIGINT, PRIMARY KEY (pool, id)
  );
  CREATE INDEX files_newest ON files (pool, created_at, id);
  CREATE INDEX files_oldest ON files (expires_at);
`;

/** The next start compares its file with it: changes that were made while no gateway ran are audited field by field. */
const runningConfig = `
  CREATE TABLE running_config (name TEXT NOT NULL PRIMARY KEY, config TEXT NOT NULL, at BIGINT NOT NULL);
`;

/** A program that opens a newer schema reads here whether it may use it. */
const oldestProgram = `
  ALTER TABLE schema_version ADD COLUMN oldest BIGINT NOT NULL DEFAULT 0;
`;

/** What all nodes on the database must have in common, such as the digest of a fixed text under a shared secret. */
const checkValues = `
  CREATE TABLE check_values (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL);
`;

/** A batch that a process writes again, because the answer to its commit was lost, is recognised by its number. */
const onceWritten = `
  CREATE TABLE written_batches (process TEXT NOT NULL PRIMARY KEY, batch BIGINT NOT NULL, at BIGINT NOT NULL);
`;

/** Tokens without a row that all leases lock. */
const leaseTokens = `
  CREATE SEQUENCE lease_tokens;
  SELECT setval('lease_tokens', (SELECT value + 1 FROM counters WHERE name = 'lease_token'), false);
`;

/** Nodes, their slots of the accounts, and the limits of keys over all nodes, which replace limits by windows that nothing used. */
const nodes = `
  CREATE TABLE nodes (
    id TEXT NOT NULL PRIMARY KEY, token BIGINT NOT NULL, address TEXT, version TEXT NOT NULL, config_digest TEXT NOT NULL,
    started_at BIGINT NOT NULL, expires_at BIGINT NOT NULL
  );
  CREATE TABLE slots (
    account TEXT NOT NULL, node BIGINT NOT NULL, held BIGINT NOT NULL, wanted BIGINT NOT NULL, since BIGINT NOT NULL,
    PRIMARY KEY (account, node)
  );
  CREATE TABLE slot_locks (account TEXT NOT NULL PRIMARY KEY);
  CREATE TABLE key_grants (
    grant_id TEXT NOT NULL PRIMARY KEY, key_id TEXT NOT NULL, node BIGINT NOT NULL, at BIGINT NOT NULL, slot BIGINT NOT NULL,
    tokens BIGINT NOT NULL, cost_nanos BIGINT NOT NULL
  );
  CREATE INDEX key_grants_of_key ON key_grants (key_id);
  CREATE TABLE key_slots (
    key_id TEXT NOT NULL, slot BIGINT NOT NULL, requests BIGINT NOT NULL, tokens BIGINT NOT NULL, PRIMARY KEY (key_id, slot)
  );
  DROP TABLE limit_slots;
  DROP TABLE limit_grants;
`;

/**
 * With these columns several nodes neither overwrite a newer state of an account, send a refresh token twice nor restore a former login,
 * and each node's last configuration is stored.
 */
const exchanges = `
  ALTER TABLE account_state ADD COLUMN health_at BIGINT NOT NULL DEFAULT 0;
  ALTER TABLE running_config ADD COLUMN version TEXT;
  ALTER TABLE credentials ADD COLUMN exchange_token BIGINT;
  ALTER TABLE credentials ADD COLUMN exchange_at BIGINT;
  CREATE TABLE credential_imports (account TEXT NOT NULL, imported TEXT NOT NULL, at BIGINT NOT NULL, PRIMARY KEY (account, imported));
`;

/**
 * The program cuts digests of pins to their first characters. While nodes of the former version still run, they do not find the pins of
 * newer ones: clients then send a turn in full, and sessions may change their account.
 */
const shortDigests = `
  UPDATE pins SET hash = substr(hash, 1, 16);
`;

/** Accounts that have dropped their compact path. Programs that do not know the column find out again. */
const missingCompactPaths = `
  ALTER TABLE account_state ADD COLUMN missing_compact_path TEXT;
`;

export interface Step {
  /** For both engines. */
  readonly sql?: string;
  /** Additions for PostgreSQL: functions, sequences. A function is never changed; a later step makes one of another name. */
  readonly postgres?: string;
  /**
   * The oldest schema version whose program can use a database with this step. Absent: every program can, because the step only adds what
   * older programs do not name: tables, indexes, columns with a default. A step that removes or changes something has to name the
   * version whose program stopped using it: nodes of the former version then keep working while the next one is rolled out.
   */
  readonly oldest?: number;
}

/** The processes that native clients come back to for their turns. */
const sessionOwners = `
  CREATE TABLE session_owners (
    session TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, address TEXT NOT NULL, lease TEXT NOT NULL, expires_at BIGINT NOT NULL
  );
  CREATE INDEX session_owners_owner ON session_owners (owner);
`;

/** How long a turn ran without its client. */
const detachedTime = `
  ALTER TABLE requests ADD COLUMN detached_ms BIGINT;
`;

/** The reasoning effort that a turn was sent with. */
const turnEffort = `
  ALTER TABLE requests ADD COLUMN effort TEXT;
`;

/** Step n upgrades a database from version n - 1 to n. Add to the end; never change one. */
export const migrations: readonly Step[] = [
  { sql: first },
  { sql: credentials },
  { sql: usage },
  { sql: leanPins },
  { sql: coordination },
  { sql: files },
  { sql: runningConfig },
  { sql: oldestProgram },
  { sql: checkValues, postgres: onceWritten + leaseTokens },
  { sql: nodes, postgres: TAKE_LIMITS, oldest: 10 },
  { sql: sessionOwners },
  { sql: exchanges },
  { postgres: RESERVE_LIMITS },
  { sql: shortDigests },
  { sql: missingCompactPaths },
  { sql: detachedTime },
  { sql: turnEffort },
];

export interface MigrationOptions {
  readonly clock: () => number;
  /** Runs the statements of a step that the engine needs. */
  readonly apply: (step: Step) => Promise<void>;
  /** By default those of the program; tests add to them. */
  readonly steps?: readonly Step[];
}

/**
 * Upgrades a database to the current schema, or leaves a newer one as it is. The adapter begins a transaction that excludes other
 * migrations and commits it afterwards.
 * @throws StoreError `too_new` where a newer program made a change that this one cannot work with.
 */
export async function migrate(session: Session, { clock, apply, steps = migrations }: MigrationOptions): Promise<void> {
  await session.script('CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL PRIMARY KEY, applied_at BIGINT NOT NULL)');
  const version = await highest(session, 'version');
  if (version > steps.length) return checkUsable(session, { version, known: steps.length });
  for (const [index, step] of steps.entries()) {
    if (index < version) continue;
    await apply(step);
    await session.run('INSERT INTO schema_version (version, applied_at) VALUES ($1, $2)', [index + 1, clock()]);
    if (step.oldest !== undefined) await session.run('UPDATE schema_version SET oldest = $1 WHERE version = $2', [step.oldest, index + 1]);
  }
}

/** For operators: undefined where this program can use the schema of the database. */
export async function schemaCondition(session: Pick<Session, 'query'>, place: string): Promise<StoreCondition | undefined> {
  const version = await highest(session, 'version');
  try {
    if (version > migrations.length) await checkUsable(session, { version, known: migrations.length });
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof StoreError)) throw thrown;
    const message = `${place} has schema version ${version}; this program supports ${migrations.length}.`;
    return { level: 'problem', message, advice: 'Start a poolgate on it that is at least as new as the last one.' };
  }
}

async function checkUsable(
  session: Pick<Session, 'query'>,
  { version, known }: { readonly version: number; readonly known: number },
): Promise<void> {
  const oldest = await highest(session, 'oldest');
  if (oldest <= known) return;
  const needed = `the store has schema version ${version}, which needs a program of version ${oldest}`;
  throw new StoreError('too_new', `${needed}; this one supports version ${known}: start a newer poolgate on it`);
}

async function highest(session: Pick<Session, 'query'>, column: 'version' | 'oldest'): Promise<number> {
  const [record] = await session.query(`SELECT max(${column}) AS highest FROM schema_version`, []);
  return Number(record?.highest ?? 0);
}
