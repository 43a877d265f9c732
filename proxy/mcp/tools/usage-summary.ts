// `usage_summary`: requests, tokens and cost by key, Pool and day.
import type { UsageGroup, UsageTotal } from '../../../store/store.ts';
import { DAY_MS, dayOf } from '../../base/time/utc-days.ts';
import { KEPT_DAYS } from '../../keys/ledger.ts';
import { dollars } from '../../turn/costs/nanos.ts';
import { args, integer, list, name, nullable, number, object, oneOf, text, type ValueOf } from '../../turn/json/field-schemas.ts';
import { NEXT_CURSOR, PAGE_ARGS, pageByOffset } from '../paging.ts';
import { iso } from '../times.ts';
import { tool } from '../tool.ts';

const WEEK_DAYS = 7;

const SUMS = {
  request_count: integer('Turns that were sent to an account.'),
  input_tokens: integer('Tokens of prompts.'),
  cached_input_tokens: integer('Part of input_tokens that providers had cached.'),
  output_tokens: integer('Tokens that models wrote.'),
  total_tokens: integer('Input and output.'),
  cost_usd: number('US dollars at the configured prices; a model without prices costs 0.'),
  unknown_count: integer('Turns of unknown usage: their tokens are in none of the sums.'),
};

const GROUP = oneOf(['key', 'pool', 'day'], 'What a row is of.');

const BY_KEY: readonly ValueOf<typeof GROUP>[] = ['key'];

const GROUPS: Readonly<Record<ValueOf<typeof GROUP>, UsageGroup>> = { key: 'key_id', pool: 'pool', day: 'day' };

export const usageSummary = tool({
  name: 'usage_summary',
  title: 'Usage and cost',
  description:
    'Sums requests, tokens and cost in US dollars over the last days, by key, Pool or day. Use it for "what did key ci cost this week" (key: ci, days ' +
    '7), "which key costs most" (by key) and "how did usage change" (by day). A turn counts as soon as it has ended. The quota of accounts ' +
    'is in list_accounts.',
  input: args({
    key: name('Only this Pool API key (id).'),
    pool: name('Only this Pool (id).'),
    days: integer(`The number of days of UTC, ending with today. ${WEEK_DAYS} by default: this week.`, {
      minimum: 1,
      maximum: KEPT_DAYS,
      default: WEEK_DAYS,
    }),
    by: list('What each row is the sum of: one key, one Pool, one day, or any combination. ["key"] by default.', GROUP, {
      uniqueItems: true,
      maxItems: 3,
      default: ['key'],
    }),
    ...PAGE_ARGS,
  }),
  output: object({
    from: text('First day of the sums, UTC.', { format: 'date' }),
    to: text('Last day of the sums, UTC: today.', { format: 'date' }),
    total: object(SUMS, 'Over all rows, also those of other pages.'),
    usage: list(
      'The newest day first, then by key and Pool.',
      object({
        key: nullable(text('Id of the key; null if not summed by key.')),
        pool: nullable(text('Id of the Pool; null if not summed by Pool.')),
        day: nullable(text('Day of UTC; null if not summed by day.')),
        ...SUMS,
      }),
    ),
    ...NEXT_CURSOR,
  }),
  async run({ key, pool, days = WEEK_DAYS, by = BY_KEY, ...page }, view) {
    const { store } = view.services;
    const today = dayOf(view.now());
    const since = today - (days - 1) * DAY_MS;
    const filter = { pools: view.poolsFor(pool), key_ids: key === undefined ? undefined : [key], since };
    await store.flush();
    const [total] = await store.usage.sums({ ...filter, by: [] });
    const groups = by.map((name) => GROUPS[name]);
    const { rows, next_cursor } = await pageByOffset(page, (place) => store.usage.sums({ ...filter, ...place, by: groups }));
    return {
      from: dateOf(since),
      to: dateOf(today),
      total: sumsOf(total),
      usage: rows.map((row) => ({ key: row.key_id, pool: row.pool, day: row.day === null ? null : dateOf(row.day), ...sumsOf(row) })),
      next_cursor,
    };
  },
});

const dateOf = (day: number): string => iso(day).slice(0, 10);

type Sums = { readonly [Name in keyof typeof SUMS]: ValueOf<(typeof SUMS)[Name]> };

function sumsOf(total: UsageTotal | undefined): Sums {
  const { requests = 0, unknown = 0, input_tokens = 0, cached_input_tokens = 0, output_tokens = 0, cost_nanos = 0 } = total ?? {};
  return {
    request_count: requests,
    ...{ input_tokens, cached_input_tokens, output_tokens },
    total_tokens: input_tokens + output_tokens,
    cost_usd: dollars(cost_nanos),
    unknown_count: unknown,
  };
}
