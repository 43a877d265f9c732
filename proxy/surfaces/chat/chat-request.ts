// Translates the request of a Chat client into a request of the Responses API: its parameters, tools, messages and settings (D4, Q24).
import { invalidRequest } from '../../turn/errors/invalid-request.ts';
import { asList, isAbsent, isObject, isText, type Json, type JsonObject } from '../../turn/json/json.ts';
import type { Decoded } from '../../turn/surface.ts';
import type { Body, Turn, Work } from '../../turn/turn.ts';
import { raisedCap } from '../../turn/wire/least-cap.ts';
import { inputItems } from './chat-messages.ts';
import { ChatNames } from './chat-names.ts';
import { withoutOwnParameters } from './chat-parameters.ts';
import type { ChatStreamOptions } from './chat-sse-sink.ts';
import { translateTools } from './chat-tools.ts';

/** @throws Refusal that names members of Chat */
export function chatRequest(work: Work, turn: Turn): Decoded<ChatStreamOptions> {
  const { body } = work;
  const { stream_options: options } = body;
  const includeUsage = isObject(options) && options.include_usage === true;
  withoutOwnParameters(body);
  translateTools(body);
  translateToolChoice(body);
  const { items, origins } = inputItems(body.messages);
  delete body.messages;
  body.input = items;
  translateText(body);
  const cap = translateSettings(body, turn.key.output_tokens?.max);
  // A copy, because V8 handles an object slowly after members were deleted from it.
  work.body = { ...body };
  return { names: new ChatNames(origins, cap), memory: { includeUsage } };
}

/** @param permitted the cap of the key's policy @returns the member that states the cap */
function translateSettings(body: Body, permitted: number | undefined): string {
  const { reasoning_effort: effort, max_completion_tokens: cap, max_tokens: olderCap } = body;
  for (const name of ['reasoning_effort', 'max_completion_tokens', 'max_tokens']) delete body[name];
  if (!isAbsent(effort)) body.reasoning = { effort };
  // The key's limit applies to both members. If only the older one exceeds it, that member is refused.
  const older = isAbsent(cap) || (!isAbove(cap, permitted) && isAbove(olderCap, permitted));
  const stated = older ? olderCap : cap;
  if (isAbsent(stated)) return 'max_completion_tokens';
  body.max_output_tokens = accepted(stated, permitted);
  return older ? 'max_tokens' : 'max_completion_tokens';
}

const isAbove = (cap: Json | undefined, permitted = Number.POSITIVE_INFINITY): boolean => typeof cap === 'number' && cap > permitted;

/**
 * The cap as it is sent. Chat takes any cap, and clients that only test a model ask for one token. A value that is not a count stays, and
 * the provider refuses it.
 */
function accepted(cap: Json, permitted: number | undefined): Json {
  return typeof cap === 'number' && Number.isSafeInteger(cap) && cap >= 1 ? raisedCap(cap, permitted) : cap;
}

/** Translates `response_format` and `verbosity` of Chat into `text` (Q24). */
function translateText(body: Body): void {
  const { response_format: format, verbosity } = body;
  delete body.response_format;
  delete body.verbosity;
  const text = {
    ...(isAbsent(format) ? {} : { format: textFormat(format) }),
    ...(isAbsent(verbosity) ? {} : { verbosity }),
  };
  if (Object.keys(text).length > 0) body.text = text;
}

/** The format of the text. A JSON schema is taken out of the object that contains it in Chat. */
function textFormat(format: Json): JsonObject {
  const type = isObject(format) ? format.type : undefined;
  if (!isObject(format) || (type !== 'text' && type !== 'json_object' && type !== 'json_schema')) {
    throw invalidRequest('response_format.type', 'must be text, json_object or json_schema');
  }
  if (type !== 'json_schema') return { type };
  const { json_schema: inside } = format;
  if (!isObject(inside)) throw invalidRequest('response_format.json_schema', 'must be an object');
  if (!isText(inside.name)) throw invalidRequest('response_format.json_schema.name', 'must be a non-blank string');
  return { ...inside, type };
}

/** Translates the choice. A rule of all surfaces checks whether it names a declared tool. */
function translateToolChoice(body: Body): void {
  const choice = body.tool_choice;
  if (isAbsent(choice)) delete body.tool_choice;
  else if (isObject(choice)) body.tool_choice = flatChoice(choice);
}

/** The choice in the flat form of Responses. A choice that a Chat client has written in that form is not valid: its name is dropped. */
function flatChoice({ type, function: called, custom, allowed_tools: allowed }: JsonObject): JsonObject {
  if (type === 'function' && isObject(called)) return { type, name: called.name };
  if (type === 'custom' && isObject(custom)) return { type, name: custom.name };
  if (type !== 'allowed_tools' || !isObject(allowed)) return { type };
  return { type, mode: allowed.mode, tools: asList(allowed.tools).map((tool): Json => (isObject(tool) ? flatChoice(tool) : null)) };
}
