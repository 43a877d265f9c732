// The members of a Responses request that a strict platform takes (AA88). They are those that unstored turns need.
import {
  ANY_TEXT,
  COUNT,
  EFFORT_WORD,
  FLAG,
  type JsonSchema,
  list,
  object,
  oneOf,
  SHARED_MEMBERS,
  TEXT,
  textOfAtMost,
  words,
} from '../request-schema.ts';

const ID = textOfAtMost(64);
const NAME: JsonSchema = { type: 'string', pattern: '^[a-zA-Z0-9_-]{1,64}$' };
const STATUS = words('in_progress', 'completed', 'incomplete');
const TIME: JsonSchema = { type: ['number', 'null'] };

/** An item or part with its type first. */
const typed = (type: string, members: JsonSchema, required: readonly string[] = []): JsonSchema =>
  object({ type: words(type), ...members }, ['type', ...required]);

const parts = list(
  oneOf('type', [
    typed('input_text', { text: ANY_TEXT }, ['text']),
    typed('input_image', { image_url: TEXT, file_id: ID, detail: words('auto', 'low', 'high', 'original') }),
    typed('input_file', { file_id: ID, file_url: TEXT, file_data: TEXT, filename: TEXT, detail: words('low', 'high') }),
    typed('input_audio', { input_audio: object({ data: TEXT, format: words('wav', 'mp3') }, ['data', 'format']) }, ['input_audio']),
    typed('output_text', { text: ANY_TEXT, annotations: list({ type: 'object' }, {}), logprobs: list({ type: 'object' }, {}) }, ['text']),
    typed('refusal', { refusal: ANY_TEXT }, ['refusal']),
  ]),
);

const output: JsonSchema = { anyOf: [ANY_TEXT, parts] };

const call = (type: string, members: JsonSchema, required: readonly string[]): JsonSchema =>
  typed(type, { id: ID, call_id: ID, status: STATUS, namespace: NAME, ...members }, ['call_id', ...required]);

const result = (type: string): JsonSchema => typed(type, { id: ID, call_id: ID, status: STATUS, output }, ['call_id', 'output']);

const action = object(
  {
    type: words('exec'),
    command: list(ANY_TEXT),
    env: { type: 'object' },
    timeout_ms: TIME,
    user: { type: ['string', 'null'] },
    working_directory: { type: ['string', 'null'] },
  },
  ['type', 'command'],
);

const functionTool = typed(
  'function',
  {
    name: NAME,
    description: { type: ['string', 'null'] },
    parameters: { type: ['object', 'null'] },
    strict: { type: ['boolean', 'null'] },
    defer_loading: FLAG,
  },
  ['name'],
);
const customTool = typed('custom', { name: NAME, description: ANY_TEXT, format: { type: 'object' }, defer_loading: FLAG }, ['name']);
const namespaceTool = typed('namespace', { name: NAME, description: ANY_TEXT, tools: list(oneOf('type', [functionTool, customTool])) }, [
  'name',
  'tools',
]);

const searchTool = typed('tool_search', { execution: words('client', 'server'), description: ANY_TEXT, parameters: { type: 'object' } });

const tools = list(
  oneOf('type', [
    functionTool,
    customTool,
    namespaceTool,
    searchTool,
    typed('local_shell', {}),
    typed('web_search', {
      filters: { type: ['object', 'null'] },
      search_context_size: words('low', 'medium', 'high'),
      user_location: { type: ['object', 'null'] },
      external_web_access: FLAG,
    }),
    typed('image_generation', {
      model: TEXT,
      action: words('auto', 'generate', 'edit'),
      background: TEXT,
      input_fidelity: TEXT,
      input_image_mask: { type: 'object' },
      moderation: TEXT,
      n: COUNT,
      output_compression: { type: 'integer' },
      output_format: TEXT,
      partial_images: { type: 'integer' },
      quality: TEXT,
      size: TEXT,
    }),
  ]),
);

const ITEMS = [
  typed(
    'message',
    { id: ID, status: STATUS, phase: TEXT, role: words('user', 'assistant', 'system', 'developer'), content: { anyOf: [ANY_TEXT, parts] } },
    ['role', 'content'],
  ),
  call('function_call', { name: NAME, arguments: ANY_TEXT }, ['name', 'arguments']),
  result('function_call_output'),
  call('custom_tool_call', { name: NAME, input: ANY_TEXT }, ['name', 'input']),
  result('custom_tool_call_output'),
  call('local_shell_call', { action }, ['action']),
  typed('local_shell_call_output', { id: ID, call_id: ID, status: STATUS, output: ANY_TEXT }, ['output']),
  typed(
    'reasoning',
    {
      id: ID,
      status: STATUS,
      summary: list({ type: 'object' }, {}),
      content: list({ type: 'object' }, {}),
      encrypted_content: { type: ['string', 'null'] },
    },
    ['summary'],
  ),
  typed('compaction', { id: ID, encrypted_content: TEXT }, ['encrypted_content']),
  typed('compaction_trigger', {}),
  typed(
    'tool_search_call',
    { id: ID, call_id: { type: ['string', 'null'] }, status: STATUS, execution: words('client', 'server'), arguments: {} },
    ['arguments'],
  ),
  typed(
    'tool_search_output',
    { id: ID, call_id: { type: ['string', 'null'] }, status: STATUS, execution: words('client', 'server'), tools },
    ['tools'],
  ),
  typed('web_search_call', { id: ID, status: TEXT, action: { type: 'object' } }),
  typed('image_generation_call', { id: ID, status: TEXT, result: { type: ['string', 'null'] }, revised_prompt: ANY_TEXT }),
];

const format = oneOf('type', [
  typed('text', {}),
  typed('json_object', {}),
  typed('json_schema', { name: NAME, description: ANY_TEXT, schema: { type: 'object' }, strict: { type: ['boolean', 'null'] } }, [
    'name',
    'schema',
  ]),
]);

const choice: JsonSchema = {
  anyOf: [
    words('auto', 'none', 'required'),
    oneOf('type', [
      typed('function', { name: NAME }, ['name']),
      typed('custom', { name: NAME }, ['name']),
      typed('web_search', {}),
      typed('image_generation', {}),
      typed('allowed_tools', { mode: words('auto', 'required'), tools: list({ type: 'object' }) }, ['mode', 'tools']),
    ]),
  ],
};

const INCLUDED = words(
  'reasoning.encrypted_content',
  'message.output_text.logprobs',
  'web_search_call.action.sources',
  'message.input_image.image_url',
);

const CONVERSATION: JsonSchema = { model: TEXT, input: list(oneOf('type', ITEMS)), instructions: ANY_TEXT };

const TURN: JsonSchema = {
  ...SHARED_MEMBERS,
  ...CONVERSATION,
  tools,
  tool_choice: choice,
  reasoning: object({ effort: { anyOf: [EFFORT_WORD, { type: 'null' }] }, summary: words('auto', 'concise', 'detailed', null) }),
  text: object({ format, verbosity: words('low', 'medium', 'high') }),
  max_output_tokens: { type: 'integer', minimum: 16 },
  include: list(INCLUDED, { minItems: 1, uniqueItems: true }),
  store: { const: false },
  truncation: words('auto', 'disabled'),
};

export const RESPONSES_REQUEST = object(TURN, ['model', 'input', 'store']);

/** The schema of a frame, which has no `stream`: a frame always streams. */
export const RESPONSES_FRAME = object(
  { ...TURN, type: words('response.create'), generate: FLAG, previous_response_id: ID, stream: { const: true } },
  ['type', 'model', 'input', 'store'],
);

export const COMPACT_REQUEST = object(CONVERSATION, ['model', 'input']);
