// The endpoints of a simulated agent account, as a table of answers by method and path.
import { asList, isObject, type JsonObject } from '../../turn/json/json.ts';
import type { WireWords } from '../../turn/settings.ts';
import { isQuotaHeader } from '../../turn/wire/headers.ts';
import { checkTurn } from '../checks/request-checks.ts';
import { eventsAnswer, jsonAnswer, type SimulatedAnswer } from '../delivery/answer.ts';
import { inManner, withEventManners } from '../delivery/stream-manners.ts';
import { Endpoints, type RequestContext } from '../endpoint-table.ts';
import { simulatedRefusal } from '../faults/upgrade-refusals.ts';
import type { Authorization } from '../login/authorization.ts';
import { compactionItem } from '../model/output-items.ts';
import { nativeImageAnswer } from '../model/simulated-image.ts';
import { type TranscriptionManner, transcript } from '../model/simulated-transcript.ts';
import { simulatedUsage, simulatePrewarm, simulateTurn } from '../model/simulated-turn.ts';
import { toolsItems } from '../model/turn-request.ts';
import { BearerRefused, ProviderDetail, SimulatedError } from '../provider-error.ts';
import type { ReceivedRequest } from '../received-request.ts';
import { objectBody } from '../request-refusals.ts';
import type { Manners } from './manners.ts';
import { catalogAnswer, refuseOldVersion } from './simulated-catalog.ts';
import { FILES, FINISH, UPLOADS } from './simulated-files.ts';
import { quotaEvent, quotaHeaders, usageRead } from './simulated-quota.ts';

/** The endpoints by key, in the deployment's wire words. */
export function agentEndpoints({ agent, meter }: WireWords): Endpoints {
  return new Endpoints([
    [`GET /backend-api/${agent}/models`, { answer: models, isTurn: false }],
    [`POST /backend-api/${agent}/responses`, { answer: responses, isTurn: true }],
    [`UPGRADE /backend-api/${agent}/responses`, { answer: upgrade, isTurn: false }],
    [`WS /backend-api/${agent}/responses`, { answer: frame, isTurn: true, isFrame: true }],
    [`POST /backend-api/${agent}/images/generations`, { answer: (context) => image(context, 'generations'), isTurn: true }],
    [`POST /backend-api/${agent}/images/edits`, { answer: (context) => image(context, 'edits'), isTurn: true }],
    [`POST /backend-api/${agent}/responses/compact`, { answer: compact, isTurn: true }],
    [`GET /backend-api/${meter}/usage`, { answer: usage, isTurn: false }],
    [`GET /backend-api/${meter}/agent-identities/jwks`, { answer: () => jsonAnswer(200, KEY_SET), isTurn: false }],
    ['POST /oauth/token', { answer: token, isTurn: false, isLogin: true }],
    ['POST /oauth/device', { answer: (context) => authorizationOf(context).deviceCode(context), isTurn: false, isLogin: true }],
    ['GET /oauth/authorize', { answer: (context) => authorizationOf(context).authorizePage(context), isTurn: false, isLogin: true }],
    ['GET /oauth/activate', { answer: (context) => authorizationOf(context).activatePage(context), isTurn: false, isLogin: true }],
    [
      'POST /backend-api/transcribe',
      { answer: ({ request, account }) => transcript(request, transcriptionOf(account.manners)), isTurn: false },
    ],
    ['POST /backend-api/files', { answer: createFile, isTurn: false }],
    [`POST ${FILES}*${FINISH}`, { answer: ({ account, request }) => account.files.finish(request), isTurn: false }],
    [`PUT ${UPLOADS}*`, { answer: ({ account, request }) => account.files.upload(request, account.manners), isTurn: false, isOpen: true }],
  ]);
}

/** The public key of RFC 8037, appendix A. Nothing is signed with it. */
const KEY_SET = {
  keys: [{ kty: 'OKP', crv: 'Ed25519', kid: 'rehearsal', use: 'sig', alg: 'EdDSA', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }],
};

/** The transcription of an agent backend. */
const transcriptionOf = ({ unnamedTranscription }: Manners): TranscriptionManner => ({
  models: ['gpt-4o-transcribe'],
  unnamed: unnamedTranscription,
  unknown: [],
});

function models({ request, account, catalog }: RequestContext): SimulatedAnswer {
  return catalogAnswer(catalog, request, account.manners.versionedList);
}

function createFile({ request, account, ids }: RequestContext): SimulatedAnswer {
  return account.files.create(request, account.bind('file', ids.nextNumber()));
}

function token(context: RequestContext): SimulatedAnswer {
  const { request, account, ids, now } = context;
  if (account.login === undefined) throw new SimulatedError(404, 'not_found', 'This account has no token endpoint.');
  // Native clients send JSON for a refresh; the grants of a login come as a form (RFC 6749, 4.1.3).
  if (request.json === undefined) return jsonAnswer(200, authorizationOf(context).granted(context));
  return jsonAnswer(200, account.login.refreshed(request.json, ids, now));
}

function authorizationOf({ account }: RequestContext): Authorization {
  if (account.authorization === undefined) throw new SimulatedError(404, 'not_found', 'This account has no authorization server.');
  return account.authorization;
}

function usage({ account, now }: RequestContext): SimulatedAnswer {
  if (account.settings.profile?.refusesUsage === true) throw new BearerRefused('token_expired');
  return jsonAnswer(200, usageRead(account, now));
}

function responses(context: RequestContext): SimulatedAnswer {
  const body = checkedBody(context);
  const { account, ids, now, request } = context;
  const turn = simulateTurn(body, { account, ids, now, bytes: request.body.length, session: sessionOf(request) });
  const headers = turnHeaders(context, body);
  if (body.stream !== true) return jsonAnswer(200, turn.response, headers);
  const { manners } = account;
  if (account.settings.profile?.sendsPreamble !== true) return inManner(eventsAnswer(turn.events, headers), manners);
  const before = { preamble: preamble(context, headers), comments: ['a comment of the rehearsal provider'] };
  return inManner(eventsAnswer(turn.events, headers, before), manners);
}

/** The headers of a switch of protocols; the body is empty. */
function upgrade(context: RequestContext): SimulatedAnswer {
  if (context.account.settings.websocket === 'refused') return simulatedRefusal(426);
  const { account, wire } = context;
  const all = Object.entries(turnHeaders(context, {}));
  const stated = account.manners.websocketQuotaInEvents ? all.filter(([name]) => !isQuotaHeader(name, wire.agent)) : all;
  return { status: 101, headers: Object.fromEntries(stated), body: { kind: 'bytes', bytes: Buffer.alloc(0) } };
}

function frame(context: RequestContext): SimulatedAnswer {
  const { type, ...body } = checkedBody(context);
  const { account, ids, now, request } = context;
  const headers = turnHeaders(context, body);
  const turnContext = { account, ids, now, bytes: request.body.length, session: sessionOf(request) };
  // A model has the tools of the whole conversation, while an anchored frame has only the new items.
  const earlier = toolsItems({ previous_response_id: body.previous_response_id ?? null }, context.anchors ?? new Map());
  const whole = earlier.length === 0 ? body : { ...body, input: [...earlier, ...asList(body.input)] };
  const events = body.generate === false ? simulatePrewarm(body, turnContext) : simulateTurn(whole, turnContext).events;
  const before = { preamble: account.settings.profile?.sendsPreamble === false ? [] : preamble(context, headers) };
  return withEventManners(eventsAnswer(events, headers, before), account.manners);
}

function compact(context: RequestContext): SimulatedAnswer {
  if (context.account.manners.noCompactPath) throw new ProviderDetail(404, 'Not Found');
  const body = checkedBody(context);
  const { account, ids, now, request } = context;
  const compaction = compactionItem({ ids, account, emit: () => undefined }, 0);
  const json = {
    id: ids.next('resp'),
    object: 'response.compaction',
    created_at: Math.floor(now / 1000),
    output: [compaction.item],
    usage: simulatedUsage(request.body.length, [compaction]),
  };
  return jsonAnswer(200, json, turnHeaders(context, body));
}

function image(context: RequestContext, route: 'generations' | 'edits'): SimulatedAnswer {
  const { json, headers } = context.request;
  const isForm = headers['content-type']?.startsWith('multipart/form-data') === true;
  const body = isForm && !isObject(json) ? undefined : objectBody(json);
  const answer = nativeImageAnswer(body, route, Math.floor(context.now / 1000));
  return { ...answer, headers: { ...answer.headers, ...turnHeaders(context, body ?? {}) } };
}

/** The body of a turn that has passed the account's checks. @throws SimulatedError */
function checkedBody({ request, account, catalog, wire, anchors }: RequestContext): JsonObject {
  const body = objectBody(request.json);
  if (account.settings.strict ?? true) {
    const isCompact = request.path.endsWith('/compact');
    checkTurn({
      body,
      headers: request.headers,
      account,
      slugs: catalog.slugs,
      wire,
      isCompact,
      ...(anchors === undefined ? {} : { anchors }),
    });
    const { version } = request.headers;
    const slug = String(body.model);
    const entry = catalog.models.find((one) => one.slug === slug);
    if (account.manners.gatesVersions) refuseOldVersion(entry, slug, Array.isArray(version) ? version[0] : version);
  }
  return body;
}

const sessionOf = ({ headers }: ReceivedRequest): string | undefined =>
  typeof headers['session-id'] === 'string' ? headers['session-id'] : undefined;

/** Names that can be written into a header. They are checked because a client chooses the name of the image model. */
const PRINTABLE = /^[\x20-\x7e]+$/;

/** The headers of a turn's answer. As at a real provider, they include `set-cookie` and the organization, which no client may see. */
function turnHeaders({ account, catalog, wire, ids, now }: RequestContext, body: JsonObject): Readonly<Record<string, string>> {
  return {
    ...quotaHeaders(account, wire.agent, now),
    [`x-${wire.agent}-turn-state`]: account.bind('ts', ids.nextNumber()),
    'x-models-etag': catalog.etag,
    ...(typeof body.model === 'string' && PRINTABLE.test(body.model) ? { 'openai-model': body.model } : {}),
    'openai-processing-ms': '1',
    'x-oai-request-id': account.bind('req', ids.nextNumber()),
    'cf-ray': `${account.tag}-TXL`,
    'openai-organization': account.bind('org', 'rehearsal'),
    'set-cookie': `rehearsal=${account.tag}; Path=/; HttpOnly`,
  };
}

/** The events before `response.created`. They have no sequence number. */
function preamble({ account, wire, now }: RequestContext, headers: Readonly<Record<string, string>>): readonly JsonObject[] {
  const state = `x-${wire.agent}-turn-state`;
  const metadata = { 'x-models-etag': headers['x-models-etag'], 'openai-model': headers['openai-model'] };
  return [
    ...(account.settings.profile?.sendsPreamble === true ? [{ type: 'keepalive' }] : []),
    quotaEvent(account, wire.agent, now),
    { type: `${wire.agent}.response.metadata`, headers: metadata },
    { type: 'response.metadata', headers: { [state]: headers[state] } },
  ];
}
