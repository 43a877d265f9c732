// A compatible server that takes only functions: tools become functions for it, its calls become calls of these tools again, and it
// compacts by summary (AA19, AA20, AA27, AA48, AA56).
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import type { JsonObject } from '../../../../proxy/turn/json/json.ts';
import { answers, numbered, type Platform, streams, textEvents } from '../../../providers/responses/platform.ts';
import { type ResponsesStage, responsesStage, startStrict } from '../../../providers/responses/responses-stage.ts';
import type { TestGateway } from '../../../support/gateway.ts';
import { userMessage } from '../../../support/native-frames.ts';
import { eventsOf } from '../../../support/network/sse-events.ts';
import { turnBody } from '../../../support/rehearsal-replies.ts';

const NATIVE = '/backend-api/agent/responses';
const PUBLIC = '/v1/responses';

let stage: ResponsesStage;
let platform: Platform;
let gate: TestGateway;
before(async () => {
  stage = await responsesStage({
    account: {
      id: 'box',
      api: 'responses',
      credential: 'none',
      catalog: [{ id: 'own-a', reasoning_levels: ['low', 'medium'], input_modalities: ['text', 'image'] }],
      compact: 'route',
      quirks: { tool_description: 'required', item_ids: 'required', text_format: 'required', keep: ['include'] },
    },
  });
  ({ gate, platform } = stage);
});
after(() => stage.close());
beforeEach(() => stage.clear());

const sent = (): JsonObject & { readonly tools: readonly JsonObject[]; readonly input: readonly JsonObject[] } =>
  platform.requests.at(-1)?.json;

const callEvents = (name: string, text: string): readonly JsonObject[] => {
  const call = { id: 'fc_1', type: 'function_call', call_id: 'call_1', name, arguments: text, status: 'completed' };
  const place = { item_id: 'fc_1', output_index: 0 };
  const response = { id: 'resp_1', object: 'response', status: 'in_progress', output: [] };
  return numbered([
    { type: 'response.created', response },
    { type: 'response.in_progress', response },
    { type: 'response.output_item.added', output_index: 0, item: { ...call, status: 'in_progress', arguments: '' } },
    { type: 'response.function_call_arguments.delta', ...place, delta: text.slice(0, 5) },
    { type: 'response.function_call_arguments.delta', ...place, delta: text.slice(5) },
    { type: 'response.function_call_arguments.done', ...place, arguments: text },
    { type: 'response.output_item.done', output_index: 0, item: call },
    {
      type: 'response.completed',
      response: { ...response, status: 'completed', output: [call], usage: { input_tokens: 1, output_tokens: 2 } },
    },
  ]);
};

const GREP = { type: 'custom', name: 'grep', description: 'Searches.', format: { type: 'grammar', syntax: 'regex', definition: '.+' } };
const SPACE = {
  type: 'namespace',
  name: 'disk',
  tools: [{ type: 'function', name: 'read', parameters: { type: 'object', properties: {} } }],
};

test('[AA27] tools go out as functions, and a custom call comes back as one', async () => {
  platform.next.push(streams(callEvents('grep', '{"input":"two\\nlines"}')));
  const tools = [GREP, SPACE, { type: 'local_shell' }, { type: 'web_search' }];
  const reply = await gate.send(NATIVE, { body: { ...turnBody('hi'), tools } });
  assert.equal(reply.status, 200, reply.text);
  assert.deepEqual(
    sent().tools.map(({ type, name }) => [type, name]),
    [
      ['function', 'grep'],
      ['function', 'disk__read'],
      ['function', 'local_shell'],
    ],
  );
  assert.match(String(sent().tools[0]?.description), /^Searches\.[\s\S]*regex grammar/);
  assert.equal(sent().tools[1]?.description, 'disk__read');
  const events = eventsOf(reply.text).map(({ data }) => data);
  assert.deepEqual(
    events.map(({ type, sequence_number }) => [type, sequence_number]),
    [
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.custom_tool_call_input.delta',
      'response.custom_tool_call_input.done',
      'response.output_item.done',
      'response.completed',
    ].map((type, i) => [type, i]),
  );
  const raised = { id: 'fc_1', status: 'completed', call_id: 'call_1', type: 'custom_tool_call', name: 'grep', input: 'two\nlines' };
  assert.deepEqual(events.at(-2)?.item, raised);
  assert.deepEqual(events.at(-1)?.response.output, [raised]);
  const attempts = await gate.attempts(reply.headers.get('x-request-id') ?? '');
  assert.equal(attempts.length, 1);
});

test('[AA27] a function of a namespace and a shell call come back as they were declared', async () => {
  platform.next.push(streams(callEvents('disk__read', '{"path":"a"}')));
  const child = await gate.send(NATIVE, { body: { ...turnBody('hi'), tools: [SPACE] } });
  const items = eventsOf(child.text).flatMap(({ data }) => (data.type === 'response.output_item.done' ? [data.item] : []));
  assert.deepEqual(
    items.map(({ type, name, namespace }) => [type, name, namespace]),
    [['function_call', 'read', 'disk']],
  );
  platform.next.push(streams(callEvents('local_shell', '{"command":["ls"],"timeout_ms":5}')));
  const shell = await gate.send(NATIVE, { body: { ...turnBody('hi'), tools: [{ type: 'local_shell' }] } });
  const last = eventsOf(shell.text).at(-1)?.data.response.output[0];
  assert.deepEqual([last.type, last.action], ['local_shell_call', { type: 'exec', command: ['ls'], env: {}, timeout_ms: 5 }]);
});

test('[AA27] calls of the history go out as calls of the same functions, and the choice under its name', async () => {
  const input = [
    userMessage('hi'),
    { type: 'custom_tool_call', id: 'ctc_1', call_id: 'call_1', name: 'grep', input: 'a' },
    { type: 'custom_tool_call_output', call_id: 'call_1', output: 'b' },
    { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'so', annotations: [] }] },
  ];
  const reply = await gate.send(NATIVE, {
    body: { ...turnBody('hi'), input, tools: [GREP], tool_choice: { type: 'custom', name: 'grep' } },
  });
  assert.equal(reply.status, 200, reply.text);
  assert.deepEqual(sent().tool_choice, { type: 'function', name: 'grep' });
  assert.deepEqual(sent().input.slice(1), [
    { type: 'function_call', call_id: 'call_1', name: 'grep', arguments: '{"input":"a"}' },
    { type: 'function_call_output', call_id: 'call_1', output: 'b' },
    {
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'so', annotations: [] }],
      id: 'msg_3',
      status: 'completed',
    },
  ]);
  assert.deepEqual(sent().text, { format: { type: 'text' } });
});

const LOOK = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} } };
const WIDE = { ...SPACE, tools: [...SPACE.tools, { type: 'custom', name: 'write' }] };
const CHILDREN = [
  { type: 'function', name: 'disk__read' },
  { type: 'function', name: 'disk__write' },
];
const allowed = (mode: string, ...tools: readonly JsonObject[]): JsonObject => ({ type: 'allowed_tools', mode, tools });
const named = ({ type, name }: JsonObject): JsonObject => ({ type: type ?? null, name: name ?? null });

for (const [what, tool_choice, choice] of [
  ['a hosted tool that is left out', allowed('auto', named(LOOK), { type: 'web_search' }), allowed('auto', named(LOOK))],
  ['nothing but hosted tools that are left out', allowed('auto', { type: 'web_search' }), 'none'],
  ['a namespace among allowed tools', allowed('required', named(WIDE)), allowed('required', ...CHILDREN)],
  ['a namespace', named(WIDE), allowed('required', ...CHILDREN)],
] as const) {
  test(`[AA19] [AA27] a choice names only tools that go out: ${what}`, async () => {
    const tools = [LOOK, WIDE, { type: 'web_search' }];
    const reply = await gate.send(PUBLIC, { body: { model: 'model-a', input: 'hi', tools, tool_choice } });
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual(sent().tool_choice, choice);
  });
}

for (const [what, tool_choice, choice] of [
  ['a namespace', named(WIDE), allowed('required', { type: 'function', name: 'read' }, { type: 'custom', name: 'write' })],
  ['one of a single tool', named({ ...SPACE, name: 'one' }), { type: 'function', name: 'seek' }],
  [
    'one among allowed tools',
    allowed('auto', named(LOOK), named(WIDE)),
    allowed('auto', named(LOOK), { type: 'function', name: 'read' }, { type: 'custom', name: 'write' }),
  ],
  ['a tool within one', { type: 'custom', name: 'write' }, { type: 'custom', name: 'write' }],
] as const) {
  test(`[AA28] [F5.3] an account that takes namespaces gets a choice that the public API has: ${what}`, async () => {
    await using own = await startStrict({ quirks: { tools: 'all' } });
    const seek = { type: 'function', name: 'seek', parameters: { type: 'object', properties: {} } };
    const tools = [LOOK, WIDE, { type: 'namespace', name: 'one', tools: [seek] }];
    const reply = await own.send(PUBLIC, { body: { model: 'model-a', input: 'hi', tools, tool_choice } });
    assert.equal(reply.status, 200, reply.text);
    const { json } = own.upstream.turns()[0] ?? {};
    assert.deepEqual((json as JsonObject).tool_choice, choice);
  });
}

for (const quirk of ['tool_choice_named', 'tool_choice_required']) {
  test(`[AA14] a server with ${quirk}: false gets the allowed tools alone, with their mode`, async () => {
    await using own = await startStrict({ quirks: { [quirk]: false } });
    const tools = [LOOK, { ...LOOK, name: 'see' }];
    const reply = await own.send(PUBLIC, { body: { model: 'model-a', input: 'hi', tools, tool_choice: allowed('auto', named(LOOK)) } });
    assert.equal(reply.status, 200, reply.text);
    const { json } = own.upstream.turns()[0] ?? {};
    assert.deepEqual([(json as JsonObject).tools, (json as JsonObject).tool_choice], [[LOOK], 'auto']);
  });
}

test('[AA14] a server that insists on descriptions gets them for tools of each kind, also within a namespace', async () => {
  await using own = await startStrict({ quirks: { tools: 'all', tool_description: 'required' } });
  const tools = [LOOK, { type: 'custom', name: 'grep' }, { ...SPACE, description: 'Files.' }];
  const reply = await own.send(PUBLIC, { body: { model: 'model-a', input: 'hi', tools } });
  assert.equal(reply.status, 200, reply.text);
  const turn = own.upstream.turns()[0]?.json as { readonly tools: readonly JsonObject[] } | undefined;
  const [look, grep, space] = turn?.tools ?? [];
  const [read] = (space?.tools ?? []) as readonly JsonObject[];
  assert.deepEqual([look?.description, grep?.description, read?.description], ['look', 'grep', 'read']);
});

test('[AA20] [AA27] [AA28] the compact path gets items in the form that they have in turns', async () => {
  await using own = await startStrict({ quirks: { tools: 'function', item_ids: 'required' }, compact: 'route' });
  const input = [
    userMessage('hi'),
    { type: 'custom_tool_call', call_id: 'call_1', name: 'grep', input: 'a' },
    { type: 'custom_tool_call_output', call_id: 'call_1', output: 'b' },
    { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'so', annotations: [] }] },
  ];
  for (const [path, body] of [
    [`${NATIVE}/compact`, { model: 'model-a', input }],
    [PUBLIC, { model: 'model-a', input: [...input, { type: 'compaction_trigger' }] }],
  ] as const) {
    const reply = await own.send(path, { body });
    assert.equal(reply.status, 200, reply.text);
    const turn = own.upstream.turns().at(-1);
    const sentBody = turn?.json as { readonly input: readonly JsonObject[] } | undefined;
    assert.equal(turn?.path, '/v1/responses/compact');
    assert.deepEqual(
      sentBody?.input.map(({ type, arguments: given }) => given ?? type),
      ['message', '{"input":"a"}', 'function_call_output', 'message'],
    );
  }
});

test('[AA43] an image of an earlier tool output that the account does not take is a text', async () => {
  await using own = await startStrict({ quirks: { images: 'none' } });
  const output = [{ type: 'input_image', image_url: 'data:image/png;base64,AA==' }];
  const call = { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' };
  const loop = [userMessage('hi'), call, { type: 'function_call_output', call_id: 'call_1', output }];
  const reply = await own.send(NATIVE, { body: turnBody('', { tools: [LOOK], input: [...loop, userMessage('and?')] }) });
  assert.equal(reply.status, 200, reply.text);
  const turn = own.upstream.turns()[0]?.json as { readonly input: readonly JsonObject[] } | undefined;
  assert.deepEqual(turn?.input[2]?.output, [{ type: 'input_text', text: '(image)' }]);
  assert.equal((await own.rows()).at(-1)?.adapted?.includes('input.input_image'), true);
  const latest = await own.send(NATIVE, { body: turnBody('', { tools: [LOOK], input: loop }) });
  assert.deepEqual([latest.status, latest.json.error.param], [400, 'input.2.output.0']);
});

test('[AA45] an effort goes out as a level that the model declares', async () => {
  await gate.send(PUBLIC, { body: { model: 'model-a', input: 'hi', reasoning: { effort: 'xhigh' } } });
  assert.deepEqual(sent().reasoning, { effort: 'medium' });
});

test('[AA56] a reply without usage is estimated', async () => {
  const [last] = textEvents('hello there').slice(-1) as [JsonObject & { response: JsonObject }];
  platform.next.push(streams([...textEvents('hello there').slice(0, -1), { ...last, response: { ...last.response, usage: null } }]));
  const reply = await gate.send(PUBLIC, { body: { model: 'model-a', input: 'hi' } });
  assert.deepEqual([reply.json.usage.output_tokens, reply.json.usage.estimated], [3, true], reply.text);
});

test('[AA34] [AA48] an account without the compact path makes a summary, for the turn that found out and for the next', async () => {
  platform.next.push(answers(404, { error: { message: 'Not Found' } }));
  for (const requests of [2, 3]) {
    platform.next.push(streams(textEvents('the goals and the files')));
    const reply = await gate.send(PUBLIC, { body: { model: 'model-a', input: [userMessage('hi'), { type: 'compaction_trigger' }] } });
    assert.equal(reply.status, 200, reply.text);
    assert.equal(reply.json.output[0].type, 'compaction');
    assert.match(reply.json.output[0].encrypted_content, /^pgc1\./);
    assert.equal(platform.requests.length, requests);
    platform.next.length = 0;
  }
  const paths = platform.requests.map(({ path }) => path);
  assert.deepEqual(paths, ['/v1/responses/compact', '/v1/responses', '/v1/responses']);
  assert.equal(platform.requests[1]?.json.max_output_tokens, 8_192);
});
