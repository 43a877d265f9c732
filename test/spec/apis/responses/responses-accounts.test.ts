// Responses accounts: the requests that they get, and their replies as clients of every surface get them (AA28 to AA33).
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import manifest from '../../../../package.json' with { type: 'json' };
import type { JsonObject } from '../../../../proxy/turn/json/json.ts';
import { ADAPTED } from '../../../../proxy/turn/provider/adapted.ts';
import { answers, type Platform, type PlatformRequest, refuses, streams, textEvents } from '../../../providers/responses/platform.ts';
import { type ResponsesStage, responsesStage, startStrict } from '../../../providers/responses/responses-stage.ts';
import type { TestGateway } from '../../../support/gateway.ts';
import { frameOf, NATIVE_SOCKET, PUBLIC_SOCKET, responseId, typesOf, userMessage } from '../../../support/native-frames.ts';
import { eventsOf } from '../../../support/network/sse-events.ts';
import { turnBody } from '../../../support/rehearsal-replies.ts';
import { until } from '../../../support/until.ts';
import { connect } from '../../../support/websocket.ts';

const NATIVE = '/backend-api/agent/responses';
const PUBLIC = '/v1/responses';
const CHAT = '/v1/chat/completions';

let stage: ResponsesStage;
let platform: Platform;
let gate: TestGateway;
before(async () => {
  stage = await responsesStage({
    account: {
      id: 'platform',
      preset: 'openai',
      credential: { header: { name: 'api-key', env: 'BEARER_PLATFORM' } },
      headers: { 'x-project': 'p1' },
      query: { 'api-version': 'preview' },
      catalog: [{ id: 'own-a', context_window: 100_000, max_output: 1_000 }],
    },
  });
  ({ gate, platform } = stage);
});
after(() => stage.close());
beforeEach(() => stage.clear());

const FIRST = (): PlatformRequest | undefined => platform.requests[0];

describe('requests', () => {
  test("[AA29] the gateway's own reads of an account name the gateway too", async () => {
    await gate.reconfigure((draft) => {
      draft.accounts[0].read_models = 'all';
    });
    const [read] = await until('the list was read', () => (platform.reads.length > 0 ? platform.reads : undefined));
    assert.deepEqual(
      [read?.path, read?.headers['user-agent'], read?.headers['api-key'], read?.headers['x-project'], read?.headers.originator],
      ['/v1/models?api-version=preview', `poolgate/${manifest.version}`, 'bearer-of-platform', 'p1', undefined],
    );
    await gate.reconfigure((draft) => {
      draft.accounts[0].headers = { 'x-project': 'p1', 'user-agent': 'ours/1' };
    });
    const last = await until('it was read again', () => (platform.reads.length > 1 ? platform.reads.at(-1) : undefined));
    assert.equal(last.headers['user-agent'], 'ours/1', 'a configured header counts');
    await gate.reconfigure((draft) => {
      delete draft.accounts[0].read_models;
      draft.accounts[0].headers = { 'x-project': 'p1' };
    });
  });

  test('[AA14] with effort: none a turn goes out without its effort', async () => {
    const reasoning = { effort: 'low', summary: 'auto' };
    for (const [effort, sent] of [
      ['none', { summary: 'auto' }],
      ['reasoning_effort', reasoning],
    ] as const) {
      await gate.reconfigure((draft) => {
        draft.accounts[0].quirks = { effort };
      });
      const reply = await gate.send(PUBLIC, { body: { model: 'model-a', input: 'hi', reasoning } });
      assert.deepEqual(platform.at('/v1/responses').at(-1)?.json.reasoning, sent);
      assert.equal((await gate.row(reply))?.adapted?.includes('reasoning.effort') ?? false, effort === 'none');
    }
    await gate.reconfigure((draft) => {
      delete draft.accounts[0].quirks;
    });
  });

  test('[AA28] a public turn goes out as the public API has it, with the own id', async () => {
    const reply = await gate.send(PUBLIC, {
      body: {
        model: 'model-a',
        input: 'hi',
        temperature: 0.5,
        user: 'someone',
        metadata: { a: 'b' },
        truncation: 'auto',
        max_output_tokens: 5_000,
        reasoning: { effort: 'low', summary: 'auto', context: 'auto' },
        text: { verbosity: 'low' },
      },
    });
    assert.equal(reply.status, 200, reply.text);
    const { json, path, method } = FIRST() ?? assert.fail();
    assert.deepEqual([method, path], ['POST', '/v1/responses?api-version=preview']);
    assert.deepEqual(json, {
      model: 'own-a',
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] }],
      max_output_tokens: 1_000,
      text: { verbosity: 'low' },
      reasoning: { effort: 'low', summary: 'auto' },
      include: ['reasoning.encrypted_content'],
      temperature: 0.5,
      metadata: { a: 'b' },
      store: false,
      stream: true,
    });
  });

  test('[AA28] a native turn is sent with what the public API knows: no metadata of its client, no ids or states of items', async () => {
    const input = [
      {
        type: 'message',
        role: 'user',
        id: 'msg_c',
        status: 'completed',
        content: [{ type: 'input_text', text: 'hi', extra: 1 }],
        end_turn: true,
      },
      { type: 'reasoning', id: 'rs_1', summary: [] },
      { type: 'function_call', id: 'fc_1', status: 'completed', call_id: 'call_1', name: 'look', arguments: '{}', note: 'x' },
      { type: 'function_call_output', id: 'o_1', call_id: 'call_1', output: 'sky' },
    ];
    const tools = [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }];
    const body = { ...turnBody('hi'), input, tools, store: true, client_metadata: { turn_id: 't' }, unheard: 1 };
    const reply = await gate.send(NATIVE, { body });
    assert.equal(reply.status, 200, reply.text);
    const { json } = FIRST() ?? assert.fail();
    assert.deepEqual(json.input, [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] },
      { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'sky' },
    ]);
    for (const member of ['client_metadata', 'unheard', 'previous_response_id', 'generate']) assert.equal(json[member], undefined, member);
    assert.deepEqual([json.store, json.stream, json.model], [false, true, 'own-a']);
  });

  test("[AA29] the headers are the account's, and those that trace the call", async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const headers = {
      traceparent,
      'x-agent-window-id': 'w:1',
      'x-openai-thing': '1',
      'x-responsesapi-thing': '1',
      'x-oai-attestation': 'a',
      originator: 'client',
      version: '1.2.3',
      session_id: 's',
      'thread-id': 't',
      'openai-beta': 'b',
      'x-agent-turn-state': 's',
      'user-agent': 'client/1',
    };
    await gate.send(NATIVE, { body: turnBody('hi'), headers });
    const { 'content-length': _, connection: __, host: ___, ...sent } = FIRST()?.headers ?? {};
    assert.deepEqual(sent, {
      'api-key': 'bearer-of-platform',
      'x-project': 'p1',
      'content-type': 'application/json',
      accept: 'text/event-stream',
      'accept-encoding': 'identity',
      'user-agent': `poolgate/${manifest.version}`,
      traceparent,
    });
  });

  test('[AA38] a cache key goes out as a digest, which is equal for equal keys alone', async () => {
    const ask = (prompt_cache_key: string): Promise<unknown> =>
      gate.send(PUBLIC, { body: { model: 'model-a', input: 'hi', prompt_cache_key } });
    await ask('mine');
    await ask('mine');
    await ask('other');
    const keys = platform.requests.map(({ json }) => json.prompt_cache_key as string);
    assert.match(keys[0] ?? '', /^[\w-]{43}$/);
    assert.deepEqual([keys[0] === keys[1], keys[0] === keys[2]], [true, false]);
  });

  test('[AA26] tools that items add join the tools of the turn', async () => {
    const tool = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} }, strict: false };
    const input = [{ type: 'additional_tools', role: 'developer', tools: [tool] }, ...(turnBody('hi').input as object[])];
    await gate.send(NATIVE, { body: { ...turnBody('hi'), input } });
    const { json } = FIRST() ?? assert.fail();
    assert.deepEqual([json.tools.map(({ name }: { name: string }) => name), json.input.length], [['look'], 1]);
  });

  test('[AA26] a turn in Lite goes out as its client wrote it, without the rewrite and the marker, and its row keeps the mode', async () => {
    const tool = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} }, strict: false };
    const image = { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'high' };
    const input = [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }, image] }];
    const turn = { ...turnBody('hi'), input, tools: [tool], instructions: 'Be brief.' };
    const sent = async (body: object): Promise<JsonObject> => {
      platform.clear();
      const reply = await gate.send(NATIVE, { body });
      assert.equal(reply.status, 200, reply.text);
      const row = await gate.row(reply);
      assert.deepEqual([row?.configured_mode, row?.effective_mode], ['lite', 'lite']);
      assert.deepEqual(
        Object.keys(FIRST()?.headers ?? {}).filter((name) => name.includes('lite')),
        [],
      );
      return FIRST()?.json;
    };
    await gate.reconfigure((draft) => {
      draft.pools[0].serving_modes = { 'model-a': 'lite' };
    });
    try {
      const { instructions, tools, parallel_tool_calls, ...rest } = await sent(turn);
      assert.deepEqual([instructions, tools, parallel_tool_calls], ['Be brief.', [tool], undefined]);
      assert.deepEqual(rest.input, input);
      for (const stated of [true, false]) {
        const { parallel_tool_calls: passed } = await sent({ ...turn, parallel_tool_calls: stated });
        assert.equal(passed, stated);
      }
      // This is the form in which a client writes a turn for Lite.
      const lite = [{ type: 'additional_tools', role: 'developer', tools: [tool] }, ...input];
      const own = await sent({ ...turn, input: lite, tools: undefined, instructions: undefined, parallel_tool_calls: false });
      assert.deepEqual([own.tools, own.parallel_tool_calls, own.input], [[tool], false, input]);
    } finally {
      await gate.reconfigure((draft) => {
        delete draft.pools[0].serving_modes;
      });
    }
  });

  test('[AA64] an item that the account names has its place in the request of its client, on every surface and in both modes', async () => {
    const tool = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} }, strict: false };
    const said = (role: string, text: string): JsonObject => ({ type: 'message', role, content: [{ type: 'input_text', text }] });
    const input = [
      { type: 'additional_tools', role: 'developer', tools: [tool] },
      said('user', 'one'),
      { type: 'reasoning', summary: [] },
      { type: 'reasoning', summary: [] },
      { type: 'configuration_update', reasoning: { effort: 'low' } },
      said('user', 'two'),
      { type: 'reasoning', summary: [] },
      said('user', 'three'),
    ];
    const native = { ...turnBody('hi'), input, instructions: 'Be brief.' };
    const compatible = {
      model: 'model-a',
      instructions: 'Be brief.',
      tools: [tool],
      input: [said('user', 'one'), input[2], said('user', 'two')],
    };
    const placeOf = async (path: string, body: object, sent: string): Promise<unknown> => {
      platform.clear();
      platform.next.push(refuses(400, { param: sent, code: 'invalid_value' }));
      const { status, json } = await gate.send(path, { body });
      assert.equal(status, 400);
      return json.error.param;
    };
    const assertPlaces = async (mode: string): Promise<void> => {
      assert.equal(await placeOf(NATIVE, native, 'input[0].content'), 'input[1].content', mode);
      assert.equal(await placeOf(NATIVE, native, 'input.1'), 'input.5', mode);
      assert.equal(await placeOf(NATIVE, native, 'input[2].content[0].text'), 'input[7].content[0].text', mode);
      assert.equal(await placeOf(PUBLIC, compatible, 'input[0].content'), 'input[0].content', mode);
      assert.equal(await placeOf(PUBLIC, compatible, 'input[1].content'), 'input[2].content', mode);
      assert.equal(await placeOf(PUBLIC, compatible, 'temperature'), 'temperature', mode);
    };
    await assertPlaces('full');
    await gate.reconfigure((draft) => {
      draft.pools[0].serving_modes = { 'model-a': 'lite' };
    });
    try {
      await assertPlaces('lite');
    } finally {
      await gate.reconfigure((draft) => {
        delete draft.pools[0].serving_modes;
      });
    }
  });

  test('[AA16] the row of the attempt names what was left out or changed, from the one table', async () => {
    const input = [
      { type: 'message', role: 'user', id: 'msg_c', status: 'completed', content: [{ type: 'input_text', text: 'hi' }] },
      { type: 'reasoning', id: 'rs_1', summary: [] },
    ];
    const reasoning = { effort: 'low', context: 'all_turns' };
    const body = { ...turnBody('hi'), input, reasoning, store: true, client_metadata: { turn_id: 't' }, max_output_tokens: 5_000 };
    const reply = await gate.send(NATIVE, { body });
    const [attempt] = await gate.attempts(reply.headers.get('x-request-id') ?? '');
    const names = attempt?.adapted?.split(',') ?? [];
    assert.deepEqual(names, [
      'client_metadata',
      'input.id',
      'input.reasoning',
      'input.status',
      'max_output_tokens',
      'reasoning.context',
      'store',
    ]);
    for (const name of names) assert.ok(Object.hasOwn(ADAPTED, name), name);
  });
});

describe('one resend (AA30)', () => {
  for (const [what, error, gone] of [
    ['include', { param: 'include', message: 'Encrypted content is not supported with this model.' }, ['include']],
    ['reasoning.summary', { param: 'reasoning.summary', code: 'unsupported_value' }, []],
    ['reasoning', { param: 'reasoning.effort', code: 'unsupported_parameter' }, ['reasoning', 'include']],
  ] as const) {
    test(`[AA30] a refused ${what} is left out of the turn, and of those of the next hour`, async () => {
      platform.next.push(refuses(400, error));
      const body = { model: 'model-a', input: 'hi', reasoning: { effort: 'low', summary: 'auto' } };
      const first = await gate.send(PUBLIC, { body });
      assert.equal(first.status, 200, first.text);
      const second = await gate.send(PUBLIC, { body });
      assert.equal(second.status, 200, second.text);
      assert.equal(platform.requests.length, 3);
      for (const { json } of platform.requests.slice(1)) {
        for (const member of gone) assert.equal(json[member], undefined, member);
        if (what === 'reasoning.summary') assert.deepEqual(json.reasoning, { effort: 'low' });
      }
      const attempts = await gate.attempts(first.headers.get('x-request-id') ?? '');
      assert.deepEqual(
        attempts.map(({ cause }) => cause),
        ['first', 'resend'],
      );
    });
  }

  test('[AA30] a second refusal is the answer', async () => {
    platform.next.push(refuses(400, { param: 'temperature', message: 'no' }));
    const refused = await gate.send(PUBLIC, { body: { model: 'model-a', input: 'hi', temperature: 1 } });
    assert.deepEqual([refused.status, platform.requests.length], [400, 1]);
  });
});

describe('replies', () => {
  test('[A3] [AA32] a native turn without a stream gets one answer, with the items that a terminal event leaves out', async () => {
    const events = textEvents('hello brave new world').map((event) =>
      event.type === 'response.completed' ? { ...event, response: { ...(event.response as JsonObject), output: [] } } : event,
    );
    platform.next.push(streams(events));
    const answer = await gate.send(NATIVE, { body: { ...turnBody('hi'), stream: false } });
    assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, 'application/json'], answer.text);
    const { object, status, output, usage } = answer.json;
    assert.deepEqual([object, status, usage.output_tokens], ['response', 'completed', 5]);
    assert.deepEqual(
      output.map(({ content }: { content: readonly { text: string }[] }) => content[0]?.text),
      ['hello brave new world'],
    );
    assert.equal(FIRST()?.json.stream, true, 'the account streams in any case');
  });

  test('[AA31] the events of the account pass, on SSE and as one answer', async () => {
    const streamed = await gate.send(PUBLIC, { body: { model: 'model-a', input: 'hi', stream: true } });
    const events = eventsOf(streamed.text).filter(({ data }) => data !== '[DONE]');
    assert.deepEqual(
      events.map(({ data }) => data.type),
      textEvents('hello brave new world').map(({ type }) => type),
    );
    assert.equal(events.at(-1)?.data.response.model, 'model-a');
    const whole = await gate.send(PUBLIC, { body: { model: 'model-a', input: 'hi' } });
    assert.deepEqual([whole.json.output[0].content[0].text, whole.json.model], ['hello brave new world', 'model-a']);
    const row = await gate.row(whole);
    assert.deepEqual([row?.input_tokens, row?.cached_input_tokens, row?.output_tokens], [11, 3, 5]);
    const chat = await gate.send(CHAT, { body: { model: 'model-a', messages: [{ role: 'user', content: 'hi' }] } });
    assert.equal(chat.json.choices[0].message.content, 'hello brave new world');
  });

  test('[AA31] a native stream passes byte for byte, and no header of the account with it', async () => {
    const sent = textEvents('hello there');
    platform.next.push(
      streams(sent, {
        'x-request-id': 'theirs',
        'x-agent-turn-state': 's',
        'x-ratelimit-limit-requests': '5',
        'openai-organization': 'o',
        'openai-model': 'own-a',
      }),
    );
    const native = await gate.send(NATIVE, { body: turnBody('hi') });
    assert.equal(native.text, sent.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
    const names = [...native.headers.keys()].filter(
      (name) => (name.startsWith('x-') && name !== 'x-accel-buffering') || name.startsWith('openai-'),
    );
    assert.deepEqual(names.sort(), ['x-models-etag', 'x-request-id']);
    assert.notEqual(native.headers.get('x-request-id'), 'theirs');
  });

  test('[AA32] one JSON answer to a streamed turn becomes its events', async () => {
    const whole = textEvents('all at once').at(-1)?.response as object;
    platform.next.push(answers(200, whole as never));
    const streamed = await gate.send(PUBLIC, { body: { model: 'model-a', input: 'hi', stream: true } });
    const events = eventsOf(streamed.text).filter(({ data }) => data !== '[DONE]');
    assert.deepEqual(
      events.map(({ data }) => data.type),
      textEvents('x').map(({ type }) => type),
    );
  });

  test('[AA32] an event stream without its beginnings is repaired for every surface', async () => {
    const bare = textEvents('hello there').filter(({ type }) => /delta|completed/.test(String(type)));
    for (const path of [PUBLIC, NATIVE]) {
      platform.next.push(streams(bare));
      const streamed = await gate.send(path, { body: path === NATIVE ? turnBody('hi') : { model: 'model-a', input: 'hi', stream: true } });
      const events = eventsOf(streamed.text).filter(({ data }) => data !== '[DONE]');
      assert.deepEqual(
        events.map(({ data }) => [data.type, data.sequence_number]),
        textEvents('hello there').map(({ type }, i) => [type, i]),
        path,
      );
    }
  });

  test('[AA32] so is one whose types are the names of its events, and an error after output in it keeps its class', async () => {
    const named = ({ type, ...data }: JsonObject): string => `event: ${String(type)}\ndata: ${JSON.stringify(data)}\n\n`;
    const bare = textEvents('hello there').filter(({ type }) => /created|delta|completed/.test(String(type)));
    platform.next.push(streams(bare.map(named)));
    const whole = await gate.send(PUBLIC, { body: { model: 'model-a', input: 'hi' } });
    assert.deepEqual([whole.status, whole.json.output?.[0]?.content[0].text], [200, 'hello there'], whole.text);
    const error = { type: 'error', error: { code: 'rate_limit_exceeded', message: 'Slow down.' } };
    platform.next.push(streams([...bare.slice(0, -1).map(named), named(error)]));
    const cut = await gate.send(PUBLIC, { body: { model: 'model-a', input: 'hi', stream: true } });
    assert.equal(eventsOf(cut.text).at(-1)?.data.code, 'rate_limit_exceeded', cut.text);
  });

  test('[AA32] a terminal event without a response gets the response that the stream has begun, with its items', async () => {
    const bare = textEvents('hello there').map(({ response, ...event }) =>
      event.type === 'response.completed' ? event : { ...event, ...(response === undefined ? {} : { response }) },
    );
    for (const stream of [true, false]) {
      platform.next.push(streams(bare));
      const answer = await gate.send(PUBLIC, { body: { model: 'model-a', input: 'hi', stream } });
      const last = stream ? eventsOf(answer.text).at(-2)?.data.response : answer.json;
      assert.deepEqual([answer.status, last.object, last.status, last.usage.estimated], [200, 'response', 'completed', true], answer.text);
      assert.equal(last.output[0].content[0].text, 'hello there');
    }
  });

  for (const [status, type, finish] of [
    ['incomplete', 'response.incomplete', 'length'],
    ['failed', 'response.failed', undefined],
    ['cancelled', 'error', undefined],
  ] as const) {
    test(`[AA32] a response that is completed as ${status} ends as its status says`, async () => {
      const reason = status === 'incomplete' ? { incomplete_details: { reason: 'max_output_tokens' } } : {};
      const ended = textEvents('hello there').map((event) =>
        event.type === 'response.completed' ? { ...event, response: { ...(event.response as JsonObject), status, ...reason } } : event,
      );
      platform.next.push(streams(ended));
      const streamed = await gate.send(PUBLIC, { body: { model: 'model-a', input: 'hi', stream: true } });
      assert.equal(eventsOf(streamed.text).findLast(({ data }) => data !== '[DONE]')?.data.type, type, streamed.text);
      assert.equal((await gate.row(streamed))?.outcome, status === 'cancelled' ? 'cut' : status);
      platform.next.push(streams(ended));
      const chat = await gate.send(CHAT, { body: { model: 'model-a', messages: [{ role: 'user', content: 'hi' }] } });
      assert.deepEqual([chat.status, chat.json.choices?.[0].finish_reason], [finish ? 200 : 502, finish]);
      gate.heal();
    });
  }

  test('[AA63] a refusal has the envelope of its client on native routes too', async () => {
    platform.next.push(refuses(400, { code: 'invalid_value', message: 'The value is wrong.', param: 'temperature' }));
    const refused = await gate.send(NATIVE, { body: turnBody('hi') });
    assert.deepEqual([refused.status, refused.json.error.code, refused.json.error.param], [400, 'invalid_value', 'temperature']);
  });

  test('[AA23] a response of the account continues nothing over HTTP', async () => {
    const first = await gate.send(PUBLIC, { body: { model: 'model-a', input: 'hi', store: true } });
    const refused = await gate.send(PUBLIC, { body: { model: 'model-a', input: 'more', previous_response_id: first.json.id } });
    assert.deepEqual([refused.status, refused.json.error.code], [400, 'previous_response_not_found']);
    assert.equal(platform.requests.length, 1);
  });
});

describe('websockets', () => {
  test('[AA33] turns of a client websocket go over one websocket of the account, which continues its responses', async () => {
    for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
      platform.clear();
      using socket = await connect(gate, path, { headers: { originator: 'client' } });
      const first = await socket.turn(frameOf('hi', { client_metadata: { turn_id: 't' } }));
      const second = await socket.turn(frameOf('more', { previous_response_id: responseId(first) }));
      assert.equal(second.at(-1)?.type, 'response.completed', path);
      const [one, two] = platform.requests;
      assert.deepEqual([one?.path, one?.socket === two?.socket], ['/v1/responses?api-version=preview', true]);
      assert.deepEqual(
        [one?.json.type, one?.json.model, one?.json.store, one?.json.stream],
        ['response.create', 'own-a', false, undefined],
      );
      assert.deepEqual([one?.json.client_metadata, two?.json.previous_response_id], [undefined, responseId(first)]);
      assert.deepEqual(
        [one?.headers['api-key'], one?.headers.originator, one?.headers['openai-beta']],
        ['bearer-of-platform', undefined, undefined],
      );
      assert.equal(two?.json.input.length, 1);
    }
  });

  for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
    test(`[AA33] [RB28] ${path}: at the provider's time limit an unanchored turn moves to a new websocket, and an anchored one is not found`, async () => {
      const error = { type: 'invalid_request_error', code: 'websocket_connection_limit_reached', message: 'limit reached (60 minutes)' };
      for (const limit of [
        { type: 'error', status: 400, error },
        { type: 'error', error },
      ]) {
        platform.clear();
        using socket = await connect(gate, path);
        const previous_response_id = responseId(await socket.turn(frameOf('one')));
        platform.nextFrames.push([limit]);
        const [refused, ...rest] = await socket.turn(frameOf('two', { previous_response_id }));
        assert.equal((refused?.error as JsonObject | undefined)?.code, 'previous_response_not_found');
        assert.equal(rest.length, 0);
        await socket.turn(frameOf('all'));
        platform.nextFrames.push([limit]);
        const frames = await socket.turn(frameOf('more'));
        assert.ok(!typesOf(frames).includes('error'), JSON.stringify(frames));
        assert.equal(typesOf(frames).at(-1), 'response.completed');
        const [one, two, all, more, again] = platform.requests.map((request) => request.socket);
        assert.deepEqual([one === two, two === all, all === more, more === again], [true, false, true, false]);
      }
    });
  }

  for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
    test(`[RB29] [AA33] ${path}: the items of an interrupted response are not repaired into finished ones`, async () => {
      const all = textEvents('partial', { id: 'resp_cut' });
      const isShown = ({ type }: JsonObject): boolean => type !== 'response.completed' && !String(type).endsWith('.done');
      platform.nextFrames.push(all.filter(isShown), []);
      using socket = await connect(gate, path);
      socket.send({ type: 'response.create', ...frameOf('hi') });
      await until('the text', () => socket.frames.some(({ type }) => type === 'response.output_text.delta') || undefined);
      const response_id = 'resp_cut';
      socket.send({ type: 'response.interrupt', response_id, mode: 'discard_partial_items' });
      await until('the interrupt', () => platform.requests.length === 2 || undefined);
      const incomplete_details = { reason: 'interrupted' };
      const usage = { input_tokens: 11, output_tokens: 5, total_tokens: 16 };
      for (const event of [
        { type: 'response.interrupt.accepted', response_id },
        { type: 'response.output_item.interrupted', response_id, item_id: `msg_${response_id}`, output_index: 0 },
        { type: 'response.incomplete', response: { id: response_id, status: 'incomplete', output: [], incomplete_details, usage } },
      ]) {
        platform.sockets.at(-1)?.send(JSON.stringify(event));
      }
      const frames = await socket.rest();
      const after = typesOf(frames).slice(typesOf(frames).indexOf('response.output_text.delta') + 1);
      assert.deepEqual(after, ['response.interrupt.accepted', 'response.output_item.interrupted', 'response.incomplete']);
      assert.deepEqual((frames.at(-1)?.response as JsonObject | undefined)?.output, []);
    });
  }

  test("[AA31] EV1's event is made with our headers alone", async () => {
    platform.nextFrames.push([{ type: 'response.metadata', headers: { 'x-agent-turn-state': 's' } }, ...textEvents('hello')]);
    using socket = await connect(gate, NATIVE_SOCKET);
    const frames = await socket.turn(frameOf('hi'));
    const metadata = frames.filter(({ type }) => String(type).endsWith('response.metadata'));
    assert.deepEqual(
      metadata.map(({ type, headers }) => [type, Object.keys(headers as object)]),
      [['agent.response.metadata', ['x-models-etag']]],
    );
    assert.deepEqual(
      typesOf(frames).slice(1),
      textEvents('hello').map(({ type }) => type),
    );
  });

  describe('at a strict platform', () => {
    let own: TestGateway;
    before(async () => {
      own = await startStrict({ websocket: true, compact: 'route' });
    });
    after(() => own.close());
    beforeEach(() => own.upstream.clear());

    const trigger = { input: [userMessage('hi'), { type: 'compaction_trigger' }] };
    const compacted = (frames: readonly JsonObject[]): string => {
      const response = frames.at(-1)?.response as { readonly output: readonly JsonObject[] } | undefined;
      return response?.output.map(({ type }) => type).join() ?? typesOf(frames).join();
    };

    test('[AA48] a frame that ends in a trigger is compacted on the path, by the account’s word', async () => {
      using socket = await connect(own, NATIVE_SOCKET);
      assert.equal(compacted(await socket.turn(frameOf('', trigger))), 'compaction');
      assert.deepEqual(
        own.upstream.turns().map(({ path }) => path),
        ['/v1/responses/compact'],
      );
    });

    test('[AA48] one that continues a response of the websocket asks for a summary there, as a websocket has no paths', async () => {
      using socket = await connect(own, NATIVE_SOCKET);
      const first = await socket.turn(frameOf('hi'));
      assert.equal(compacted(await socket.turn(frameOf('', { ...trigger, previous_response_id: responseId(first) }))), 'compaction');
      const sent = own.upstream.turns().at(-1)?.json as { readonly input: readonly JsonObject[]; readonly previous_response_id: string };
      assert.deepEqual([sent.previous_response_id, sent.input.map(({ type }) => type)], [responseId(first), ['message', 'message']]);
    });

    test('[AA28] an anchor of null is none', async () => {
      using socket = await connect(own, NATIVE_SOCKET);
      const frames = await socket.turn(frameOf('hi', { previous_response_id: null }));
      assert.equal(frames.at(-1)?.type, 'response.completed', JSON.stringify(frames.at(-1)));
    });
  });

  test('[AA33] without a websocket of the account its turns go over HTTP', async () => {
    platform.refusesUpgrades = 404;
    using socket = await connect(gate, NATIVE_SOCKET);
    const frames = await socket.turn(frameOf('hi'));
    assert.equal(frames.at(-1)?.type, 'response.completed');
    assert.deepEqual(
      platform.requests.map(({ method, socket: over }) => [method, over]),
      [['POST', undefined]],
    );
  });
});
