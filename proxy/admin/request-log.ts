// GET /requests?id=&key=&account=&model=&status=&since=&ended_since=&limit=: rows of the request log, newest first.

import type { RequestFilter } from '../../store/schema/filters.ts';
import { type AdminAnswer, adminJson } from './admin-listener.ts';
import type { AdminTarget } from './admin-target.ts';
import type { FilterRefusal, RequestsReply } from './replies.ts';

const DEFAULT_ROWS = 100;
const MOST_ROWS = 999;

/**
 * Filters: `key` and `account` are ids (an account also by its label, as the log keeps it), `status` is a status such as 429 or a class
 * such as 4xx, `since` and `ended_since` are Unix milliseconds at which a request began and ended, `limit` is 1 to 999.
 */
export async function requestsAnswer(gateway: AdminTarget, query: URLSearchParams): Promise<AdminAnswer> {
  const filter = filterOf(gateway, query);
  if ('error' in filter) return adminJson(400, filter satisfies FilterRefusal);
  const { store } = gateway.services;
  const now = gateway.wallTime();
  // Rows wait in the queue for up to 100 ms, and the caller may ask as soon as a turn has ended.
  const unwritten = (await store.flush()) ? 0 : store.stats().queued;
  // One row more than was asked for shows whether rows were left off.
  const rows = await store.requests.list({ ...filter, limit: filter.limit + 1 });
  const reply: RequestsReply = { now, rows: rows.slice(0, filter.limit), more: rows.length > filter.limit };
  return adminJson(200, unwritten > 0 ? { ...reply, unwritten } : reply);
}

type LimitedFilter = RequestFilter & { readonly limit: number };

function filterOf(gateway: AdminTarget, query: URLSearchParams): LimitedFilter | FilterRefusal {
  const since = wholeNumber(query.get('since'));
  const endedSince = wholeNumber(query.get('ended_since'));
  const limit = query.has('limit') ? wholeNumber(query.get('limit')) : DEFAULT_ROWS;
  const status = /^(?:([1-5]\d\d)|([1-5]xx))$/.exec(query.get('status') ?? '');
  for (const param of query.keys()) if (!PARAMS.has(param)) return { param, error: `${param} is no filter of the request log` };
  if (Number.isNaN(since)) return { param: 'since', error: 'since takes Unix milliseconds' };
  if (Number.isNaN(endedSince)) return { param: 'ended_since', error: 'ended_since takes Unix milliseconds' };
  if (query.has('status') && !status) return { param: 'status', error: 'status takes a status such as 429, or a class such as 4xx' };
  if (limit === undefined || !(limit >= 1 && limit <= MOST_ROWS)) return { param: 'limit', error: `limit takes 1 to ${MOST_ROWS}` };
  const account = query.get('account') ?? undefined;
  return {
    id: query.get('id') ?? undefined,
    key_id: query.get('key') ?? undefined,
    // The log keeps the label.
    account: gateway.loaded.config.accounts.find(({ id }) => id === account)?.label ?? account,
    model: query.get('model') ?? undefined,
    status: status?.[1] === undefined ? undefined : Number(status[1]),
    status_class: status?.[2],
    since,
    ended_since: endedSince,
    limit,
  };
}

const PARAMS: ReadonlySet<string> = new Set(['id', 'key', 'account', 'model', 'status', 'since', 'ended_since', 'limit']);

/** Undefined where the parameter is absent, NaN where it is not a whole number. */
const wholeNumber = (text: string | null): number | undefined =>
  text === null ? undefined : /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
