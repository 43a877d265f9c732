// Decides what a request gets: the ordinary answer of its path, changed by the faults that are due.

import { isObject } from '../turn/json.ts';
import { type Answer, jsonAnswer, withContentFaults } from './answer.ts';
import type { ArrivedRequest } from './arrived.ts';
import { errorOf, ProviderError } from './errors.ts';
import type { Fault } from './fault.ts';
import type { Call, Handlers } from './handlers.ts';
import { readScript, ScriptError } from './script.ts';

type Faults = Fault | readonly Fault[] | undefined;

/** The faults of a request; undefined leaves it to the request's own script, and then to the account's temperament. */
export type Behaviour = (request: ArrivedRequest) => Faults | Promise<Faults>;

export interface Decision {
  readonly answer: Answer;
  /** Those that are still to be applied: of framing and delivery. */
  readonly faults: readonly Fault[];
}

/** The answer with the content that its faults give it. What is refused for its own sake is refused without any fault. */
export async function decide(call: Call, handlers: Handlers, behaviour: Behaviour | undefined): Promise<Decision> {
  const id = { 'x-request-id': call.ids.next('req') };
  try {
    const faults = await faultsOf(call, behaviour);
    const answer = ordinaryAnswer(call, handlers, faults);
    return { answer: withContentFaults({ ...answer, headers: { ...id, ...answer.headers } }, faults, call.now), faults };
  } catch (error) {
    return { answer: jsonAnswer(...refusalOf(error), id), faults: [] };
  }
}

/** Anything unforeseen is a 500 with a code that no provider has, so that a fault of the rehearsal is not taken for one that was asked for. */
function refusalOf(error: unknown): [status: number, body: { error: ReturnType<typeof errorOf> }] {
  if (error instanceof ProviderError) return [error.status, { error: errorOf(error.status, error.code, error.message, error.param) }];
  return [500, { error: errorOf(500, 'rehearsal_defect', error instanceof Error ? error.message : String(error)) }];
}

function ordinaryAnswer(call: Call, handlers: Handlers, faults: readonly Fault[]): Answer {
  const { request, account } = call;
  const handler = handlers.get(`${request.method} ${request.path}`);
  if (handler?.isLogin === true) return faults.some(isPrevented) ? jsonAnswer(200, {}) : handler.answer(call);
  if (!account.admits(request.headers.authorization, call.now)) {
    throw new ProviderError(401, 'invalid_api_key', 'The credential is not valid.');
  }
  if (handler === undefined) throw new ProviderError(404, 'not_found', 'The rehearsal provider has no such path.');
  return handler.answer(call);
}

/** Whether whoever asks hears nothing that was done. */
const isPrevented = (fault: Fault): boolean =>
  fault.kind === 'refuse' || fault.kind === 'reply' || (fault.kind === 'stall' && fault.at === 'before-headers');

async function faultsOf({ request, account }: Call, behaviour: Behaviour | undefined): Promise<readonly Fault[]> {
  const decided = await behaviour?.(request);
  if (decided !== undefined) return 'kind' in decided ? [decided] : decided;
  const scripted = scriptOf(request);
  if (scripted !== undefined) return scripted;
  return request.turn > 0 ? (account.config.temperament?.faults?.(request.turn) ?? []) : [];
}

/** The faults that the request asks for in `metadata.rehearse`. */
function scriptOf({ json, account }: ArrivedRequest): readonly Fault[] | undefined {
  const script = isObject(json) && isObject(json.metadata) ? json.metadata.rehearse : undefined;
  if (typeof script !== 'string') return undefined;
  try {
    return readScript(script, account);
  } catch (error) {
    if (error instanceof ScriptError) throw new ProviderError(400, 'invalid_rehearsal', error.message, 'metadata.rehearse');
    throw error;
  }
}
