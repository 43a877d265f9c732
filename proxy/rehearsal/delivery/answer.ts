// An answer of a simulated account before its delivery, and the faults that change its content.
import { isObject, type Json, type JsonObject } from '../../turn/json/json.ts';
import type { Manners } from '../account/manners.ts';
import { withBrokenItems, withBrokenOutput } from '../faults/compaction-fault.ts';
import {
  type CompactionFault,
  type Fault,
  faultOfKind,
  type MalformedFault,
  type RefuseFault,
  type RefuseInsideFault,
  type ReplyFault,
} from '../faults/fault.ts';
import { bearerRefusal, defaultErrorOf, errorOf, inRefusalManner, isBearerCode, messageOf, spentHeaders } from '../provider-error.ts';

export type AnswerBody =
  | {
      readonly kind: 'events';
      /** The events before `response.created`: quota and metadata. */
      readonly preamble: readonly Json[];
      readonly events: readonly Json[];
      /** SSE comment lines before the first event; a websocket has none. */
      readonly comments: readonly string[];
      /** The data of a last event that is not JSON, as in `[DONE]`. */
      readonly end?: string;
    }
  | { readonly kind: 'bytes'; readonly bytes: Buffer };

export interface SimulatedAnswer {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AnswerBody;
  /** Whether the connection stays open for a moment after the last event. */
  readonly staysOpen?: boolean;
}

/** The text that a `malformed` fault sends instead of an event or a body. */
export function malformedText({ as }: MalformedFault): string {
  return as === 'array' ? '[]' : '{"type":"response.output_text.delta","delta":';
}

export function jsonAnswer(status: number, json: Json, headers: Readonly<Record<string, string>> = {}): SimulatedAnswer {
  const bytes = Buffer.from(JSON.stringify(json));
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: { kind: 'bytes', bytes } };
}

/** The number of lifecycle events, `response.created` and `response.in_progress`. A refusal inside a 200 follows them by default. */
export const LIFECYCLE_EVENTS = 2;

export function eventsAnswer(
  events: readonly Json[],
  headers: Readonly<Record<string, string>>,
  { preamble = [], comments = [] }: { readonly preamble?: readonly Json[]; readonly comments?: readonly string[] } = {},
): SimulatedAnswer {
  const fixed = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' };
  return { status: 200, headers: { ...fixed, ...headers }, body: { kind: 'events', preamble, events, comments } };
}

/** How a provider writes its refusals: by its manners, with the agent word of its headers and the time in Unix milliseconds. */
export interface RefusalForm {
  readonly manners: Manners;
  readonly agent: string;
  readonly now: number;
}

/** Applies the faults that change the content; faults of framing and delivery come later. */
export function withContentFaults(answer: SimulatedAnswer, faults: readonly Fault[], form: RefusalForm): SimulatedAnswer {
  const replaced = replacedAnswer(answer, faults, form);
  if (replaced) return replaced;
  let changed = faultOfKind(faults, 'no-preamble') === undefined ? answer : withoutPreamble(answer);
  const inside = faultOfKind(faults, 'refuse-inside');
  if (inside !== undefined) changed = refusedInside(inside, changed, form.manners);
  if (faultOfKind(faults, 'empty-output') !== undefined) changed = mapResponse(changed, (response) => ({ ...response, output: [] }));
  const compaction = faultOfKind(faults, 'compaction');
  if (compaction !== undefined) changed = withBrokenCompaction(compaction, changed);
  if (faultOfKind(faults, 'no-terminal') !== undefined) changed = withoutTerminal(changed);
  const malformed = faultOfKind(faults, 'malformed');
  if (malformed !== undefined && changed.body.kind === 'bytes') {
    changed = { ...changed, body: { kind: 'bytes', bytes: Buffer.from(malformedText(malformed)) } };
  }
  return changed;
}

/** The answer of a fault that leaves nothing of the ordinary one but its metadata; undefined if there is none. */
export function replacedAnswer(answer: SimulatedAnswer, faults: readonly Fault[], form: RefusalForm): SimulatedAnswer | undefined {
  const reply = faultOfKind(faults, 'reply');
  if (reply !== undefined) return scriptedAnswer(reply);
  const refusal = faultOfKind(faults, 'refuse');
  if (refusal !== undefined) return refusedAnswer(refusal, answer, form);
  if (faultOfKind(faults, 'loading') !== undefined) return jsonAnswer(503, LOADING, metadataHeaders(answer));
  const page = faultOfKind(faults, 'html');
  if (page === undefined) return undefined;
  const headers = { ...metadataHeaders(answer), 'content-type': 'text/html; charset=utf-8' };
  return {
    status: page.status,
    headers,
    body: { kind: 'bytes', bytes: Buffer.from('<!DOCTYPE html><html><body><h1>Bad Gateway</h1></body></html>') },
  };
}

/** The answer of a local server that is loading its model. */
const LOADING: Json = { error: { code: 503, message: 'Loading model', type: 'unavailable_error' } };

/** Replaces the ordinary answer. */
function scriptedAnswer({ status, headers, body }: ReplyFault): SimulatedAnswer {
  if ('events' in body) return { ...eventsAnswer(body.events, { ...headers }), status };
  if ('json' in body) return jsonAnswer(status, body.json, headers);
  const bytes = 'text' in body ? Buffer.from(body.text) : Buffer.from(body.base64, 'base64');
  return { status, headers: { ...headers }, body: { kind: 'bytes', bytes } };
}

/** The headers that do not describe the body: request id, quota and the like. */
function metadataHeaders({ headers }: SimulatedAnswer): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'content-type' && name !== 'cache-control'));
}

/** An error answer in the provider's shape. */
export function refusedAnswer(fault: Omit<RefuseFault, 'kind'>, ordinary: SimulatedAnswer, form: RefusalForm): SimulatedAnswer {
  const { manners, now, agent } = form;
  const { status, retryAfter, retryAfterMs, resetsIn } = fault;
  const code = fault.code ?? defaultErrorOf(status).code;
  const headers = {
    ...metadataHeaders(ordinary),
    ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
    ...(retryAfterMs === undefined ? {} : { 'retry-after-ms': String(retryAfterMs) }),
  };
  if (manners.wholeLogins && status === 402 && code === 'deactivated_workspace') return jsonAnswer(402, CLOSED_WORKSPACE, headers);
  if (manners.wholeLogins && status === 401 && isBearerCode(code)) {
    const { body, headers: stated } = bearerRefusal(code);
    return jsonAnswer(401, body, { ...headers, ...stated });
  }
  const resetAt = resetsIn === undefined ? undefined : Math.floor(now / 1000) + resetsIn;
  const quota = resetAt === undefined ? {} : { plan_type: 'plus', resets_at: resetAt, resets_in_seconds: resetsIn ?? 0 };
  const error = inRefusalManner(errorOf(status, code, messageOf(status, fault.code), null, quota), manners);
  const spent = manners.wholeQuota && code === 'usage_limit_reached' ? spentHeaders(agent, now, resetsIn) : {};
  return jsonAnswer(status, { error }, { ...headers, ...spent });
}

/** The body of a refusal because the workspace is closed (RB5). */
const CLOSED_WORKSPACE: Json = { detail: { code: 'deactivated_workspace' } };

function refusedInside(fault: RefuseInsideFault, answer: SimulatedAnswer, manners: Manners): SimulatedAnswer {
  const code = fault.code ?? 'server_is_overloaded';
  const message = messageOf(500, code);
  const failure = (response: JsonObject): JsonObject => ({
    ...response,
    status: 'failed',
    output: [],
    usage: null,
    error: { code, message },
  });
  if (answer.body.kind === 'bytes') return mapResponse(answer, failure);
  const { events } = answer.body;
  const before = events.slice(0, fault.after ?? LIFECYCLE_EVENTS);
  const last = events.at(-1);
  const response = isObject(last) && isObject(last.response) ? failure(last.response) : {};
  const event =
    fault.as === 'error'
      ? {
          type: 'error',
          sequence_number: before.length,
          ...(manners.bareErrorEvents ? {} : { code, message, param: null }),
          error: inRefusalManner(errorOf(500, code, message), manners),
        }
      : { type: 'response.failed', sequence_number: before.length, response };
  return { ...answer, body: { ...answer.body, events: [...before, event] } };
}

function withBrokenCompaction(fault: CompactionFault, answer: SimulatedAnswer): SimulatedAnswer {
  if (answer.body.kind === 'bytes') return mapResponse(answer, (response) => withBrokenOutput(response, fault));
  return { ...answer, body: { ...answer.body, events: withBrokenItems(answer.body.events, fault) } };
}

function withoutPreamble(answer: SimulatedAnswer): SimulatedAnswer {
  return answer.body.kind === 'events' ? { ...answer, body: { ...answer.body, preamble: [] } } : answer;
}

function withoutTerminal(answer: SimulatedAnswer): SimulatedAnswer {
  if (answer.body.kind === 'events') return { ...answer, body: { ...answer.body, events: answer.body.events.slice(0, -1) } };
  return mapResponse(answer, (response) => ({ ...response, status: 'in_progress', usage: null }));
}

/** Changes the response object in the terminal event or the JSON body. */
function mapResponse(answer: SimulatedAnswer, change: (response: JsonObject) => JsonObject): SimulatedAnswer {
  if (answer.body.kind === 'bytes') {
    const json = JSON.parse(answer.body.bytes.toString()) as Json;
    return isObject(json) ? { ...answer, body: { kind: 'bytes', bytes: Buffer.from(JSON.stringify(change(json))) } } : answer;
  }
  const { events } = answer.body;
  const last = events.at(-1);
  if (!isObject(last) || !isObject(last.response)) return answer;
  return { ...answer, body: { ...answer.body, events: [...events.slice(0, -1), { ...last, response: change(last.response) }] } };
}
