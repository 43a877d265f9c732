// The rows that may be stored, field by field; those of the request log are described in logged-rows.ts. Other members of an object that is written never reach the disk.

/** The catalog as one account last reported it. */
export interface CatalogRow {
  readonly account: string;
  /** JSON text exactly as it came: pristine. */
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
  /** Failures in a row. */
  readonly streak: number;
  readonly cause: string | null;
  /** Quota windows: plain data in a shape that quota defines and validates when it is read. */
  readonly windows: object | null;
  /** Digest of the address at which the account has no compact path; null if it may have one. */
  readonly missing_compact_path: string | null;
  /** When that was found out, Unix milliseconds; null if it may have one. */
  readonly compact_path_missing_at: number | null;
  readonly updated_at: number;
  /** When health, cooldown, streak and cause were decided, by the clock that all processes share. Set by the store. */
  readonly health_at: number;
}

export type AccountStateKey = Pick<AccountStateRow, 'account' | 'model'>;

/** The key of an account state and the fields of it that change; the others stay as the store has them. */
export type AccountStatePatch = Pick<AccountStateRow, 'account' | 'model' | 'updated_at'> & Partial<Omit<AccountStateRow, 'health_at'>>;

/** A patch as it is written. */
export type StampedAccountState = AccountStatePatch & Partial<Pick<AccountStateRow, 'health_at'>>;

/** The credential of an account as it was last imported, and as it was last refreshed. */
export interface CredentialRow {
  readonly account: string;
  /** Keyed digest of what the operator's file or reference held when it was imported. */
  readonly imported: string;
  /** The refreshed tokens, encrypted by the caller; null if nothing is refreshed. */
  readonly sealed: string | null;
  readonly updated_at: number;
  /** The lease under which the refresh token in `sealed` was sent to its provider; null if no answer of the provider is missing. */
  readonly exchange_token: number | null;
  /** When it was sent. */
  readonly exchange_at: number | null;
}

/** A credential without an open exchange. */
export type NewCredentialRow = Omit<CredentialRow, 'exchange_token' | 'exchange_at'>;

/** A login that a node has imported from its file. It prevents a node with an older file from restoring an earlier login. */
export interface CredentialImportRow {
  readonly account: string;
  /** The same digest as in the credential's row. */
  readonly imported: string;
  readonly at: number;
}

/** The account of a continuation. */
export interface PinRow {
  /** Keyed digest of the pinned value with its kind, Pool and key; the value itself is never stored. */
  readonly hash: string;
  readonly account: string;
  readonly expires_at: number;
}

/** A pin as it is queued. */
export interface NewPin extends PinRow {
  /** If many rows wait it is dropped before others: a turn prefers the account of a soft pin, and can go to any. */
  readonly isSoft?: boolean;
}

/** `uploaded`: created, and not yet finalised at the account. The words of the public API. */
export type FileStatus = 'uploaded' | 'processed' | 'error';

/** Metadata of a file whose bytes are at an account; the address to which they were uploaded is never stored. */
export interface FileRow {
  readonly pool: string;
  /** The id that the account issued. */
  readonly id: string;
  /** The account that has the file, and that every request which names it goes to. */
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
 * Usage of one key in one Pool on one day, or what tiers with a cap used on it, under the name of the cap (AA69); or a part of it: rows of the same key, Pool and day are added up. Costs are whole billionths
 * of a US dollar, so that sums are exact.
 */
export interface UsageRow {
  readonly key_id: string;
  readonly pool: string;
  /** Midnight UTC; Unix milliseconds. */
  readonly day: number;
  /** Turns that were dispatched. */
  readonly requests: number;
  /** Those of unknown usage: their tokens are in none of the sums below. */
  readonly unknown: number;
  readonly input_tokens: number;
  /** Part of the input. */
  readonly cached_input_tokens: number;
  readonly output_tokens: number;
  readonly cost_nanos: number;
  /** Reservations of the turns of unknown usage: limits count them, totals do not. */
  readonly held_tokens: number;
  readonly held_nanos: number;
}

/**
 * Requests and their usage of one Pool, account and model in one hour, or a part of it: rows of the same hour and names are added up. There is
 * no key in it: the number of rows depends on accounts and models alone.
 */
export interface UsageHourRow {
  /** Its beginning; Unix milliseconds. */
  readonly hour: number;
  /** Empty if no key was recognised. */
  readonly pool: string;
  /** Label of the account that answered, or was tried last; empty if none was asked. */
  readonly account: string;
  /** Empty if none is known. */
  readonly model: string;
  /** All that ended, refused ones included. */
  readonly requests: number;
  /** Those that ended with an error: of the client, of the gateway or of the account. */
  readonly failed: number;
  /** Those of unknown usage. */
  readonly unknown: number;
  readonly input_tokens: number;
  /** Part of the input. */
  readonly cached_input_tokens: number;
  readonly output_tokens: number;
  readonly cost_nanos: number;
  /** Sum over all requests. */
  readonly duration_ms: number;
  /** Those with a first event, */
  readonly first_events: number;
  /** and the sum of the times to it. */
  readonly first_event_ms: number;
}

/** What hours and their roll-ups add up. */
export type HourSums = Omit<UsageHourRow, 'hour' | 'pool' | 'account' | 'model'>;

/** The sum of the hours of one day. */
export interface UsageDayRow extends Omit<UsageHourRow, 'hour'> {
  /** Midnight UTC; Unix milliseconds. */
  readonly day: number;
}

/** The sum over the accounts and models of a Pool in one hour: as many rows as Pools, however many accounts there are. */
export type UsagePoolHourRow = HourSums & Pick<UsageHourRow, 'hour' | 'pool'>;

export type UsageKey = Pick<UsageRow, 'key_id' | 'pool' | 'day'>;

/** A node as the others see it. Times are Unix milliseconds. */
export interface NodeRow {
  readonly id: string;
  /** Greater than that of every earlier lease: what the node holds counts while the lease of this token has not expired. */
  readonly token: number;
  /** How other nodes reach its internal listener; null for a node without one. */
  readonly address: string | null;
  /** The version of the program. */
  readonly version: string;
  readonly config_digest: string;
  readonly started_at: number;
  readonly expires_at: number;
}

/** What a node has of an account's `max_concurrent`. */
export interface SlotRow {
  readonly account: string;
  /** The token of its lease. */
  readonly node: number;
  readonly held: number;
  /** Turns of the node that are there or could go there. */
  readonly wanted: number;
  /** When it was last given more, or first asked; Unix milliseconds. */
  readonly since: number;
}

/** The row that a process locks to change the slots of the account. */
export interface SlotLockRow {
  readonly account: string;
}

/** What a key used in one slot of time. */
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
  /** Grows with every write of tracked rows, in the order of commits. */
  readonly version: number;
  /** The process that wrote it. */
  readonly writer: string;
  readonly at: number;
}

/** The part of the last configuration that may be stored. */
export interface RunningConfigRow {
  /** `running`; with several nodes `node/` and the node's id. */
  readonly name: string;
  /** Private values already replaced by the caller. */
  readonly config: object;
  /** Of the configuration with its private values. */
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
  /** The Pool it concerns; null for the installation as a whole. */
  readonly pool: string | null;
  /** What changed, secrets already replaced by the caller. */
  readonly fields: readonly ChangedField[];
}

export interface ChangedField {
  readonly path: string;
  readonly from: string | number | boolean | null;
  readonly to: string | number | boolean | null;
}
