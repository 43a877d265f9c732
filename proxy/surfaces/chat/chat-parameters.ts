// Parameters of Chat without a counterpart. They are refused if they have an effect, and otherwise removed (Q24).
import { invalidRequest } from '../../turn/errors/invalid-request.ts';
import { type HasEffect, refuseAsking } from '../../turn/errors/neutral-values.ts';
import { isAbsent, isList, isObject, type Json } from '../../turn/json/json.ts';
import type { Body } from '../../turn/turn.ts';

const always = (): boolean => true;
const isEmptyList = (value: Json): boolean => isList(value) && value.length === 0;

/** `audio` comes before `modalities`, because a request for spoken output has both. */
const WITHOUT_COUNTERPART = new Map<string, HasEffect>([
  ['n', (value) => value !== 1],
  ['logprobs', (value) => value !== false],
  ['top_logprobs', (value) => value !== 0],
  ['logit_bias', (value) => !isObject(value) || Object.keys(value).length > 0],
  ['stop', (value) => value !== '' && !isEmptyList(value)],
  ['audio', always],
  ['modalities', (value) => !isList(value) || value.some((modality) => modality !== 'text')],
  ['frequency_penalty', (value) => value !== 0],
  ['presence_penalty', (value) => value !== 0],
  ['prediction', always],
  ['web_search_options', always],
  ['functions', (value) => !isEmptyList(value)],
  ['function_call', (value) => value !== 'none' && value !== 'auto'],
]);

/**
 * Parameters of Responses that Chat has under another name, or not at all. They are refused, because they would bypass the checks of Chat's
 * own parameters.
 */
const OF_RESPONSES = new Map<string, HasEffect>([
  ['input', always],
  ['instructions', always],
  ['text', always],
  ['reasoning', always],
  ['max_output_tokens', always],
  ['previous_response_id', always],
  ['conversation', always],
  ['prompt', always],
  ['background', (value) => value !== false],
]);

/** Parameters that are removed. `stream_options` describes the Chat stream, which is made here. */
const IGNORED = ['user', 'seed', 'stream_options'] as const;

const REMOVED: readonly string[] = [...WITHOUT_COUNTERPART.keys(), ...OF_RESPONSES.keys(), ...IGNORED];

/** Removes Chat's own parameters. All others are sent under their own names, including unknown ones. */
export function withoutOwnParameters(body: Body): void {
  refuseAsking(body, WITHOUT_COUNTERPART);
  refuseAsking(body, OF_RESPONSES);
  const { stream, stream_options: options } = body;
  // Otherwise a client that expects a stream would get one answer.
  if (!isAbsent(stream) && typeof stream !== 'boolean') throw invalidRequest('stream', 'must be a boolean');
  if (!isAbsent(options) && !isObject(options)) throw invalidRequest('stream_options', 'must be an object');
  for (const name of REMOVED) delete body[name];
}
