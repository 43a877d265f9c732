// The translation of a Chat body, member by member, and the bodies that are refused, with the paths of Chat.
import { createHash } from 'node:crypto';
import type { ErrorCode } from '../../../proxy/turn/errors/refusal.ts';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import { asksOnChat, type Case, invalidAt, type Refused } from '../tools/case.ts';

const row = (clause: string, name: string, body: JsonObject, rest: Pick<Case, 'refused' | 'sends'>): Case => ({
  clause,
  kind: 'chat',
  name,
  body,
  ...rest,
});

const SAID: Json = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] };
/** The translation of every body of `asksOnChat`. */
const TRANSLATED = { messages: undefined, input: [SAID] };

const refused = (clause: string, name: string, members: JsonObject, at: Refused): Case =>
  row(clause, name, asksOnChat(members), { refused: at });
const sends = (clause: string, name: string, members: JsonObject, expected: NonNullable<Case['sends']>): Case =>
  row(clause, name, asksOnChat(members), { sends: { ...TRANSLATED, ...expected } });

const unsupported = (param: string, value: Json, beside: JsonObject = {}): Case =>
  refused(
    'Q24',
    `${param} ${JSON.stringify(value)} asks for something`,
    { [param]: value, ...beside },
    {
      code: 'unsupported_parameter' satisfies ErrorCode,
      param,
    },
  );
const neutral = (members: JsonObject): Case =>
  sends(
    'Q24',
    `${JSON.stringify(members)} asks for nothing`,
    members,
    Object.fromEntries(Object.keys(members).map((name) => [name, undefined])),
  );

export const CHAT_PARAMETERS: readonly Case[] = [
  ...[2, 0, '1', [1]].map((n) => unsupported('n', n)),
  unsupported('logprobs', true),
  unsupported('top_logprobs', 3),
  unsupported('logit_bias', { 50256: -100 }),
  ...['\n', ['\n'], ['a', 'b'], 7].map((stop) => unsupported('stop', stop)),
  unsupported('audio', { voice: 'alloy', format: 'wav' }, { modalities: ['text', 'audio'] }),
  unsupported('modalities', ['text', 'audio']),
  unsupported('modalities', 'audio'),
  unsupported('frequency_penalty', 0.5),
  unsupported('presence_penalty', -2),
  unsupported('prediction', { type: 'content', content: 'x' }),
  unsupported('web_search_options', {}),
  unsupported('functions', [{ name: 'f' }]),
  unsupported('function_call', { name: 'f' }),
  unsupported('input', [SAID]),
  unsupported('instructions', 'Be brief.'),
  unsupported('text', { format: { type: 'text' } }),
  unsupported('reasoning', { effort: 'high' }),
  unsupported('max_output_tokens', 10),
  unsupported('previous_response_id', 'resp_1'),
  unsupported('conversation', 'conv_1'),
  unsupported('prompt', { id: 'pmpt_1' }),
  unsupported('background', true),
  neutral({ n: 1, logprobs: false, top_logprobs: 0, logit_bias: {}, frequency_penalty: 0, presence_penalty: 0 }),
  neutral({ stop: [], functions: [], function_call: 'auto', modalities: ['text'] }),
  neutral({ stop: '', function_call: 'none', background: false }),
  neutral({ n: null, logprobs: null, top_logprobs: null, logit_bias: null, stop: null, audio: null, modalities: null }),
  neutral({ prediction: null, web_search_options: null, functions: null, function_call: null, reasoning_effort: null }),
  neutral({ frequency_penalty: null, presence_penalty: null, max_tokens: null, max_completion_tokens: null, response_format: null }),
  neutral({ verbosity: null, tools: null, tool_choice: null, instructions: null, reasoning: null, text: null }),
  sends('Q24', 'a null input', { input: null }, {}),
  neutral({ user: 'someone', seed: 7, stream_options: null }),
  neutral({ stream_options: { include_usage: true, include_obfuscation: false } }),
  refused('Q24', 'stream_options that are no object', { stream_options: 'all' }, invalidAt('stream_options')),
  sends(
    'Q24',
    'a parameter that Responses has under the same name is sent',
    { temperature: 0.5, top_p: 0.9, metadata: { a: 'b' }, service_tier: 'flex', prompt_cache_key: 'k', safety_identifier: 's' },
    {},
  ),
  sends('Q24', 'parallel_tool_calls goes on', { parallel_tool_calls: false }, {}),
  sends('Q24', 'unknown parameters go on', { prompt_cache_retention: '24h', novel: { n: 2 } }, {}),
  sends('Q24', 'max_tokens', { max_tokens: 70 }, { max_tokens: undefined, max_output_tokens: 70 }),
  sends('Q24', 'max_completion_tokens', { max_completion_tokens: 70 }, { max_completion_tokens: undefined, max_output_tokens: 70 }),
  sends(
    'Q24',
    'the newer of both caps',
    { max_completion_tokens: 70, max_tokens: 90 },
    { max_completion_tokens: undefined, max_tokens: undefined, max_output_tokens: 70 },
  ),
  ...[
    [1, 16],
    [15, 16],
    [16, 16],
    // Providers refuse these values.
    [0, 0],
    [-1, -1],
    ['7', '7'],
  ].map(([cap = null, sent = null]) =>
    sends(
      'Q24',
      `a cap of ${JSON.stringify(cap)} is one that Responses takes`,
      { max_tokens: cap },
      { max_tokens: undefined, max_output_tokens: sent },
    ),
  ),
  sends('F4.3', 'reasoning_effort', { reasoning_effort: 'high' }, { reasoning_effort: undefined, reasoning: { effort: 'high' } }),
  sends('F4.7', 'reasoning_effort minimal', { reasoning_effort: 'minimal' }, { reasoning_effort: undefined, reasoning: { effort: 'low' } }),
];

const SCHEMA = { type: 'object', properties: {}, required: [], additionalProperties: false };
const formatted = (format: Json, expected: Json): Case =>
  sends(
    'Q24',
    `response_format ${JSON.stringify(format)}`,
    { response_format: format },
    { response_format: undefined, text: { format: expected } },
  );

export const CHAT_TEXT: readonly Case[] = [
  formatted({ type: 'text' }, { type: 'text' }),
  formatted({ type: 'json_object' }, { type: 'json_object' }),
  formatted(
    { type: 'json_schema', json_schema: { name: 'answer', description: 'd', strict: true, schema: SCHEMA } },
    { type: 'json_schema', name: 'answer', description: 'd', strict: true, schema: SCHEMA },
  ),
  formatted(
    { type: 'json_schema', json_schema: { name: 'loose', schema: { anyOf: [SCHEMA] } } },
    { type: 'json_schema', name: 'loose', schema: { anyOf: [SCHEMA] } },
  ),
  sends('Q24', 'verbosity', { verbosity: 'low' }, { verbosity: undefined, text: { verbosity: 'low' } }),
  sends(
    'Q24',
    'verbosity beside a format',
    { verbosity: 'low', response_format: { type: 'text' } },
    { verbosity: undefined, response_format: undefined, text: { format: { type: 'text' }, verbosity: 'low' } },
  ),
  ...(['json', 7, [], {}, { type: 'grammar' }, { type: 'constructor' }] as const).map((format) =>
    refused('Q24', `response_format ${JSON.stringify(format)}`, { response_format: format }, invalidAt('response_format.type')),
  ),
  refused('Q24', 'a format without its schema', { response_format: { type: 'json_schema' } }, invalidAt('response_format.json_schema')),
  refused(
    'Q24',
    'a schema without a name',
    { response_format: { type: 'json_schema', json_schema: { schema: SCHEMA } } },
    invalidAt('response_format.json_schema.name'),
  ),
];

/** These messages are translated into these items. */
const becomes = (name: string, messages: readonly Json[], input: readonly Json[], more: JsonObject = {}): Case =>
  row('D4', name, { model: 'model-a', messages }, { sends: { messages: undefined, input, ...more } });
const malformed = (name: string, message: Json, below: string): Case =>
  row('D4', name, { model: 'model-a', messages: [{ role: 'user', content: 'hi' }, message] }, { refused: invalidAt(`messages.1${below}`) });

const user = (...content: Json[]): Json => ({ type: 'message', role: 'user', content });
const assistant = (...content: Json[]): Json => ({ type: 'message', role: 'assistant', content });
const part = (part: Json): Json => ({ role: 'user', content: [{ type: 'text', text: 'see' }, part] });
const IMAGE = 'data:image/png;base64,AAAA';
const calls = (...tool_calls: Json[]): JsonObject => ({ role: 'assistant', content: null, tool_calls });
const CALL = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } };
const CUSTOM_CALL = { id: 'call_2', type: 'custom', custom: { name: 'c', input: 'free {text' } };
const digestedId = (id: string): string => `call_${createHash('sha256').update(id).digest('hex').slice(0, 24)}`;

export const CHAT_MESSAGES: readonly Case[] = [
  becomes('no message at all', [], []),
  becomes(
    'texts and lists of texts',
    [
      { role: 'user', content: 'a' },
      { role: 'user', content: [{ type: 'text', text: 'b' }] },
    ],
    [user({ type: 'input_text', text: 'a' }), user({ type: 'input_text', text: 'b' })],
  ),
  becomes(
    'images, with and without detail',
    [
      { role: 'user', content: [{ type: 'image_url', image_url: { url: IMAGE, detail: 'low' } }] },
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://example.test/a.png' } }] },
    ],
    [
      user({ type: 'input_image', image_url: IMAGE, detail: 'low' }),
      user({ type: 'input_image', image_url: 'https://example.test/a.png' }),
    ],
  ),
  becomes(
    'audio',
    [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } }] }],
    [user({ type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } })],
  ),
  becomes(
    'files, by id and by their bytes',
    [
      { role: 'user', content: [{ type: 'file', file: { file_id: 'file_1' } }] },
      { role: 'user', content: [{ type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } }] },
    ],
    [
      user({ type: 'input_file', file_id: 'file_1' }),
      user({ type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' }),
    ],
  ),
  becomes(
    'call ids that no account accepts, alike in calls and their results',
    [
      { role: 'user', content: 'go' },
      calls({ ...CALL, id: 'x'.repeat(64) }, { ...CALL, id: 'x'.repeat(65) }, { ...CUSTOM_CALL, id: 'y'.repeat(65) }),
      { role: 'tool', tool_call_id: 'x'.repeat(64), content: 'a' },
      { role: 'tool', tool_call_id: 'x'.repeat(65), content: 'b' },
      { role: 'tool', tool_call_id: 'y'.repeat(65), content: 'c' },
    ],
    [
      user({ type: 'input_text', text: 'go' }),
      { type: 'function_call', call_id: 'x'.repeat(64), name: 'f', arguments: '{"a":1}' },
      { type: 'function_call', call_id: digestedId('x'.repeat(65)), name: 'f', arguments: '{"a":1}' },
      { type: 'custom_tool_call', call_id: digestedId('y'.repeat(65)), name: 'c', input: 'free {text' },
      { type: 'function_call_output', call_id: 'x'.repeat(64), output: 'a' },
      { type: 'function_call_output', call_id: digestedId('x'.repeat(65)), output: 'b' },
      { type: 'custom_tool_call_output', call_id: digestedId('y'.repeat(65)), output: 'c' },
    ],
  ),
  becomes(
    'an answer with its calls, and their results',
    [
      { role: 'user', content: 'go', name: 'somebody' },
      { ...calls(CALL, CUSTOM_CALL), content: 'One moment.' },
      { role: 'tool', tool_call_id: 'call_2', content: 'done' },
      { role: 'tool', tool_call_id: 'call_1', content: [{ type: 'text', text: 'b' }] },
      { role: 'tool', tool_call_id: 'call_0', content: '' },
    ],
    [
      user({ type: 'input_text', text: 'go' }),
      assistant({ type: 'output_text', text: 'One moment.' }),
      { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{"a":1}' },
      { type: 'custom_tool_call', call_id: 'call_2', name: 'c', input: 'free {text' },
      { type: 'custom_tool_call_output', call_id: 'call_2', output: 'done' },
      { type: 'function_call_output', call_id: 'call_1', output: [{ type: 'input_text', text: 'b' }] },
      { type: 'function_call_output', call_id: 'call_0', output: '' },
    ],
  ),
  becomes(
    'refusals, beside an answer and as a part of it',
    [
      { role: 'assistant', content: null, refusal: 'No.' },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'Well,' },
          { type: 'refusal', refusal: 'no.' },
        ],
        refusal: null,
      },
    ],
    [
      assistant({ type: 'refusal', refusal: 'No.' }),
      assistant({ type: 'output_text', text: 'Well,' }, { type: 'refusal', refusal: 'no.' }),
    ],
  ),
  becomes(
    'an answer that says nothing',
    [
      { role: 'assistant', content: '' },
      { role: 'assistant', tool_calls: [] },
    ],
    [],
  ),
  becomes(
    'the neutral values of older members',
    [{ role: 'assistant', content: 'a', function_call: null, audio: null, tool_calls: null }],
    [assistant({ type: 'output_text', text: 'a' })],
  ),
  becomes(
    'system and developer texts, lifted in Full',
    [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'hi' },
      { role: 'developer', content: [{ type: 'text', text: 'Be kind.' }] },
    ],
    [SAID],
    { instructions: 'Be brief.\n\nBe kind.' },
  ),
  ...([undefined, null, 'hi', {}, 7] as const).map((messages) =>
    row(
      'D4',
      `messages ${JSON.stringify(messages)}`,
      { model: 'model-a', ...(messages === undefined ? {} : { messages }) },
      { refused: invalidAt('messages') },
    ),
  ),
  malformed('a message that is a text', 'hi', ''),
  ...([undefined, null, 'function', 'User', 'constructor', 7] as const).map((role) =>
    malformed(`role ${JSON.stringify(role)}`, { content: 'hi', ...(role === undefined ? {} : { role }) }, '.role'),
  ),
  ...([undefined, null, 7, {}] as const).map((content) =>
    malformed(`content ${JSON.stringify(content)} of a user`, { role: 'user', ...(content === undefined ? {} : { content }) }, '.content'),
  ),
  malformed('content 7 of an assistant', { role: 'assistant', content: 7 }, '.content'),
  malformed('a tool result without content', { role: 'tool', tool_call_id: 'call_1' }, '.content'),
  malformed('a part that is a text', { role: 'user', content: ['hi'] }, '.content.0'),
  ...(['input_text', 'input_image', 'refusal', 'video_url', 'constructor', 7, null] as const).map((type) =>
    malformed(`a part of the type ${JSON.stringify(type)}`, part({ type, text: 'a' }), '.content.1.type'),
  ),
  malformed('a text that is none', part({ type: 'text', text: 7 }), '.content.1.text'),
  malformed('an image as a text', part({ type: 'image_url', image_url: IMAGE }), '.content.1.image_url.url'),
  malformed('an image without its address', part({ type: 'image_url', image_url: { url: '' } }), '.content.1.image_url.url'),
  malformed('a file as a text', part({ type: 'file', file: 'file_1' }), '.content.1.file'),
  malformed('a file without anything', part({ type: 'file', file: { filename: 'a.pdf' } }), '.content.1.file'),
  malformed('a file id that is none', part({ type: 'file', file: { file_id: 7 } }), '.content.1.file.file_id'),
  malformed(
    'an image of a developer',
    { role: 'developer', content: [{ type: 'image_url', image_url: { url: IMAGE } }] },
    '.content.0.type',
  ),
  malformed(
    'an image as a result',
    { role: 'tool', tool_call_id: 'c', content: [{ type: 'image_url', image_url: { url: IMAGE } }] },
    '.content.0.type',
  ),
  malformed(
    'an image of an assistant',
    { role: 'assistant', content: [{ type: 'image_url', image_url: { url: IMAGE } }] },
    '.content.0.type',
  ),
  malformed('a refusal that is none', { role: 'assistant', content: [{ type: 'refusal' }] }, '.content.0.refusal'),
  malformed('an older call', { role: 'assistant', function_call: { name: 'f', arguments: '{}' } }, '.function_call'),
  malformed('earlier audio', { role: 'assistant', audio: { id: 'audio_1' } }, '.audio'),
  malformed('a result without its call', { role: 'tool', content: 'a' }, '.tool_call_id'),
  malformed('calls that are no list', { role: 'assistant', tool_calls: CALL }, '.tool_calls'),
  malformed('a call that is a text', calls('f'), '.tool_calls.0'),
  malformed('a call without an id', calls(CALL, { ...CALL, id: ' ' }), '.tool_calls.1.id'),
  malformed('a call of no type', calls({ ...CALL, type: 'mcp' }), '.tool_calls.0.type'),
  malformed('a call of another type', calls({ ...CALL, type: 'custom' }), '.tool_calls.0.custom'),
  malformed('a call without a name', calls({ ...CALL, function: { arguments: '{}' } }), '.tool_calls.0.function.name'),
  malformed('arguments that are an object', calls({ ...CALL, function: { name: 'f', arguments: {} } }), '.tool_calls.0.function.arguments'),
  malformed('input that is an object', calls({ ...CUSTOM_CALL, custom: { name: 'c', input: {} } }), '.tool_calls.0.custom.input'),
];

const FUNCTION = { type: 'function', function: { name: 'f', description: 'd', parameters: SCHEMA } };
const FLAT_FUNCTION = { type: 'function', name: 'f', description: 'd', parameters: SCHEMA, strict: false };
const CUSTOM = { type: 'custom', custom: { name: 'c' } };
const FLAT_CUSTOM = { type: 'custom', name: 'c' };
const grammar = (members: JsonObject): JsonObject => ({
  type: 'grammar',
  grammar: { syntax: 'lark', definition: 'start: "a"', ...members },
});
const custom = (members: JsonObject): JsonObject => ({ type: 'custom', custom: { name: 'c', ...members } });

const flattened = (name: string, tool: Json, expected: Json): Case => sends('F5.5', name, { tools: [tool] }, { tools: [expected] });
const badTool = (name: string, tool: Json, below: string): Case =>
  refused('F5.5', name, { tools: [FUNCTION, tool] }, invalidAt(`tools.1${below}`));

export const CHAT_TOOLS: readonly Case[] = [
  sends('F5.5', 'no tools', { tools: [] }, {}),
  flattened('a function', FUNCTION, FLAT_FUNCTION),
  flattened(
    'a strict function',
    { type: 'function', function: { name: 'f', strict: true, parameters: SCHEMA } },
    {
      type: 'function',
      name: 'f',
      strict: true,
      parameters: SCHEMA,
    },
  ),
  flattened(
    'a function without parameters',
    { type: 'function', function: { name: 'f', strict: null } },
    {
      type: 'function',
      name: 'f',
      strict: false,
      parameters: { type: 'object', properties: {} },
    },
  ),
  ...[{}, { parameters: null }].map((members) =>
    flattened(
      `a strict function with ${JSON.stringify(members)}`,
      { type: 'function', function: { name: 'f', strict: true, ...members } },
      { type: 'function', name: 'f', strict: true, parameters: SCHEMA },
    ),
  ),
  flattened('a custom tool', CUSTOM, FLAT_CUSTOM),
  flattened('a custom tool with all members', custom({ description: 'd', format: grammar({}) }), {
    ...FLAT_CUSTOM,
    description: 'd',
    format: { type: 'grammar', syntax: 'lark', definition: 'start: "a"' },
  }),
  flattened('a custom tool of plain text', custom({ format: { type: 'text' } }), { ...FLAT_CUSTOM, format: { type: 'text' } }),
  ...([{}, 'f', 7, true] as const).map((tools) => refused('F5.5', `tools ${JSON.stringify(tools)}`, { tools }, invalidAt('tools'))),
  ...(
    [
      null,
      'f',
      {},
      { type: 'web_search' },
      { type: 'namespace', name: 'n', tools: [] },
      { type: 'image_generation' },
      { type: 'constructor' },
    ] as const
  ).map((tool) => badTool(`the tool ${JSON.stringify(tool)}`, tool, '.type')),
  refused('F1.3', 'a remote MCP tool', { tools: [FUNCTION, { type: 'mcp', server_label: 'far' }] }, invalidAt('tools.1.type')),
  badTool('a flat function', { type: 'function', name: 'g', parameters: SCHEMA }, '.function'),
  badTool('a function without a name', { type: 'function', function: { parameters: SCHEMA } }, '.function.name'),
  badTool('a function with a blank name', { type: 'function', function: { name: ' ' } }, '.function.name'),
  badTool('a name that is taken', { type: 'function', function: { name: 'f' } }, '.function.name'),
  badTool('a name that a function has', custom({ name: 'f' }), '.custom.name'),
  badTool('a flat custom tool', FLAT_CUSTOM, '.custom'),
  badTool('a custom tool without a name', { type: 'custom', custom: {} }, '.custom.name'),
  badTool('a custom tool with a blank name', custom({ name: '  ' }), '.custom.name'),
  badTool('a description that is none', custom({ description: 7 }), '.custom.description'),
  badTool('defer_loading in the wrapper', custom({ defer_loading: true }), '.custom.defer_loading'),
  badTool('allowed_callers in the wrapper', custom({ allowed_callers: ['direct'] }), '.custom.allowed_callers'),
  badTool('defer_loading beside it', { ...CUSTOM, defer_loading: true }, '.defer_loading'),
  badTool('a member that is no name', custom({ 'odd key': 1 }), '.custom'),
  badTool('a format that is a text', custom({ format: 'text' }), '.custom.format'),
  badTool('a format of no type', custom({ format: { type: 'json' } }), '.custom.format.type'),
  badTool('a text format with more', custom({ format: { type: 'text', grammar: {} } }), '.custom.format.grammar'),
  badTool('a flat grammar', custom({ format: { type: 'grammar', syntax: 'lark', definition: 'a' } }), '.custom.format.syntax'),
  badTool('a grammar that is missing', custom({ format: { type: 'grammar' } }), '.custom.format.grammar'),
  badTool('a grammar of another syntax', custom({ format: grammar({ syntax: 'ebnf' }) }), '.custom.format.grammar.syntax'),
  badTool('a grammar without its text', custom({ format: grammar({ definition: '' }) }), '.custom.format.grammar.definition'),
  badTool('a grammar with more', custom({ format: grammar({ flags: 'i' }) }), '.custom.format.grammar.flags'),
];

const TOOLS = [FUNCTION, CUSTOM];
const FLAT_TOOLS = [FLAT_FUNCTION, FLAT_CUSTOM];
const chosen = (choice: Json, expected: Json | undefined): Case =>
  sends(
    'F5.5',
    `tool_choice ${JSON.stringify(choice)}`,
    { tools: TOOLS, tool_choice: choice },
    { tools: FLAT_TOOLS, tool_choice: expected },
  );
const allowed = (...tools: Json[]): Json => ({ type: 'allowed_tools', allowed_tools: { mode: 'required', tools } });

export const CHAT_TOOL_CHOICE: readonly Case[] = [
  ...['auto', 'none', 'required'].map((choice) => chosen(choice, choice)),
  chosen(null, undefined),
  chosen({ type: 'function', function: { name: 'f' } }, { type: 'function', name: 'f' }),
  chosen({ type: 'custom', custom: { name: 'c' } }, { type: 'custom', name: 'c' }),
  chosen(allowed({ type: 'custom', custom: { name: 'c' } }, { type: 'function', function: { name: 'f' } }), {
    type: 'allowed_tools',
    mode: 'required',
    tools: [
      { type: 'custom', name: 'c' },
      { type: 'function', name: 'f' },
    ],
  }),
  ...(
    [
      'any',
      7,
      [],
      {},
      { type: 'function', name: 'f' },
      { type: 'custom', name: 'c' },
      { type: 'function', function: { name: 'c' } },
      { type: 'custom', custom: { name: 'f' } },
      { type: 'function', function: { name: 'nobody' } },
      { type: 'function', function: 'f' },
      { type: 'web_search' },
      allowed(),
      allowed('f'),
      allowed({ type: 'function', function: { name: 'nobody' } }),
      allowed(allowed({ type: 'function', function: { name: 'f' } })),
      { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', function: { name: 'f' } }] },
    ] as const
  ).map((choice) =>
    refused('Q16', `tool_choice ${JSON.stringify(choice)}`, { tools: TOOLS, tool_choice: choice }, invalidAt('tool_choice')),
  ),
];
