// The tables: each row type's columns in order, its key, and how a row becomes values and comes back. Adapters write their SQL from this.
import type { AccountStateRow, AttemptRow, AuditRow, CatalogRow, CredentialRow, PinRow, RequestRow, UsageRow } from './rows.ts';

type ColumnType = 'text' | 'integer' | 'boolean' | 'json';

export interface Table<Row extends object = object> {
  readonly name: string;
  readonly columns: readonly string[];
  readonly key: readonly string[];
  /** What a second row of the same key does: the first stays, the last wins, or all but the key is summed up. */
  readonly again: 'keep' | 'replace' | 'add';
  /** How many ordinary rows one of these counts for when a batch is filled. */
  readonly weight: number;
  /** Tells rows of different keys apart. */
  identity(row: Row): string;
  /** Marks the columns, in the order of `columns`, in which two rows differ. */
  compare(one: Row, other: Row, differing: boolean[]): void;
  /** Of two rows of one key, for a table that adds: makes of the first what the database would make of one after the other. */
  add(one: Row, other: Row): void;
  /** The row of a database record. */
  row(record: Readonly<Record<string, unknown>>): Row;
}

interface Shape<Row> {
  readonly key: readonly (keyof Row & string)[];
  readonly again: Table['again'];
  readonly weight?: number;
  /** Every field of the row, and nothing else: the compiler sees to it. */
  readonly columns: { readonly [Field in keyof Row]-?: ColumnType };
}

const decoders: Readonly<Record<ColumnType, (stored: unknown) => unknown>> = {
  text: (stored) => stored,
  integer: (stored) => stored,
  boolean: (stored) => Boolean(stored),
  json: (stored) => (typeof stored === 'string' ? JSON.parse(stored) : null),
};

/** `(row) => row.key_id + '\0' + row.day`, likewise; no field of a key has a NUL in it. */
const joining = <Row>(names: readonly string[]): ((row: Row) => string) =>
  new Function('row', `return '' + ${names.map((name) => `row.${name}`).join(" + '\\0' + ")};`) as (row: Row) => string;

/** `(a, b, d) => { if (a.id !== b.id) d[0] = true; … }`, written out: a fraction of the time of a loop over the names. */
const comparing = <Row>(names: readonly string[]): ((one: Row, other: Row, differing: boolean[]) => void) => {
  const steps = names.map((name, column) => `if (a.${name} !== b.${name}) d[${column}] = true;`);
  return new Function('a', 'b', 'd', steps.join(' ')) as (one: Row, other: Row, differing: boolean[]) => void;
};

/** `(a, b) => { a.requests += b.requests; … }`, likewise. */
const adding = <Row>(names: readonly string[], key: readonly string[]): ((one: Row, other: Row) => void) => {
  const fields = names.filter((name) => !key.includes(name));
  return new Function('a', 'b', fields.map((name) => `a.${name} += b.${name};`).join(' ')) as (one: Row, other: Row) => void;
};

const table = <Row extends object>(name: string, { key, again, weight = 1, columns }: Shape<Row>): Table<Row> => {
  const names = Object.keys(columns) as (keyof Row & string)[];
  const fields = names.map((field) => ({ field, decode: decoders[columns[field]] }));
  return {
    name,
    columns: names,
    key,
    again,
    weight,
    compare: comparing<Row>(names),
    identity: joining<Row>(key),
    add: adding<Row>(names, key),
    row: (record) => Object.fromEntries(fields.map(({ field, decode }) => [field, decode(record[field])])) as Row,
  };
};

export const requests = table<RequestRow>('requests', {
  key: ['id'],
  again: 'keep',
  columns: {
    id: 'text',
    at: 'integer',
    family: 'text',
    endpoint: 'text',
    method: 'text',
    status: 'integer',
    status_class: 'text',
    pool: 'text',
    pool_label: 'text',
    account: 'text',
    key_id: 'text',
    model: 'text',
    code: 'text',
    retries: 'integer',
    duration_ms: 'integer',
    input_tokens: 'integer',
    cached_input_tokens: 'integer',
    output_tokens: 'integer',
    tokens_estimated: 'boolean',
    configured_mode: 'text',
    effective_mode: 'text',
    mode_source: 'text',
    reason_class: 'text',
    error_class: 'text',
    payload_compression: 'json',
    upstream_error_param: 'text',
    why: 'json',
    outcome: 'text',
  },
});

export const attempts = table<AttemptRow>('attempts', {
  key: ['request_id', 'ordinal'],
  again: 'keep',
  columns: {
    request_id: 'text',
    ordinal: 'integer',
    at: 'integer',
    account: 'text',
    cause: 'text',
    status: 'integer',
    error_class: 'text',
    duration_ms: 'integer',
    upstream_error_param: 'text',
  },
});

export const catalog = table<CatalogRow>('catalog', {
  key: ['account'],
  again: 'replace',
  weight: 500, // texts of some 100 KB: more than one at a time would hold up the main thread
  columns: { account: 'text', entries: 'text', etag: 'text', read_at: 'integer' },
});

export const accountState = table<AccountStateRow>('account_state', {
  key: ['account', 'model'],
  again: 'replace',
  columns: {
    account: 'text',
    model: 'text',
    health: 'text',
    cooldown_until: 'integer',
    streak: 'integer',
    cause: 'text',
    windows: 'json',
    updated_at: 'integer',
  },
});

export const credentials = table<CredentialRow>('credentials', {
  key: ['account'],
  again: 'replace',
  columns: { account: 'text', imported: 'text', sealed: 'text', updated_at: 'integer' },
});

export const pins = table<PinRow>('pins', {
  key: ['hash'],
  again: 'replace',
  columns: { hash: 'text', account: 'text', expires_at: 'integer' },
});

export const usage = table<UsageRow>('usage', {
  key: ['key_id', 'pool', 'day'],
  again: 'add',
  columns: {
    key_id: 'text',
    pool: 'text',
    day: 'integer',
    requests: 'integer',
    unknown: 'integer',
    input_tokens: 'integer',
    cached_input_tokens: 'integer',
    output_tokens: 'integer',
    cost_nanos: 'integer',
    held_tokens: 'integer',
    held_nanos: 'integer',
  },
});

export const audit = table<AuditRow>('audit', {
  key: ['id'],
  again: 'keep',
  columns: { id: 'text', at: 'integer', actor: 'text', action: 'text', target: 'text', pool: 'text', fields: 'json' },
});
