// GET /api/usage: requests, tokens, cost and errors by key, Pool, model, account, day or hour, from sums that the store updates.
import { HOUR_MS } from '../../../store/schema/usage-sums.ts';
import type { HourGroup, HourTotal, UsageGroup, UsageTotal } from '../../../store/store.ts';
import { DAY_MS } from '../../base/time/utc-days.ts';
import type { OperatorView } from '../../mcp/operator-view.ts';
import { PAGE_ARGS, pageByOffset } from '../../mcp/paging.ts';
import { instant, iso, msOf } from '../../mcp/times.ts';
import { dollars } from '../../turn/costs/nanos.ts';
import { args, list, name, type ValueOf } from '../../turn/json/field-schemas.ts';
import { ApiRefusal, type Endpoint, endpoint } from '../api/endpoint.ts';
import { USAGE, USAGE_GROUP, type UsageBy, type UsageReply, type UsageRowReply, type UsageSumsReply } from '../replies/usage-reply.ts';

const DEFAULT_SINCE = '7d';
/** The most names, which is the number of rows on a page. */
const MOST_NAMES = 200;

const QUESTION = args({
  by: list('What each row is the sum of: one or several. Sums by key go with pool and day only.', USAGE_GROUP, {
    uniqueItems: true,
    maxItems: 4,
  }),
  since: instant(`From the hour of this time on, in sums by key from its day on; ${DEFAULT_SINCE} if absent.`),
  until: instant('Up to the end of the hour of this time, in sums by key of its day; now if absent.'),
  key: list('Only these Pool API keys (ids).', name('Id of a key.'), { maxItems: MOST_NAMES }),
  pool: name('Only this Pool (id).'),
  model: name('Only this exposed model id.'),
  account: list('Only these accounts.', name('Id or label of an account.'), { maxItems: MOST_NAMES }),
  ...PAGE_ARGS,
});

type Question = ValueOf<typeof QUESTION>;

export const usage: Endpoint = endpoint({
  name: 'GET /api/usage',
  summary: 'Requests, tokens, cost and errors by key, Pool, model, account, day or hour.',
  need: 'view',
  query: QUESTION,
  reply: USAGE,
  async answer({ asker, query }) {
    const view = asker.view();
    await view.services.store.flush();
    return query.key !== undefined || query.by?.includes('key') ? usageOfKeys(view, query) : usageOfHours(view, query);
  },
});

/** A span of whole days or hours, in Unix milliseconds. */
interface Span {
  readonly since: number;
  readonly until: number;
  /** The span for the store. Sums up to now need no end; without an end the store reads whole days. */
  readonly read: { readonly since: number; readonly until: number | undefined };
}

/** The span of a question. */
function spanOf({ since = DEFAULT_SINCE, until }: Question, view: OperatorView, unit: number): Span {
  const now = view.now();
  const wholeUnit = (at: number): number => at - (at % unit);
  const from = wholeUnit(msOf(since, now));
  const to = wholeUnit(until === undefined ? now : msOf(until, now)) + unit;
  return { since: from, until: to, read: { since: from, until: to > now ? undefined : to } };
}

async function usageOfKeys(view: OperatorView, question: Question): Promise<UsageReply> {
  const { by = [], key, pool, model, account, limit, cursor } = question;
  const groups = by.map((group) => KEY_GROUPS[group]).filter((group) => group !== undefined);
  if (groups.length < by.length || model !== undefined || account !== undefined) {
    throw new ApiRefusal(400, 'sums of keys are kept by Pool and day: key goes with pool and day only', { param: 'by' });
  }
  const { store } = view.services;
  const span = spanOf(question, view, DAY_MS);
  const filter = { pools: view.poolsFor(pool), key_ids: key, ...span.read };
  const [total] = await store.usage.sums({ ...filter, by: [] });
  const { rows, next_cursor } = await pageByOffset({ limit, cursor }, (page) => store.usage.sums({ ...filter, ...page, by: groups }));
  return { ...shownSpan(span), total: keySums(total), rows: rows.map(keyRow), next_cursor };
}

const KEY_GROUPS: Readonly<Partial<Record<UsageBy, UsageGroup>>> = { key: 'key_id', pool: 'pool', day: 'day' };

async function usageOfHours(view: OperatorView, question: Question): Promise<UsageReply> {
  const { by = [], pool, model, account, limit, cursor } = question;
  const groups = by.filter((group): group is HourGroup => group !== 'key');
  if (groups.includes('day') && groups.includes('hour')) throw new ApiRefusal(400, 'by takes day or hour', { param: 'by' });
  const { store } = view.services;
  const span = spanOf(question, view, HOUR_MS);
  const accounts = account?.map((one) => view.labelOf(one));
  const filter = { pools: view.poolsFor(pool), model, accounts, ...span.read };
  const [total] = await store.usage.hours({ ...filter, by: [] });
  const { rows, next_cursor } = await pageByOffset({ limit, cursor }, (page) => store.usage.hours({ ...filter, ...page, by: groups }));
  return { ...shownSpan(span), total: hourSums(total), rows: rows.map(hourRow), next_cursor };
}

const shownSpan = ({ since, until }: Span): Pick<UsageReply, 'since' | 'until'> => ({
  since: iso(since),
  until: iso(until),
});

const fromOf = (at: number | null): string | null => (at === null ? null : iso(at));

const keyRow = (row: UsageTotal): UsageRowReply => ({
  key: row.key_id,
  pool: row.pool,
  model: null,
  account: null,
  from: fromOf(row.day),
  ...keySums(row),
});

function keySums(total: UsageTotal | undefined): UsageSumsReply {
  const { requests = 0, unknown = 0, input_tokens = 0, cached_input_tokens = 0, output_tokens = 0, cost_nanos = 0 } = total ?? {};
  return {
    request_count: requests,
    failed_count: null,
    unknown_count: unknown,
    ...{ input_tokens, cached_input_tokens, output_tokens },
    cost_usd: dollars(cost_nanos),
    duration_ms: null,
    first_event_ms: null,
  };
}

const hourRow = (row: HourTotal): UsageRowReply => ({
  key: null,
  pool: row.pool,
  model: row.model,
  account: row.account,
  from: fromOf(row.from),
  ...hourSums(row),
});

function hourSums(total: HourTotal | undefined): UsageSumsReply {
  const { requests = 0, failed = 0, unknown = 0, input_tokens = 0, cached_input_tokens = 0, output_tokens = 0 } = total ?? {};
  return {
    request_count: requests,
    failed_count: failed,
    unknown_count: unknown,
    ...{ input_tokens, cached_input_tokens, output_tokens },
    cost_usd: dollars(total?.cost_nanos ?? 0),
    duration_ms: mean(total?.duration_ms ?? 0, requests),
    first_event_ms: mean(total?.first_event_ms ?? 0, total?.first_events ?? 0),
  };
}

const mean = (sum: number, count: number): number | null => (count === 0 ? null : Math.round(sum / count));
