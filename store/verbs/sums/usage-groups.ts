// Usage, summed by the database by key, Pool and day, or any of them.
import type { DatabaseRecord } from '../../driver.ts';
import { decode } from '../../schema/decoders.ts';
import type { UsageFilter, UsageGroup } from '../../schema/filters.ts';
import { conditionsOf, isIn, numbered, type Reader, where } from '../../schema/query.ts';
import type { UsageSums } from '../../schema/usage-sums.ts';

/** The sum of a group. Fields by which it is not grouped are null. */
export interface UsageTotal extends Readonly<UsageSums> {
  readonly key_id: string | null;
  readonly pool: string | null;
  /** Midnight UTC; Unix milliseconds. */
  readonly day: number | null;
}

const SUMS = [
  'requests',
  'unknown',
  'input_tokens',
  'cached_input_tokens',
  'output_tokens',
  'cost_nanos',
  'held_tokens',
  'held_nanos',
] as const satisfies readonly (keyof UsageSums)[];

const ORDER: readonly UsageGroup[] = ['day', 'key_id', 'pool'];

/** No id of a key has a space. A row with one counts usage for a cap of tiers, and that usage is in the row of its key already. */
const OF_KEYS = where("key_id NOT LIKE '% %'");

const ROWS = 100;
const MOST_ROWS = 1_000;

export async function usageSums(reader: Reader, filter: UsageFilter): Promise<readonly UsageTotal[]> {
  const { by, pools, key_ids, since, until, offset = 0, limit = ROWS } = filter;
  const { sql: conditions, values } = conditionsOf([
    OF_KEYS,
    isIn('pool', pools),
    isIn('key_id', key_ids),
    since === undefined ? undefined : where('day >= ?', since),
    until === undefined ? undefined : where('day < ?', until),
  ]);
  const groups = ORDER.filter((column) => by.includes(column));
  const columns = [...groups, ...SUMS.map((column) => `coalesce(sum(${column}), 0) AS ${column}`)];
  const grouped = groups.length === 0 ? '' : ` GROUP BY ${groups.join(', ')}`;
  const ordered = groups.length === 0 ? '' : ` ORDER BY ${groups.map((column) => (column === 'day' ? 'day DESC' : column)).join(', ')}`;
  const sql = `SELECT ${columns.join(', ')} FROM usage${conditions}${grouped}${ordered} LIMIT ? OFFSET ?`;
  const page = [Math.max(0, Math.min(limit, MOST_ROWS)), Math.max(0, offset)];
  return (await reader.query(numbered(sql), [...values, ...page])).map(total);
}

function total(record: DatabaseRecord): UsageTotal {
  const sums = SUMS.map((column) => [column, decode('integer', record[column], `usage.${column}`)]);
  return {
    key_id: decode('text', record.key_id ?? null, 'usage.key_id') as string | null,
    pool: decode('text', record.pool ?? null, 'usage.pool') as string | null,
    day: decode('integer', record.day ?? null, 'usage.day') as number | null,
    ...(Object.fromEntries(sums) as UsageSums),
  };
}
