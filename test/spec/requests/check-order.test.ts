// The order of the checks on a turn (Q4): a request with all faults gets the refusal of the first check, and each correction leads to the
// refusal of the next one.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { after, test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { type Draft, startGateway } from '../../support/gateway.ts';
import { modelEntry } from '../../support/rehearsal-replies.ts';
import { CHAT, CHAT_ALIAS } from '../../support/turns/turn-paths.ts';

const digest = (secret: string): string => hash('sha256', secret, 'hex');

/** `idle` is known but has no routable source; `lite` is served in Lite; `denied` and `absent` are not in the list of the key. */
const gate = await startGateway({
  upstream: {
    accounts: [
      { id: 'north', models: ['lite', 'denied'].map((slug) => modelEntry({ slug })) },
      { id: 'idle', models: [modelEntry({ slug: 'idle' })] },
    ],
  },
  config: (draft: Draft) => {
    draft.pools[0].assignments = [{ account: 'north' }, { account: 'idle', active: false }];
    draft.pools[0].serving_modes = { lite: 'lite', idle: 'lite' };
    draft.keys.push({
      id: 'narrow',
      pool: 'team',
      secret_sha256: [digest('narrow')],
      models: ['lite', 'idle', 'unknown'],
      reasoning_effort: { allow_up_to: 'low' },
      output_tokens: { max: 100 },
    });
  },
});
after(() => gate.close());

interface Step {
  /** The correction after which the request gets this refusal. */
  readonly mended: string;
  readonly change?: (request: Request) => void;
  readonly refusal: readonly [status: number, code: string, param: string | null];
}

interface Request {
  headers: Record<string, string>;
  body: JsonObject | string | Uint8Array;
}

const set = (members: JsonObject) => (request: Request) => {
  request.body = { ...(request.body as JsonObject), ...members };
};

const FAULTY: JsonObject = {
  conversation: 'conv_1',
  input: 7,
  tools: [{ type: 'mcp' }],
  tool_choice: { type: 'function', name: 'nobody' },
  reasoning: { effort: 'high', context: 'never' },
  text: { format: { type: 'json_schema', name: 'a', strict: true, schema: { anyOf: [] } } },
  max_output_tokens: 1000,
};

const STEPS: readonly Step[] = [
  { mended: 'nothing', refusal: [401, 'invalid_api_key', null] },
  {
    mended: 'the key',
    change: ({ headers }) => {
      headers.authorization = 'Bearer narrow';
    },
    refusal: [415, 'unsupported_media_type', null],
  },
  {
    mended: 'the content type',
    change: ({ headers }) => {
      headers['content-type'] = 'application/json';
    },
    refusal: [415, 'unsupported_content_encoding', null],
  },
  {
    mended: 'the content encoding',
    change: ({ headers }) => {
      delete headers['content-encoding'];
    },
    refusal: [400, 'invalid_request', null],
  },
  {
    mended: 'the JSON',
    change: (request) => {
      request.body = FAULTY;
    },
    refusal: [400, 'invalid_model', 'model'],
  },
  { mended: 'the missing model', change: set({ model: 'denied' }), refusal: [403, 'model_not_allowed', 'model'] },
  { mended: 'the denied model', change: set({ model: 'unknown' }), refusal: [400, 'invalid_model', 'model'] },
  { mended: 'the unknown model', change: set({ model: 'idle' }), refusal: [400, 'unsupported_parameter', 'conversation'] },
  { mended: 'the parameter', change: set({ conversation: null }), refusal: [400, 'invalid_request', 'input'] },
  { mended: 'the input', change: set({ input: 'hi' }), refusal: [400, 'invalid_request', 'tools.0.type'] },
  // If no source is routable, the mode is unresolved, and checks that depend on it are skipped: the choice is refused as undeclared.
  { mended: 'the remote MCP tool', change: set({ tools: [] }), refusal: [400, 'invalid_request', 'tool_choice'] },
  { mended: 'the tool choice', change: set({ tool_choice: 'auto' }), refusal: [400, 'invalid_json_schema', 'text.format.schema'] },
  { mended: 'the schema', change: set({ text: null }), refusal: [400, 'invalid_request', 'reasoning.context'] },
  {
    mended: 'the context',
    change: set({ reasoning: { effort: 'high' } }),
    refusal: [400, 'reasoning_effort_not_allowed', 'reasoning.effort'],
  },
  { mended: 'the effort', change: set({ reasoning: { effort: 'low' } }), refusal: [400, 'output_tokens_not_allowed', 'max_output_tokens'] },
  { mended: 'the output tokens', change: set({ max_output_tokens: 10 }), refusal: [503, 'no_eligible_account', null] },
];

test('[F4.4] the faults of one request are reported in the order of the checks, and nothing reaches an account before the last check', async () => {
  const request: Request = {
    headers: { authorization: 'Bearer wrong', 'content-type': 'text/plain', 'content-encoding': 'odd' },
    body: '{"model": ',
  };
  for (const { mended, change, refusal } of STEPS) {
    change?.(request);
    const { status, json } = await gate.send('/v1/responses', request);
    assert.deepEqual([status, json.error.code, json.error.param], refusal, `with ${mended} mended`);
  }
  assert.equal(gate.upstream.turns().length, 0);
  set({ model: 'lite' })(request);
  assert.equal((await gate.send('/v1/responses', request)).status, 200);
});

/** The same faults in a Chat request, from the model on. */
const CHAT_FAULTY: JsonObject = {
  n: 2,
  messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: { format: 'midi', data: 'AAAA' } }, { type: 'video' }] }],
  tools: [{ type: 'mcp' }],
  tool_choice: { type: 'function', function: { name: 'nobody' } },
  reasoning_effort: 'high',
  response_format: { type: 'json_schema', json_schema: { strict: true, schema: { anyOf: [] } } },
  max_tokens: 1000,
};

const AUDIO = { type: 'input_audio', input_audio: { format: 'wav', data: 'AAAA' } };
const LOOSE = { type: 'json_schema', json_schema: { name: 'a', strict: true, schema: { anyOf: [] } } };
const NAMED = { type: 'json_schema', json_schema: { name: 'a', strict: true, schema: { type: 'object' } } };

const CHAT_STEPS: readonly Step[] = [
  { mended: 'nothing', refusal: [400, 'invalid_model', 'model'] },
  { mended: 'the missing model', change: set({ model: 'denied' }), refusal: [403, 'model_not_allowed', 'model'] },
  { mended: 'the denied model', change: set({ model: 'idle' }), refusal: [400, 'unsupported_parameter', 'n'] },
  // The translation runs first, and reports what it cannot translate. All other checks have the order of Responses.
  { mended: 'the parameter', change: set({ n: 1 }), refusal: [400, 'invalid_request', 'messages.0.content.1.type'] },
  {
    mended: 'the message',
    change: set({
      messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: { format: 'midi', data: 'AAAA' } }] }],
    }),
    refusal: [400, 'invalid_request', 'response_format.json_schema.name'],
  },
  { mended: 'the format', change: set({ response_format: LOOSE }), refusal: [400, 'invalid_request', 'tools.0.type'] },
  { mended: 'the remote MCP tool', change: set({ tools: [{ type: 'web_search' }] }), refusal: [400, 'invalid_request', 'tools.0.type'] },
  { mended: 'the tool', change: set({ tools: [] }), refusal: [400, 'invalid_request', 'tool_choice'] },
  {
    mended: 'the tool choice',
    change: set({ tool_choice: 'auto' }),
    refusal: [400, 'invalid_json_schema', 'response_format.json_schema.schema'],
  },
  {
    mended: 'the schema',
    change: set({ response_format: NAMED }),
    refusal: [400, 'invalid_request', 'messages.0.content.0.input_audio.format'],
  },
  {
    mended: 'the audio',
    change: set({ messages: [{ role: 'user', content: [AUDIO] }] }),
    refusal: [400, 'reasoning_effort_not_allowed', 'reasoning_effort'],
  },
  { mended: 'the effort', change: set({ reasoning_effort: 'low' }), refusal: [400, 'output_tokens_not_allowed', 'max_tokens'] },
  { mended: 'the output tokens', change: set({ max_tokens: 10 }), refusal: [503, 'no_eligible_account', null] },
];

test('[F4.4] the same on Chat, with the paths of Chat', async () => {
  for (const path of [CHAT, CHAT_ALIAS]) {
    gate.upstream.clear();
    const request: Request = { headers: { authorization: 'Bearer narrow' }, body: CHAT_FAULTY };
    for (const { mended, change, refusal } of CHAT_STEPS) {
      change?.(request);
      const { status, json } = await gate.send(path, request);
      assert.deepEqual([status, json.error.code, json.error.param], refusal, `with ${mended} mended`);
    }
    assert.equal(gate.upstream.turns().length, 0);
    set({ model: 'lite' })(request);
    assert.equal((await gate.send(path, request)).status, 200);
  }
});

test('[F2.12] in Lite a map is refused before the check of the tool that it names', async () => {
  const body = { model: 'lite', input: 'hi', tool_choice: { type: 'function', name: 'nobody' } };
  const { status, json } = await gate.send('/v1/responses', { body });
  assert.deepEqual([status, json.error.code, json.error.param], [400, 'unsupported_parameter', 'tool_choice']);
});
