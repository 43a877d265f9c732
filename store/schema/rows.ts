// The rows that may be stored, field by field. Those of the request log are described in logged-rows.ts. Other members of a written object
// never reach the disk.

/** The catalog as one account last reported it. */
export interface CatalogRow {
  readonly account: string;
  /** The account's JSON text, unchanged. */
  readonly entries: string;
  readonly etag: string | null;
  readonly read_at: number;
}

/** Health and quota evidence of an account, as a whole or for one model. */
export interface AccountStateRow {
  readonly account: string;
  /** Empty for the account as a whole. */
  readonly model: string;
  readonly health: 'active' | 'reauth_required' | 'failing';
  readonly cooldown_until: number | null;
  /** Number of consecutive failures. */
  readonly streak: number;
  readonly cause: string | null;
  /** Quota windows: plain data in a shape that quota defines and validates when it is read. */
  readonly windows: object | null;
  /** Digest of the address at which the account has no compact path; null if it may have one. */
  readonly missing_compact_path: string | null;
  /** When the account's answer showed that; Unix milliseconds. Null if it may have a compact path. */
  readonly compact_path_missing_at: number | null;
  readonly updated_at: number;
  /** When health, cooldown, streak and cause were decided, by the clock that all processes share. Set by the store. */
  readonly health_at: number;
}

export type AccountStateKey = Pick<AccountStateRow, 'account' | 'model'>;

/** The key of an account state and the fields of it that change; the others stay as the store has them. */
export type AccountStatePatch = Pick<AccountStateRow, 'account' | 'model' | 'updated_at'> & Partial<Omit<AccountStateRow, 'health_at'>>;

/** A patch with the time of its decision, as it is written. */
export type StampedAccountState = AccountStatePatch & Partial<Pick<AccountStateRow, 'health_at'>>;

/** The credential of an account, as last imported and as last refreshed. */
export interface CredentialRow {
  readonly account: string;
  /** Keyed digest of the credential in the operator's file or reference at the import. */
  readonly imported: string;
  /** The refreshed tokens, encrypted by the caller; null if nothing is refreshed. */
  readonly sealed: string | null;
  readonly updated_at: number;
  /** The lease under which the refresh token in `sealed` was sent to its provider; null if no exchange is open. */
  readonly exchange_token: number | null;
  /** When the refresh token was sent; null if no exchange is open. */
  readonly exchange_at: number | null;
}

/** A credential without an open exchange. */
export type NewCredentialRow = Omit<CredentialRow, 'exchange_token' | 'exchange_at'>;

/** A login that a node has imported from its file. The row prevents a node with an older file from restoring an earlier login. */
export interface CredentialImportRow {
  readonly account: string;
  /** Equals `imported` in the credential's row. */
  readonly imported: string;
  readonly at: number;
}

/** The account to which the turns that continue a conversation go. */
export interface PinRow {
  /** Keyed digest of the pinned value with its kind, Pool and key; the value itself is never stored. */
  readonly hash: string;
  readonly account: string;
  readonly expires_at: number;
}

/** A pin as it is queued. */
export interface NewPin extends PinRow {
  /** Whether the turn only prefers the account of the pin and may go to any. If many rows wait, soft pins are dropped first. */
  readonly isSoft?: boolean;
}

/** The public API's words for the status. `uploaded`: created, and not yet finalised at the account. */
export type FileStatus = 'uploaded' | 'processed' | 'error';

/** Metadata of a file whose bytes are at an account; the address to which they were uploaded is never stored. */
export interface FileRow {
  readonly pool: string;
  /** The id that the account issued. */
  readonly id: string;
  /** The account that has the file. Every request that names the file goes to it. */
  readonly account: string;
  readonly filename: string;
  readonly bytes: number;
  readonly purpose: string;
  readonly status: FileStatus;
  readonly created_at: number;
  /** Null for a file that does not expire. */
  readonly expires_at: number | null;
}

/**
 * Usage of one key in one Pool on one day, or a part of it: rows of the same key, Pool and day are added up. Tiers with a cap have rows of
 * their own under the name of the cap (AA69). Costs are whole billionths of a US dollar, so that sums are exact.
 */
export interface UsageRow {
  readonly key_id: string;
  readonly pool: string;
  /** Midnight UTC; Unix milliseconds. */
  readonly day: number;
  /** Turns that were dispatched. */
  readonly requests: number;
  /** Turns whose usage is unknown. Their tokens are in none of the sums below. */
  readonly unknown: number;
  readonly input_tokens: number;
  /** The part of the input that the provider had cached. */
  readonly cached_input_tokens: number;
  readonly output_tokens: number;
  readonly cost_nanos: number;
  /** Tokens that turns of unknown usage reserved. Limits count them, totals do not. */
  readonly held_tokens: number;
  readonly held_nanos: number;
}

/**
 * Requests and usage of one Pool, account and model in one hour, or a part of it: rows of the same hour and names are added up. It has no
 * key, so that the number of rows depends on accounts and models alone.
 */
export interface UsageHourRow {
  /** The beginning of the hour; Unix milliseconds. */
  readonly hour: number;
  /** The Pool; empty if no key was recognised. */
  readonly pool: string;
  /** Label of the account that answered, or of the last one that was tried; empty if none was. */
  readonly account: string;
  /** The model; empty if none is known. */
  readonly model: string;
  /** All requests that ended, including refused ones. */
  readonly requests: number;
  /** Requests that ended with an error of the client, the gateway or the account. */
  readonly failed: number;
  /** Requests whose usage is unknown. */
  readonly unknown: number;
  readonly input_tokens: number;
  /** The part of the input that the provider had cached. */
  readonly cached_input_tokens: number;
  readonly output_tokens: number;
  readonly cost_nanos: number;
  /** The sum of the durations of all requests. */
  readonly duration_ms: number;
  /** The number of requests with a first event. */
  readonly first_events: number;
  /** The sum of the times to the first event. */
  readonly first_event_ms: number;
}

/** The fields that hours and their roll-ups add up. */
export type HourSums = Omit<UsageHourRow, 'hour' | 'pool' | 'account' | 'model'>;

/** The sum of the hours of one day. */
export interface UsageDayRow extends Omit<UsageHourRow, 'hour'> {
  /** Midnight UTC; Unix milliseconds. */
  readonly day: number;
}

/** The sums of one Pool over all its accounts and models in one hour. The number of rows depends on Pools alone. */
export type UsagePoolHourRow = HourSums & Pick<UsageHourRow, 'hour' | 'pool'>;

export type UsageKey = Pick<UsageRow, 'key_id' | 'pool' | 'day'>;

/** A node as other nodes see it. Times are Unix milliseconds. */
export interface NodeRow {
  readonly id: string;
  /** The token of the node's lease, greater than every earlier one. What the node holds counts until that lease expires. */
  readonly token: number;
  /** How other nodes reach its internal listener; null for a node without one. */
  readonly address: string | null;
  /** The version of the program. */
  readonly version: string;
  readonly config_digest: string;
  readonly started_at: number;
  readonly expires_at: number;
}

/** The slots of an account's `max_concurrent` that a node has. */
export interface SlotRow {
  readonly account: string;
  /** The token of the node's lease. */
  readonly node: number;
  readonly held: number;
  /** Turns of the node that are at the account or could go there. */
  readonly wanted: number;
  /** When the node was last given more slots, or first asked for some; Unix milliseconds. */
  readonly since: number;
}

/** The row that a process locks to change the slots of the account. */
export interface SlotLockRow {
  readonly account: string;
}

/** The usage of a key in one slot of time. */
export interface KeySlotRow {
  readonly key_id: string;
  /** Unix milliseconds. */
  readonly slot: number;
  readonly requests: number;
  readonly tokens: number;
}

/** The last write of one row of a tracked table by one process. */
export interface ChangeRow {
  readonly table_name: string;
  /** JSON list of the key's fields, in the order of the table's key. */
  readonly row_key: string;
  /** Increases with every write of tracked rows, in the order of commits. */
  readonly version: number;
  /** The process that wrote it. */
  readonly writer: string;
  readonly at: number;
}

/** The part of the last configuration that may be stored. */
export interface RunningConfigRow {
  /** `running`; if several nodes share the store, `node/` and the node's id. */
  readonly name: string;
  /** The configuration without private values, which the caller has replaced. */
  readonly config: object;
  /** The version of the configuration, private values included. */
  readonly version: string;
  readonly at: number;
}

/** What an operator did. */
export interface AuditRow {
  readonly id: string;
  readonly at: number;
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  /** The Pool that the action concerns; null for the installation as a whole. */
  readonly pool: string | null;
  /** The changed fields. The caller has replaced secrets. */
  readonly fields: readonly ChangedField[];
}

export interface ChangedField {
  readonly path: string;
  readonly from: string | number | boolean | null;
  readonly to: string | number | boolean | null;
}
