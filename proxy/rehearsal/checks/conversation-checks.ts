// The checks of members, roles and tool outputs that depend on an account's manners: what the real backend refuses in a turn.
import { asList, asString, isAbsent, isObject, type JsonObject } from '../../turn/json/json.ts';
import { ProviderDetail, SimulatedError } from '../provider-error.ts';
import { type CheckedTurn, isFrame } from './checked-turn.ts';

/** The members that the backend's own clients send (RB8). */
const KNOWN_MEMBERS: ReadonlySet<string> = new Set([
  'model',
  'instructions',
  'input',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'reasoning',
  'store',
  'stream',
  'include',
  'service_tier',
  'prompt_cache_key',
  'text',
  'client_metadata',
  'stream_options',
  'prompt_cache_options',
  'access_programs',
]);

/** The members of a frame that a body does not have. */
const FRAME_MEMBERS: ReadonlySet<string> = new Set(['type', 'generate']);

/** Refuses unknown members. The anchor is not checked here, because it has a check of its own. */
export function refuseUnknownMembers(turn: CheckedTurn): void {
  const { body, account, isCompact } = turn;
  if (!account.manners.knownMembers || isCompact) return;
  for (const name of Object.keys(body)) {
    const isKnown = KNOWN_MEMBERS.has(name) || name === 'previous_response_id' || (isFrame(turn) && FRAME_MEMBERS.has(name));
    if (isKnown || isRehearsal(name, body)) continue;
    throw new ProviderDetail(400, `Unsupported parameter: ${name}`);
  }
}

/** Whether a member is `metadata.rehearse`, which is addressed to the simulated provider. */
const isRehearsal = (name: string, { metadata }: JsonObject): boolean =>
  name === 'metadata' && isObject(metadata) && metadata.rehearse !== undefined;

/** Refuses roles and texts that the backend does not take: the role `system`, and an assistant's text that is not `output_text` (RB9). */
export function refuseWrongRoles({ body, account }: CheckedTurn): void {
  if (!account.manners.ownRoles) return;
  for (const [i, item] of asList(body.input).entries()) {
    if (!isObject(item) || (item.type ?? 'message') !== 'message') continue;
    if (item.role === 'system') throw new ProviderDetail(400, 'System messages are not allowed');
    if (item.role === 'assistant') refuseWrongParts(item, i);
  }
}

function refuseWrongParts({ content }: JsonObject, i: number): void {
  for (const [k, part] of asList(content).entries()) {
    const type = isObject(part) ? asString(part.type) : undefined;
    if (type === 'output_text' || type === 'refusal') continue;
    const message = `Invalid value: '${type ?? ''}'. Supported values are: 'output_text' and 'refusal'.`;
    throw new SimulatedError(400, 'invalid_value', message, `input[${i}].content[${k}]`);
  }
}

const OUTPUTS: Readonly<Record<string, string>> = {
  function_call_output: 'function call output',
  custom_tool_call_output: 'custom tool call output',
};

/** Refuses an output that does not follow its call. In an anchored turn the call may be in an earlier response. */
export function refuseUnpairedOutputs({ body, account }: CheckedTurn): void {
  if (!account.manners.pairedToolOutputs || !isAbsent(body.previous_response_id)) return;
  const calls = new Set<string>();
  for (const item of asList(body.input)) {
    if (!isObject(item)) continue;
    const type = asString(item.type) ?? '';
    const id = asString(item.call_id) ?? '';
    if (type.endsWith('_call')) calls.add(id).add(asString(item.id) ?? id);
    const what = OUTPUTS[type];
    if (what !== undefined && !calls.has(id))
      throw new SimulatedError(400, null, `No tool call found for ${what} with call_id ${id}.`, 'input');
  }
}
