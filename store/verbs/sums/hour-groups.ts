// The sums of hours, grouped by the database: by hour or day, Pool, account and model, or any of them. Whole days and whole Pools are read
// from roll-ups, so that an answer reads some thousand rows however many accounts there are.
import type { DatabaseRecord, Value } from '../../driver.ts';
import { decode } from '../../schema/decoders.ts';
import type { HourFilter, HourGroup } from '../../schema/filters.ts';
import { DAY_MS } from '../../schema/limit-rows.ts';
import { conditionsOf, equals, isIn, numbered, type Reader, where } from '../../schema/query.ts';
import type { HourSums } from '../../schema/rows.ts';

/** The sum of a group. Fields by which it is not grouped are null. */
export interface HourTotal extends HourSums {
  /** The beginning of the hour or day; Unix milliseconds. */
  readonly from: number | null;
  readonly pool: string | null;
  readonly account: string | null;
  readonly model: string | null;
}

const SUMS = [
  'requests',
  'failed',
  'unknown',
  'input_tokens',
  'cached_input_tokens',
  'output_tokens',
  'cost_nanos',
  'duration_ms',
  'first_events',
  'first_event_ms',
] as const satisfies readonly (keyof HourSums)[];

/** The expressions by group, in the order in which rows are sorted. */
const EXPRESSIONS: Readonly<Record<HourGroup, string>> = {
  hour: 'hour',
  day: `hour - hour % ${DAY_MS}`,
  pool: 'pool',
  account: 'account',
  model: 'model',
};

const ROWS = 100;
const MOST_ROWS = 1_000;

export async function hourSums(reader: Reader, filter: HourFilter): Promise<readonly HourTotal[]> {
  const { by, offset = 0, limit = ROWS } = filter;
  const { sql: source, values } = sourceOf(filter);
  const groups = (Object.keys(EXPRESSIONS) as HourGroup[]).filter((name) => by.includes(name));
  const columns = [
    ...groups.map((name) => `${EXPRESSIONS[name]} AS of_${name}`),
    ...SUMS.map((column) => `coalesce(sum(${column}), 0) AS ${column}`),
  ];
  const places = groups.map((_, i) => i + 1);
  const grouped = groups.length === 0 ? '' : ` GROUP BY ${places.join(', ')}`;
  const ordered =
    groups.length === 0
      ? ''
      : ` ORDER BY ${groups.map((name, i) => `${i + 1}${name === 'hour' || name === 'day' ? ' DESC' : ''}`).join(', ')}`;
  const sql = `SELECT ${columns.join(', ')} FROM ${source}${grouped}${ordered} LIMIT ? OFFSET ?`;
  const page = [Math.max(0, Math.min(limit, MOST_ROWS)), Math.max(0, offset)];
  return (await reader.query(numbered(sql), [...values, ...page])).map(total);
}

interface Source {
  readonly sql: string;
  readonly values: Value[];
}

/** The smallest tables that have the answer. */
function sourceOf(filter: HourFilter): Source {
  const { by, accounts, model, since, until } = filter;
  if (accounts === undefined && model === undefined && !by.includes('account') && !by.includes('model')) {
    return partOf('usage_pool_hours', 'hour', filter);
  }
  const firstDay = since === undefined ? Number.NEGATIVE_INFINITY : Math.ceil(since / DAY_MS) * DAY_MS;
  const lastDay = until === undefined ? Number.POSITIVE_INFINITY : Math.floor(until / DAY_MS) * DAY_MS;
  if (by.includes('hour') || firstDay >= lastDay) return partOf('usage_hours', 'hour', filter);
  // The hours before the first whole day and after the last one.
  const edges = [
    ...(since === undefined || since === firstDay ? [] : [{ since, until: firstDay }]),
    ...(until === undefined || until === lastDay ? [] : [{ since: lastDay, until }]),
  ];
  const days = { since: since === undefined ? undefined : firstDay, until: until === undefined ? undefined : lastDay };
  const columns = `pool, account, model, ${SUMS.join(', ')}`;
  const parts = [
    { names: `day AS hour, ${columns}`, ...partOf('usage_days', 'day', { ...filter, ...days }) },
    ...edges.map((edge) => ({ names: `hour, ${columns}`, ...partOf('usage_hours', 'hour', { ...filter, ...edge }) })),
  ];
  return {
    sql: `(${parts.map(({ names, sql }) => `SELECT ${names} FROM ${sql}`).join(' UNION ALL ')}) AS hours`,
    values: parts.flatMap(({ values }) => values),
  };
}

/** The rows of one table. */
function partOf(table: string, time: 'hour' | 'day', { pools, accounts, model, since, until }: HourFilter): Source {
  const { sql, values } = conditionsOf([
    isIn('account', accounts),
    equals('model', model),
    since === undefined ? undefined : where(`${time} >= ?`, since),
    until === undefined ? undefined : where(`${time} < ?`, until),
    isIn('pool', pools),
  ]);
  return { sql: `${table}${sql}`, values };
}

function total(record: DatabaseRecord): HourTotal {
  const text = (name: HourGroup): string | null => decode('text', record[`of_${name}`] ?? null, `usage_hours.${name}`) as string | null;
  const sums = SUMS.map((column) => [column, decode('integer', record[column], `usage_hours.${column}`)]);
  return {
    from: decode('integer', record.of_hour ?? record.of_day ?? null, 'usage_hours.hour') as number | null,
    pool: text('pool'),
    account: text('account'),
    model: text('model'),
    ...(Object.fromEntries(sums) as unknown as HourSums),
  };
}
