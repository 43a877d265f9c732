// GET /api/requests and /api/requests/{id}: rows of the request log, newest first, and one turn with its attempts.
import type { RequestFilter } from '../../../store/schema/filters.ts';
import { accountsThen } from '../../mcp/accounts-then.ts';
import type { OperatorView } from '../../mcp/operator-view.ts';
import { placeOfCursor, placeText } from '../../mcp/paging.ts';
import { args, integer, name, text, type ValueOf } from '../../turn/json/field-schemas.ts';
import type { AdminTarget } from '../admin-target.ts';
import { ApiRefusal, type Endpoint, endpoint } from '../api/endpoint.ts';
import { REQUESTS, type RequestsReply, TURN, type TurnReply } from '../replies/log-replies.ts';

const DEFAULT_ROWS = 100;
const MOST_ROWS = 999;
/** The longest search. If it finds too few rows, the answer has these rows and states how far the search came. */
const SEARCH_MS = 150;

const FILTER = args({
  id: name('Only the request with this id.'),
  pool: name('Only of this Pool (id).'),
  key: name('Only of this Pool API key (id).'),
  account: name('Only those whose last account was this one (id or label).'),
  model: name('Only of this exposed model id.'),
  status: text('Only with this status, such as 429, or of this class, such as 4xx.', {
    pattern: '^[1-5](\\d\\d|xx)$',
    'x-takes': 'a status such as 429, or a class such as 4xx',
  }),
  code: name('Only with this error code.'),
  since: integer('Only those that began at this time or later, Unix milliseconds.', { minimum: 0, 'x-takes': 'Unix milliseconds' }),
  until: integer('Only those that began before this time, Unix milliseconds.', { minimum: 0, 'x-takes': 'Unix milliseconds' }),
  ended_since: integer('Only those that ended at this time or later, and began at most an hour before it; Unix milliseconds.', {
    minimum: 0,
    'x-takes': 'Unix milliseconds',
  }),
  limit: integer(`Most rows of the answer; ${DEFAULT_ROWS} if absent.`, { minimum: 1, maximum: MOST_ROWS, 'x-takes': `1 to ${MOST_ROWS}` }),
  cursor: text('The next_cursor of the previous answer, with the same other parameters.', { maxLength: 200 }),
});

export const requestLog = (gateway: AdminTarget): readonly Endpoint[] => [
  endpoint({
    name: 'GET /api/requests',
    summary: 'Rows of the request log, newest first.',
    need: 'view',
    query: FILTER,
    reply: REQUESTS,
    answer: ({ asker, query }) => requestsOf(gateway, asker.view(), query),
  }),
  endpoint({
    name: 'GET /api/requests/{id}',
    summary: 'A turn of the request log with its attempts.',
    need: 'view',
    reply: TURN,
    refuses: [404],
    answer: ({ asker, path: { id = '' } }) => turnOf(gateway, asker.view(), id),
  }),
];

async function requestsOf(gateway: AdminTarget, view: OperatorView, query: ValueOf<typeof FILTER>): Promise<RequestsReply> {
  const { store } = gateway.services;
  const { limit = DEFAULT_ROWS } = query;
  const now = gateway.wallTime();
  // Rows wait in the queue for up to 100 ms, and a caller may ask as soon as a turn has ended.
  const unwritten = (await store.flush()) ? 0 : store.stats().queued;
  // One row more than was requested shows whether there are more.
  const { rows: found, reached } = await store.requests.search({ ...filterOf(view, query), limit: limit + 1 }, SEARCH_MS);
  const rows = found.slice(0, limit);
  const next = found.length > limit ? rows.at(-1) : reached;
  const reply = {
    now,
    rows,
    more: next !== undefined,
    next_cursor: next ? placeText(next) : null,
    ...(next && next === reached && { searched_from: reached.at }),
  };
  return unwritten > 0 ? { ...reply, unwritten } : reply;
}

function filterOf(view: OperatorView, query: ValueOf<typeof FILTER>): RequestFilter {
  const { id, pool, key, account, model, status, code, since, until, ended_since, cursor } = query;
  const isClass = status?.endsWith('xx') ?? false;
  return {
    id,
    key_id: key,
    model,
    code,
    since,
    until,
    ended_since,
    pools: view.poolsFor(pool),
    // Rows contain the label of an account, not its id.
    account: account === undefined ? undefined : view.labelOf(account),
    status: status === undefined || isClass ? undefined : Number(status),
    status_class: isClass ? status : undefined,
    before: placeOfCursor(cursor),
  };
}

async function turnOf({ services: { store } }: AdminTarget, view: OperatorView, id: string): Promise<TurnReply> {
  // Written first, because a caller may ask as soon as the turn has ended.
  await store.flush();
  const [turn] = await store.requests.list({ id, pools: view.poolsFor(undefined), limit: 1 });
  if (!turn) throw new ApiRefusal(404, `the request log has no turn '${id}'`);
  const attempts = await store.attempts.of(turn);
  return { turn, attempts, accounts: accountsThen(turn, attempts, view) };
}
