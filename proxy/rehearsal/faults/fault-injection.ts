// Answers a request with the ordinary answer of its endpoint, changed by the faults that apply to it.
import { asList, asString, isAbsent, isObject, type Json, type JsonObject } from '../../turn/json/json.ts';
import { challengePage } from '../account/simulated-catalog.ts';
import { unknownAnchor } from '../checks/request-checks.ts';
import { jsonAnswer, type SimulatedAnswer, withContentFaults } from '../delivery/answer.ts';
import { type Endpoints, endpointKey, type RequestContext, type SimulatedEndpoint } from '../endpoint-table.ts';
import { contentText } from '../model/turn-request.ts';
import { BearerRefused, bearerRefusal, errorOf, GrantRefused, ProviderDetail, SimulatedError } from '../provider-error.ts';
import type { ReceivedRequest } from '../received-request.ts';
import { type Fault, faultOfKind } from './fault.ts';
import { readScript } from './fault-script.ts';
import { ScriptError } from './script-words.ts';
import { withUpgradeRefusal } from './upgrade-refusals.ts';

type Faults = Fault | readonly Fault[] | undefined;

/** Returns the faults of a request. If it returns undefined, the request's own script is used, and otherwise the account's profile. */
export type FaultSource = (request: ReceivedRequest) => Faults | Promise<Faults>;

export interface FaultyAnswer {
  /** The answer with the faults of its content applied. */
  readonly answer: SimulatedAnswer;
  /** The faults of framing and delivery are still to be applied. */
  readonly faults: readonly Fault[];
}

/** Answers a request. A request that the provider would refuse anyway is refused without faults. */
export async function answerWithFaults(
  context: RequestContext,
  endpoints: Endpoints,
  faultSource: FaultSource | undefined,
): Promise<FaultyAnswer> {
  const id = { 'x-request-id': context.ids.next('req') };
  try {
    const faults = await faultsOf(context, faultSource);
    const endpoint = endpoints.get(endpointKey(context.request));
    const answer = await ordinaryAnswer(context, endpoint, faults);
    const identified = { ...answer, headers: { ...id, ...answer.headers } };
    const { account, now, wire } = context;
    const form = { manners: account.manners, agent: wire.agent, now };
    const withFaults = context.request.isUpgrade ? withUpgradeRefusal : (endpoint?.withFaults ?? withContentFaults);
    return { answer: withFaults(identified, faults, form), faults };
  } catch (error) {
    const { status, headers, body } = refusalOf(error);
    return { answer: jsonAnswer(status, body, { ...id, ...headers }), faults: [] };
  }
}

/**
 * The refusal for an error. An unexpected error has a code that no provider has, so that a defect of the rehearsal does not look like a
 * fault.
 */
function refusalOf(error: unknown): Refused {
  if (error instanceof ProviderDetail) return { status: error.status, body: { detail: error.detail } };
  if (error instanceof SimulatedError) {
    return { status: error.status, body: { error: errorOf(error.status, error.code, error.message, error.param) } };
  }
  if (error instanceof GrantRefused) return { status: 400, body: { error: error.error, error_description: error.message } };
  if (error instanceof BearerRefused) {
    return { status: 401, ...bearerRefusal(error.code) };
  }
  return { status: 500, body: { error: errorOf(500, 'rehearsal_defect', error instanceof Error ? error.message : String(error)) } };
}

interface Refused {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: JsonObject;
}

function ordinaryAnswer(
  context: RequestContext,
  endpoint: SimulatedEndpoint | undefined,
  faults: readonly Fault[],
): SimulatedAnswer | Promise<SimulatedAnswer> {
  const { request, account, now } = context;
  if (endpoint?.isLogin === true) return faults.some(preventsAnswer) ? jsonAnswer(200, {}) : endpoint.answer(context, faults);
  if (endpoint?.isFrame === true) {
    if (faultOfKind(faults, 'anchor-lost') !== undefined && isAnchored(request.json)) throw unknownAnchor(request.json);
    return endpoint.answer(context, faults);
  }
  if (endpoint?.isOpen === true) return endpoint.answer(context, faults);
  if (!account.passesGuard(request.headers)) return challengePage();
  account.checkCredential(request.headers, now);
  if (endpoint === undefined) throw new SimulatedError(404, 'not_found', 'The rehearsal provider has no such path.');
  return endpoint.answer(context, faults);
}

const isAnchored = (json: Json | undefined): json is JsonObject => isObject(json) && !isAbsent(json.previous_response_id);

const preventsAnswer = (fault: Fault): boolean =>
  fault.kind === 'refuse' || fault.kind === 'reply' || (fault.kind === 'stall' && fault.at === 'before-headers');

async function faultsOf({ request, account }: RequestContext, faultSource: FaultSource | undefined): Promise<readonly Fault[]> {
  const given = await faultSource?.(request);
  if (given !== undefined) return 'kind' in given ? [given] : given;
  const scripted = scriptedFaults(request);
  if (scripted !== undefined) return scripted;
  return request.turn > 0 ? profileFaults(account, request) : [];
}

function profileFaults({ settings: { profile, api } }: RequestContext['account'], { turn, body }: ReceivedRequest): readonly Fault[] {
  return (api && profile?.apiFaults ? profile.apiFaults(turn) : profile?.faults?.(turn, body.length)) ?? [];
}

/** The faults of the script in `metadata.rehearse`, otherwise in the last message. */
function scriptedFaults({ json, account }: ReceivedRequest): readonly Fault[] | undefined {
  const found = isObject(json) ? scriptIn(json) : undefined;
  if (found === undefined) return undefined;
  try {
    return readScript(found.script, account);
  } catch (error) {
    if (error instanceof ScriptError) throw new SimulatedError(400, 'invalid_rehearsal', error.message, found.param);
    throw error;
  }
}

interface FoundScript {
  readonly script: string;
  /** The member that has the script; null for a line of a text. */
  readonly param: string | null;
}

/**
 * Finds the fault script of a request: in `metadata.rehearse`, or in a line `rehearse: SCRIPT` of its last message or tool output, even if
 * an agent adds instructions after it. The line also reaches accounts that get no metadata. In the output of a client's tool, it makes an
 * account fail in the middle of a tool loop.
 */
function scriptIn({ metadata, input, messages }: JsonObject): FoundScript | undefined {
  const named = isObject(metadata) ? asString(metadata.rehearse) : undefined;
  if (named !== undefined) return { script: named, param: 'metadata.rehearse' };
  const last = typeof input === 'string' ? input : asList(messages ?? input).findLast((item) => !isInstruction(item));
  const text = typeof last === 'string' ? last : isObject(last) ? contentText(last.content ?? last.output) : '';
  const [, script] = /^\s*rehearse: (.+)$/m.exec(text) ?? [];
  return script === undefined ? undefined : { script, param: null };
}

const isInstruction = (item: Json): boolean => isObject(item) && (item.role === 'developer' || item.role === 'system');
