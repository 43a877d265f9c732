// What a simulated Chat server refuses because its address names a quirk. Each value of a quirk excludes something that other servers take
// (AA88).
import { asList, asString, isAbsent, isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import type { Quirks } from '../../../turn/provider/quirks.ts';
import type { SimulatedAccount } from '../../account/simulated-account.ts';
import { refuse, unsupportedParameter } from '../../request-refusals.ts';
import type { ApiSettings } from '../api-settings.ts';
import { refuseUnkept } from '../kept-members.ts';
import { isOwnDetail, isOwnOpaque } from './reasoning-details.ts';

interface ChatRequest {
  readonly body: JsonObject;
  readonly account: SimulatedAccount;
  readonly settings: ApiSettings;
}

interface Conversation extends ChatRequest {
  readonly messages: readonly JsonObject[];
  readonly tools: readonly Json[];
  readonly quirks: Partial<Quirks>;
}

/** The checks in the order in which a server makes them. */
const CHECKS: readonly ((chat: Conversation) => void)[] = [
  refuseOutputCap,
  refuseRoles,
  refuseContent,
  refuseToolMembers,
  refuseToolChoice,
  refuseResultForm,
  refuseFormat,
  refuseEffort,
  refuseReasoning,
  refuseStream,
  ({ body, quirks }) => refuseUnkept(body, quirks, { verbosity: 'verbosity' }),
];

/** @throws SimulatedError */
export function refuseByQuirks(chat: ChatRequest): void {
  const { body, settings } = chat;
  const conversation = { ...chat, messages: asList(body.messages).filter(isObject), tools: asList(body.tools), quirks: settings.quirks };
  for (const check of CHECKS) check(conversation);
}

function unsupported(body: JsonObject, ...members: readonly string[]): void {
  const member = members.find((name) => body[name] !== undefined);
  if (member !== undefined) throw unsupportedParameter(member);
}

function refuseOutputCap({ body, quirks: { max_tokens: name } }: Conversation): void {
  if (name === undefined) return;
  unsupported(body, ...['max_tokens', 'max_completion_tokens'].filter((member) => member !== name));
}

function refuseRoles({ messages, quirks: { developer_role, late_system, assistant_after_tool } }: Conversation): void {
  const isSystem = (message: JsonObject | undefined): boolean => message?.role === 'system' || message?.role === 'developer';
  for (const [i, message] of messages.entries()) {
    const path = `messages[${i}].role`;
    if (developer_role === false && message.role === 'developer') refuse(path, "'developer' is not one of the roles.");
    const isLate = isSystem(message) && i > 0;
    if (isLate && (late_system === 'user' || late_system === 'merge')) refuse(path, 'A system message must be at the beginning.');
    if (assistant_after_tool === true && message.role === 'user' && messages[i - 1]?.role === 'tool')
      refuse(path, "Unexpected role 'user' after role 'tool'.");
  }
}

/** The parts of one kind, with their paths. */
function partsOf(messages: readonly JsonObject[]): readonly { readonly part: JsonObject; readonly path: string; readonly role: string }[] {
  return messages.flatMap(({ content, role }, i) =>
    asList(content).flatMap((part, n) =>
      isObject(part) ? [{ part, path: `messages[${i}].content[${n}]`, role: asString(role) ?? '' }] : [],
    ),
  );
}

function refuseContent({ messages, quirks: { content, images, files, audio, tool_result_images } }: Conversation): void {
  for (const { part, path, role } of partsOf(messages)) {
    const url = isObject(part.image_url) ? (asString(part.image_url.url) ?? '') : undefined;
    if (content === 'string' && part.type === 'text') refuse(path, 'The text of a message is a string.');
    if (url !== undefined && (images === 'none' || (images === 'data' && !url.startsWith('data:'))))
      refuse(path, 'The image is not taken.');
    if (part.type === 'file' && files === 'none') refuse(path, 'No files are taken.');
    if (part.type === 'input_audio' && audio === 'none') refuse(path, 'No audio is taken.');
    // In the documented API a tool's result contains only text.
    if (role === 'tool' && part.type !== 'text' && tool_result_images !== 'tool') refuse(path, 'The result of a tool is text.');
  }
}

function refuseToolMembers({ body, tools, quirks: { tool_description, strict, parallel_tool_calls } }: Conversation): void {
  for (const [i, tool] of tools.entries()) {
    const declared = isObject(tool) && isObject(tool.function) ? tool.function : {};
    if (tool_description === 'required' && (asString(declared.description) ?? '') === '')
      refuse(`tools[${i}].function.description`, 'A tool has a description.');
    if (strict === false && declared.strict !== undefined) refuse(`tools[${i}].function.strict`, "'strict' is not supported.");
  }
  if (parallel_tool_calls === false) unsupported(body, 'parallel_tool_calls');
}

function refuseToolChoice({ body: { tool_choice: choice }, quirks: { tool_choice_required, tool_choice_named } }: Conversation): void {
  if (tool_choice_required === false && (choice === 'required' || isObject(choice)))
    refuse('tool_choice', "'tool_choice' is 'auto' or 'none'.");
  if (tool_choice_named === false && isObject(choice)) refuse('tool_choice', "'tool_choice' names no tool.");
}

function refuseResultForm({ messages, quirks: { tool_ids, tool_result_name } }: Conversation): void {
  const wrongId = (id: Json | undefined): boolean => tool_ids === 'alnum9' && !/^[a-zA-Z0-9]{9}$/.test(asString(id) ?? '');
  for (const [i, { role, tool_calls: calls, tool_call_id: id, name }] of messages.entries()) {
    const path = `messages[${i}]`;
    for (const [n, call] of asList(calls).entries())
      if (isObject(call) && wrongId(call.id)) refuse(`${path}.tool_calls[${n}].id`, 'An id has nine letters and digits.');
    if (role !== 'tool') continue;
    if (wrongId(id)) refuse(`${path}.tool_call_id`, 'An id has nine letters and digits.');
    if (tool_result_name === true && name === undefined) refuse(`${path}.name`, 'The result of a tool has its name.');
    if (tool_result_name !== true && name !== undefined) refuse(`${path}.name`, "'name' is no member of a tool message.");
  }
}

function refuseFormat({ body, quirks: { json_schema } }: Conversation): void {
  const format = isObject(body.response_format) ? body.response_format : undefined;
  if (format?.type !== 'json_schema' || json_schema === undefined || json_schema === 'strict') return;
  const isStrict = isObject(format.json_schema) && format.json_schema.strict !== undefined;
  if (json_schema !== 'plain') refuse('response_format.type', "'json_schema' is not supported.");
  if (isStrict) refuse('response_format.json_schema.strict', "'strict' is not supported.");
}

/**
 * Checks the member that states the effort. The documented one is `reasoning_effort`; the other two exist only at servers with that quirk.
 */
function refuseEffort({ body, quirks: { effort = 'reasoning_effort', effort_values } }: Conversation): void {
  const own = { reasoning_effort: ['reasoning_effort'], reasoning: ['reasoning'], thinking: ['thinking', 'reasoning_effort'], none: [] }[
    effort
  ] as readonly string[];
  unsupported(body, ...['reasoning_effort', 'reasoning', 'thinking'].filter((member) => !own.includes(member)));
  if (effort === 'thinking' && body.reasoning_effort !== undefined && body.thinking === undefined)
    refuse('reasoning_effort', "'reasoning_effort' cannot be combined with 'thinking'.");
  const words = Object.values(effort_values ?? {});
  const word = body.reasoning_effort ?? (isObject(body.reasoning) ? body.reasoning.effort : undefined);
  if (words.length > 0 && !isAbsent(word) && !words.includes(String(word)))
    refuse('reasoning_effort', 'The effort is not one of its words.');
}

const FIELDS = ['reasoning_content', 'reasoning', 'thinking'] as const;

/** Checks reasoning in messages. The documented API has none, so a server without these quirks refuses the members. */
function refuseReasoning({ messages, account, quirks: { reasoning_field, reasoning_replay, reasoning_details } }: Conversation): void {
  const field = reasoning_field ?? 'reasoning_content';
  const lastUser = messages.findLastIndex(({ role }) => role === 'user');
  for (const [i, message] of messages.entries()) {
    const path = `messages[${i}]`;
    const named = FIELDS.find((name) => message[name] !== undefined);
    const replays = reasoning_replay === 'always' || (reasoning_replay === 'tool_loop' && i > lastUser);
    if (named !== undefined && (named !== field || !replays)) refuse(`${path}.${named}`, `'${named}' is no member of a message here.`);
    if (reasoning_replay === 'always' && message.role === 'assistant' && named === undefined)
      refuse(`${path}.${field}`, `The ${field} must be passed back to the API.`);
    const details = asList(message.reasoning_details);
    if (details.length > 0 && reasoning_details !== true) refuse(`${path}.reasoning_details`, "'reasoning_details' is no member here.");
    if (!details.every((detail) => isOwnDetail(detail, account))) refuse(`${path}.reasoning_details`, 'The details were changed.');
    for (const [n, call] of asList(message.tool_calls).entries()) {
      const opaque = isObject(call) ? call.extra_content : undefined;
      if (isObject(opaque) && !isOwnOpaque(opaque, account)) refuse(`${path}.tool_calls[${n}].extra_content`, 'It is not of this account.');
    }
  }
}

function refuseStream({ body, tools, quirks: { stream_options, stream } }: Conversation): void {
  if (stream_options === false) unsupported(body, 'stream_options');
  if (body.stream !== true && body.stream_options !== undefined) refuse('stream_options', "'stream_options' needs 'stream'.");
  if (body.stream === true && (stream === 'never' || (stream === 'without_tools' && tools.length > 0)))
    refuse('stream', 'This cannot be streamed.');
}
