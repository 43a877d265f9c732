// The members of a Chat Completions request that a strict server takes (AA88). They are those that turns need.
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

/** The longest call id that the strictest server takes. */
const CALL_ID = textOfAtMost(40);

const NAME: JsonSchema = { type: 'string', pattern: '^[a-zA-Z0-9_-]{1,64}$' };

const textPart = object({ type: words('text'), text: TEXT }, ['type', 'text']);
const imagePart = object(
  { type: words('image_url'), image_url: object({ url: TEXT, detail: words('auto', 'low', 'high', 'original') }, ['url']) },
  ['type', 'image_url'],
);
const audioPart = object(
  { type: words('input_audio'), input_audio: object({ data: TEXT, format: words('wav', 'mp3') }, ['data', 'format']) },
  ['type', 'input_audio'],
);
const filePart = object({ type: words('file'), file: object({ filename: TEXT, file_data: TEXT }, ['file_data']) }, ['type', 'file']);

const texts: JsonSchema = { anyOf: [TEXT, list(oneOf('type', [textPart]))] };

/** Content of a user, or of a tool if the server takes images there. */
const parts: JsonSchema = { anyOf: [TEXT, list(oneOf('type', [textPart, imagePart, audioPart, filePart]))] };

const called = object({ name: NAME, arguments: ANY_TEXT }, ['name', 'arguments']);

const call = object({ id: CALL_ID, type: words('function'), function: called, extra_content: { type: 'object' } }, [
  'id',
  'type',
  'function',
]);

const system = object({ role: words('system', 'developer'), content: texts }, ['role', 'content']);
const user = object({ role: words('user'), content: parts }, ['role', 'content']);

/** An assistant's message. It may have reasoning if a quirk of the server names the member. */
const assistant = object(
  {
    role: words('assistant'),
    content: { anyOf: [{ type: 'null' }, texts] },
    // Null, as in answers. The text of a refusal is sent as content.
    refusal: { type: 'null' },
    tool_calls: list(call),
    reasoning_content: ANY_TEXT,
    reasoning: ANY_TEXT,
    thinking: ANY_TEXT,
    reasoning_details: list({ type: 'object' }),
  },
  ['role', 'content'],
);
const tool = object({ role: words('tool'), tool_call_id: CALL_ID, name: NAME, content: { anyOf: [ANY_TEXT, parts] } }, [
  'role',
  'tool_call_id',
  'content',
]);

/** The schema of arguments is the client's own. */
const parameters: JsonSchema = { type: 'object', required: ['type'], properties: { type: words('object') } };

const declared = object(
  { type: words('function'), function: object({ name: NAME, description: ANY_TEXT, parameters, strict: FLAG }, ['name']) },
  ['type', 'function'],
);

const format = oneOf('type', [
  object({ type: words('json_object') }, ['type']),
  object(
    {
      type: words('json_schema'),
      json_schema: object({ name: NAME, description: ANY_TEXT, schema: { type: 'object' }, strict: FLAG }, ['name', 'schema']),
    },
    ['type', 'json_schema'],
  ),
]);

const named = object({ type: words('function'), function: object({ name: NAME }, ['name']) }, ['type', 'function']);

export const CHAT_REQUEST: JsonSchema = object(
  {
    ...SHARED_MEMBERS,
    messages: list(oneOf('role', [system, user, assistant, tool])),
    tools: list(declared, { minItems: 1, maxItems: 128 }),
    tool_choice: { anyOf: [words('auto', 'none', 'required'), named] },
    max_completion_tokens: COUNT,
    max_tokens: COUNT,
    reasoning_effort: EFFORT_WORD,
    reasoning: object({ effort: TEXT }, ['effort']),
    thinking: object({ type: words('enabled', 'disabled') }, ['type']),
    response_format: format,
    verbosity: words('low', 'medium', 'high'),
    stream_options: object({ include_usage: FLAG }, ['include_usage']),
  },
  ['model', 'messages'],
);
