// `list_requests`: the request log, newest first.
import { args, integer, list, name, object, oneOf, text } from '../../turn/json/field-schemas.ts';
import { NEXT_CURSOR, PAGE_ARGS, pageOfLog } from '../paging.ts';
import { REQUEST_ROW, shownRequest } from '../request-rows.ts';
import { instant, iso, msOf } from '../times.ts';
import { tool } from '../tool.ts';

/** The period of a question without `since`. */
const DEFAULT_SINCE = '7d';

export const listRequests = tool({
  name: 'list_requests',
  title: 'Request log',
  description:
    'Lists requests that clients sent through your Pools, newest first: status, account, model, duration, retries, tokens, and why the account was ' +
    'chosen. Use it to find the last turn of a key (key, limit 1), slow turns (min_duration_ms), failed ones (status_class, code) or failovers ' +
    '(min_retries 1). To learn why one of them was slow or went where it went, pass its id as request_id to explain_selection, which has the ' +
    `duration of each attempt. Without since it goes back ${DEFAULT_SINCE}. Costs are in usage_summary.`,
  input: args({
    id: name('Only the request with this id, whenever it was.'),
    pool: name('Only of this Pool (id).'),
    key: name('Only of this Pool API key (id).'),
    account: name('Only those whose last account was this one (id or label).'),
    model: name('Only of this exposed model id.'),
    family: oneOf(['backend-agent', 'backend', 'usage', 'v1'], 'Only of this route family.'),
    status: integer('Only with this HTTP status.', { minimum: 100, maximum: 599 }),
    status_class: oneOf(['2xx', '3xx', '4xx', '5xx'], 'Only of this class.'),
    code: name('Only with this error code, such as usage_limit_reached, rate_limit_exceeded, upstream_error.'),
    min_duration_ms: integer('Only those that took at least this many milliseconds.', { minimum: 0 }),
    min_retries: integer('Only those with at least this many retries.', { minimum: 0 }),
    since: instant(`Only from this time on; ${DEFAULT_SINCE} by default.`),
    until: instant('Only before this time.'),
    ...PAGE_ARGS,
  }),
  output: object({
    requests: list('Newest first.', REQUEST_ROW),
    since: text('The time from which on requests were searched; empty for a search by id.'),
    ...NEXT_CURSOR,
  }),
  async run({ pool, key, account, since = DEFAULT_SINCE, until, limit, cursor, ...filter }, view) {
    const { store } = view.services;
    const from = filter.id === undefined ? msOf(since, view.now()) : undefined;
    await store.flush();
    const page = await pageOfLog({ limit, cursor }, (place) =>
      store.requests.list({
        ...filter,
        ...place,
        pools: view.poolsFor(pool),
        key_id: key,
        account: account === undefined ? undefined : view.labelOf(account),
        since: from,
        until: until === undefined ? undefined : msOf(until, view.now()),
      }),
    );
    return { requests: page.rows.map(shownRequest), since: from === undefined ? '' : iso(from), next_cursor: page.next_cursor };
  },
});
