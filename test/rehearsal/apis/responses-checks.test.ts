// What a simulated Responses account refuses because of its schema, or because of the quirks in its address; and its websocket.
import assert from 'node:assert/strict';
import { on, once } from 'node:events';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import type { NamedApi } from '../../../proxy/rehearsal/apis/api-settings.ts';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import { startUpstream } from '../../support/rehearsal.ts';
import { at, get, heard, send, typesOf } from '../../support/rehearsal-client.ts';

const user: Json = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hello' }] };
const plain = { model: 'model-a', store: false, input: [user] };
const with_ = (members: JsonObject): JsonObject => ({ ...plain, ...members });
const said = (...input: readonly Json[]): JsonObject => ({ ...plain, input });
const look: Json = { type: 'function', name: 'look', description: 'Looks', parameters: { type: 'object' }, strict: false };
/** A schema of the strict form. */
const CLOSED = { type: 'object', properties: {}, required: [], additionalProperties: false };
const call = (members: JsonObject = {}): Json => ({ type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}', ...members });
const output: Json = { type: 'function_call_output', call_id: 'call_1', output: 'found' };
const answer = (members: JsonObject = {}): Json => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text: 'a' }],
  ...members,
});
const shown = (url: string): JsonObject => said({ type: 'message', role: 'user', content: [{ type: 'input_image', image_url: url }] });
const DATA = 'data:image/png;base64,AA==';

async function refusalOf(api: Partial<NamedApi>, body: JsonObject, path = '/responses'): Promise<string> {
  await using upstream = await startUpstream({ accounts: [{ id: 'box', api: { api: 'responses', ...api } }] });
  const { status, json } = await heard(await send(upstream.urlOf('box'), body, {}, path));
  return status === 200 ? 'taken' : `${status} ${String(at(json, 'error', 'param') ?? at(json, 'error', 'code'))}`;
}

const strictly: readonly (readonly [what: string, body: JsonObject, refusal: string])[] = [
  ['a plain turn', plain, 'taken'],
  ['a message without a type', said({ role: 'user', content: 'hello' }), 'taken'],
  ['a tool loop', said(user, call(), output), 'taken'],
  ['a stored turn', with_({ store: true }), '400 store'],
  ['a turn that does not say that it is unstored', { model: 'model-a', input: [user] }, '400 store'],
  ['an anchor', with_({ previous_response_id: 'resp_1' }), '400 previous_response_id'],
  ['metadata of clients', with_({ client_metadata: {} }), '400 client_metadata'],
  ['a member of the other API', with_({ messages: [] }), '400 messages'],
  ['a context of reasoning', with_({ reasoning: { effort: 'low', context: {} } }), '400 reasoning.context'],
  ['an unknown item', said(user, { type: 'configuration_update' }), '400 input[1].type'],
  ['tools in an item', said({ type: 'additional_tools', role: 'developer', tools: [look] }, user), '400 input[0].type'],
  ['an unknown member of an item', said({ ...(user as JsonObject), internal: 1 }), '400 input[0].internal'],
  ['an id of 65 characters', said(user, call({ id: 'x'.repeat(65) }), output), '400 input[1].id'],
  ['a call id of 65 characters', said(user, call({ call_id: 'x'.repeat(65) }), output), '400 input[1].call_id'],
  ['a call without an output', said(user, call()), '400 input[1]'],
  ['an output without a call', said(user, output), '400 input'],
  [
    'ciphertext of unknown origin',
    said({ type: 'reasoning', summary: [], encrypted_content: 'pgc1.AAAA' }, user),
    '400 invalid_encrypted_content',
  ],
  [
    'a compaction of another account',
    said({ type: 'compaction', encrypted_content: 'enc_0123456789ab_1' }, user),
    '400 invalid_encrypted_content',
  ],
  [
    'a text that a user wrote in an assistant’s message',
    said(answer({ content: [{ type: 'input_text', text: 'a' }] }), user),
    '400 input[0].content[0]',
  ],
  ['JSON mode that only the instructions mention', with_({ instructions: 'JSON', text: { format: { type: 'json_object' } } }), '400 input'],
  [
    'JSON mode that a message mentions',
    { ...said({ role: 'user', content: 'as JSON' }), text: { format: { type: 'json_object' } } },
    'taken',
  ],
  ['an item of null', said(null), '400 input[0]'],
  ['as much output as the list states', with_({ max_output_tokens: 32_000 }), 'taken'],
  ['more output than the list states', with_({ max_output_tokens: 32_001 }), '400 max_output_tokens'],
  ['a strict tool of the strict form', with_({ tools: [{ ...(look as JsonObject), strict: true, parameters: CLOSED }] }), 'taken'],
  ['a strict tool with an open object', with_({ tools: [{ ...(look as JsonObject), strict: true }] }), '400 tools[0].parameters'],
  [
    'a strict format with an array without items',
    with_({
      text: {
        format: {
          type: 'json_schema',
          name: 'a',
          strict: true,
          schema: { ...CLOSED, properties: { a: { $ref: '#/$defs/list' } }, required: ['a'], $defs: { list: { type: 'array' } } },
        },
      },
    }),
    '400 text.format.schema',
  ],
  ['a choice of a tool', with_({ tools: [look], tool_choice: { type: 'function', name: 'look' } }), 'taken'],
  ['a choice of no tool', with_({ tools: [look], tool_choice: { type: 'function', name: 'see' } }), '400 tool_choice'],
  [
    'allowed tools of which one is not declared',
    with_({ tools: [look], tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'see' }] } }),
    '400 tool_choice',
  ],
  ['a trigger', said(user, { type: 'compaction_trigger' }), '400 input'],
  [
    'a file that it does not have',
    said({ role: 'user', content: [{ type: 'input_file', file_id: 'file_1' }] }),
    '404 input.0.content.0.file_id',
  ],
  ['a hosted tool that it does not run', with_({ tools: [{ type: 'web_search' }] }), '400 tools[0].type'],
  ['a choice without tools', with_({ tool_choice: 'required' }), '400 tool_choice'],
  ['an unknown model', with_({ model: 'model-z' }), '404 model'],
];

for (const [what, body, refusal] of strictly) {
  test(`[AA88] strictly: ${what} is ${refusal}`, async () => assert.equal(await refusalOf({}, body), refusal));
}

const schema = (strict?: boolean): JsonObject =>
  with_({ text: { format: { type: 'json_schema', name: 'a', schema: CLOSED, ...(strict === undefined ? {} : { strict }) } } });

const denials: readonly (readonly [
  quirks: NamedApi['quirks'],
  denied: readonly (readonly [JsonObject, string])[],
  taken: readonly JsonObject[],
])[] = [
  [
    { tools: 'function' },
    [
      [with_({ tools: [{ type: 'custom', name: 'a' }] }), 'tools[0].type'],
      [with_({ tools: [look, { type: 'namespace', name: 'n', tools: [look] }] }), 'tools[1].type'],
      [
        said(
          user,
          { type: 'custom_tool_call', call_id: 'c', name: 'a', input: '' },
          { type: 'custom_tool_call_output', call_id: 'c', output: '' },
        ),
        'input[1].type',
      ],
    ],
    [with_({ tools: [look] })],
  ],
  [
    { tools: 'all' },
    [],
    [with_({ tools: [{ type: 'custom', name: 'a' }, { type: 'namespace', name: 'n', tools: [look] }, { type: 'local_shell' }] })],
  ],
  [{ item_ids: 'required' }, [[said(user, answer(), user), 'input[1]']], [said(user, answer({ id: 'msg_1', status: 'completed' }), user)]],
  [{ item_ids: 'omit' }, [[said(user, answer({ id: 'msg_1' }), user), 'input[1].id']], [said(user, answer(), user)]],
  [{ text_format: 'required' }, [[plain, 'text.format']], [with_({ text: { format: { type: 'text' } } })]],
  [
    { reasoning_summary: false },
    [[with_({ reasoning: { effort: 'low', summary: 'auto' } }), 'reasoning.summary']],
    [with_({ reasoning: { effort: 'low' } })],
  ],
  [{ effort: 'none' }, [[with_({ reasoning: { effort: 'low' } }), 'reasoning.effort']], [plain]],
  [{ images: 'data' }, [[shown('https://a.example/a.png'), 'input[0].content[0]']], [shown(DATA)]],
  [{ images: 'none' }, [[shown(DATA), 'input[0].content[0]']], [plain]],
  [{ strict: false }, [[with_({ tools: [look] }), 'tools[0].strict']], [plain]],
  [
    { tool_description: 'required' },
    [[with_({ tools: [{ type: 'function', name: 'look', parameters: { type: 'object' } }] }), 'tools[0].description']],
    [with_({ tools: [look] })],
  ],
  [
    { parallel_tool_calls: false },
    [[with_({ tools: [look], parallel_tool_calls: true }), 'parallel_tool_calls']],
    [with_({ tools: [look] })],
  ],
  [
    { tool_choice_required: false },
    [[with_({ tools: [look], tool_choice: 'required' }), 'tool_choice']],
    [with_({ tools: [look], tool_choice: 'auto' })],
  ],
  [
    { tool_choice_named: false },
    [[with_({ tools: [look], tool_choice: { type: 'function', name: 'look' } }), 'tool_choice']],
    [with_({ tools: [look], tool_choice: 'required' })],
  ],
  [{ json_schema: 'plain' }, [[schema(true), 'text.format.strict']], [schema()]],
  [{ json_schema: 'refuse' }, [[schema(), 'text.format.type']], [plain]],
  [{ stream: 'never' }, [[with_({ stream: true }), 'stream']], [plain]],
  [
    { keep: ['include'] },
    [
      [with_({ temperature: 1 }), 'temperature'],
      [with_({ text: { verbosity: 'low' } }), 'text.verbosity'],
    ],
    [with_({ include: ['reasoning.encrypted_content'] })],
  ],
];

for (const [quirks, denied, taken] of denials) {
  test(`[AA88] ${JSON.stringify(quirks)} refuses what it denies`, async () => {
    for (const [body, param] of denied) assert.equal(await refusalOf({ quirks: quirks ?? {} }, body), `400 ${param}`, JSON.stringify(body));
    for (const body of taken) assert.equal(await refusalOf({ quirks: quirks ?? {} }, body), 'taken', JSON.stringify(body));
  });
}

test('[AA90] compaction by route and by trigger', async () => {
  const compaction = { model: 'model-a', input: [user] };
  assert.equal(await refusalOf({}, compaction, '/responses/compact'), '404 not_found');
  assert.equal(await refusalOf({ compact: 'route' }, compaction, '/responses/compact'), 'taken');
  assert.equal(await refusalOf({ compact: 'route' }, { ...compaction, stream: false }, '/responses/compact'), '400 stream');
  assert.equal(await refusalOf({ compact: 'trigger' }, said(user, { type: 'compaction_trigger' })), 'taken');
});

test('[AA90] an account answers what it serves, and nothing else', async () => {
  const paths = {
    embeddings: '/embeddings',
    images: '/images/generations',
    transcriptions: '/audio/transcriptions',
    files: '/files',
  } as const;
  for (const [served, path] of Object.entries(paths)) {
    assert.equal(await refusalOf({}, {}, path), '404 not_found', path);
    assert.notEqual(await refusalOf({ serves: [served as keyof typeof paths] }, {}, path), '404 not_found', path);
  }
});

test('[AA90] the websocket takes unstored frames, and anchors of its own connection', async () => {
  await using upstream = await startUpstream({ accounts: [{ id: 'box', api: { api: 'responses', websocket: true } }] });
  const socket = new WebSocket(`${upstream.urlOf('box').replace('http', 'ws')}/responses`);
  const messages = on(socket, 'message')[Symbol.asyncIterator]();
  await once(socket, 'open');
  const turn = async (body: JsonObject): Promise<readonly JsonObject[]> => {
    const events: JsonObject[] = [];
    socket.send(JSON.stringify({ type: 'response.create', ...body }));
    for (;;) {
      const { value } = (await messages.next()) as { readonly value: [Buffer] };
      const event = JSON.parse(String(value[0])) as JsonObject;
      events.push(event);
      if (/^(?:error|response\.(?:completed|failed))$/.test(String(event.type))) break;
    }
    return events;
  };
  const first = await turn(with_({ tools: [look], input: [{ role: 'user', content: 'call the tool look' }] }));
  assert.equal(first[0]?.type, 'response.created', 'no preamble');
  const [id, called] = [at(first.at(-1), 'response', 'id') ?? null, at(first.at(-1), 'response', 'output', 0, 'call_id') ?? null];
  const second = await turn(
    with_({ previous_response_id: id, input: [{ type: 'function_call_output', call_id: called, output: 'found' }] }),
  );
  assert.equal(typesOf(second).at(-1), 'response.completed');
  const lost = await turn(with_({ previous_response_id: 'resp_other' }));
  assert.deepEqual([lost[0]?.status, at(lost[0], 'error', 'code')], [400, 'previous_response_not_found']);
  const stored = await turn(with_({ store: true }));
  assert.equal(at(stored[0], 'error', 'param'), 'store');
  const warm = await turn(with_({ generate: false }));
  assert.deepEqual(typesOf(warm), ['response.created', 'response.completed']);
  socket.close();
  await once(socket, 'close');
});

test('[AA90] an account without websockets refuses the upgrade', async () => {
  await using upstream = await startUpstream({ accounts: [{ id: 'box', api: { api: 'responses' } }] });
  const socket = new WebSocket(`${upstream.urlOf('box').replace('http', 'ws')}/responses`);
  const [error] = (await once(socket, 'error')) as [Error];
  assert.match(error.message, /404/);
});

test('[AA89] a JSON answer in place of a stream, and streams that leave out events', async () => {
  await using upstream = await startUpstream({ accounts: [{ id: 'box', api: { api: 'responses' } }] });
  const stream = async (script: string) => {
    upstream.next('box', script);
    return await heard(await send(upstream.urlOf('box'), with_({ stream: true }), {}, '/responses'));
  };
  assert.equal(at((await stream('json answer')).json, 'object'), 'response');
  const types = typesOf((await stream('without response.created + without response.output_item.added')).events);
  assert.ok(!types.includes('response.created') && !types.includes('response.output_item.added'));
  const terminal = await stream('without response.completed');
  assert.equal(typesOf(terminal.events).at(-1), 'response.output_item.done');
});

test('[AA9] each server lists its models in its own form', async () => {
  const SEEN = {
    openrouter: { context_length: 272_000, 'top_provider.context_length': 136_000 },
    mistral: { max_context_length: 272_000, 'capabilities.vision': true },
    vllm: { max_model_len: 272_000 },
    groq: { context_window: 272_000, active: true },
    llamacpp: { 'meta.n_ctx_train': 544_000, context_length: undefined },
    ollama: { context_length: undefined },
    openai: { context_length: undefined },
  } as const;
  for (const [list, members] of Object.entries(SEEN)) {
    await using upstream = await startUpstream({ accounts: [{ id: 'box', api: { api: 'chat', list: list as keyof typeof SEEN } }] });
    const row = at((await get(upstream.urlOf('box'), '/models')).json, 'data', 0);
    for (const [path, value] of Object.entries(members)) assert.equal(at(row, ...path.split('.')), value, `${list} ${path}`);
  }
  await using upstream = await startUpstream({
    accounts: (['lmstudio', 'llamacpp'] as const).map((list) => ({ id: list, api: { api: 'chat', list } })),
  });
  const origin = (account: string): string => new URL(upstream.urlOf(account)).origin;
  assert.equal(at((await get(origin('lmstudio'), '/api/v0/models')).json, 'data', 0, 'loaded_context_length'), 272_000);
  assert.equal(at((await get(origin('llamacpp'), '/props')).json, 'default_generation_settings', 'n_ctx'), 272_000);
  assert.equal((await get(origin('llamacpp'), '/api/v0/models')).status, 404);
});
