// The checks of a strict platform on a Responses request: its schema, calls and their outputs, ciphertext, files, and what quirks exclude
// (AA88).
import { asList, asString, isAbsent, isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import type { Quirks } from '../../../turn/provider/quirks.ts';
import type { SimulatedAccount } from '../../account/simulated-account.ts';
import { filesIn } from '../../account/simulated-files.ts';
import { unknownAnchor } from '../../checks/request-checks.ts';
import { type Anchors, endsInTrigger, toolLists } from '../../model/turn-request.ts';
import { modelRefusal, SimulatedError, unverifiedContent } from '../../provider-error.ts';
import { refuse } from '../../request-refusals.ts';
import type { ApiSettings } from '../api-settings.ts';
import { refuseUnkept } from '../kept-members.ts';
import { refuseLooseSchema } from '../loose-schemas.ts';
import { RequestSchema } from '../request-schema.ts';
import { refuseLongOutput } from '../simulated-model-lists.ts';
import { COMPACT_REQUEST, RESPONSES_FRAME, RESPONSES_REQUEST } from './responses-schema.ts';

const SCHEMAS = {
  http: new RequestSchema(RESPONSES_REQUEST),
  frame: new RequestSchema(RESPONSES_FRAME),
  compact: new RequestSchema(COMPACT_REQUEST),
};

export interface CheckedResponses {
  readonly body: JsonObject;
  readonly account: SimulatedAccount;
  readonly settings: ApiSettings;
  readonly slugs: ReadonlySet<string>;
  readonly as: keyof typeof SCHEMAS;
  /** The responses of the websocket on which the frame came. */
  readonly anchors?: Anchors | undefined;
}

/** @throws SimulatedError of the first check that fails */
export function checkResponses(request: CheckedResponses): void {
  const { body, slugs, account, settings } = request;
  SCHEMAS[request.as].check(withTypes(body));
  if (!slugs.has(String(body.model))) throw modelRefusal(String(body.model), account.manners);
  refuseAnchor(request);
  refuseLongOutput(body.max_output_tokens, 'max_output_tokens', settings);
  refuseWrongParts(body);
  refuseSilentJsonMode(body, settings);
  refuseLooseFormat(body);
  refuseUnpaired(body);
  refuseForeign(request);
  refuseTrigger(body, settings);
  refuseByQuirks(request);
}

/** Adds the type to messages that omit it. */
export function withTypes(body: JsonObject): JsonObject {
  if (typeof body.input === 'string') return { ...body, input: [{ type: 'message', role: 'user', content: body.input }] };
  const input = asList(body.input).map((item): Json => (isObject(item) && item.type === undefined ? { type: 'message', ...item } : item));
  return isAbsent(body.input) ? body : { ...body, input };
}

function refuseAnchor({ body, anchors }: CheckedResponses): void {
  if (isAbsent(body.previous_response_id)) return;
  if (!anchors?.has(asString(body.previous_response_id) ?? '')) throw unknownAnchor(body);
}

const SPOKEN: ReadonlySet<string> = new Set(['output_text', 'refusal']);

/** Refuses parts of an assistant's message that a model cannot have said. */
function refuseWrongParts({ input }: JsonObject): void {
  for (const [i, item] of asList(input).entries()) {
    if (!isObject(item) || item.role !== 'assistant') continue;
    for (const [n, part] of asList(item.content).entries()) {
      const type = isObject(part) ? (asString(part.type) ?? '') : '';
      if (SPOKEN.has(type)) continue;
      refuse(`input[${i}].content[${n}]`, `Invalid value: '${type}'. Supported values are: 'output_text' and 'refusal'.`);
    }
  }
}

/** Refuses JSON mode of a conversation whose messages do not mention JSON. The instructions do not count (F1.1). */
function refuseSilentJsonMode({ text, input }: JsonObject, { quirks }: ApiSettings): void {
  const format = isObject(text) && isObject(text.format) ? text.format : {};
  // A server without schemas is no platform, and gets the schema in the instructions.
  if (format.type !== 'json_object' || quirks.json_schema !== undefined) return;
  if (!asList(input).some((item) => isObject(item) && /json/i.test(JSON.stringify(item.content ?? null))))
    refuse('input', "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.");
}

/** Refuses an output without its call, or a call without its output. In an anchored turn the call may be in an earlier response. */
function refuseUnpaired({ input, previous_response_id: anchor }: JsonObject): void {
  const [called, answered] = [new Map<string, number>(), new Set<string>()];
  for (const [i, item] of asList(input).entries()) {
    if (!isObject(item) || (item.type === 'tool_search_call' && item.execution === 'server')) continue;
    const [type, id] = [asString(item.type) ?? '', asString(item.call_id) ?? ''];
    if (/^(?:function|custom_tool|local_shell)_call$/.test(type)) called.set(id, i);
    if (!/^(?:function|custom_tool|local_shell)_call_output$/.test(type)) continue;
    if (!called.has(id) && isAbsent(anchor)) refuse('input', `No tool call found for function call output with call_id ${id}.`);
    answered.add(id);
  }
  const open = [...called].find(([id]) => !answered.has(id));
  if (open) refuse(`input[${open[1]}]`, `No tool output found for function call ${open[0]}.`);
}

/** Refuses ciphertext and files of other accounts, and files that this account does not have. */
function refuseForeign({ body, account }: CheckedResponses): void {
  for (const item of asList(body.input)) {
    const ciphertext = isObject(item) ? asString(item.encrypted_content) : undefined;
    if (ciphertext !== undefined && !account.isOwn(ciphertext)) throw unverifiedContent(ciphertext);
  }
  for (const { id, path } of filesIn(body.input, 'input'))
    if (!account.files.has(id)) throw new SimulatedError(404, 'file_not_found', 'There is no such file.', path);
}

function refuseTrigger({ input }: JsonObject, { compact }: ApiSettings): void {
  if (compact !== 'trigger' && endsInTrigger(asList(input))) refuse('input', "'compaction_trigger' is not supported.");
}

const HOSTED = ['web_search', 'image_generation'] as const;
const LOWERED: ReadonlySet<unknown> = new Set(['custom', 'namespace', 'local_shell', 'tool_search']);
const LOWERED_ITEM = /^(?:custom_tool|local_shell|tool_search)_/;

function refuseByQuirks({ body, settings: { quirks, hostedTools }, as }: CheckedResponses): void {
  const input = asList(body.input);
  for (const { tools, path } of toolLists(body, input)) {
    for (const [i, tool] of tools.entries()) {
      if (!isObject(tool)) continue;
      if (LOWERED.has(tool.type) && quirks.tools === 'function') refuse(`${path}[${i}].type`, `'${String(tool.type)}' is not supported.`);
      const hosted = HOSTED.find((type) => type === tool.type);
      if (hosted && !hostedTools.includes(hosted)) refuse(`${path}[${i}].type`, `'${hosted}' is not supported.`);
      refuseToolMembers(tool, `${path}[${i}]`, quirks);
    }
  }
  for (const [i, item] of input.entries()) if (isObject(item)) refuseItem(item, `input[${i}]`, quirks);
  if (as === 'compact') return;
  refuseChoice(body, quirks);
  refuseMembers(body, quirks);
  refuseUnkept(body, quirks, { verbosity: 'text.verbosity' });
}

function refuseToolMembers(tool: JsonObject, path: string, quirks: Partial<Quirks>): void {
  const { type, name, description, parameters, strict, tools } = tool;
  for (const [i, child] of asList(tools).entries()) if (isObject(child)) refuseToolMembers(child, `${path}.tools[${i}]`, quirks);
  if (type !== 'function' && type !== 'custom') return;
  if (quirks.tool_description === 'required' && (asString(description) ?? '') === '')
    refuse(`${path}.description`, 'A tool has a description.');
  if (quirks.strict === false && !isAbsent(strict)) refuse(`${path}.strict`, "'strict' is not supported.");
  if (type === 'function' && strict === true)
    refuseLooseSchema(parameters, { param: `${path}.parameters`, of: `function '${String(name)}'`, code: 'invalid_function_parameters' });
}

/** Refuses a strict format whose schema has not the strict form. */
function refuseLooseFormat({ text }: JsonObject): void {
  const format = isObject(text) && isObject(text.format) ? text.format : {};
  if (format.type !== 'json_schema' || format.strict !== true) return;
  refuseLooseSchema(format.schema, {
    param: 'text.format.schema',
    of: `response_format '${String(format.name)}'`,
    code: 'invalid_json_schema',
  });
}

function refuseItem(item: JsonObject, path: string, quirks: Partial<Quirks>): void {
  const { item_ids, tools, images, files, audio } = quirks;
  if (tools === 'function' && LOWERED_ITEM.test(asString(item.type) ?? ''))
    refuse(`${path}.type`, `'${String(item.type)}' is not supported.`);
  if (item_ids === 'omit' && (item.id ?? item.status) !== undefined) refuse(`${path}.id`, 'An item of the input has no id and no status.');
  const isAnswer = item.role === 'assistant';
  if (item_ids === 'required' && isAnswer && (isAbsent(item.id) || isAbsent(item.status)))
    refuse(path, 'An assistant message has an id and a status.');
  for (const [n, part] of [...asList(item.content), ...asList(item.output)].entries()) {
    if (!isObject(part)) continue;
    const isUrl = part.type === 'input_image' && !(asString(part.image_url) ?? '').startsWith('data:');
    if (part.type === 'input_image' && (images === 'none' || (images === 'data' && isUrl)))
      refuse(`${path}.content[${n}]`, 'The image is not taken.');
    if (part.type === 'input_file' && files === 'none') refuse(`${path}.content[${n}]`, 'No files are taken.');
    if (part.type === 'input_audio' && audio === 'none') refuse(`${path}.content[${n}]`, 'No audio is taken.');
  }
}

function refuseChoice({ tool_choice: choice, tools }: JsonObject, { tool_choice_required, tool_choice_named }: Partial<Quirks>): void {
  if (!isAbsent(choice) && choice !== 'auto' && choice !== 'none' && asList(tools).length === 0)
    refuse('tool_choice', "'tool_choice' needs 'tools'.");
  refuseUndeclared(choice, asList(tools));
  if (tool_choice_required === false && (choice === 'required' || isObject(choice)))
    refuse('tool_choice', "'tool_choice' is 'auto' or 'none'.");
  if (tool_choice_named === false && isObject(choice)) refuse('tool_choice', "'tool_choice' names no tool.");
}

/** Refuses a choice of a tool that is not declared. The child of a namespace is chosen by its bare name. */
function refuseUndeclared(choice: Json | undefined, tools: readonly Json[]): void {
  if (!isObject(choice)) return;
  const declared = tools.filter(isObject).flatMap((tool) => [tool, ...asList(tool.tools).filter(isObject)]);
  for (const { type, name } of choice.type === 'allowed_tools' ? asList(choice.tools).filter(isObject) : [choice]) {
    if (!declared.some((tool) => tool.type === type && tool.name === name))
      refuse('tool_choice', `The tool '${asString(name) ?? String(type)}' of 'tool_choice' is not in 'tools'.`);
  }
}

function refuseMembers(body: JsonObject, quirks: Partial<Quirks>): void {
  const text = isObject(body.text) ? body.text : {};
  const format = isObject(text.format) ? text.format : {};
  const reasoning = isObject(body.reasoning) ? body.reasoning : {};
  if (quirks.parallel_tool_calls === false && body.parallel_tool_calls !== undefined) refuse('parallel_tool_calls', 'It is not supported.');
  if (quirks.reasoning_summary === false && !isAbsent(reasoning.summary))
    refuse('reasoning.summary', 'It is not supported.', 'unsupported_parameter');
  if (quirks.effort === 'none' && !isAbsent(reasoning.effort)) refuse('reasoning.effort', 'It is not supported.', 'unsupported_parameter');
  if (quirks.text_format === 'required' && text.format === undefined) refuse('text.format', "Missing required parameter: 'text.format'.");
  if (quirks.stream === 'never' && body.stream === true) refuse('stream', 'This cannot be streamed.');
  if (quirks.stream === 'without_tools' && body.stream === true && asList(body.tools).length > 0)
    refuse('stream', 'This cannot be streamed.');
  if (format.type !== 'json_schema') return;
  if (quirks.json_schema === 'json_object' || quirks.json_schema === 'refuse')
    refuse('text.format.type', "'json_schema' is not supported.");
  if (quirks.json_schema === 'plain' && !isAbsent(format.strict)) refuse('text.format.strict', "'strict' is not supported.");
}
