// The checks of a strict server on a Chat request that its schema cannot express: the order of roles, calls and their results, tools
// (AA88).
import { asList, asString, isAbsent, isObject, type JsonObject, parsedObject } from '../../../turn/json/json.ts';
import type { SimulatedAccount } from '../../account/simulated-account.ts';
import { modelRefusal } from '../../provider-error.ts';
import { refuse } from '../../request-refusals.ts';
import type { ApiSettings } from '../api-settings.ts';
import { refuseLooseSchema } from '../loose-schemas.ts';
import { RequestSchema } from '../request-schema.ts';
import { refuseLongOutput } from '../simulated-model-lists.ts';
import { refuseByQuirks } from './chat-quirks.ts';
import { CHAT_REQUEST } from './chat-schema.ts';

const schema = new RequestSchema(CHAT_REQUEST);

export interface CheckedChat {
  readonly body: JsonObject;
  readonly account: SimulatedAccount;
  readonly settings: ApiSettings;
  readonly slugs: ReadonlySet<string>;
}

/** @throws SimulatedError of the first check that fails */
export function checkChat(chat: CheckedChat): void {
  const { body, slugs, account, settings } = chat;
  schema.check(body);
  if (!slugs.has(String(body.model))) throw modelRefusal(String(body.model), account.manners);
  for (const name of ['max_completion_tokens', 'max_tokens']) refuseLongOutput(body[name], name, settings);
  refuseWrongTools(body);
  refuseLooseSchemas(body);
  refuseWrongPairs(messagesOf(body));
  if (!messagesOf(body).some(({ role }) => role === 'user')) refuse('messages', 'There is no user message.');
  refuseSilentJsonMode(body);
  refuseByQuirks(chat);
}

const messagesOf = ({ messages }: JsonObject): readonly JsonObject[] => asList(messages).filter(isObject);

/** Refuses JSON mode of a conversation that does not mention JSON, because the model might then write blanks without end. */
function refuseSilentJsonMode(body: JsonObject): void {
  const { response_format: format } = body;
  if (!isObject(format) || format.type !== 'json_object') return;
  if (!messagesOf(body).some(({ content }) => /json/i.test(JSON.stringify(content ?? null))))
    refuse('messages', "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.");
}

/** The function of a declared tool, or of a call. */
const functionOf = (tool: unknown): JsonObject => (isObject(tool) && isObject(tool.function) ? tool.function : {});

function refuseWrongTools({ tools, tool_choice: choice, parallel_tool_calls: parallel }: JsonObject): void {
  const names = asList(tools).map((tool) => asString(functionOf(tool).name) ?? '');
  if (names.length === 0) {
    if (!isAbsent(choice)) refuse('tool_choice', "'tool_choice' is only allowed when 'tools' are specified.");
    if (!isAbsent(parallel)) refuse('parallel_tool_calls', "'parallel_tool_calls' is only allowed when 'tools' are specified.");
  }
  const twice = names.findIndex((name, i) => names.indexOf(name) !== i);
  if (twice >= 0) refuse(`tools[${twice}].function.name`, 'Two tools have this name.');
  if (isObject(choice) && !names.includes(asString(functionOf(choice).name) ?? ''))
    refuse('tool_choice.function.name', 'The named tool is not declared.');
}

/** Refuses strict tools and a strict format whose schema has not the strict form. */
function refuseLooseSchemas({ tools, response_format: format }: JsonObject): void {
  for (const [i, tool] of asList(tools).entries()) {
    const { name, parameters, strict } = functionOf(tool);
    const param = `tools[${i}].function.parameters`;
    if (strict === true) refuseLooseSchema(parameters, { param, of: `function '${String(name)}'`, code: 'invalid_function_parameters' });
  }
  const { name, schema: asked, strict } = isObject(format) && isObject(format.json_schema) ? format.json_schema : {};
  if (strict !== true) return;
  refuseLooseSchema(asked, { param: 'response_format', of: `response_format '${String(name)}'`, code: 'invalid_json_schema' });
}

/** Refuses calls and results that are not paired. The results of an assistant message follow it directly, one for each call. */
function refuseWrongPairs(messages: readonly JsonObject[]): void {
  const known = new Set<string>();
  let open: string[] = [];
  for (const [i, message] of messages.entries()) {
    const path = `messages[${i}]`;
    if (message.role === 'tool') {
      const id = asString(message.tool_call_id) ?? '';
      if (!open.includes(id)) refuse(`${path}.tool_call_id`, "A message with role 'tool' must be a response to a preceding call.");
      open = open.filter((one) => one !== id);
      continue;
    }
    if (open.length > 0) refuse(path, "An assistant message with 'tool_calls' must be followed by tool messages for each 'tool_call_id'.");
    if (message.role !== 'assistant') continue;
    open = asList(message.tool_calls).map((call, n) => callId(call, known, `${path}.tool_calls[${n}]`));
    if (open.length === 0 && isAbsent(message.content)) refuse(`${path}.content`, 'An assistant message has content or calls.');
  }
  if (open.length > 0) refuse('messages', "An assistant message with 'tool_calls' must be followed by tool messages.");
}

/** The id of a call. It has to be unique, and the arguments have to be a JSON object. */
function callId(call: unknown, known: Set<string>, path: string): string {
  const id = isObject(call) ? (asString(call.id) ?? '') : '';
  if (known.has(id)) refuse(`${path}.id`, 'Two calls have this id.');
  known.add(id);
  if (parsedObject(asString(functionOf(call).arguments) ?? '') === undefined)
    refuse(`${path}.function.arguments`, 'The arguments are no JSON object.');
  return id;
}
