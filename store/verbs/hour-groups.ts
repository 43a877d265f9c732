// The sums of hours, summed by the database: by hour or day, Pool, account and model, or any of them.

import type { DatabaseRecord } from '../driver.ts';
import { decode } from '../schema/decoders.ts';
import type { HourFilter, HourGroup } from '../schema/filters.ts';
import { DAY_MS } from '../schema/limit-rows.ts';
import { conditionsOf, equals, numbered, oneOf, type Reader, where } from '../schema/query.ts';
import type { UsageHourRow } from '../schema/rows.ts';

type HourSums = Omit<UsageHourRow, 'hour' | 'pool' | 'account' | 'model'>;

/** The sum of a group; null for what it is not grouped by. */
export interface HourTotal extends HourSums {
  /** Beginning of the hour or of the day; Unix milliseconds. */
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

/** In the order of the rows. */
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
  const { by, pools, account, model, since, until, offset = 0, limit = ROWS } = filter;
  const { sql: conditions, values } = conditionsOf([
    // The first condition is the one that the index of the key serves.
    since === undefined ? undefined : where('hour >= ?', since),
    until === undefined ? undefined : where('hour < ?', until),
    oneOf('pool', pools),
    equals('account', account),
    equals('model', model),
  ]);
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
  const sql = `SELECT ${columns.join(', ')} FROM usage_hours${conditions}${grouped}${ordered} LIMIT ? OFFSET ?`;
  const page = [Math.max(0, Math.min(limit, MOST_ROWS)), Math.max(0, offset)];
  return (await reader.query(numbered(sql), [...values, ...page])).map(total);
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
