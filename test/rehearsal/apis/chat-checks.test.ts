// What a simulated Chat account refuses because of its schema, or because of the quirks in its address.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import { QUIRKS, type Quirks } from '../../../proxy/turn/provider/quirks.ts';
import { startUpstream } from '../../support/rehearsal.ts';
import { at, get, send } from '../../support/rehearsal-client.ts';

const PATH = '/chat/completions';
const user: Json = { role: 'user', content: 'hello' };
const plain = { model: 'model-a', messages: [user] };
const with_ = (members: JsonObject): JsonObject => ({ ...plain, ...members });
const said = (...messages: readonly Json[]): JsonObject => ({ ...plain, messages });
const tool = (members: JsonObject = {}): Json => ({
  type: 'function',
  function: { name: 'look', description: 'Looks', parameters: { type: 'object' }, ...members },
});
const call = (id = 'call_1', args = '{}'): Json => ({ id, type: 'function', function: { name: 'look', arguments: args } });
const calling = (members: JsonObject, ...calls: readonly Json[]): Json => ({
  role: 'assistant',
  content: null,
  tool_calls: calls,
  ...members,
});
const result = (id = 'call_1', members: JsonObject = {}): Json => ({ role: 'tool', tool_call_id: id, content: 'found', ...members });
const picture = (url: string): Json => ({ type: 'image_url', image_url: { url } });
const shown = (url: string): JsonObject => said({ role: 'user', content: [picture(url)] });
const loop = (assistant: JsonObject = {}, id = 'call_1'): JsonObject => said(user, calling(assistant, call(id)), result(id));
/** A schema of the strict form. */
const CLOSED = { type: 'object', properties: {}, required: [], additionalProperties: false };
const OPEN = { ...CLOSED, properties: { at: { type: 'array', items: { type: 'object', properties: {} } } }, required: ['at'] };
const schema = (strict?: boolean): JsonObject =>
  with_({
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'a', schema: CLOSED, ...(strict === undefined ? {} : { strict }) },
    },
  });

async function refusalOf(quirks: Partial<Quirks>, body: JsonObject): Promise<string> {
  await using upstream = await startUpstream({ accounts: [{ id: 'box', api: { api: 'chat', quirks } }] });
  const response = await send(upstream.urlOf('box'), body, {}, PATH);
  const text = await response.text();
  if (response.status === 200) return 'taken';
  const json = JSON.parse(text) as JsonObject;
  return `${response.status} ${String(at(json, 'error', 'param'))}`;
}

const strictly: readonly (readonly [what: string, body: JsonObject, refusal: string])[] = [
  ['a plain turn', plain, 'taken'],
  [
    'each role',
    said({ role: 'developer', content: 'd' }, user, { role: 'assistant', content: 'a' }, { role: 'system', content: 's' }, user),
    'taken',
  ],
  ['a tool loop', loop(), 'taken'],
  ['an unknown member', with_({ seed: 1 }), '400 seed'],
  ['a member of the other API', with_({ input: 'hello' }), '400 input'],
  ['an unknown member of a message', said({ ...(user as JsonObject), cache_control: {} }), '400 messages[0].cache_control'],
  ['an unknown part', said({ role: 'user', content: [{ type: 'input_text', text: 'a' }] }), '400 messages[0].content[0].type'],
  ['an empty text', said({ role: 'user', content: '' }), '400 messages[0].content'],
  ['an empty list of tools', with_({ tools: [] }), '400 tools'],
  ['a tool of another type', with_({ tools: [{ type: 'custom', custom: { name: 'a' } }] }), '400 tools[0].function'],
  ['a tool in the form of the other API', with_({ tools: [{ type: 'function', name: 'look' }] }), '400 tools[0].function'],
  ['two tools of a name', with_({ tools: [tool(), tool()] }), '400 tools[1].function.name'],
  ['a strict tool of the strict form', with_({ tools: [tool({ strict: true, parameters: CLOSED })] }), 'taken'],
  ['a strict tool with an open object', with_({ tools: [tool({ strict: true, parameters: OPEN })] }), '400 tools[0].function.parameters'],
  [
    'a strict format with an optional member',
    with_({
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'a', strict: true, schema: { ...CLOSED, properties: { a: { type: 'string' } } } },
      },
    }),
    '400 response_format',
  ],
  ['a name of 65 characters', with_({ tools: [tool({ name: 'x'.repeat(65) })] }), '400 tools[0].function.name'],
  ['a choice without tools', with_({ tool_choice: 'auto' }), '400 tool_choice'],
  ['parallel calls without tools', with_({ parallel_tool_calls: true }), '400 parallel_tool_calls'],
  [
    'a choice of an undeclared tool',
    with_({ tools: [tool()], tool_choice: { type: 'function', function: { name: 'see' } } }),
    '400 tool_choice.function.name',
  ],
  ['an id of 41 characters', loop({}, 'x'.repeat(41)), '400 messages[1].tool_calls[0].id'],
  ['a call without a result', said(user, calling({}, call())), '400 messages'],
  ['a message between call and result', said(user, calling({}, call()), user, result()), '400 messages[2]'],
  ['a result without a call', said(user, result()), '400 messages[1].tool_call_id'],
  ['a second result', said(user, calling({}, call()), result(), result()), '400 messages[3].tool_call_id'],
  ['two calls of an id', said(user, calling({}, call(), call()), result()), '400 messages[1].tool_calls[1].id'],
  [
    'arguments that are no object',
    said(user, calling({}, call('call_1', '[]')), result()),
    '400 messages[1].tool_calls[0].function.arguments',
  ],
  ['an assistant without content and calls', said(user, { role: 'assistant', content: null }, user), '400 messages[1].content'],
  ['no user message', said({ role: 'system', content: 'a' }), '400 messages'],
  ['JSON mode that nothing mentions', with_({ response_format: { type: 'json_object' } }), '400 messages'],
  [
    'JSON mode that a message mentions',
    { ...said({ role: 'system', content: 'as JSON' }, user), response_format: { type: 'json_object' } },
    'taken',
  ],
  ['an unknown model', with_({ model: 'model-z' }), '404 model'],
  ['reasoning in a message', loop({ reasoning_content: 'a' }), '400 messages[1].reasoning_content'],
  [
    'an image in a result',
    said(user, calling({}, call()), result('call_1', { content: [picture('data:image/png;base64,AA==')] })),
    '400 messages[2].content[0]',
  ],
  ['stream options without a stream', with_({ stream_options: { include_usage: true } }), '400 stream_options'],
  ['an unknown effort', with_({ reasoning_effort: 'huge' }), '400 reasoning_effort'],
  ['another spelling of the effort', with_({ reasoning: { effort: 'low' } }), '400 reasoning'],
];

for (const [what, body, refusal] of strictly) {
  test(`[AA88] strictly: ${what} is ${refusal}`, async () => assert.equal(await refusalOf({}, body), refusal));
}

const LATE = said(user, { role: 'assistant', content: 'a' }, { role: 'system', content: 's' }, user);
const DATA = 'data:image/png;base64,AA==';
const effort = with_({ reasoning_effort: 'low' });

/** For each quirk, what it makes the server refuse and what it makes the server accept. */
const denials: readonly (readonly [
  quirks: Partial<Quirks>,
  denied: readonly (readonly [JsonObject, string])[],
  taken: readonly JsonObject[],
])[] = [
  [{ max_tokens: 'max_tokens' }, [[with_({ max_completion_tokens: 9 }), 'max_completion_tokens']], [with_({ max_tokens: 9 })]],
  [{ max_tokens: 'max_completion_tokens' }, [[with_({ max_tokens: 9 }), 'max_tokens']], [with_({ max_completion_tokens: 9 })]],
  [
    { max_tokens: 'none' },
    [
      [with_({ max_tokens: 9 }), 'max_tokens'],
      [with_({ max_completion_tokens: 9 }), 'max_completion_tokens'],
    ],
    [plain],
  ],
  [
    { developer_role: false },
    [[said({ role: 'developer', content: 'd' }, user), 'messages[0].role']],
    [said({ role: 'system', content: 'd' }, user)],
  ],
  [{ late_system: 'merge' }, [[LATE, 'messages[2].role']], [said({ role: 'system', content: 's' }, user)]],
  [{ late_system: 'user' }, [[LATE, 'messages[2].role']], [plain]],
  [
    { content: 'string' },
    [[said({ role: 'user', content: [{ type: 'text', text: 'a' }] }), 'messages[0].content[0]']],
    [plain, shown(DATA)],
  ],
  [{ images: 'data' }, [[shown('https://a.example/a.png'), 'messages[0].content[0]']], [shown(DATA)]],
  [{ images: 'none' }, [[shown(DATA), 'messages[0].content[0]']], [plain]],
  [
    { files: 'none' },
    [[said({ role: 'user', content: [{ type: 'file', file: { filename: 'a', file_data: DATA } }] }), 'messages[0].content[0]']],
    [plain],
  ],
  [
    { audio: 'none' },
    [[said({ role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } }] }), 'messages[0].content[0]']],
    [plain],
  ],
  [{ tool_result_images: 'tool' }, [], [said(user, calling({}, call()), result('call_1', { content: [picture(DATA)] }))]],
  [
    { tool_description: 'required' },
    [[with_({ tools: [tool({ description: '' })] }), 'tools[0].function.description']],
    [with_({ tools: [tool()] })],
  ],
  [{ strict: false }, [[with_({ tools: [tool({ strict: false })] }), 'tools[0].function.strict']], [with_({ tools: [tool()] })]],
  [
    { parallel_tool_calls: false },
    [[with_({ tools: [tool()], parallel_tool_calls: true }), 'parallel_tool_calls']],
    [with_({ tools: [tool()] })],
  ],
  [
    { stream_options: false },
    [[with_({ stream: true, stream_options: { include_usage: true } }), 'stream_options']],
    [with_({ stream: true })],
  ],
  [
    { tool_choice_required: false },
    [[with_({ tools: [tool()], tool_choice: 'required' }), 'tool_choice']],
    [with_({ tools: [tool()], tool_choice: 'auto' })],
  ],
  [
    { tool_choice_named: false },
    [[with_({ tools: [tool()], tool_choice: { type: 'function', function: { name: 'look' } } }), 'tool_choice']],
    [with_({ tools: [tool()], tool_choice: 'required' })],
  ],
  [{ json_schema: 'plain' }, [[schema(true), 'response_format.json_schema.strict']], [schema()]],
  [
    { json_schema: 'json_object' },
    [[schema(), 'response_format.type']],
    [{ ...said({ role: 'user', content: 'as JSON' }), response_format: { type: 'json_object' } }],
  ],
  [{ json_schema: 'refuse' }, [[schema(), 'response_format.type']], [plain]],
  [{ json_schema: 'strict' }, [], [schema(true)]],
  [{ effort: 'reasoning' }, [[effort, 'reasoning_effort']], [with_({ reasoning: { effort: 'low' } })]],
  [{ effort: 'thinking' }, [[effort, 'reasoning_effort']], [with_({ reasoning_effort: 'low', thinking: { type: 'enabled' } })]],
  [{ effort: 'none' }, [[effort, 'reasoning_effort']], [plain]],
  [{ effort_values: { low: 'minimal' } }, [[effort, 'reasoning_effort']], [with_({ reasoning_effort: 'minimal' })]],
  [
    { reasoning_field: 'reasoning', reasoning_replay: 'tool_loop' },
    [
      [loop({ reasoning_content: 'a' }), 'messages[1].reasoning_content'],
      [said(user, calling({ reasoning: 'a' }, call()), result(), user), 'messages[1].reasoning'],
    ],
    [loop({ reasoning: 'a' }), loop()],
  ],
  [{ reasoning_replay: 'none' }, [[loop({ reasoning_content: 'a' }), 'messages[1].reasoning_content']], [loop()]],
  [{ reasoning_replay: 'always' }, [[loop(), 'messages[1].reasoning_content']], [loop({ reasoning_content: '' })]],
  [
    { reasoning_details: true },
    [[loop({ reasoning_details: [{ type: 'reasoning.text', text: 'a' }] }), 'messages[1].reasoning_details']],
    [loop()],
  ],
  [{ tool_ids: 'alnum9' }, [[loop(), 'messages[1].tool_calls[0].id']], [loop({}, 'abcdefgh9')]],
  [{ tool_result_name: true }, [[loop(), 'messages[2].name']], [said(user, calling({}, call()), result('call_1', { name: 'look' }))]],
  [
    { assistant_after_tool: true },
    [[said(user, calling({}, call()), result(), user), 'messages[3].role']],
    [said(user, calling({}, call()), result(), { role: 'assistant', content: 'a' }, user)],
  ],
  [{ stream: 'never' }, [[with_({ stream: true }), 'stream']], [plain]],
  [
    { stream: 'without_tools' },
    [[with_({ stream: true, tools: [tool()] }), 'stream']],
    [with_({ stream: true }), with_({ tools: [tool()] })],
  ],
  [
    { keep: ['temperature'] },
    [
      [with_({ top_p: 1 }), 'top_p'],
      [with_({ verbosity: 'low' }), 'verbosity'],
      [with_({ metadata: { a: 'b' } }), 'metadata'],
    ],
    [with_({ temperature: 1 })],
  ],
];

for (const [quirks, denied, taken] of denials) {
  test(`[AA88] ${JSON.stringify(quirks)} refuses what it denies`, async () => {
    for (const [body, param] of denied) assert.equal(await refusalOf(quirks, body), `400 ${param}`, JSON.stringify(body));
    for (const body of taken) assert.equal(await refusalOf(quirks, body), 'taken', JSON.stringify(body));
  });
}

/** Quirks that only the Responses API has, and quirks that change only replies. */
const ELSEWHERE = ['tools', 'reasoning_summary', 'item_ids', 'text_format', 'think_tags', 'usage_excludes_reasoning', 'cost_in_usage'];

test('[AA88] each quirk has a row', () => {
  const rows = new Set(denials.flatMap(([quirks]) => Object.keys(quirks)));
  assert.deepEqual(
    Object.keys(QUIRKS)
      .filter((name) => !rows.has(name))
      .sort(),
    [...ELSEWHERE].sort(),
  );
});

test('[AA88] the profile polite takes requests of any form', async () => {
  await using upstream = await startUpstream({ accounts: [{ id: 'box', api: { api: 'chat' }, strict: false }] });
  const response = await send(upstream.urlOf('box'), with_({ seed: 1, model: 'anything' }), {}, PATH);
  assert.equal(response.status, 200);
  await response.text();
  assert.equal((await get(upstream.urlOf('box'), '/embeddings')).status, 404);
});
