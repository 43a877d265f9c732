// Requests to accounts that refuse what real agent backends refuse: known members, roles, effort updates, and chained system messages.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { modelEntry, turnBody } from '../../support/rehearsal-replies.ts';
import { connect } from '../../support/websocket.ts';

const NATIVE = '/backend-api/agent/responses';
const PUBLIC = '/v1/responses';
const CHAT = '/v1/chat/completions';

let gate: TestGateway;
before(async () => {
  gate = await startGateway({
    upstream: { accounts: ['north'], models: ['full', 'lite'].map((slug) => modelEntry({ slug })) },
    config: (draft) => {
      draft.pools[0].serving_modes = { full: 'full', lite: 'lite' };
    },
  });
});
after(() => gate.close());
beforeEach(() => gate.upstream.clear());

const sent = (): JsonObject => (gate.upstream.turns().at(-1)?.json ?? {}) as JsonObject;

/** Members that popular clients send and agent backends refuse. */
const REFUSED = {
  temperature: 1,
  top_p: 1,
  metadata: { a: 'b' },
  user: 'u-1',
  truncation: 'auto',
  seed: 1,
  max_output_tokens: 100,
  stream_id: 's',
};
const ACCEPTED = { service_tier: 'priority', prompt_cache_key: 'k', parallel_tool_calls: true, text: { verbosity: 'low' } };

test('[RB7] turns of /v1 and Chat are streamed, not stored and have a list, and a client that asked for no stream gets one answer', async () => {
  const collected = await gate.send(PUBLIC, { body: { model: 'full', input: 'hi', store: true, stream: false } });
  assert.deepEqual([collected.status, collected.json.status, collected.json.output.length > 0], [200, 'completed', true]);
  const absent = await gate.send(PUBLIC, { body: { model: 'full', input: 'hi' } });
  assert.deepEqual([absent.status, absent.json.object], [200, 'response']);
  const chat = await gate.send(CHAT, { body: { model: 'full', messages: [{ role: 'user', content: 'hi' }], store: true } });
  assert.deepEqual([chat.status, chat.json.object], [200, 'chat.completion']);
  using socket = await connect(gate, PUBLIC);
  assert.equal((await socket.turn({ model: 'full', input: 'hi', store: true })).at(-1)?.type, 'response.completed');
  const turns = gate.upstream.turns();
  assert.equal(turns.length, 4);
  for (const { json, method } of turns) {
    const { stream, store, input } = json as JsonObject;
    assert.deepEqual([store, Array.isArray(input)], [false, true]);
    if (method === 'POST') assert.equal(stream, true);
  }
});

const CODINGS = { zstd: zstdCompressSync, gzip: gzipSync, br: brotliCompressSync, deflate: deflateSync };

for (const [coding, encode] of Object.entries(CODINGS)) {
  test(`[RB12] a body in ${coding} is decoded, and accounts are asked for answers as they are`, async () => {
    const body = turnBody('hello', { model: 'full' });
    const headers = { 'content-encoding': coding, 'content-type': 'application/json', 'accept-encoding': 'gzip, br' };
    const reply = await gate.send(NATIVE, { body: encode(JSON.stringify(body)), headers });
    assert.equal(reply.status, 200, reply.text);
    const [turn] = gate.upstream.turns();
    assert.deepEqual(sent().input, body.input);
    assert.deepEqual([turn?.headers['accept-encoding'], turn?.headers['content-encoding']], ['identity', undefined]);
  });
}

describe('[RB8] [Q35] translated turns carry the members that agent backends know', () => {
  for (const model of ['full', 'lite']) {
    test(`${PUBLIC} in ${model}: collected, streamed and over a websocket`, async () => {
      const body = { model, input: 'hi', ...REFUSED, ...ACCEPTED };
      for (const stream of [false, true]) assert.equal((await gate.send(PUBLIC, { body: { ...body, stream } })).status, 200);
      using socket = await connect(gate, PUBLIC);
      assert.equal((await socket.turn(body)).at(-1)?.type, 'response.completed');
      for (const { json } of gate.upstream.turns()) {
        for (const name of Object.keys(REFUSED)) assert.equal((json as JsonObject)[name], undefined, name);
        for (const name of ['service_tier', 'prompt_cache_key', 'text'] as const)
          assert.deepEqual((json as JsonObject)[name], ACCEPTED[name]);
      }
      assert.equal(gate.upstream.turns().length, 3);
    });
  }

  test(`${CHAT}, with a tool loop`, async () => {
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: 'yes?' },
      { role: 'user', content: 'no' },
    ];
    const chat = await gate.send(CHAT, {
      body: { model: 'full', messages, temperature: 1, top_p: 1, metadata: {}, seed: 1, max_tokens: 100 },
    });
    assert.equal(chat.status, 200, chat.text);
    const tool = [
      { role: 'user', content: 'look' },
      { role: 'assistant', content: null, tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }] },
      { role: 'tool', tool_call_id: 'c1', content: 'done' },
    ];
    assert.equal((await gate.send(CHAT, { body: { model: 'full', messages: tool } })).status, 200);
  });

  test('keep_fields adds to the list, drop_fields takes from it, and a native turn has the members of its client', async () => {
    await gate.reconfigure((draft) => {
      Object.assign(draft.accounts[0], { keep_fields: ['temperature'], drop_fields: ['service_tier'] });
    });
    const { status, json } = await gate.send(PUBLIC, { body: { model: 'lite', input: 'hi', ...REFUSED, ...ACCEPTED } });
    assert.deepEqual([status, json.error.code, json.error.param], [400, 'unsupported_parameter', 'temperature']);
    assert.deepEqual([sent().temperature, sent().service_tier, sent().metadata], [1, undefined, undefined]);
    await gate.reconfigure((draft) => {
      Object.assign(draft.accounts[0], { keep_fields: [], drop_fields: [] });
    });
    const native = await gate.send(NATIVE, { body: turnBody('hi', { model: 'lite', temperature: 1 }) });
    assert.deepEqual([native.status, native.json], [400, { detail: 'Unsupported parameter: temperature' }]);
  });
});

describe('[RB9] no account gets a system message', () => {
  const input = [
    { role: 'system', content: [{ type: 'input_text', text: 'Be brief.' }] },
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] },
  ];
  for (const model of ['full', 'lite']) {
    test(`in ${model}: native over HTTP and websocket, and ${PUBLIC}`, async () => {
      assert.equal((await gate.send(NATIVE, { body: turnBody('', { model, input }) })).status, 200);
      using socket = await connect(gate, NATIVE);
      assert.equal((await socket.turn(turnBody('', { model, input }))).at(-1)?.type, 'response.completed');
      for (const { json } of gate.upstream.turns()) assert.ok(rolesOf(json as JsonObject).includes('developer'));
      assert.equal((await gate.send(PUBLIC, { body: { model, input } })).status, 200);
      if (model === 'full') assert.equal(sent().instructions, 'Be brief.');
    });
  }
});

const rolesOf = ({ input }: JsonObject): readonly (Json | undefined)[] => (input as readonly JsonObject[]).map(({ role }) => role);

test('[RB10] a translated turn in Full has instructions, if only empty ones', async () => {
  await gate.send(PUBLIC, { body: { model: 'full', input: 'hi' } });
  assert.equal(sent().instructions, '');
  await gate.send(PUBLIC, { body: { model: 'lite', input: 'hi' } });
  assert.equal(sent().instructions, undefined);
});

const update = (effort: Json): JsonObject => ({ type: 'configuration_update', reasoning: { effort } });
const user: JsonObject = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] };

describe('[RB15] [Q35] an effort inside the input is under the policy of the key', () => {
  const bodies = (...items: readonly JsonObject[]) =>
    ['full', 'lite'].flatMap((model) => [
      [PUBLIC, { model, input: [...items, user], reasoning: { effort: 'low' } }] as const,
      [NATIVE, turnBody('', { model, input: [...items, user], reasoning: { effort: 'low' } })] as const,
    ]);
  const policy = (reasoning_effort: JsonObject | undefined): Promise<void> =>
    gate.reconfigure((draft) => {
      if (reasoning_effort) draft.keys[0].reasoning_effort = reasoning_effort;
      else delete draft.keys[0].reasoning_effort;
    });
  const updatesSent = (): unknown => updatesOf(sent());
  /** Sends the body over HTTP and as a frame; returns the error of each, or undefined. */
  const errors = async (path: string, body: JsonObject): Promise<readonly unknown[]> => {
    const { text, json } = await gate.send(path, { body });
    using socket = await connect(gate, path);
    const last = (await socket.turn(body)).at(-1);
    return [json?.error ?? eventsOf(text).at(-1)?.data.error, last?.error].map((error) => error && [error.code, error.param]);
  };

  test('a ceiling refuses an update above it, at its place, before dispatch', async () => {
    await policy({ allow_up_to: 'medium' });
    for (const [path, body] of bodies(update('medium'), update('max'), update('low'))) {
      const refused = ['reasoning_effort_not_allowed', 'input.1.reasoning.effort'];
      assert.deepEqual(await errors(path, body), [refused, refused], path);
    }
    for (const wrong of [7, 'custom']) {
      const [, body] = bodies(update(wrong))[0] ?? assert.fail();
      assert.deepEqual((await errors(PUBLIC, body))[0], ['reasoning_effort_not_allowed', 'input.0.reasoning.effort']);
    }
    assert.equal(gate.upstream.turns().length, 0);
    for (const [path, body] of bodies(update('medium'), { type: 'configuration_update' })) {
      assert.equal((await gate.send(path, { body })).status, 200, path);
      assert.deepEqual(updatesOf(sent()), ['medium', undefined]);
    }
  });

  test('an exact effort replaces every update, and none is added', async () => {
    await policy({ always: 'high' });
    for (const [path, body] of bodies(update('low'), update('max'))) {
      assert.equal((await gate.send(path, { body })).status, 200, path);
      assert.deepEqual([updatesSent(), (sent().reasoning as JsonObject).effort], [['high', 'high'], 'high']);
    }
  });

  test('minimal and ultra go out as low and max', async () => {
    await policy(undefined);
    for (const [path, body] of bodies(update('minimal'), update('ultra'), update('custom'))) {
      assert.equal((await gate.send(path, { body })).status, 200, path);
      assert.deepEqual(updatesSent(), ['low', 'max', 'custom']);
    }
  });

  test('[RB15] the row of a turn has its last effort, otherwise that of its field, and no word that is no known effort', async () => {
    await policy(undefined);
    const sentEfforts = [update('high'), update('ultra')];
    const chat = { messages: [{ role: 'user', content: 'hi' }], reasoning_effort: 'high' };
    const turns: readonly (readonly [string, JsonObject, string | null])[] = [
      ...bodies(...sentEfforts).map(([path, body]) => [path, body, 'max'] as const),
      ...bodies().map(([path, body]) => [path, body, 'low'] as const),
      ...bodies(update('secret words')).map(([path, body]) => [path, body, null] as const),
      [PUBLIC, { model: 'full', input: [user] }, null],
      ['/v1/chat/completions', { model: 'full', ...chat }, 'high'],
    ];
    for (const [path, body, effort] of turns) {
      assert.equal((await gate.send(path, { body })).status, 200, path);
      assert.equal((await gate.rows()).at(-1)?.effort, effort, `${path} ${body.model}`);
      if (path.includes('chat')) continue;
      using socket = await connect(gate, path);
      await socket.turn(body);
      assert.equal((await gate.rows()).at(-1)?.effort, effort, `${path} ${body.model}, a frame`);
    }
  });
});

const updatesOf = ({ input }: JsonObject): readonly unknown[] =>
  (input as readonly JsonObject[])
    .filter(({ type }) => type === 'configuration_update')
    .map(({ reasoning }) => (reasoning as JsonObject | undefined)?.effort);

describe('a system message that was sent once on a public websocket', () => {
  const system = (text: string): JsonObject => ({ role: 'system', content: text });
  const idOf = (events: readonly JsonObject[]): Json =>
    (events.at(-1)?.response as JsonObject | undefined)?.id ?? assert.fail('no response');

  test('[F1.1] goes out with every turn that continues it, and with no other', async () => {
    using socket = await connect(gate, PUBLIC);
    const first = idOf(await socket.turn({ model: 'full', input: [system('Be brief.'), user] }));
    const second = idOf(await socket.turn({ model: 'full', input: [user], previous_response_id: first }));
    assert.equal(sent().instructions, 'Be brief.');
    const third = idOf(
      await socket.turn({ model: 'full', input: [system('In German.'), user], previous_response_id: second, instructions: 'Once.' }),
    );
    assert.equal(sent().instructions, 'Once.\n\nBe brief.\n\nIn German.');
    await socket.turn({ model: 'full', input: [user], previous_response_id: third });
    assert.equal(sent().instructions, 'Be brief.\n\nIn German.', 'instructions of a turn are its own');
    await socket.turn({ model: 'full', input: [user], previous_response_id: first });
    assert.equal(sent().instructions, 'Be brief.', 'a branch has what its anchor had');
    await socket.turn({ model: 'full', input: [user] });
    assert.equal(sent().instructions, '');
  });

  test('[F1.1] in Lite stays in the conversation, and is not sent again', async () => {
    using socket = await connect(gate, PUBLIC);
    const first = idOf(await socket.turn({ model: 'lite', input: [system('Be brief.'), user] }));
    await socket.turn({ model: 'lite', input: [user], previous_response_id: first });
    assert.deepEqual(rolesOf(sent()), ['developer', 'user']);
  });
});
