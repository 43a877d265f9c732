// The account side's paths: the table of what the provider answers, by method and path. New surfaces are rows here.

import type { JsonObject } from '../turn/json.ts';
import { isObject } from '../turn/json.ts';
import type { WireWords } from '../turn/settings.ts';
import type { Account } from './account.ts';
import { type Answer, eventsAnswer, jsonAnswer } from './answer.ts';
import type { ArrivedRequest } from './arrived.ts';
import type { Catalog } from './catalog.ts';
import { ProviderError } from './errors.ts';
import type { Ids } from './ids.ts';
import { compactionItem } from './items.ts';
import { quotaEvent, quotaHeaders, usageRead } from './quota.ts';
import { textOf } from './reading.ts';
import { judge } from './strict.ts';
import { believableTurn, usageOf } from './turn.ts';

/** A request, and what is needed to answer it. */
export interface Call {
  readonly request: ArrivedRequest;
  readonly account: Account;
  readonly catalog: Catalog;
  readonly wire: WireWords;
  readonly ids: Ids;
  /** Unix milliseconds. */
  readonly now: number;
}

interface Handler {
  readonly answer: (call: Call) => Answer;
  /** Counts as a turn of the account: its temperament applies. */
  readonly isTurn: boolean;
  /** Asked without a bearer; and a fault that keeps it from answering keeps it from doing anything. */
  readonly isLogin?: boolean;
}

export type Handlers = ReadonlyMap<string, Handler>;

/** The table, keyed `METHOD /path`, in the deployment's words. */
export function handlersOf({ agent, meter }: WireWords): Handlers {
  return new Map<string, Handler>([
    [`GET /backend-api/${agent}/models`, { answer: models, isTurn: false }],
    [`POST /backend-api/${agent}/responses`, { answer: responses, isTurn: true }],
    [`POST /backend-api/${agent}/responses/compact`, { answer: compact, isTurn: true }],
    [`GET /backend-api/${meter}/usage`, { answer: usage, isTurn: false }],
    ['POST /oauth/token', { answer: token, isTurn: false, isLogin: true }],
  ]);
}

function models({ request, catalog }: Call): Answer {
  if (request.headers['if-none-match'] === catalog.etag) {
    return { status: 304, headers: { etag: catalog.etag }, body: { kind: 'bytes', bytes: Buffer.alloc(0) } };
  }
  const headers = { 'content-type': 'application/json', etag: catalog.etag };
  return { status: 200, headers, body: { kind: 'bytes', bytes: Buffer.from(catalog.body) } };
}

function token({ request, account, ids, now }: Call): Answer {
  if (account.login === undefined) throw new ProviderError(404, 'not_found', 'This account has no token endpoint.');
  return jsonAnswer(200, account.login.refreshed(request.json, ids, now));
}

function usage({ account, now }: Call): Answer {
  if (account.config.temperament?.refusesUsage === true)
    throw new ProviderError(401, 'token_expired', 'The credential has expired; log in again.');
  return jsonAnswer(200, usageRead(account, now));
}

function responses(call: Call): Answer {
  const body = bodyOf(call);
  const turn = believableTurn(body, { account: call.account, ids: call.ids, now: call.now, bytes: call.request.body.length });
  const headers = turnHeaders(call, body);
  if (body.stream !== true) return jsonAnswer(200, turn.response, headers);
  return call.account.config.temperament?.chatty === true
    ? eventsAnswer([...chatter(call, headers), ...turn.events], headers, ['the rehearsal provider likes to talk'])
    : eventsAnswer(turn.events, headers);
}

function compact(call: Call): Answer {
  const body = bodyOf(call);
  const made = compactionItem({ ids: call.ids, account: call.account, emit: () => undefined }, 0);
  const json = {
    id: call.ids.next('resp'),
    object: 'response.compaction',
    created_at: Math.floor(call.now / 1000),
    output: [made.item],
    usage: usageOf(call.request.body.length, [made]),
  };
  return jsonAnswer(200, json, turnHeaders(call, body));
}

/** The body of a turn, once it has passed what this account checks. */
function bodyOf({ request, account, catalog, wire }: Call): JsonObject {
  if ((request.headers['content-encoding'] ?? 'identity') !== 'identity') {
    throw new ProviderError(415, 'unsupported_content_encoding', 'The rehearsal provider reads bodies as they are.');
  }
  const body = request.json;
  if (!isObject(body)) throw new ProviderError(400, 'invalid_json', 'The body is not a JSON object.');
  if (account.config.strict ?? true) {
    judge({ body, headers: request.headers, account, slugs: catalog.slugs, wire, isCompact: request.path.endsWith('/compact') });
  }
  return body;
}

/** What a provider says beside a turn; `set-cookie` and the organization are there because real ones say it, and no client should see it. */
function turnHeaders({ account, catalog, wire, ids, now }: Call, body: JsonObject): Readonly<Record<string, string>> {
  return {
    ...quotaHeaders(account, wire.agent, now),
    [`x-${wire.agent}-turn-state`]: account.bind('ts', ids.number()),
    'x-models-etag': catalog.etag,
    'openai-model': textOf(body.model) ?? '',
    'openai-processing-ms': '1',
    'openai-organization': account.bind('org', 'rehearsal'),
    'set-cookie': `rehearsal=${account.tag}; Path=/; HttpOnly`,
  };
}

/** Events that come before `response.created`; they have no sequence number. */
function chatter({ account, wire, now }: Call, headers: Readonly<Record<string, string>>): readonly JsonObject[] {
  const state = `x-${wire.agent}-turn-state`;
  const metadata = { 'x-models-etag': headers['x-models-etag'], 'openai-model': headers['openai-model'] };
  return [
    { type: 'keepalive' },
    quotaEvent(account, wire.agent, now),
    { type: `${wire.agent}.response.metadata`, headers: metadata },
    { type: 'response.metadata', headers: { [state]: headers[state] } },
  ];
}
