// The tables: the columns of each row type in order, its key, what a second row of one key does, and how a record is decoded.
import { type ColumnType, decode } from './decoders.ts';
import type { DescribedRow, Description } from './described-fields.ts';
import { ATTEMPT, type AttemptRow, REQUEST, type RequestRow } from './logged-rows.ts';
import type {
  AccountStateRow,
  AuditRow,
  CatalogRow,
  ChangeRow,
  CredentialImportRow,
  CredentialRow,
  FileRow,
  HourSums,
  KeySlotRow,
  NewCredentialRow,
  NodeRow,
  PinRow,
  RunningConfigRow,
  SlotLockRow,
  SlotRow,
  StampedAccountState,
  UsageDayRow,
  UsageHourRow,
  UsagePoolHourRow,
  UsageRow,
} from './rows.ts';
import { addHour, addUsageSums } from './usage-sums.ts';

/** What a second row with the same key does: it is ignored, replaces the first, is added to it, or replaces only the fields that it has. */
type ConflictRule = 'keep' | 'replace' | 'add' | 'patch';

/**
 * Each column has an accessor of its own: reading one property name in one place takes a third of the time of `row[name]` in a loop over
 * names, and a batch reads every column of every row.
 */
export interface Field<Input extends object = object> {
  readonly column: string;
  readonly type: ColumnType;
  /** The field's value; undefined if a patch does not have it. */
  of(row: Input): unknown;
  /** The value of the field if the first patch of a row does not have it. */
  readonly initial: string | number | null;
}

/** @typeParam Input the object that is written; in a table of patches a part of the row */
export interface Table<Row extends object = object, Input extends object = Row> {
  readonly name: string;
  readonly columns: readonly string[];
  readonly key: readonly string[];
  readonly onConflict: ConflictRule;
  /** The number of ordinary rows that a row of this table counts for in a batch. */
  readonly weight: number;
  /** Whether other processes keep copies of its rows in memory. If so, every write of a row is recorded in `changes`. */
  readonly tracked: boolean;
  /** Maps a column to the column with its decision time: a value that was decided earlier does not replace a later one. */
  readonly decidedAt: ReadonlyMap<string, string>;
  /** In the order of `columns`. */
  readonly fields: readonly Field<Input>[];
  /** A text that is equal only for rows with equal keys. */
  identity(row: Input): string;
  /** Adds a row to another one with the same key, as the database does. Only for tables that add. */
  add(sum: Input, row: Input): void;
  /** Converts a database record into a row. @throws StoreError `corrupt` */
  decode(record: Readonly<Record<string, unknown>>): Row;
}

/** The properties of a table that an INSERT uses. */
export type TableColumns = Pick<Table, 'name' | 'columns' | 'key' | 'onConflict' | 'fields'> & Partial<Pick<Table, 'decidedAt'>>;

interface Column<Input> {
  readonly type: ColumnType;
  of(row: Input): unknown;
}

const text = <Input>(of: (row: Input) => string | null | undefined): Column<Input> => ({ type: 'text', of });
const integer = <Input>(of: (row: Input) => number | null | undefined): Column<Input> => ({ type: 'integer', of });
const json = <Input>(of: (row: Input) => object | null | undefined): Column<Input> => ({ type: 'json', of });

interface Shape<Row, Input> {
  readonly key: readonly (keyof Row & keyof Input & string)[];
  readonly onConflict: ConflictRule;
  readonly weight?: number;
  readonly tracked?: boolean;
  /** The fields of the row. The compiler checks that none is missing and none is added. */
  readonly columns: { readonly [Field in keyof Row]-?: Column<Input> };
  readonly decidedAt?: { readonly [Field in keyof Row]?: keyof Row & string };
  /** Initial values, for tables of patches. */
  readonly initial?: { readonly [Field in keyof Row]?: Row[Field] & (string | number) };
  /** How rows are added, for tables that add. */
  readonly add?: (sum: { -readonly [Field in keyof Input]: Input[Field] }, row: Input) => void;
}

const noSums = (): never => {
  throw new TypeError('rows of this table are not added up');
};

function identityOf<Input>(keyFields: readonly Column<Input>[], row: Input): string {
  // A separator is safe because no field of a key contains a NUL.
  let identity = '';
  for (const field of keyFields) identity += `${String(field.of(row))}\0`;
  return identity;
}

/** Remembers the last identity: sums of one key are added many times in a row, and to make the text costs more than to compare the fields. */
function remembered<Input>(keyFields: readonly Column<Input>[]): (row: Input) => string {
  let last: readonly unknown[] = [];
  let identity = '';
  return (row) => {
    let isLast = last.length > 0;
    for (let i = 0; isLast && i < last.length; i++) isLast = keyFields[i]?.of(row) === last[i];
    if (isLast) return identity;
    last = keyFields.map((field) => field.of(row));
    identity = identityOf(keyFields, row);
    return identity;
  };
}

const table = <Row extends object, Input extends object = Row>(name: string, shape: Shape<Row, Input>): Table<Row, Input> => {
  const { key, onConflict, weight = 1, tracked = false, decidedAt = {}, initial, add = noSums } = shape;
  const columns = Object.keys(shape.columns) as (keyof Row & string)[];
  const decoded = columns.map((column) => ({ column, type: shape.columns[column].type, place: `${name}.${column}` }));
  const keyFields = key.map((column) => shape.columns[column]);
  return {
    name,
    columns,
    fields: columns.map((column) => ({ column, ...shape.columns[column], initial: initial?.[column] ?? null })),
    key,
    onConflict,
    weight,
    tracked,
    decidedAt: new Map(Object.entries<string>(decidedAt)),
    identity: onConflict === 'add' ? remembered(keyFields) : (row) => identityOf(keyFields, row),
    add,
    decode: (record) => Object.fromEntries(decoded.map(({ column, type, place }) => [column, decode(type, record[column], place)])) as Row,
  };
};

/** The columns of described fields. Their accessors are written out for speed, as in all `Field`s. */
const described = <Fields extends Description>(
  fields: Fields,
  accessors: { readonly [Name in keyof Fields]: (row: DescribedRow<Fields>) => unknown },
): { readonly [Name in keyof Fields]: Column<DescribedRow<Fields>> } =>
  Object.fromEntries(Object.entries(accessors).map(([name, of]) => [name, { type: fields[name]?.type, of }])) as {
    readonly [Name in keyof Fields]: Column<DescribedRow<Fields>>;
  };

export const requests = table<RequestRow>('requests', {
  key: ['id'],
  onConflict: 'keep',
  columns: described(REQUEST, {
    id: (row) => row.id,
    at: (row) => row.at,
    family: (row) => row.family,
    surface: (row) => row.surface,
    endpoint: (row) => row.endpoint,
    method: (row) => row.method,
    status: (row) => row.status,
    status_class: (row) => row.status_class,
    pool: (row) => row.pool,
    pool_label: (row) => row.pool_label,
    account: (row) => row.account,
    api: (row) => row.api,
    adapted: (row) => row.adapted,
    tier: (row) => row.tier,
    overflow: (row) => row.overflow,
    key_id: (row) => row.key_id,
    model: (row) => row.model,
    requested_model: (row) => row.requested_model,
    code: (row) => row.code,
    retries: (row) => row.retries,
    duration_ms: (row) => row.duration_ms,
    detached_ms: (row) => row.detached_ms,
    effort: (row) => row.effort,
    input_tokens: (row) => row.input_tokens,
    cached_input_tokens: (row) => row.cached_input_tokens,
    output_tokens: (row) => row.output_tokens,
    tokens_estimated: (row) => row.tokens_estimated,
    configured_mode: (row) => row.configured_mode,
    effective_mode: (row) => row.effective_mode,
    mode_source: (row) => row.mode_source,
    reason_class: (row) => row.reason_class,
    error_class: (row) => row.error_class,
    payload_compression: (row) => row.payload_compression,
    upstream_error_param: (row) => row.upstream_error_param,
    why: (row) => row.why,
    outcome: (row) => row.outcome,
    client_address: (row) => row.client_address,
    first_event_ms: (row) => row.first_event_ms,
  }),
});

export const attempts = table<AttemptRow>('attempts', {
  key: ['request_id', 'ordinal'],
  onConflict: 'keep',
  columns: described(ATTEMPT, {
    request_id: (row) => row.request_id,
    ordinal: (row) => row.ordinal,
    at: (row) => row.at,
    account: (row) => row.account,
    api: (row) => row.api,
    adapted: (row) => row.adapted,
    cause: (row) => row.cause,
    status: (row) => row.status,
    error_class: (row) => row.error_class,
    duration_ms: (row) => row.duration_ms,
    upstream_error_param: (row) => row.upstream_error_param,
  }),
});

export const catalog = table<CatalogRow>('catalog', {
  key: ['account'],
  onConflict: 'replace',
  tracked: true,
  weight: 500, // texts of some 100 KB: encoding more than one at a time would block the main thread
  columns: {
    account: text((row) => row.account),
    entries: text((row) => row.entries),
    etag: text((row) => row.etag),
    read_at: integer((row) => row.read_at),
  },
});

export const accountState = table<AccountStateRow, StampedAccountState>('account_state', {
  key: ['account', 'model'],
  onConflict: 'patch',
  tracked: true,
  initial: { health: 'active', streak: 0, health_at: 0 },
  decidedAt: {
    health: 'health_at',
    cooldown_until: 'health_at',
    streak: 'health_at',
    cause: 'health_at',
    health_at: 'health_at',
  },
  columns: {
    account: text((row) => row.account),
    model: text((row) => row.model),
    health: text((row) => row.health),
    cooldown_until: integer((row) => row.cooldown_until),
    streak: integer((row) => row.streak),
    cause: text((row) => row.cause),
    windows: json((row) => row.windows),
    updated_at: integer((row) => row.updated_at),
    health_at: integer((row) => row.health_at),
    missing_compact_path: text((row) => row.missing_compact_path),
    compact_path_missing_at: integer((row) => row.compact_path_missing_at),
  },
});

export const credentials = table<CredentialRow, NewCredentialRow>('credentials', {
  key: ['account'],
  onConflict: 'replace',
  tracked: true,
  columns: {
    account: text((row) => row.account),
    imported: text((row) => row.imported),
    sealed: text((row) => row.sealed),
    updated_at: integer((row) => row.updated_at),
    exchange_token: integer(() => null),
    exchange_at: integer(() => null),
  },
});

export const credentialImports = table<CredentialImportRow>('credential_imports', {
  key: ['account', 'imported'],
  onConflict: 'keep',
  columns: { account: text((row) => row.account), imported: text((row) => row.imported), at: integer((row) => row.at) },
});

const pinShape: Shape<PinRow, PinRow> = {
  key: ['hash'],
  onConflict: 'replace',
  columns: { hash: text((row) => row.hash), account: text((row) => row.account), expires_at: integer((row) => row.expires_at) },
};

export const pins = table<PinRow>('pins', pinShape);

/** The table `pins`, tracked: for values that other processes may have pinned to another account. */
export const movedPins = table<PinRow>('pins', { ...pinShape, tracked: true });

export const files = table<FileRow>('files', {
  key: ['pool', 'id'],
  onConflict: 'replace',
  columns: {
    pool: text((row) => row.pool),
    id: text((row) => row.id),
    account: text((row) => row.account),
    filename: text((row) => row.filename),
    bytes: integer((row) => row.bytes),
    purpose: text((row) => row.purpose),
    status: text((row) => row.status),
    created_at: integer((row) => row.created_at),
    expires_at: integer((row) => row.expires_at),
  },
});

export const usage = table<UsageRow>('usage', {
  key: ['key_id', 'pool', 'day'],
  onConflict: 'add',
  tracked: true,
  add: addUsageSums,
  columns: {
    key_id: text((row) => row.key_id),
    pool: text((row) => row.pool),
    day: integer((row) => row.day),
    requests: integer((row) => row.requests),
    unknown: integer((row) => row.unknown),
    input_tokens: integer((row) => row.input_tokens),
    cached_input_tokens: integer((row) => row.cached_input_tokens),
    output_tokens: integer((row) => row.output_tokens),
    cost_nanos: integer((row) => row.cost_nanos),
    held_tokens: integer((row) => row.held_tokens),
    held_nanos: integer((row) => row.held_nanos),
  },
});

const hourSums: { readonly [Field in keyof HourSums]: Column<HourSums> } = {
  requests: integer((row) => row.requests),
  failed: integer((row) => row.failed),
  unknown: integer((row) => row.unknown),
  input_tokens: integer((row) => row.input_tokens),
  cached_input_tokens: integer((row) => row.cached_input_tokens),
  output_tokens: integer((row) => row.output_tokens),
  cost_nanos: integer((row) => row.cost_nanos),
  duration_ms: integer((row) => row.duration_ms),
  first_events: integer((row) => row.first_events),
  first_event_ms: integer((row) => row.first_event_ms),
};

/** Untracked, because only operators read it. */
export const usageHours = table<UsageHourRow>('usage_hours', {
  key: ['hour', 'pool', 'account', 'model'],
  onConflict: 'add',
  add: addHour,
  columns: {
    hour: integer((row) => row.hour),
    pool: text((row) => row.pool),
    account: text((row) => row.account),
    model: text((row) => row.model),
    ...hourSums,
  },
});

/** A roll-up of the hours by day. Each batch adds the same amounts to both. */
export const usageDays = table<UsageDayRow>('usage_days', {
  key: ['day', 'pool', 'account', 'model'],
  onConflict: 'add',
  add: addHour,
  columns: {
    day: integer((row) => row.day),
    pool: text((row) => row.pool),
    account: text((row) => row.account),
    model: text((row) => row.model),
    ...hourSums,
  },
});

/** The sums of an hour over all accounts and models of a Pool. */
export const usagePoolHours = table<UsagePoolHourRow>('usage_pool_hours', {
  key: ['hour', 'pool'],
  onConflict: 'add',
  add: addHour,
  columns: { hour: integer((row) => row.hour), pool: text((row) => row.pool), ...hourSums },
});

export const nodes = table<NodeRow>('nodes', {
  key: ['id'],
  onConflict: 'replace',
  tracked: true,
  columns: {
    id: text((row) => row.id),
    token: integer((row) => row.token),
    address: text((row) => row.address),
    version: text((row) => row.version),
    config_digest: text((row) => row.config_digest),
    started_at: integer((row) => row.started_at),
    expires_at: integer((row) => row.expires_at),
  },
});

export const slots = table<SlotRow>('slots', {
  key: ['account', 'node'],
  onConflict: 'replace',
  columns: {
    account: text((row) => row.account),
    node: integer((row) => row.node),
    held: integer((row) => row.held),
    wanted: integer((row) => row.wanted),
    since: integer((row) => row.since),
  },
});

/** The table `slots` for those writes of which other nodes have to be notified. */
export const announcedSlots: typeof slots = { ...slots, tracked: true };

export const slotLocks = table<SlotLockRow>('slot_locks', {
  key: ['account'],
  onConflict: 'replace',
  columns: { account: text((row) => row.account) },
});

export const keySlots = table<KeySlotRow>('key_slots', {
  key: ['key_id', 'slot'],
  onConflict: 'add',
  add(sum, { requests, tokens }) {
    sum.requests += requests;
    sum.tokens += tokens;
  },
  columns: {
    key_id: text((row) => row.key_id),
    slot: integer((row) => row.slot),
    requests: integer((row) => row.requests),
    tokens: integer((row) => row.tokens),
  },
});

export const audit = table<AuditRow>('audit', {
  key: ['id'],
  onConflict: 'keep',
  columns: {
    id: text((row) => row.id),
    at: integer((row) => row.at),
    actor: text((row) => row.actor),
    action: text((row) => row.action),
    target: text((row) => row.target),
    pool: text((row) => row.pool),
    fields: json((row) => row.fields),
  },
});

export const runningConfig = table<RunningConfigRow>('running_config', {
  key: ['name'],
  onConflict: 'replace',
  columns: {
    name: text((row) => row.name),
    config: json((row) => row.config),
    at: integer((row) => row.at),
    version: text((row) => row.version),
  },
});

export const changes = table<ChangeRow>('changes', {
  key: ['table_name', 'row_key', 'writer'],
  onConflict: 'replace',
  columns: {
    table_name: text((row) => row.table_name),
    row_key: text((row) => row.row_key),
    version: integer((row) => row.version),
    writer: text((row) => row.writer),
    at: integer((row) => row.at),
  },
});
