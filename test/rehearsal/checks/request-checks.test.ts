// The checks of a strict provider: one table of bodies and headers.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { PROFILES } from '../../../proxy/rehearsal/account/account-profiles.ts';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import { startUpstream } from '../../support/rehearsal.ts';
import { ask, at, itemsOf } from '../../support/rehearsal-client.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';

const picky = PROFILES.picky;
const polite = PROFILES.polite;
const upstream = await startUpstream({
  accounts: [
    'north',
    'south',
    { id: 'picky', profile: picky },
    { id: 'polite', profile: polite },
    { id: 'lenient', strict: false },
    { id: 'locked', credential: 'open-sesame' },
  ],
});
after(() => upstream.close());
const north = upstream.urlOf('north');

const marker = { 'x-internal-agent-responses-lite': 'true' };
const user = { role: 'user', content: 'hello' };
const prefix = { type: 'additional_tools', role: 'developer', tools: [] };
const without = (member: string): JsonObject => Object.fromEntries(Object.entries(turnBody('hello')).filter(([name]) => name !== member));
const functionWith = (parameters: Json, strict: Json = false): JsonObject =>
  turnBody('hello', { tools: [{ type: 'function', name: 'f', strict, parameters }] });

interface Case {
  readonly what: string;
  readonly body: JsonObject;
  readonly headers?: Readonly<Record<string, string>>;
  /** The status, code and param of the refusal; absent if the provider accepts the request. */
  readonly refused?: readonly [status: number, code: string, param: string | null];
}

const cases: readonly Case[] = [
  { what: 'the smallest body', body: turnBody('hello') },
  { what: 'tools that are no list', body: turnBody('', { tools: {} }), refused: [400, 'invalid_type', 'tools'] },
  { what: 'an item of null', body: turnBody('', { input: [null] }), refused: [400, 'invalid_type', 'input[0]'] },
  { what: 'a tool that is a text', body: turnBody('', { tools: ['lookup'] }), refused: [400, 'invalid_type', 'tools[0]'] },
  { what: 'tools of null', body: turnBody('', { tools: null }) },
  { what: 'no model', body: without('model'), refused: [400, 'missing_required_parameter', 'model'] },
  { what: 'an anchor of null', body: turnBody('', { previous_response_id: null }) },
  { what: 'no reasoning', body: without('reasoning'), refused: [400, 'missing_required_parameter', 'reasoning'] },
  { what: 'no include', body: without('include'), refused: [400, 'invalid_value', 'include'] },
  {
    what: 'the include entry twice',
    body: turnBody('', { include: ['reasoning.encrypted_content', 'reasoning.encrypted_content'] }),
    refused: [400, 'invalid_value', 'include'],
  },
  { what: 'a compaction turn without reasoning', body: { ...without('reasoning'), input: [user, { type: 'compaction_trigger' }] } },
  { what: 'a Lite body without its marker', body: turnBody('', { input: [prefix, user] }), refused: [400, 'invalid_value', 'input.0'] },
  { what: 'a Lite body with its marker', body: turnBody('', { input: [prefix, user] }), headers: marker },
  { what: 'an additional_tools item with an id, unmarked', body: turnBody('', { input: [{ ...prefix, id: 'at_1' }, user] }) },
  {
    what: 'a marker on top-level tools',
    body: turnBody('', { input: [prefix, user], tools: [] }),
    headers: marker,
    refused: [400, 'invalid_value', 'tools'],
  },
  {
    what: 'a marker on instructions',
    body: turnBody('', { input: [prefix, user], instructions: '' }),
    headers: marker,
    refused: [400, 'invalid_value', 'instructions'],
  },
  { what: 'a marker on a Full body', body: turnBody(''), headers: marker, refused: [400, 'invalid_value', 'input.0'] },
  {
    what: 'a marker that says false',
    body: turnBody(''),
    headers: { 'x-internal-agent-responses-lite': 'false' },
    refused: [400, 'invalid_value', 'input'],
  },
  {
    what: 'a websocket marker in an HTTP body',
    body: turnBody('', { client_metadata: { ws_request_header_x_internal_agent_responses_lite: 'true' } }),
    refused: [400, 'invalid_value', 'client_metadata.ws_request_header_x_internal_agent_responses_lite'],
  },
  {
    what: 'a lowered schema',
    body: functionWith({ type: 'object', properties: { a: { anyOf: [{ type: 'string' }] } }, additionalProperties: false }),
  },
  {
    what: 'a keyword outside the list',
    body: functionWith({ type: 'object', properties: { a: { type: 'string', pattern: 'x' } } }),
    refused: [400, 'invalid_function_parameters', 'tools.0.parameters'],
  },
  { what: 'a property that is called like a keyword', body: functionWith({ type: 'object', properties: { pattern: { type: 'string' } } }) },
  {
    what: 'a boolean schema',
    body: functionWith({ type: 'object', properties: { a: true } }),
    refused: [400, 'invalid_function_parameters', 'tools.0.parameters'],
  },
  {
    what: 'a root without a type',
    body: functionWith({ properties: {} }),
    refused: [400, 'invalid_function_parameters', 'tools.0.parameters'],
  },
  {
    what: 'a strict schema with any keyword',
    body: functionWith({ type: 'object', properties: { a: { type: 'string', pattern: 'x' } } }, true),
  },
  {
    what: 'a keyword inside a namespace of a Lite body',
    body: turnBody('', {
      input: [
        {
          ...prefix,
          tools: [
            { type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'f', parameters: { type: 'object', minProperties: 1 } }] },
          ],
        },
        user,
      ],
    }),
    headers: marker,
    refused: [400, 'invalid_function_parameters', 'input.0.tools.0.tools.0.parameters'],
  },
];

test('a reference to a stored item is not found, as with store: false at the public API', async () => {
  const body = turnBody('', { input: [{ type: 'item_reference', id: 'rs_1' }, user] });
  const { status, json } = await ask(north, body);
  assert.equal(status, 404);
  assert.deepEqual(at(json, 'error'), {
    message:
      "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.",
    type: 'invalid_request_error',
    code: null,
    param: 'input',
  });
});

for (const { what, body, headers, refused } of cases) {
  test(`${what} is ${refused === undefined ? 'accepted' : `refused as ${refused[1]}`}`, async () => {
    const { status, json } = await ask(north, body, headers);
    if (refused === undefined) return assert.equal(status, 200, JSON.stringify(json));
    assert.deepEqual([status, at(json, 'error', 'code'), at(json, 'error', 'param')], refused);
    assert.equal(at(json, 'error', 'type'), 'invalid_request_error');
  });
}

const details: readonly (readonly [what: string, body: JsonObject, detail: string])[] = [
  ['a body that does not stream', turnBody('', { stream: false }), 'Stream must be set to true'],
  ['a body without stream', without('stream'), 'Stream must be set to true'],
  ['a body without store', without('store'), 'Store must be set to false'],
  ['a stored response', turnBody('', { store: true }), 'Store must be set to false'],
  ['an input that is no list', turnBody('', { input: 'hello' }), 'Input must be a list'],
  ['an anchor', turnBody('', { previous_response_id: 'resp_1' }), 'Unsupported parameter: previous_response_id'],
  ['a cap of its output', turnBody('', { max_output_tokens: 100 }), 'Unsupported parameter: max_output_tokens'],
  ['an unknown member', turnBody('', { stream_id: 'main' }), 'Unsupported parameter: stream_id'],
  ['a member of frames', turnBody('', { generate: false }), 'Unsupported parameter: generate'],
  ['a system message', turnBody('', { input: [{ role: 'system', content: 'Be brief.' }, user] }), 'System messages are not allowed'],
  [
    'a model that the account lacks',
    turnBody('', { model: 'model-z' }),
    "The 'model-z' model is not supported when using Codex with a ChatGPT account.",
  ],
];

for (const [what, body, detail] of details) {
  test(`[RB7] [RB8] [RB9] [RB11] [RB20] ${what} is refused with a detail`, async () => {
    const { status, json } = await ask(north, body);
    assert.deepEqual([status, json], [400, { detail }]);
  });
}

test('[RB8] what the own clients of the backend send is accepted', async () => {
  const accepted = {
    instructions: '',
    tools: [],
    tool_choice: 'auto',
    parallel_tool_calls: true,
    service_tier: 'priority',
    prompt_cache_key: 'thread-1',
    text: { verbosity: 'low' },
    client_metadata: {},
    stream_options: {},
    prompt_cache_options: {},
    access_programs: [],
  };
  assert.equal((await ask(north, turnBody('', accepted))).status, 200);
  assert.equal((await ask(north, turnBody('', { metadata: { rehearse: 'steady' } }))).status, 200, 'it is addressed to the simulation');
});

const assistant = (...parts: readonly JsonObject[]): JsonObject => ({ type: 'message', role: 'assistant', content: [...parts] });

test("[RB9] an assistant's text is output_text, and a developer's message is accepted", async () => {
  const wrong = await ask(north, turnBody('', { input: [user, assistant({ type: 'input_text', text: 'hi' }), user] }));
  assert.deepEqual(
    [wrong.status, at(wrong.json, 'error')],
    [
      400,
      {
        message: "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
        type: 'invalid_request_error',
        code: 'invalid_value',
        param: 'input[1].content[0]',
      },
    ],
  );
  const developer = { role: 'developer', content: 'Be brief.' };
  const right = await ask(north, turnBody('', { input: [developer, user, assistant({ type: 'output_text', text: 'hi' }), user] }));
  assert.equal(right.status, 200);
});

test('the output of a tool is refused without its call, and accepted after it', async () => {
  for (const [kind, words] of [
    ['function_call', 'function call output'],
    ['custom_tool_call', 'custom tool call output'],
  ] as const) {
    const output = { type: `${kind}_output`, call_id: 'call_1', output: 'done' };
    const { status, json } = await ask(north, turnBody('', { input: [user, output] }));
    assert.deepEqual(
      [status, at(json, 'error')],
      [400, { message: `No tool call found for ${words} with call_id call_1.`, type: 'invalid_request_error', code: null, param: 'input' }],
    );
    const call = { type: kind, call_id: 'call_1', name: 'lookup', arguments: '{}', input: '' };
    assert.equal((await ask(north, turnBody('', { input: [user, call, output] }))).status, 200);
  }
});

test('[RB12] bodies in zstd and gzip are accepted', async () => {
  const bytes = Buffer.from(JSON.stringify(turnBody('hello')));
  for (const [coding, body] of [
    ['zstd', zstdCompressSync(bytes)],
    ['gzip', gzipSync(bytes)],
  ] as const) {
    const headers = { 'content-type': 'application/json', 'content-encoding': coding };
    const response = await fetch(`${north}/backend-api/agent/responses`, { method: 'POST', headers, body });
    assert.deepEqual([coding, response.status], [coding, 200]);
    await response.text();
  }
});

test('the polite account answers what does not stream, and refuses in the documented shape', async () => {
  const url = upstream.urlOf('polite');
  const plain = await ask(url, turnBody('', { stream: false }));
  assert.deepEqual([plain.status, plain.json?.object], [200, 'response']);
  const stored = await ask(url, turnBody('', { store: true }));
  assert.deepEqual([stored.status, at(stored.json, 'error', 'param')], [400, 'store']);
  const lacking = await ask(url, turnBody('', { model: 'model-z' }));
  assert.deepEqual([lacking.status, at(lacking.json, 'error', 'code')], [404, 'model_not_found']);
});

test('a body that is not a JSON object is refused', async () => {
  assert.equal(at((await ask(north, [1])).json, 'error', 'code'), 'invalid_json');
});

test('[RB13] ciphertext and turn state are valid only at the account that issued them', async () => {
  const first = await ask(north);
  const reasoning = itemsOf(first.events)[0] ?? null;
  const replay = turnBody('', { input: [user, reasoning, user] });
  assert.equal((await ask(north, replay)).status, 200);
  const foreign = await ask(upstream.urlOf('south'), replay);
  assert.deepEqual([foreign.status, at(foreign.json, 'error', 'code')], [400, 'invalid_encrypted_content']);
  assert.match(String(at(foreign.json, 'error', 'message')), /^The encrypted content \S{8}\.\.\. could not be verified\.$/);

  const state = first.headers.get('x-agent-turn-state') ?? '';
  const stated = { 'x-agent-turn-state': state };
  assert.equal((await ask(north, turnBody(''), stated)).status, 200);
  assert.equal((await ask(upstream.urlOf('south'), turnBody(''), stated)).status, 400);
  const inBody = turnBody('', { client_metadata: stated });
  assert.equal(at((await ask(upstream.urlOf('south'), inBody)).json, 'error', 'code'), 'invalid_turn_state');
});

test('ciphertext and turn state of unknown origin are accepted, so that recordings can be replayed', async () => {
  const body = turnBody('', { input: [{ type: 'reasoning', summary: [], encrypted_content: 'ENC_FAKE' }, user] });
  assert.equal((await ask(north, body, { 'x-agent-turn-state': 'TS-abc' })).status, 200);
});

test('the picky account refuses the fields that drop_fields removes', async () => {
  const { status, json } = await ask(upstream.urlOf('picky'), turnBody('', { temperature: 1 }));
  assert.deepEqual([status, at(json, 'error', 'code'), at(json, 'error', 'param')], [400, 'unsupported_parameter', 'temperature']);
});

test('an account that is not strict accepts any JSON object', async () => {
  assert.equal(
    (await ask(upstream.urlOf('lenient'), { model: 'any', input: 'hello', stream: true })).events.at(-1)?.type,
    'response.completed',
  );
});

test('an account with a credential requires it on every path', async () => {
  const locked = upstream.urlOf('locked');
  assert.equal((await ask(locked)).status, 401);
  assert.equal(at((await ask(locked, turnBody(''), { authorization: 'Bearer wrong' })).json, 'error', 'code'), 'token_expired');
  assert.equal((await ask(locked, turnBody(''), { authorization: 'Bearer open-sesame' })).status, 200);
  assert.equal((await fetch(`${locked}/backend-api/agent/models`)).status, 401);
});
