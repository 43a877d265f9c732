// The first schema: plain SQL that SQLite and PostgreSQL both accept. BIGINT for every number, TEXT for the rest (including JSON), booleans
// as 0 and 1.

const requestLog = `
  CREATE TABLE requests (
    id TEXT NOT NULL PRIMARY KEY, at BIGINT NOT NULL, family TEXT NOT NULL, surface TEXT NOT NULL, endpoint TEXT NOT NULL, method TEXT NOT NULL,
    status BIGINT NOT NULL, status_class TEXT NOT NULL, pool TEXT, pool_label TEXT, account TEXT, api TEXT, adapted TEXT, tier BIGINT, overflow TEXT,
    key_id TEXT, model TEXT, requested_model TEXT, code TEXT,
    retries BIGINT NOT NULL, duration_ms BIGINT NOT NULL, detached_ms BIGINT, effort TEXT, input_tokens BIGINT,
    cached_input_tokens BIGINT, output_tokens BIGINT, tokens_estimated BIGINT NOT NULL, configured_mode TEXT, effective_mode TEXT,
    mode_source TEXT, reason_class TEXT, error_class TEXT, payload_compression TEXT, upstream_error_param TEXT, why TEXT,
    outcome TEXT NOT NULL
  );
  CREATE INDEX requests_newest ON requests (at, id);
  CREATE INDEX requests_newest_of_pool ON requests (pool, at, id);

  CREATE TABLE attempts (
    request_id TEXT NOT NULL, ordinal BIGINT NOT NULL, at BIGINT NOT NULL, account TEXT NOT NULL, api TEXT NOT NULL, adapted TEXT, cause TEXT NOT NULL, status BIGINT,
    error_class TEXT, duration_ms BIGINT NOT NULL, upstream_error_param TEXT, PRIMARY KEY (request_id, ordinal)
  );
  CREATE INDEX attempts_oldest ON attempts (at);
`;

const accounts = `
  CREATE TABLE catalog (account TEXT NOT NULL PRIMARY KEY, entries TEXT NOT NULL, etag TEXT, read_at BIGINT NOT NULL);

  CREATE TABLE account_state (
    account TEXT NOT NULL, model TEXT NOT NULL, health TEXT NOT NULL, cooldown_until BIGINT, streak BIGINT NOT NULL, cause TEXT,
    windows TEXT, updated_at BIGINT NOT NULL, health_at BIGINT NOT NULL, missing_compact_path TEXT,
    compact_path_missing_at BIGINT, PRIMARY KEY (account, model)
  );

  CREATE TABLE credentials (
    account TEXT NOT NULL PRIMARY KEY, imported TEXT NOT NULL, sealed TEXT, updated_at BIGINT NOT NULL, exchange_token BIGINT,
    exchange_at BIGINT
  );
  CREATE TABLE credential_imports (account TEXT NOT NULL, imported TEXT NOT NULL, at BIGINT NOT NULL, PRIMARY KEY (account, imported));
`;

/** Tables that say which account a continuation goes to. */
const owners = `
  CREATE TABLE pins (hash TEXT NOT NULL PRIMARY KEY, account TEXT NOT NULL, expires_at BIGINT NOT NULL);
  CREATE INDEX pins_oldest ON pins (expires_at);

  CREATE TABLE files (
    pool TEXT NOT NULL, id TEXT NOT NULL, account TEXT NOT NULL, filename TEXT NOT NULL, bytes BIGINT NOT NULL, purpose TEXT NOT NULL,
    status TEXT NOT NULL, created_at BIGINT NOT NULL, expires_at BIGINT, PRIMARY KEY (pool, id)
  );
  CREATE INDEX files_newest ON files (pool, created_at, id);
  CREATE INDEX files_oldest ON files (expires_at);

  CREATE TABLE session_owners (
    session TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, address TEXT NOT NULL, lease TEXT NOT NULL, expires_at BIGINT NOT NULL
  );
  CREATE INDEX session_owners_owner ON session_owners (owner);
`;

const usage = `
  CREATE TABLE usage (
    key_id TEXT NOT NULL, pool TEXT NOT NULL, day BIGINT NOT NULL, requests BIGINT NOT NULL, unknown BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL, cached_input_tokens BIGINT NOT NULL, output_tokens BIGINT NOT NULL, cost_nanos BIGINT NOT NULL,
    held_tokens BIGINT NOT NULL, held_nanos BIGINT NOT NULL, PRIMARY KEY (key_id, pool, day)
  );
  CREATE INDEX usage_oldest ON usage (day);

  CREATE TABLE key_grants (
    grant_id TEXT NOT NULL PRIMARY KEY, key_id TEXT NOT NULL, node BIGINT NOT NULL, at BIGINT NOT NULL, slot BIGINT NOT NULL,
    tokens BIGINT NOT NULL, cost_nanos BIGINT NOT NULL
  );
  CREATE INDEX key_grants_of_key ON key_grants (key_id);
  CREATE TABLE key_slots (
    key_id TEXT NOT NULL, slot BIGINT NOT NULL, requests BIGINT NOT NULL, tokens BIGINT NOT NULL, PRIMARY KEY (key_id, slot)
  );
`;

/**
 * Tables for operators. The next start compares its file with `running_config`, so that changes made while no gateway ran are audited field
 * by field.
 */
const operators = `
  CREATE TABLE audit (
    id TEXT NOT NULL PRIMARY KEY, at BIGINT NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL, target TEXT NOT NULL, pool TEXT,
    fields TEXT NOT NULL
  );
  CREATE INDEX audit_newest ON audit (at, id);

  CREATE TABLE running_config (name TEXT NOT NULL PRIMARY KEY, config TEXT NOT NULL, at BIGINT NOT NULL, version TEXT NOT NULL);
`;

/** Tables that several processes on one database need. All processes must agree on the values in `check_values`. */
const coordination = `
  CREATE TABLE counters (name TEXT NOT NULL PRIMARY KEY, value BIGINT NOT NULL);
  INSERT INTO counters (name, value) VALUES ('version', 0), ('lease_token', 0);

  CREATE TABLE changes (
    table_name TEXT NOT NULL, row_key TEXT NOT NULL, version BIGINT NOT NULL, writer TEXT NOT NULL, at BIGINT NOT NULL,
    PRIMARY KEY (table_name, row_key, writer)
  );
  CREATE INDEX changes_newest ON changes (version);

  CREATE TABLE leases (name TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, token BIGINT NOT NULL, expires_at BIGINT NOT NULL);

  CREATE TABLE nodes (
    id TEXT NOT NULL PRIMARY KEY, token BIGINT NOT NULL, address TEXT, version TEXT NOT NULL, config_digest TEXT NOT NULL,
    started_at BIGINT NOT NULL, expires_at BIGINT NOT NULL
  );
  CREATE TABLE slots (
    account TEXT NOT NULL, node BIGINT NOT NULL, held BIGINT NOT NULL, wanted BIGINT NOT NULL, since BIGINT NOT NULL,
    PRIMARY KEY (account, node)
  );
  CREATE TABLE slot_locks (account TEXT NOT NULL PRIMARY KEY);

  CREATE TABLE check_values (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL);
`;

/**
 * Additions for PostgreSQL. The number of a batch shows whether it was already committed when its write is repeated. A sequence gives
 * tokens without a lock on a row.
 */
export const FIRST_POSTGRES = `
  CREATE TABLE written_batches (process TEXT NOT NULL PRIMARY KEY, batch BIGINT NOT NULL, at BIGINT NOT NULL);
  CREATE SEQUENCE lease_tokens;
`;

export const FIRST_SCHEMA = requestLog + accounts + owners + usage + operators + coordination;
