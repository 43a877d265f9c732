// Finds rows of the request log, newest first, by the index of the narrowest filter. If the other filters match few rows of that index, the
// search stops when its time is over and returns how far it came. So no search reads millions of rows.
import type { Value } from '../driver.ts';
import type { ListPlace, RequestFilter } from '../schema/filters.ts';
import type { RequestRow } from '../schema/logged-rows.ts';
import { type Condition, conditionsOf, equals, isIn, numbered, type Reader, where } from '../schema/query.ts';
import { requests } from '../schema/tables.ts';

/** The result of a search. */
export interface FoundRequests {
  /** Newest first. */
  readonly rows: readonly RequestRow[];
  /**
   * The place before which the search has to continue, if its time was over. Undefined if only the limit ended it, or no rows were left.
   */
  readonly reached: ListPlace | undefined;
}

const LIST_ROWS = 100;
const MOST_LIST_ROWS = 1_000;

/** How long before `ended_since` a listed request may have begun. */
const LOOK_BACK_MS = 3_600_000;

/** Rows of the index that one statement looks at: the first time, and at most. */
const FIRST_ROWS = 500;
const MOST_ROWS = 8_000;

/** The most Pools that are searched one by one. A view of more Pools has a large part of the log. */
const MOST_POOLS = 100;

/** The columns that a summary of the newest requests needs: an eighth of all, which takes an eighth of the time. */
export type RequestOutcome = Pick<RequestRow, 'at' | 'code' | 'duration_ms' | 'retries' | 'status_class'>;

/** The newest requests of these Pools. */
export async function recentOutcomes(
  reader: Reader,
  filter: Pick<RequestFilter, 'limit' | 'pools' | 'since'>,
): Promise<readonly RequestOutcome[]> {
  const { leads, others } = conditionsIn(filter);
  const part = partOf(
    { leads, ...spanOf(filter, undefined), limit: limitOf(filter) },
    'at, id, pool, code, duration_ms, retries, status_class',
  );
  const conditions = conditionsOf(others);
  const found = `SELECT * FROM (${part.sql}) AS looked${conditions.sql} ${NEWEST}`;
  return (await reader.query(numbered(found), [...part.values, ...conditions.values])).map((record) => ({
    at: Number(record.at),
    code: record.code === null ? null : String(record.code),
    duration_ms: Number(record.duration_ms),
    retries: Number(record.retries),
    status_class: String(record.status_class),
  }));
}

const limitOf = ({ limit = LIST_ROWS }: Pick<RequestFilter, 'limit'>): number => Math.max(0, Math.min(limit, MOST_LIST_ROWS));

/** @param timeMs how long the search may take; without it the search has no limit */
export async function searchRequests(reader: Reader, filter: RequestFilter, timeMs = Number.POSITIVE_INFINITY): Promise<FoundRequests> {
  const limit = limitOf(filter);
  const { leads, others } = conditionsIn(filter);
  const began = performance.now();
  const rows: RequestRow[] = [];
  let { before } = filter;
  for (let looked = FIRST_ROWS; ; looked = Math.min(looked * 2, MOST_ROWS)) {
    // Without other conditions every row of the index is a result.
    const most = others.length === 0 ? limit : looked;
    const part = { leads, ...spanOf(filter, before), limit: most };
    rows.push(...(await filtered(reader, part, others, limit - rows.length)));
    if (others.length === 0 || rows.length === limit) return { rows, reached: undefined };
    before = await lastOf(reader, part);
    if (!before) return { rows, reached: undefined };
    // The next statement looks at twice as many rows, so it takes about as long as all before it.
    if ((performance.now() - began) * 2 >= timeMs) return { rows, reached: before };
  }
}

/** The indexed columns, the narrowest first. */
const INDEXED = ['key_id', 'code', 'account', 'model'] as const;
const EQUAL = [...INDEXED, 'family', 'status', 'status_class'] as const;

interface Conditions {
  /** Alternatives: a row matches one of them. Each has an index together with the time. */
  readonly leads: readonly (readonly Condition[])[];
  /** Conditions that every row has to match. */
  readonly others: readonly Condition[];
}

function conditionsIn(filter: RequestFilter): Conditions {
  const { id, pools, status, min_duration_ms, min_retries, ended_since } = filter;
  const status_class = filter.status_class ?? (status === undefined ? undefined : `${Math.floor(status / 100)}xx`);
  const equal = { ...filter, status_class };
  const ofPools = isIn('pool', pools);
  const own = [
    min_duration_ms === undefined ? undefined : where('duration_ms >= ?', min_duration_ms),
    min_retries === undefined ? undefined : where('retries >= ?', min_retries),
    ended_since === undefined ? undefined : where('at + duration_ms >= ?', ended_since),
  ];
  const others = (lead?: (typeof EQUAL)[number]): readonly Condition[] =>
    [ofPools, ...EQUAL.map((column) => (column === lead ? undefined : equals(column, equal[column]))), ...own].filter(
      (condition) => condition !== undefined,
    );
  if (id !== undefined) return { leads: [[where('id = ?', id)]], others: others() };
  const narrowest = INDEXED.find((column) => filter[column] !== undefined);
  if (narrowest) return { leads: [[where(`${narrowest} = ?`, filter[narrowest] as string)]], others: others(narrowest) };
  if (status_class !== undefined && status_class >= '4') {
    // The index's own condition, in the same words, so that the engine uses that index.
    return { leads: [[where('status_class = ?', status_class), where('status >= 400')]], others: others('status_class') };
  }
  if (pools && pools.length > 0 && pools.length <= MOST_POOLS) {
    return { leads: pools.map((pool) => [where('pool = ?', pool)]), others: others().filter((one) => one !== ofPools) };
  }
  return { leads: [[]], others: others() };
}

/** The times between which rows are looked at. */
function spanOf({ since, until, ended_since }: RequestFilter, before: ListPlace | undefined): { readonly span: readonly Condition[] } {
  const first = Math.max(since ?? 0, ended_since === undefined ? 0 : ended_since - LOOK_BACK_MS);
  const conditions = [
    first > 0 ? where('at >= ?', first) : undefined,
    until === undefined ? undefined : where('at < ?', until),
    // Keyset paging: a page starts after the last row of the previous one, even if rows were added between the two.
    before && where('at <= ? AND (at, id) < (?, ?)', before.at, before.at, before.id),
  ];
  return { span: conditions.filter((condition) => condition !== undefined) };
}

/** The rows of an index that are looked at. */
interface Part {
  readonly leads: Conditions['leads'];
  readonly span: readonly Condition[];
  readonly limit: number;
}

const NEWEST = 'ORDER BY at DESC, id DESC';

/** The newest rows of all alternatives, up to the limit. */
function partOf({ leads, span, limit }: Part, columns: string): { readonly sql: string; readonly values: readonly Value[] } {
  const parts = leads.map((lead) => {
    const { sql, values } = conditionsOf([...lead, ...span]);
    return { sql: `SELECT * FROM (SELECT ${columns} FROM requests${sql} ${NEWEST} LIMIT ?) AS part`, values: [...values, limit] };
  });
  const all = { sql: parts.map(({ sql }) => sql).join(' UNION ALL '), values: parts.flatMap(({ values }) => values) };
  return parts.length === 1 ? all : { sql: `SELECT * FROM (${all.sql}) AS parts ${NEWEST} LIMIT ?`, values: [...all.values, limit] };
}

const COLUMNS = requests.columns.join(', ');

async function filtered(reader: Reader, part: Part, others: readonly Condition[], limit: number): Promise<readonly RequestRow[]> {
  const { sql, values } = partOf(part, COLUMNS);
  const conditions = conditionsOf(others);
  const found = `SELECT ${COLUMNS} FROM (${sql}) AS looked${conditions.sql} ${NEWEST} LIMIT ?`;
  return (await reader.query(numbered(found), [...values, ...conditions.values, limit])).map(requests.decode);
}

/** The last place that was looked at; undefined if no row is left. */
async function lastOf(reader: Reader, part: Part): Promise<ListPlace | undefined> {
  const { sql, values } = partOf(part, 'at, id');
  const last = `SELECT at, id FROM (${sql}) AS looked ${NEWEST} LIMIT 1 OFFSET ?`;
  const [record] = await reader.query(numbered(last), [...values, part.limit - 1]);
  return record && { at: Number(record.at), id: String(record.id) };
}
