// Replies as Chat clients get them, as JSON and as SSE, on both paths: D4, A8, F1.9, F5.5, EV2, Q17, Q18, Q24.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import { ManualClock } from '../../support/clocks/manual-clock.ts';
import { type Reply, startGateway, type TestGateway } from '../../support/gateway.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { modelEntry, replyBytes, replyEvents, replyJson, turnBody } from '../../support/rehearsal-replies.ts';
import { CHAT, CHAT_ALIAS } from '../../support/turns/turn-paths.ts';
import { connect } from '../../support/websocket.ts';

const PATHS = [CHAT, CHAT_ALIAS] as const;
const NATIVE = '/backend-api/agent/responses';
const PUBLIC = '/v1/responses';

let gate: TestGateway;
before(async () => {
  gate = await startGateway({
    upstream: { accounts: [{ id: 'north', models: [modelEntry({ slug: 'theirs' })] }], manners: { knownMembers: false } },
    config: (draft) => {
      for (const account of draft.accounts) Object.assign(account, { models: { 'model-a': 'theirs' }, keep_fields: ['max_output_tokens'] });
    },
  });
});
after(() => gate.close());
beforeEach(() => {
  gate.heal();
  gate.upstream.clear();
});

const ask = (said: string, members: JsonObject = {}): JsonObject => ({
  model: 'model-a',
  messages: [{ role: 'user', content: said }],
  ...members,
});
const collected = (body: JsonObject, path: string = CHAT): Promise<Reply> => gate.send(path, { body });
const streamed = (body: JsonObject, path: string = CHAT): Promise<Reply> => gate.send(path, { body: { ...body, stream: true } });

// biome-ignore lint/suspicious/noExplicitAny: assertions look where they expect something
type Chunk = any;
const chunksOf = ({ text }: Reply): readonly Chunk[] => eventsOf(text).map(({ data }) => data);

/** The message that a client assembles from the deltas of a stream. */
function assembled(chunks: readonly Chunk[]): Chunk {
  const message: Chunk = { content: null, refusal: null };
  for (const { choices } of chunks) {
    for (const { delta } of choices ?? []) {
      if (delta.role) message.role = delta.role;
      for (const member of ['content', 'refusal'])
        if (typeof delta[member] === 'string') message[member] = (message[member] ?? '') + delta[member];
      for (const { index, ...call } of delta.tool_calls ?? []) {
        message.tool_calls ??= [];
        message.tool_calls[index] ??= {};
        const known = message.tool_calls[index];
        Object.assign(known, { id: call.id ?? known.id, type: call.type ?? known.type });
        for (const wrapper of ['function', 'custom']) {
          if (!call[wrapper]) continue;
          known[wrapper] ??= { name: call[wrapper].name };
          for (const member of ['arguments', 'input']) {
            if (call[wrapper][member] !== undefined) known[wrapper][member] = (known[wrapper][member] ?? '') + call[wrapper][member];
          }
        }
      }
    }
  }
  return message;
}

const reasonOf = (chunks: readonly Chunk[]): unknown => chunks.findLast(({ choices }) => choices?.length > 0)?.choices[0].finish_reason;

const TOOLS = [
  { type: 'function', function: { name: 'look_up', parameters: { type: 'object', properties: { city: { type: 'string' } } } } },
  { type: 'custom', custom: { name: 'apply_patch' } },
];

interface Same {
  readonly what: string;
  readonly body: JsonObject;
  readonly message: JsonObject;
  readonly reason: string;
}

const REPLIES: readonly Same[] = [
  { what: 'a text', body: ask('say: hello "there" — 雪'), message: { content: 'hello "there" — 雪', refusal: null }, reason: 'stop' },
  {
    what: 'a refusal',
    body: ask('decline'),
    message: { content: null, refusal: 'The rehearsal provider declines, as it was asked to.' },
    reason: 'stop',
  },
  {
    what: 'a function call',
    body: ask('call the tool look_up with {"city":"Oslo, in the north"}', { tools: TOOLS }),
    message: { tool_calls: [{ type: 'function', function: { name: 'look_up', arguments: '{"city":"Oslo, in the north"}' } }] },
    reason: 'tool_calls',
  },
  {
    what: 'a custom call of free text, which is no JSON',
    body: ask('call the tool apply_patch with *** Begin {"half": \\ of it', { tools: TOOLS }),
    message: { tool_calls: [{ type: 'custom', custom: { name: 'apply_patch', input: '*** Begin {"half": \\ of it' } }] },
    reason: 'tool_calls',
  },
  {
    what: 'a text and parallel calls of both kinds',
    body: ask(
      'say: both\ncall the tool look_up with {"city":"A"}\ncall the tool apply_patch with b\ncall the tool look_up with {"city":"C"}',
      {
        tools: TOOLS,
      },
    ),
    message: {
      content: 'both',
      tool_calls: [
        { type: 'function', function: { name: 'look_up', arguments: '{"city":"A"}' } },
        { type: 'custom', custom: { name: 'apply_patch', input: 'b' } },
        { type: 'function', function: { name: 'look_up', arguments: '{"city":"C"}' } },
      ],
    },
    reason: 'tool_calls',
  },
  {
    what: 'the call that a named choice demands',
    body: ask('hello', { tools: TOOLS, tool_choice: { type: 'custom', custom: { name: 'apply_patch' } } }),
    message: { tool_calls: [{ type: 'custom', custom: { name: 'apply_patch', input: 'rehearsal input' } }] },
    reason: 'tool_calls',
  },
  { what: 'an answer that is cut short', body: ask('say: hello\nstop short'), message: { content: 'hello' }, reason: 'length' },
  {
    what: 'an answer that reached its cap',
    body: ask('write 50 words', { max_completion_tokens: 16 }),
    message: { content: 'north south wind rain stage curtain light voice again slowly nor' },
    reason: 'length',
  },
  { what: 'an answer that was filtered', body: ask('say: hello\nstop filtered'), message: { content: 'hello' }, reason: 'content_filter' },
  {
    what: 'structured output',
    body: ask('anything', {
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: 'answer',
          strict: true,
          schema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'], additionalProperties: false },
        },
      },
    }),
    message: { content: '{"ok":true}' },
    reason: 'stop',
  },
];

/** Compares the members that the case states; ids are those of the provider. */
function assertMessage(message: Chunk, expected: JsonObject): void {
  assert.equal(message.role, 'assistant');
  const { tool_calls: calls = undefined, ...rest } = expected as { tool_calls?: readonly JsonObject[] };
  for (const [member, value] of Object.entries(rest)) assert.equal(message[member], value, member);
  assert.deepEqual(
    message.tool_calls?.map(({ id: _, ...call }: Chunk) => call),
    calls,
  );
  for (const { id } of message.tool_calls ?? []) assert.match(id, /^call_/);
}

describe('an answer', () => {
  for (const path of PATHS) {
    for (const { what, body, message, reason } of REPLIES) {
      test(`[D4] that is ${what} is one completion, and the same in chunks, on ${path}`, async () => {
        const answer = await collected(body, path);
        assert.equal(answer.status, 200, answer.text);
        const [choice, ...others] = answer.json.choices;
        assert.deepEqual([others, choice.index, choice.logprobs, choice.finish_reason], [[], 0, null, reason]);
        assertMessage(choice.message, message);

        const stream = await streamed(body, path);
        const chunks = chunksOf(stream);
        assert.equal(chunks.at(-1), '[DONE]');
        assert.equal(reasonOf(chunks.slice(0, -1)), reason);
        assertMessage(assembled(chunks.slice(0, -1)), message);
        for (const turn of gate.upstream.turns()) {
          const { stream: asked, store } = turn.json as JsonObject;
          assert.deepEqual([turn.path, asked, store], ['/backend-api/agent/responses', true, false]);
        }
      });
    }
  }

  test('[A8] on the backend alias has the strict-root rules of /v1, before dispatch', async () => {
    const schema = { anyOf: [{ type: 'object' }] };
    const refused = [
      [{ tools: [{ type: 'function', function: { name: 'f', strict: true, parameters: schema } }] }, 'tools.0.function.parameters'],
      [
        { response_format: { type: 'json_schema', json_schema: { name: 's', strict: true, schema } } },
        'response_format.json_schema.schema',
      ],
    ] as const;
    for (const path of PATHS) {
      for (const [members, param] of refused) {
        const { status, json } = await collected(ask('hi', members), path);
        const code = param.startsWith('tools') ? 'invalid_function_parameters' : 'invalid_json_schema';
        assert.deepEqual([status, json.error.code, json.error.param], [400, code, param], path);
      }
    }
    assert.equal(gate.upstream.turns().length, 0);
  });

  test('[D4] has the members of the public API, the exposed model, and nothing of the account', async () => {
    const { json, headers } = await collected(ask('say: hi'));
    assert.deepEqual(Object.keys(json), ['id', 'object', 'created', 'model', 'choices', 'usage', 'service_tier']);
    assert.deepEqual(Object.keys(json.choices[0].message), ['role', 'content', 'refusal', 'annotations']);
    assert.match(json.id, /^chatcmpl-[0-9a-f]+$/);
    assert.ok(Math.abs(json.created - Date.now() / 1000) < 60);
    assert.deepEqual([json.object, json.model, json.service_tier], ['chat.completion', 'model-a', 'default']);
    assert.match(headers.get('content-type') ?? '', /^application\/json/);
    assert.match(headers.get('x-request-id') ?? '', /^req_/);
    assert.ok(![...headers.keys()].some((name) => name.startsWith('x-agent-')), 'no quota');
  });

  test('[Q15] states the exposed model in the header that names it, streamed or not; a native client gets the name of the account', async () => {
    for (const path of [...PATHS, PUBLIC]) {
      for (const stream of [false, true]) {
        const body = path === PUBLIC ? { model: 'model-a', input: 'hi', stream } : { ...ask('hi'), stream };
        const { status, headers } = await gate.send(path, { body });
        assert.deepEqual([status, headers.get('openai-model')], [200, 'model-a'], path);
      }
    }
    assert.equal((await gate.send(NATIVE, { body: turnBody('hi') })).headers.get('openai-model'), 'theirs');
  });

  test('[Q18] has the usage that the provider states, and null where it states none', async () => {
    const response = { id: 'resp_1', object: 'response', status: 'completed', output: [] };
    const whole = {
      ...{ input_tokens: 5, output_tokens: 7, total_tokens: 12 },
      ...{ input_tokens_details: { cached_tokens: 3 }, output_tokens_details: { reasoning_tokens: 2 } },
    };
    const CASES: readonly (readonly [Json | undefined, Json])[] = [
      [
        whole,
        {
          ...{ prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 },
          ...{ prompt_tokens_details: { cached_tokens: 3 }, completion_tokens_details: { reasoning_tokens: 2 } },
        },
      ],
      [
        { input_tokens: 5, output_tokens: 7 },
        { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 },
      ],
      [{ input_tokens: 5 }, { prompt_tokens: 5, completion_tokens: null, total_tokens: null }],
      [
        { input_tokens: '5', output_tokens: [7], input_tokens_details: { cached_tokens: 1, note: 'odd' } },
        { prompt_tokens: null, completion_tokens: null, total_tokens: null, prompt_tokens_details: { cached_tokens: 1 } },
      ],
      [null, null],
      [undefined, null],
    ];
    for (const [usage, expected] of CASES) {
      const completed = { type: 'response.completed', response: { ...response, ...(usage === undefined ? {} : { usage }) } };
      gate.upstream.next('north', replyEvents([completed]), replyEvents([completed]));
      assert.deepEqual((await collected(ask('hi'))).json.usage, expected);
      const chunks = chunksOf(await streamed(ask('hi', { stream_options: { include_usage: true } })));
      assert.deepEqual([chunks.at(-2).usage, chunks.at(-2).choices], [expected, []]);
    }
    const row = (await gate.rows()).at(-1);
    assert.deepEqual([row?.input_tokens, row?.output_tokens], [null, null]);
  });

  test('[D4] of a provider that answers with JSON instead of a stream is that answer', async () => {
    const output = [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'hi' }] }];
    gate.upstream.next('north', replyJson({ id: 'resp_1', status: 'completed', output, usage: { input_tokens: 1, output_tokens: 2 } }));
    const { status, json } = await collected(ask('hi'));
    assert.deepEqual([status, json.object, json.choices[0].message.content, json.usage.total_tokens], [200, 'chat.completion', 'hi', 3]);
  });

  test('[D4] that is incomplete has its finish reason, however little the provider states', async () => {
    for (const [members, reason] of [
      [{ status: 'incomplete', incomplete_details: { reason: 'content_filter' } }, 'content_filter'],
      [{ incomplete_details: { reason: 'max_output_tokens' } }, 'length'],
      [{ status: 'incomplete', incomplete_details: { reason: 'novel' } }, 'length'],
      [{ status: 'incomplete', incomplete_details: null }, 'length'],
    ] as const) {
      const events = replyEvents([{ type: 'response.incomplete', response: { output: [], ...members } }]);
      gate.upstream.next('north', events, events);
      assert.equal((await collected(ask('hi'))).json.choices[0].finish_reason, reason);
      const chunks = chunksOf(await streamed(ask('hi')));
      assert.deepEqual([reasonOf(chunks.slice(0, -1)), chunks.at(-1)], [reason, '[DONE]']);
    }
  });

  for (const given of [null, undefined]) {
    test(`[D4] of a call whose arguments are ${given} has an empty text, as in a stream`, async () => {
      const call = { type: 'function_call', call_id: 'call_1', name: 'f', ...(given === null ? { arguments: given } : {}) };
      gate.upstream.next('north', replyEvents([{ type: 'response.completed', response: { status: 'completed', output: [call] } }]));
      const { json } = await collected(ask('hi'));
      assert.deepEqual(json.choices[0].message.tool_calls, [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '' } }]);
    });
  }

  test('[Q24] has no reasoning, and several messages are one text', async () => {
    const message = (text: string): JsonObject => ({ type: 'message', content: [{ type: 'output_text', text }] });
    const output = [{ type: 'reasoning', summary: [{ type: 'summary_text', text: 'hidden' }] }, message('one '), message('two')];
    gate.upstream.next('north', replyEvents([{ type: 'response.completed', response: { status: 'completed', output } }]));
    const { json, text } = await collected(ask('hi'));
    assert.equal(json.choices[0].message.content, 'one two');
    assert.doesNotMatch(text, /hidden|reasoning_content/);
  });

  const ENDINGS: readonly (readonly [
    what: string,
    script: Parameters<TestGateway['upstream']['next']>[1],
    status: number,
    code: string,
  ])[] = [
    ['whose stream dies', 'reset after 6 events', 502, 'upstream_error'],
    ['whose stream has no terminal event', 'no terminal', 502, 'upstream_error'],
    ['that blames the request inside a 200', 'refuse inside invalid_prompt', 400, 'invalid_prompt'],
    ['that blames the account inside a 200, too late', 'refuse inside server_error after 6 events', 502, 'upstream_error'],
    ['that is refused with a status', 'refuse 422 invalid_value', 422, 'invalid_value'],
    ['that is limited', 'refuse 429 rate_limit_exceeded retry 1', 429, 'rate_limit_exceeded'],
  ];
  for (const [what, script, status, code] of ENDINGS) {
    test(`[ER1] ${what} is ${status} ${code} in the one envelope`, async () => {
      gate.upstream.always('north', script);
      const reply = await collected(ask('say: hello there you'));
      assert.deepEqual([reply.status, reply.json.error.code], [status, code], reply.text);
      assert.deepEqual(Object.keys(reply.json), ['error']);
      assert.deepEqual(Object.keys(reply.json.error).slice(0, 4), ['message', 'type', 'code', 'param']);
    });
  }
});

test('[Q24] a provider’s error names the members of Chat, collected and streamed', async () => {
  gate.upstream.always('north', {
    kind: 'reply',
    status: 400,
    body: {
      json: {
        error: {
          message: "Invalid 'text.format.schema'.",
          type: 'invalid_request_error',
          code: 'invalid_value',
          param: 'text.format.schema',
        },
      },
    },
  });
  const at = 'response_format.json_schema.schema';
  const { status, json } = await collected(ask('hi'));
  assert.deepEqual([status, json.error.param, json.error.message], [400, at, `Invalid '${at}'.`]);
  assert.equal((await streamed(ask('hi'))).json.error.param, at);
});

test('[Q24] a provider’s error names the message of the client, wherever its item was sent', async () => {
  const refused = (param: string): Parameters<TestGateway['upstream']['always']>[1] => ({
    kind: 'reply',
    status: 400,
    body: { json: { error: { message: `Invalid '${param}'.`, type: 'invalid_request_error', code: 'invalid_value', param } } },
  });
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'text', text: 'one' }] },
    { role: 'developer', content: 'Be kind.' },
    { role: 'user', content: [{ type: 'text', text: 'two' }] },
  ];
  const CASES = [
    // A catalog without Lite means Full.
    ['auto', 'input[1].content[0].text', 'messages.3.content.0.text'],
    ['auto', 'instructions', 'messages'],
    // Tools precede items.
    ['lite', 'input[1].content[0].text', 'messages.0.content'],
    ['lite', 'input.4.content.0', 'messages.3.content.0'],
    ['lite', 'input.0.tools.0.parameters', 'tools.0.function.parameters'],
  ] as const;
  const tools = [{ type: 'function', function: { name: 'f' } }];
  for (const [mode, sent, own] of CASES) {
    await gate.reconfigure((draft) => {
      draft.pools[0].serving_modes = { 'model-a': mode };
    });
    gate.upstream.always('north', refused(sent));
    for (const stream of [false, true]) {
      const { status, json } = await gate.send(CHAT, { body: { model: 'model-a', messages, tools, stream } });
      assert.deepEqual([status, json.error.param, json.error.message], [400, own, `Invalid '${own}'.`], sent);
    }
  }
  await gate.reconfigure((draft) => {
    delete draft.pools[0].serving_modes;
  });
});

test('[CR1] a cap that is raised to what providers take stays within the key’s policy', async () => {
  await using capped = await startGateway({
    upstream: { manners: { knownMembers: false } },
    config: (draft) => {
      for (const account of draft.accounts) account.keep_fields = ['max_output_tokens'];
      draft.keys[0].output_tokens = { max: 10 };
    },
  });
  assert.equal((await capped.send(CHAT, { body: ask('hi', { max_tokens: 1 }) })).status, 200);
  const [turn] = capped.upstream.turns();
  assert.equal((turn?.json as JsonObject | undefined)?.max_output_tokens, 10);
});

const created = { type: 'response.created', sequence_number: 0, response: { id: 'resp_1', status: 'in_progress' } };
const running = { ...created, type: 'response.in_progress', sequence_number: 1 };
const delta = (text: string, index = 0): JsonObject => ({
  type: 'response.output_text.delta',
  output_index: index,
  content_index: 0,
  delta: text,
});
const completed = (more: JsonObject = {}): JsonObject => ({
  type: 'response.completed',
  response: { status: 'completed', output: [], ...more },
});
const callItem = (id: string, more: JsonObject = {}): JsonObject => ({ type: 'function_call', call_id: id, name: `f_${id}`, ...more });
const added = (index: number, item: JsonObject): JsonObject => ({ type: 'response.output_item.added', output_index: index, item });
const done = (index: number, item: JsonObject): JsonObject => ({ type: 'response.output_item.done', output_index: index, item });
const argumentsDelta = (index: number, text: string): JsonObject => ({
  type: 'response.function_call_arguments.delta',
  output_index: index,
  delta: text,
});

const play = async (events: readonly Json[], members: JsonObject = {}): Promise<readonly Chunk[]> => {
  gate.upstream.next('north', replyEvents(events));
  return chunksOf(await streamed(ask('hi', members)));
};

describe('a stream', () => {
  test('[D4] has one id, one time and one model in all its chunks, and the role only in the first', async () => {
    const reply = await streamed(ask('write 20 words'));
    assert.match(reply.headers.get('content-type') ?? '', /^text\/event-stream/);
    const chunks = chunksOf(reply).slice(0, -1);
    assert.equal(new Set(chunks.map(({ id, object, created: at, model }) => `${id} ${object} ${at} ${model}`)).size, 1);
    assert.match(chunks[0].id, /^chatcmpl-[0-9a-f]+$/);
    assert.deepEqual([chunks[0].object, chunks[0].model], ['chat.completion.chunk', 'model-a']);
    assert.deepEqual(chunks[0].choices[0].delta, { role: 'assistant', content: '', refusal: null });
    assert.ok(chunks.slice(1).every(({ choices }) => choices[0].delta.role === undefined));
    assert.ok(chunks.every((chunk) => !('usage' in chunk)));
    assert.ok(!eventsOf(reply.text).some(({ event }) => event !== undefined), 'chunks have no event line');
  });

  test('[Q24] has the usage in a last chunk where the client asked for it, and null in all others', async () => {
    const chunks = chunksOf(await streamed(ask('say: hi', { stream_options: { include_usage: true } }))).slice(0, -1);
    const last = chunks.at(-1);
    assert.deepEqual(last.choices, []);
    assert.ok(last.usage.prompt_tokens > 0 && last.usage.total_tokens === last.usage.prompt_tokens + last.usage.completion_tokens);
    assert.ok(chunks.slice(0, -1).every(({ usage }) => usage === null));
    const without = chunksOf(await streamed(ask('say: hi', { stream_options: { include_usage: false } })));
    assert.ok(without.slice(0, -1).every((chunk) => !('usage' in chunk)));
  });

  test('[D4] keeps the index of each call, however their deltas alternate', async () => {
    const chunks = await play([
      created,
      added(1, callItem('a', { arguments: '' })),
      added(2, callItem('b', { arguments: '' })),
      argumentsDelta(2, '{"b"'),
      argumentsDelta(1, '{"a"'),
      argumentsDelta(2, ':2}'),
      done(2, callItem('b', { arguments: '{"b":2}' })),
      argumentsDelta(1, ':1}'),
      done(1, callItem('a', { arguments: '{"a":1}' })),
      completed(),
    ]);
    const { tool_calls: calls } = assembled(chunks.slice(0, -1));
    assert.deepEqual(calls, [
      { id: 'a', type: 'function', function: { name: 'f_a', arguments: '{"a":1}' } },
      { id: 'b', type: 'function', function: { name: 'f_b', arguments: '{"b":2}' } },
    ]);
    assert.deepEqual(chunks[0].choices[0].delta, { role: 'assistant', content: null, refusal: null });
  });

  test('[D4] has each text of several messages once, however their deltas alternate', async () => {
    const message = (id: string, content: readonly JsonObject[]): JsonObject => ({ type: 'message', id, role: 'assistant', content });
    const said = (text: string): JsonObject => ({ type: 'output_text', text });
    const declined = (refusal: string): JsonObject => ({ type: 'refusal', refusal });
    const piece = (kind: 'output_text' | 'refusal', at: number | undefined, id: string, text: string): JsonObject => ({
      type: `response.${kind}.delta`,
      ...(at === undefined ? {} : { output_index: at }),
      item_id: id,
      content_index: 0,
      delta: text,
    });
    const first = message('msg_a', [said('one')]);
    const second = message('msg_b', [declined('no')]);
    for (const [a, b] of [
      [0, 1],
      [undefined, undefined],
    ] as const) {
      const chunks = await play([
        created,
        added(0, { ...first, content: [] }),
        added(1, { ...second, content: [] }),
        piece('output_text', a, 'msg_a', 'o'),
        piece('refusal', b, 'msg_b', 'n'),
        piece('output_text', a, 'msg_a', 'ne'),
        piece('refusal', b, 'msg_b', 'o'),
        done(0, first),
        done(1, second),
        done(2, message('msg_c', [said(' two')])),
        completed(),
      ]);
      assert.deepEqual(assembled(chunks.slice(0, -1)), { role: 'assistant', content: 'one two', refusal: 'no' });
    }
  });

  test('[D4] has the citations of its messages, at their places in the whole content, as the collected answer has them', async () => {
    const cited = (text: string, start_index: number): JsonObject => ({
      type: 'message',
      role: 'assistant',
      content: [
        {
          type: 'output_text',
          text,
          annotations: [
            { type: 'url_citation', url: 'https://a.example/', title: 'A', start_index, end_index: text.length },
            { type: 'file_citation', file_id: 'file_1' },
          ],
        },
      ],
    });
    const events = [created, added(0, cited('', 0)), delta('one'), done(0, cited('one', 1)), done(1, cited('two', 0)), completed()];
    const expected = [
      { type: 'url_citation', url_citation: { start_index: 1, end_index: 3, title: 'A', url: 'https://a.example/' } },
      { type: 'url_citation', url_citation: { start_index: 3, end_index: 6, title: 'A', url: 'https://a.example/' } },
    ];
    const chunks = (await play(events)).slice(0, -1);
    assert.equal(assembled(chunks).content, 'onetwo');
    assert.deepEqual(
      chunks.flatMap(({ choices: [choice] }) => choice.delta.annotations ?? []),
      expected,
    );
    gate.upstream.next('north', replyEvents(events));
    const { message } = (await collected(ask('hi'))).json.choices[0];
    assert.deepEqual([message.content, message.annotations], ['onetwo', expected]);
  });

  test('[D4] of a provider that leaves the index out keeps its calls apart', async () => {
    const names = ['a', 'b', 'c'];
    const given = (name: string): string => JSON.stringify({ [name]: 1 });
    const closed = (item: JsonObject): JsonObject => ({ type: 'response.output_item.done', item });
    const items = names.map((name) => callItem(name, { id: `fc_${name}`, arguments: given(name) }));
    const nameless = names.map((name) => callItem(name, { id: undefined, arguments: given(name) }));
    const opened = names.flatMap((name, i) => [
      { type: 'response.output_item.added', item: { ...items[i], arguments: '' } },
      { type: 'response.function_call_arguments.delta', item_id: `fc_${name}`, delta: given(name) },
    ]);
    for (const events of [[...opened, ...items.map(closed)], items.map(closed), nameless.map(closed)]) {
      const { tool_calls: calls } = assembled((await play([created, ...events, completed()])).slice(0, -1));
      assert.deepEqual(
        calls,
        names.map((name) => ({ id: name, type: 'function', function: { name: `f_${name}`, arguments: given(name) } })),
      );
    }
  });

  test('[D4] of a provider that sends finished items without deltas, or only the response, loses nothing', async () => {
    const message = {
      type: 'message',
      content: [
        { type: 'output_text', text: 'hi' },
        { type: 'refusal', refusal: 'no' },
      ],
    };
    const call = callItem('a', { arguments: '{}' });
    for (const events of [
      [created, done(0, message), done(1, call), completed()],
      [created, added(0, message), added(1, call), done(0, message), done(1, call), completed()],
      [completed({ output: [message, call] })],
    ]) {
      const chunks = (await play(events)).slice(0, -1);
      assert.deepEqual(assembled(chunks), {
        role: 'assistant',
        content: 'hi',
        refusal: 'no',
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'f_a', arguments: '{}' } }],
      });
      assert.equal(reasonOf(chunks), 'tool_calls');
    }
  });

  for (const [what, content, calls, expected] of [
    [
      'beside a refusal',
      [
        { type: 'output_text', text: '' },
        { type: 'refusal', refusal: 'no' },
      ],
      [],
      [null, 'no'],
    ],
    ['before a call', [{ type: 'output_text', text: '' }], [callItem('a', { arguments: '{}' })], [null, null]],
    ['that is all', [{ type: 'output_text', text: '' }], [], ['', null]],
    ['that is a refusal', [{ type: 'refusal', refusal: '' }], [], ['', null]],
  ] as const) {
    test(`[D4] has no content of an empty text ${what}, as in the collected answer, whether it came in deltas or not`, async () => {
      const items = [{ type: 'message', content }, ...calls];
      const finished = items.map((item, index) => done(index, item));
      const declined = { type: 'response.refusal.delta', output_index: 0, content_index: 1, delta: expected[1] ?? '' };
      for (const events of [
        [created, added(0, { type: 'message', content: [] }), delta(''), declined, ...finished, completed({ output: items })],
        [created, ...finished, completed({ output: items })],
        [completed({ output: items })],
      ]) {
        const streamed = assembled((await play(events)).slice(0, -1));
        gate.upstream.next('north', replyEvents(events));
        const { message } = (await collected(ask('hi'))).json.choices[0];
        assert.deepEqual([message.content, message.refusal], expected);
        assert.deepEqual([streamed.content, streamed.refusal], expected);
      }
    });
  }

  test('[D4] of a completed response without any output has its role and its reason', async () => {
    const chunks = await play([created, completed()]);
    assert.deepEqual(
      chunks.slice(0, -1).map(({ choices: [choice] }) => [choice.delta, choice.finish_reason]),
      [
        [{ role: 'assistant', content: '', refusal: null }, null],
        [{}, 'stop'],
      ],
    );
    assert.equal(chunks.at(-1), '[DONE]');
  });

  test('[Q24] contains nothing of reasoning, of unknown events, and of bytes after its end', async () => {
    const chunks = await play([
      created,
      { type: 'response.reasoning_summary_text.delta', delta: 'hidden' },
      { type: 'agent.rate_limits', plan_type: 'plus' },
      { type: 'response.whatever_comes_next', delta: 'hidden' },
      delta('seen'),
      completed(),
      delta('hidden'),
      completed(),
    ]);
    assert.equal(assembled(chunks.slice(0, -1)).content, 'seen');
    assert.doesNotMatch(JSON.stringify(chunks), /hidden|plan_type/);
    assert.equal(chunks.filter((chunk) => chunk === '[DONE]').length, 1);
  });

  for (const script of ['drip', 'drip 7 bytes', 'cr framing', 'crlf framing', 'cr framing + drip 5 bytes'] as const) {
    test(`[F5.5] is the same however its bytes arrive: ${script}`, async () => {
      gate.upstream.next('north', script);
      const said =
        'say: naïve — "quoted" 雪\ncall the tool apply_patch with *** {"a": \\n 雪\ncall the tool look_up with {"city":"Ålesund"}';
      const chunks = chunksOf(await streamed(ask(said, { tools: TOOLS })));
      assertMessage(assembled(chunks.slice(0, -1)), {
        content: 'naïve — "quoted" 雪',
        tool_calls: [
          { type: 'custom', custom: { name: 'apply_patch', input: '*** {"a": \\n 雪' } },
          { type: 'function', function: { name: 'look_up', arguments: '{"city":"Ålesund"}' } },
        ],
      });
    });
  }

  test('[Q17] that is idle gets a comment every 15 s, and none after its end', async () => {
    const clock = new ManualClock();
    await using idle = await startGateway({ clock, upstream: { accounts: ['north'], clock } });
    idle.upstream.next('north', [replyEvents([created, delta('a'), completed()]), { kind: 'stall', at: { events: 2 } }]);
    const reply = await idle.fetch(CHAT, { body: ask('hi', { stream: true }) });
    await idle.upstream.stalled('north');
    const reader = (reply.body as ReadableStream<Uint8Array>).getReader();
    let text = '';
    const until = async (what: string): Promise<void> => {
      while (!text.includes(what)) text += Buffer.from((await reader.read()).value as Uint8Array).toString();
    };
    await until('"content":"a"');
    await clock.advance(15_000);
    await until(': keepalive\n\n');
    idle.upstream.release('north');
    await until('[DONE]');
    assert.equal(text.match(/: keepalive/g)?.length, 1);
  });
});

describe('a stream that fails', () => {
  const REFUSALS: Readonly<Record<string, JsonObject>> = {
    'an error event': { type: 'error', sequence_number: 2, code: 'invalid_prompt', message: 'no', param: 'input' },
    'response.failed': { type: 'response.failed', response: { status: 'failed', error: { code: 'invalid_prompt', message: 'no' } } },
  };
  test('[Q3] after visible output, with an error that blames the account, does not mention the account', async () => {
    const error = { code: 'invalid_api_key', type: 'invalid_request_error', message: 'The key of the account is wrong.' };
    const chunks = await play([created, delta('a'), { type: 'error', sequence_number: 2, status: 401, error }]);
    assert.deepEqual([chunks.at(-1)?.error.code, chunks.at(-1)?.error.type], ['upstream_error', 'server_error']);
    assert.doesNotMatch(JSON.stringify(chunks), /account is wrong/);
    gate.heal();
  });

  for (const [what, refusal] of Object.entries(REFUSALS)) {
    test(`[F1.9] at its beginning, with ${what}, is one error chunk without a role, and no [DONE]`, async () => {
      for (const before of [[], [created, running]]) {
        gate.upstream.next('north', replyEvents([...before, refusal]));
        const { status, text } = await streamed(ask('hi'));
        const param = refusal.type === 'error' ? 'messages' : null;
        const error = { message: 'no', type: 'invalid_request_error', code: 'invalid_prompt', param };
        assert.equal(text, `data: ${JSON.stringify({ error })}\n\n`);
        const row = (await gate.rows()).at(-1);
        assert.deepEqual([status, row?.status, row?.outcome, row?.code], [200, 200, 'failed', 'invalid_prompt']);
      }
    });

    test(`[Q17] after visible output, with ${what}, is one error chunk, no finish reason, and no [DONE]`, async () => {
      const chunks = await play([created, delta('a'), refusal, completed()]);
      assert.equal(chunks.length, 3);
      assert.equal(reasonOf(chunks), null);
      assert.deepEqual(chunks.at(-1), {
        error: {
          message: 'no',
          type: 'invalid_request_error',
          code: 'invalid_prompt',
          param: refusal.type === 'error' ? 'messages' : null,
        },
      });
    });
  }

  test('[Q17] [Q3] whose last event is called completed, and states a failed response, fails on every compatible path', async () => {
    const error = { code: 'server_error', message: 'it broke' };
    const visible = { type: 'response.output_text.delta', item_id: 'm', output_index: 0, content_index: 0, delta: 'hi' };
    const failed = { type: 'response.completed', response: { id: 'r', object: 'response', status: 'failed', error, output: [] } };
    for (const [path, body] of [
      [CHAT, ask('hi')],
      [PUBLIC, { model: 'model-a', input: 'hi' }],
      ['/v1/messages', ask('hi', { max_tokens: 100 })],
    ] as const) {
      gate.upstream.next('north', replyEvents([visible, failed]), replyEvents([visible, failed]));
      const stream = await gate.send(path, { body: { ...body, stream: true } });
      assert.ok(stream.text.includes('it broke') && !stream.text.includes('[DONE]'), stream.text);
      assert.equal((await gate.row(stream))?.outcome, 'failed');
      const whole = await gate.send(path, { body });
      assert.deepEqual([whole.status, (await gate.row(whole))?.outcome], [502, 'failed']);
      gate.heal();
    }
    gate.upstream.next('north', replyEvents([visible, failed]));
    using socket = await connect(gate, PUBLIC);
    assert.equal((await socket.turn({ model: 'model-a', input: 'hi' })).at(-1)?.type, 'response.failed');
  });

  test('[Q17] has the error type that a collected answer would have', async () => {
    for (const code of ['invalid_prompt', 'context_length_exceeded', 'server_error', 'rate_limit_exceeded', 'usage_limit_reached', 'odd']) {
      for (const as of ['failed', 'error']) {
        for (const when of ['after 2 events', 'after 9 events']) {
          await using own = await startGateway({ upstream: { accounts: ['north'] } });
          own.upstream.always('north', `refuse inside ${code} as ${as} ${when}`);
          const { text } = await own.send(CHAT, { body: ask('write 20 words', { stream: true }) });
          const { error } = eventsOf(text).at(-1)?.data ?? {};
          own.heal();
          const answer = await own.send(CHAT, { body: ask('write 20 words') });
          assert.deepEqual([error?.type, error?.code], [answer.json.error.type, code], `${code} as ${as} ${when}`);
          assert.equal(text.includes('"role"'), when === 'after 9 events');
          assert.ok(!text.includes('[DONE]'));
        }
      }
    }
  });

  for (const [what, script] of [
    ['that ends without a terminal event', replyEvents([created, delta('a')])],
    ['whose connection is reset', [replyEvents([created, delta('a'), delta('b')]), { kind: 'cut', at: { events: 2 }, how: 'reset' }]],
    [
      'whose terminal event cannot be read',
      replyBytes(`data: ${JSON.stringify(delta('a'))}\n\ndata: {"type":"response.completed","response":{\n\n`),
    ],
  ] as const) {
    test(`[F1.9] after visible output, ${what}, ends with one error chunk and no [DONE]`, async () => {
      gate.upstream.next('north', script);
      const { status, text } = await streamed(ask('hi'));
      assert.equal(status, 200);
      const chunks = eventsOf(text).map(({ data }) => data);
      assert.deepEqual(Object.keys(chunks.at(-1)), ['error']);
      assert.deepEqual(Object.keys(chunks.at(-1).error), ['message', 'type', 'code', 'param']);
      assert.equal(chunks.at(-1).error.type, 'server_error');
      assert.equal(chunks.filter(({ error }) => error).length, 1);
      assert.equal(reasonOf(chunks), null);
      assert.ok(!text.includes('[DONE]'));
    });
  }

  test('[F1.9] before anything of it is visible, at every account, is a JSON error', async () => {
    for (const script of ['cut after headers', 'cut after 2 events', 'refuse 500'] as const) {
      gate.heal();
      gate.upstream.next('north', script);
      const { status, json } = await streamed(ask('hi'));
      assert.deepEqual([status, json.error.code], [502, 'upstream_error'], script);
    }
  });

  test('[Q18] is billed for the usage that its failure states', async () => {
    const usage = { input_tokens: 7, output_tokens: 2, total_tokens: 9 };
    await play([
      created,
      delta('a'),
      { type: 'response.failed', response: { status: 'failed', error: { code: 'server_error', message: 'no' }, usage } },
    ]);
    const row = (await gate.rows()).at(-1);
    assert.deepEqual([row?.outcome, row?.input_tokens, row?.output_tokens], ['failed', 7, 2]);
  });
});

test('[Q18] a row of Chat has the template of its path, its usage, and no text of its request', async () => {
  for (const path of PATHS) {
    const { headers, json } = await collected(ask('say: hi'), path);
    const row = await gate.row({ headers });
    assert.deepEqual(
      [row?.endpoint, row?.family, row?.status, row?.model, row?.account, row?.outcome],
      [path, path === CHAT ? 'v1' : 'backend-agent', 200, 'model-a', 'NORTH', 'completed'],
    );
    assert.deepEqual([row?.input_tokens, row?.output_tokens], [json.usage.prompt_tokens, json.usage.completion_tokens]);
  }
});

test('[D4] a conversation with tool results is translated', async () => {
  const first = (await collected(ask('call the tool apply_patch with x\ncall the tool look_up with {"city":"Oslo"}', { tools: TOOLS })))
    .json;
  const { message } = first.choices[0];
  const [custom, called] = message.tool_calls;
  const messages = [
    { role: 'user', content: 'hello' },
    message,
    { role: 'tool', tool_call_id: called.id, content: 'sunny' },
    { role: 'tool', tool_call_id: custom.id, content: [{ type: 'text', text: 'patched' }] },
  ];
  const { json } = await collected({ model: 'model-a', messages, tools: TOOLS });
  assert.match(json.choices[0].message.content, /The tool answered: patched$/);
  const [, next] = gate.upstream.turns();
  assert.ok(next);
  const { input } = next.json as { input: readonly JsonObject[] };
  assert.deepEqual(
    input.map(({ type }) => type),
    ['message', 'custom_tool_call', 'function_call', 'function_call_output', 'custom_tool_call_output'],
  );
});

test('[F8.3] turns of one prompt_cache_key stay at one account on both paths, and so do conversations without a key', async () => {
  await using own = await startGateway({
    upstream: { accounts: ['a', 'b', 'c', 'd'] },
    config: (draft) => {
      draft.pools[0].strategy = 'rotation';
    },
  });
  for (const path of PATHS) {
    const where = async (body: (i: number) => JsonObject): Promise<number> => {
      own.upstream.clear();
      for (let i = 0; i < 8; i++) assert.equal((await own.send(path, { body: body(i) })).status, 200);
      return new Set(own.upstream.turns().map(({ account }) => account)).size;
    };
    assert.equal(await where(() => ask('hi', { prompt_cache_key: 'one' })), 1);
    assert.equal(await where((i) => ask(`new ${i}`)), 4);
    const history = { role: 'assistant', content: 'hello' };
    const talk = (i: number): JsonObject => ({
      model: 'model-a',
      messages: [
        { role: 'system', content: 'be brief' },
        { role: 'user', content: `begin on ${path}` },
        ...(i === 0 ? [] : [history, { role: 'user', content: `${i}` }]),
      ],
    });
    assert.equal(await where(talk), 1);
  }
});
