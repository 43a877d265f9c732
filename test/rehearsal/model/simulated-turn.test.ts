// Simulated turns, over real sockets.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { modelsWithin } from '../../../proxy/rehearsal/model/sample-models.ts';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import responseMembers from '../../fixtures/public/response-members.json' with { type: 'json' };
import { startUpstream } from '../../support/rehearsal.ts';
import { ask, at, itemsOf, typesOf } from '../../support/rehearsal-client.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';

const upstream = await startUpstream({ manners: { streamedUnstoredLists: false, knownMembers: false, noCompactPath: false } });
after(() => upstream.close());
const north = upstream.urlOf('north');

const lookup = {
  type: 'function',
  name: 'lookup',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};
const patch = { type: 'custom', name: 'apply_patch' };
const namespace = { type: 'namespace', name: 'crm', description: 'Customers', tools: [lookup, { type: 'custom', name: 'query' }] };

test('a stream has all event types that clients need', async () => {
  const { status, headers, events } = await ask(north);
  assert.equal(status, 200);
  assert.equal(headers.get('content-type'), null, '[RB16]');
  const types = typesOf(events);
  assert.deepEqual(types.slice(0, 7), [
    'response.created',
    'response.in_progress',
    'keepalive',
    'response.output_item.added',
    'response.output_item.done',
    'response.output_item.added',
    'response.content_part.added',
  ]);
  assert.deepEqual(types.slice(-4), [
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.completed',
  ]);
  assert.ok(types.filter((type) => type === 'response.output_text.delta').length >= 3);
  assert.deepEqual(
    events.map(({ sequence_number }) => sequence_number),
    events.map((_, i) => i),
  );
});

type Types = Readonly<Record<string, readonly string[]>>;

const jsonType = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'list' : Number.isInteger(value) ? 'integer' : typeof value;

function assertMembers(value: unknown, types: Types, name: string): void {
  for (const [member, allowed] of Object.entries(types)) {
    const type = jsonType((value as Readonly<Record<string, unknown>>)[member]);
    assert.ok(allowed.includes(type), `${name}.${member} is ${type}`);
  }
}

test('a response has every member of the public API, in each event and in JSON', async () => {
  const { required, always_sent, reasoning, usage, input_tokens_details, output_tokens_details } = responseMembers;
  const streamed = (await ask(north)).events.filter((event) => at(event, 'response') !== undefined).map((event) => at(event, 'response'));
  const collected = (await ask(north, turnBody('hello', { stream: false }))).json;
  const incomplete = (await ask(north, turnBody('stop short', { stream: false }))).json;
  assert.equal(streamed.length, 3);
  for (const response of [...streamed, collected, incomplete]) {
    const status = String(at(response, 'status'));
    assertMembers(response, { ...required, ...always_sent }, status);
    assertMembers(at(response, 'reasoning'), reasoning, 'reasoning');
    if (status !== 'in_progress') {
      assertMembers(at(response, 'usage'), usage, 'usage');
      assertMembers(at(response, 'usage', 'input_tokens_details'), input_tokens_details, 'input_tokens_details');
      assertMembers(at(response, 'usage', 'output_tokens_details'), output_tokens_details, 'output_tokens_details');
    }
    assert.equal(at(response, 'completed_at'), status === 'completed' ? at(response, 'created_at') : null);
  }
});

test('a response repeats the settings of the request', async () => {
  const settings = {
    max_output_tokens: 500,
    max_tool_calls: 3,
    parallel_tool_calls: false,
    prompt_cache_key: 'thread-1',
    safety_identifier: 'user-1',
    temperature: 0.5,
    tool_choice: 'none',
    top_p: 0.9,
    truncation: 'auto',
    user: 'someone',
  };
  const { events } = await ask(north, turnBody('hello', { ...settings, reasoning: { effort: 'low', context: 'auto' } }));
  for (const event of [events[0], events.at(-1)]) {
    for (const [name, value] of Object.entries(settings)) assert.deepEqual(at(event, 'response', name), value, name);
    assert.deepEqual(at(event, 'response', 'reasoning'), { effort: 'low', summary: null });
  }
});

test('the deltas add up to the text, and the output of the terminal event is empty', async () => {
  const { events } = await ask(north, turnBody('hello there'));
  const text = 'This is the rehearsal provider answering as north. You said: hello there';
  const deltas = events.filter(({ type }) => type === 'response.output_text.delta').map(({ delta }) => delta);
  assert.equal(deltas.join(''), text);
  const response = at(events.at(-1), 'response');
  assert.equal(at(itemsOf(events), 1, 'content', 0, 'text'), text);
  assert.deepEqual(at(response, 'output'), [], '[RB17]');
  assert.equal(at(response, 'status'), 'completed');
  assert.equal(at(response, 'error'), null);
});

test('reasoning has ciphertext, and a summary where the request asks for one', async () => {
  const { events } = await ask(north, turnBody('hello', { reasoning: { effort: 'high', summary: 'auto' } }));
  const reasoning = at(itemsOf(events), 0);
  assert.equal(at(reasoning, 'type'), 'reasoning');
  assert.equal(typeof at(reasoning, 'encrypted_content'), 'string');
  assert.equal(at(reasoning, 'summary', 0, 'type'), 'summary_text');
  assert.ok(typesOf(events).includes('response.reasoning_summary_text.delta'));
  const silent = await ask(north, turnBody('hello', { reasoning: { effort: 'none' } }));
  assert.equal(at(itemsOf(silent.events), 0, 'type'), 'message');
});

test('input tokens are estimated from the size of the request', async () => {
  const body = turnBody('hello', { stream: false });
  const { json } = await ask(north, body);
  const usage = at(json, 'usage');
  assert.equal(at(usage, 'input_tokens'), Math.ceil(JSON.stringify(body).length / 4));
  assert.equal(Number(at(usage, 'total_tokens')), Number(at(usage, 'input_tokens')) + Number(at(usage, 'output_tokens')));
});

test('without stream the answer is the response, with a Content-Length', async () => {
  const { status, headers, json, text } = await ask(north, turnBody('hello', { stream: false }));
  assert.equal(status, 200);
  assert.equal(headers.get('content-type'), 'application/json');
  assert.equal(headers.get('content-length'), String(Buffer.byteLength(text)));
  assert.equal(at(json, 'object'), 'response');
  assert.equal(at(json, 'model'), 'model-a');
});

test('ids are unique over turns and accounts, and only the demonstration text names the account', async () => {
  const answers = await Promise.all([ask(north), ask(north), ask(upstream.urlOf('south'))]);
  const ids = answers.flatMap(({ text }) => text.match(/"(?:resp|msg|rs)_\w+"/g) ?? []);
  const responses = new Set(ids.filter((id) => id.startsWith('"resp')));
  assert.equal(responses.size, 3);
  for (const { text, headers } of answers) {
    const beside = text.replaceAll(/answering as (north|south)/g, '').replaceAll(/"delta":"(north|south)\. "/g, '');
    assert.doesNotMatch(`${beside}${JSON.stringify([...headers])}`, /north|south/);
  }
});

test('a turn has the headers of a provider', async () => {
  const { headers } = await ask(north);
  for (const name of [
    'x-request-id',
    'x-agent-turn-state',
    'x-models-etag',
    'x-agent-primary-reset-at',
    'x-agent-secondary-window-minutes',
  ]) {
    assert.ok(headers.get(name), name);
  }
  assert.equal(headers.get('openai-model'), 'model-a');
  assert.match(headers.get('x-agent-primary-used-percent') ?? '', /^\d+(\.\d+)?$/);
});

test('a function tool is called on request, with arguments that match its schema', async () => {
  const { events } = await ask(north, turnBody('call the tool lookup', { tools: [lookup] }));
  const call = at(itemsOf(events), 1);
  assert.equal(at(call, 'type'), 'function_call');
  assert.equal(at(call, 'name'), 'lookup');
  assert.equal(at(call, 'arguments'), '{"city":"rehearsal"}');
  const deltas = events.filter(({ type }) => type === 'response.function_call_arguments.delta').map(({ delta }) => delta);
  assert.equal(deltas.join(''), '{"city":"rehearsal"}');
  assert.equal(at(call, 'namespace'), undefined);
});

test('a custom tool is called with free text, default or given', async () => {
  const { events } = await ask(north, turnBody('call the tool apply_patch with *** Begin Patch of many words', { tools: [lookup, patch] }));
  const call = at(itemsOf(events), 1);
  assert.equal(at(call, 'type'), 'custom_tool_call');
  assert.equal(at(call, 'input'), '*** Begin Patch of many words');
  const deltas = events.filter(({ type }) => type === 'response.custom_tool_call_input.delta');
  assert.ok(deltas.length > 2);
});

test('tools in namespaces and in additional_tools are called, with or without the namespace', async () => {
  const plain = await ask(north, turnBody('call the tool crm.lookup with {"city":"Oslo"}', { tools: [namespace], stream: false }));
  assert.equal(at(plain.json, 'output', 1, 'namespace'), 'crm');
  assert.equal(at(plain.json, 'output', 1, 'arguments'), '{"city":"Oslo"}');
  const bare = await ask(north, turnBody('call the tool query without namespace', { tools: [namespace], stream: false }));
  assert.equal(at(bare.json, 'output', 1, 'type'), 'custom_tool_call');
  assert.equal(at(bare.json, 'output', 1, 'namespace'), undefined);
  const lite = turnBody('', {
    model: 'model-b',
    stream: false,
    input: [
      { type: 'additional_tools', role: 'developer', tools: [namespace] },
      { role: 'user', content: 'call the tool lookup' },
    ],
  });
  const called = await ask(north, lite, { 'x-internal-agent-responses-lite': 'true' });
  assert.equal(at(called.json, 'output', 1, 'name'), 'lookup');
});

test('tool_choice and parallel_tool_calls are followed, and an undeclared tool is not called', async () => {
  const both = 'call the tool lookup\ncall the tool apply_patch';
  const tools = [lookup, patch];
  const answer = async (said: string, changes: JsonObject) =>
    at((await ask(north, turnBody(said, { stream: false, tools, ...changes }))).json, 'output');
  assert.equal(at(await answer(both, {}), 'length'), 3);
  assert.equal(at(await answer(both, { parallel_tool_calls: false }), 'length'), 2);
  assert.equal(at(await answer('hello', { tool_choice: 'required' }), 1, 'name'), 'lookup');
  assert.equal(at(await answer('hello', { tool_choice: { type: 'custom', name: 'apply_patch' } }), 1, 'name'), 'apply_patch');
  assert.equal(at(await answer('call the tool lookup', { tool_choice: 'none' }), 1, 'type'), 'message');
  const allowed = { type: 'allowed_tools', tools: [{ type: 'custom', name: 'apply_patch' }] };
  assert.equal(at(await answer('hello', { tool_choice: { ...allowed, mode: 'required' } }), 1, 'name'), 'apply_patch');
  assert.equal(at(await answer('hello', { tool_choice: { ...allowed, mode: 'auto' } }), 1, 'type'), 'message');
  assert.equal(at(await answer('call the tool lookup', { tool_choice: { ...allowed, mode: 'required' } }), 1, 'type'), 'message');
  assert.equal(at(await answer('call the tool nothing', {}), 1, 'type'), 'message');
});

test('the output of a tool is answered with text', async () => {
  const input = [
    { role: 'user', content: 'call the tool lookup' },
    { type: 'function_call', call_id: 'call_1', name: 'lookup', arguments: '{}' },
    { type: 'function_call_output', call_id: 'call_1', output: 'Oslo: rain' },
  ];
  const { json } = await ask(north, turnBody('', { input, tools: [lookup], tool_choice: 'required', stream: false }));
  assert.match(String(at(json, 'output', 1, 'content', 0, 'text')), /The tool answered: Oslo: rain$/);
});

test('structured output is a minimal value of the schema', async () => {
  const schema = { type: 'object', properties: { ok: { type: 'boolean' }, tags: { type: 'array', items: {} } }, required: ['ok', 'tags'] };
  const format = { type: 'json_schema', name: 'result', schema, strict: true };
  const { json } = await ask(north, turnBody('hello', { text: { format }, stream: false }));
  assert.deepEqual(JSON.parse(String(at(json, 'output', 1, 'content', 0, 'text'))), { ok: true, tags: [] });
});

test('the user can ask for exact text, many words, a refusal and an incomplete turn', async () => {
  const said = async (text: string, changes: JsonObject = {}) => (await ask(north, turnBody(text, changes))).events;
  const exact = await said('say: hi');
  assert.equal(at(itemsOf(exact), 1, 'content', 0, 'text'), 'hi');
  const many = await said('write 500 words');
  assert.equal(typesOf(many).filter((type) => type === 'response.output_text.delta').length, 500);
  const refusal = await said('decline');
  assert.ok(typesOf(refusal).includes('response.refusal.delta'));
  assert.equal(at(itemsOf(refusal), 1, 'content', 0, 'type'), 'refusal');
  for (const events of [await said('write 50 words\nstop short'), await said('write 50 words', { max_output_tokens: 16 })]) {
    assert.equal(events.at(-1)?.type, 'response.incomplete');
    assert.deepEqual(at(events.at(-1), 'response', 'incomplete_details'), { reason: 'max_output_tokens' });
    assert.equal(at(itemsOf(events), 1, 'status'), 'incomplete');
  }
});

test('a compaction trigger and the compact path get exactly one compaction item', async () => {
  const input = [{ role: 'user', content: 'hello' }, { type: 'compaction_trigger' }];
  const { events } = await ask(north, turnBody('', { input }));
  assert.equal(itemsOf(events).length, 1);
  assert.equal(at(itemsOf(events), 0, 'type'), 'compaction');
  const path = '/backend-api/agent/responses/compact';
  const { json } = await ask(north, { model: 'model-a', input: [{ role: 'user', content: 'hello' }] }, {}, path);
  assert.equal(at(json, 'object'), 'response.compaction');
  assert.equal(typeof at(json, 'output', 0, 'encrypted_content'), 'string');
});

test('the default catalog has an ordinary, a Lite and a small model', () => {
  const lite = modelsWithin().map(({ slug, context_window, use_responses_lite }) => [slug, context_window, use_responses_lite]);
  assert.deepEqual(lite, [
    ['model-a', 272_000, false],
    ['model-b', 872_000, true],
    ['model-mini', 128_000, false],
  ]);
});

for (const line of ['search: rain in Oslo', 'Perform a web search for the query: rain in Oslo']) {
  test(`a declared web search is called, and its source is cited: ${line}`, async () => {
    const include = ['reasoning.encrypted_content', 'web_search_call.action.sources'];
    const { events } = await ask(north, turnBody(line, { tools: [{ type: 'web_search' }], include }));
    const url = 'https://rehearsal.example/rain%20in%20Oslo';
    const [, search, message] = itemsOf(events);
    assert.deepEqual(at(search, 'action'), {
      type: 'search',
      query: 'rain in Oslo',
      queries: ['rain in Oslo'],
      sources: [{ type: 'url', url }],
    });
    assert.equal(at(message, 'content', 0, 'annotations', 0, 'url'), url);
    assert.ok(typesOf(events).includes('response.output_text.annotation.added'));
  });
}

test('without a web search nothing is searched, and without the wish its sources are not stated', async () => {
  const plain = await ask(north, turnBody('search: rain'));
  assert.ok(!typesOf(plain.events).includes('response.web_search_call.completed'));
  const { events } = await ask(north, turnBody('search: rain', { tools: [{ type: 'web_search' }] }));
  assert.deepEqual(at(itemsOf(events)[1], 'action'), { type: 'search', query: 'rain', queries: ['rain'] });
});
