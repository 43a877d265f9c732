// Messages clients other than their turns: names and lists of models, counts of tokens, sessions, and the form of errors.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import { type Draft, KEY, type RequestOptions, startGateway, type TestGateway } from '../../support/gateway.ts';
import { modelEntry } from '../../support/rehearsal-replies.ts';
import { messagesBody as ask, MESSAGES } from './messages-body.ts';

/** A time that no date can have; Unix seconds. */
const IMPOSSIBLE = 9e15;

const VERSION = { 'anthropic-version': '2023-06-01' };
const sha256 = (secret: string): string => hash('sha256', secret, 'hex');

let gate: TestGateway;
before(async () => {
  gate = await startGateway({
    upstream: {
      accounts: ['north', 'south'].map((id) => ({
        id,
        models: [modelEntry({ slug: 'model-a', context_window: 100_000 }), modelEntry({ slug: 'model-b', created: IMPOSSIBLE })],
      })),
    },
    config: (draft: Draft) => {
      draft.pools[0].aliases = { 'claude-haiku-*': 'model-b', 'claude-*': 'model-a', 'claude-exact': 'model-b', gone: 'model-z' };
      draft.keys.push({ id: 'narrow', pool: 'team', secret_sha256: [sha256('narrow')], models: ['model-b'] });
    },
  });
});
after(() => gate.close());
beforeEach(() => {
  gate.heal();
  gate.upstream.clear();
});

const send = (body: JsonObject, headers: Record<string, string> = {}) => gate.send(MESSAGES, { body, headers });
const get = (path: string, init: RequestOptions = {}) => gate.send(path, { headers: { ...VERSION, ...init.headers } });
const narrow = { authorization: 'Bearer narrow' };
// biome-ignore lint/suspicious/noExplicitAny: assertions look where they expect something
const upstream = (): any => gate.upstream.turns().at(-1)?.json;

describe('a name of a model', () => {
  const CASES: readonly (readonly [name: string, model: string])[] = [
    ['model-b', 'model-b'],
    ['claude-exact', 'model-b'],
    ['claude-exact[1m]', 'model-b'],
    ['claude-haiku-4-5', 'model-b'],
    ['claude-opus-5-5[1M][1m]', 'model-a'],
    ['model-a[1m]', 'model-a'],
  ];
  for (const [name, model] of CASES) {
    test(`[AM21] ${name} is ${model}, upstream, in the reply and in the row`, async () => {
      const { status, json, headers, text } = await send(ask({ model: name }));
      assert.equal(status, 200, text);
      assert.deepEqual([upstream().model, json.model], [model, model]);
      assert.equal((await gate.row(headers.get('x-request-id') ?? ''))?.model, model);
    });
  }

  test('[AM21] that nothing resolves is 404, and nothing is said of it', async () => {
    const { status, json } = await send(ask({ model: 'gpt-secret' }));
    assert.deepEqual([status, json.error.type, json.error.details.error_code], [404, 'not_found_error', 'invalid_model']);
    assert.ok(json.error.message.startsWith('model: '), json.error.message);
    assert.doesNotMatch(JSON.stringify(json), /gpt-secret/);
    for (const name of ['gone', '[1m]', '[1m][1M]']) assert.equal((await send(ask({ model: name }))).status, 404, name);
    const { model: _, ...missing } = ask();
    assert.equal((await send(missing)).status, 400);
  });

  test('[AM22] is checked against the key’s list as what it resolves to, before the catalog', async () => {
    for (const name of ['model-a', 'claude-opus-5-5', 'gpt-secret', 'gone']) {
      const { status, json } = await send(ask({ model: name }), narrow);
      assert.deepEqual([status, json.error.type], [403, 'permission_error'], name);
    }
    assert.equal((await send(ask({ model: 'claude-haiku-4-5' }), narrow)).status, 200);
    assert.equal(upstream().model, 'model-b');
  });

  test('[AM20] has no alias on the other surfaces', async () => {
    const { status } = await gate.send('/v1/responses', { body: { model: 'claude-opus-5-5', input: 'hi' } });
    assert.equal(status, 400);
  });
});

describe('the list of models', () => {
  test('[AM32] has the models of the key, then the aliases without a star', async () => {
    const { status, json, headers } = await get('/v1/models');
    assert.equal(status, 200);
    assert.deepEqual(
      json.data.map(({ id, display_name }: JsonObject) => [id, display_name]),
      [
        ['model-a', 'model-a'],
        ['model-b', 'model-b'],
        ['claude-exact', 'model-b (alias claude-exact)'],
      ],
    );
    assert.deepEqual([json.has_more, json.first_id, json.last_id], [false, 'model-a', 'claude-exact']);
    assert.equal(headers.get('request-id'), headers.get('x-request-id'));
    const listed = (await gate.send('/v1/models')).json;
    const window = listed.data.find(({ id }: JsonObject) => id === 'model-a').context_length;
    assert.deepEqual(json.data[0], {
      type: 'model',
      id: 'model-a',
      display_name: 'model-a',
      created_at: '1970-01-01T00:00:00Z',
      max_input_tokens: window,
      max_tokens: null,
      capabilities: null,
      lifecycle: 'active',
      line: null,
      deprecated_at: null,
      retires_at: null,
    });
    assert.deepEqual(
      (await get('/v1/models', { headers: narrow })).json.data.map(({ id }: JsonObject) => id),
      ['model-b', 'claude-exact'],
    );
  });

  test('[AM32] [Q13] has no time of creation for a model whose account states an impossible one', async () => {
    const { json } = await get('/v1/models');
    assert.deepEqual(
      json.data.map(({ created_at }: JsonObject) => created_at),
      Array(3).fill('1970-01-01T00:00:00Z'),
    );
    assert.ok((await gate.send('/v1/models')).json.data.every(({ created }: JsonObject) => created === 0));
  });

  test('[AM32] has pages, and refuses what is none', async () => {
    const page = async (query: string): Promise<readonly Json[]> => {
      const { json } = await get(`/v1/models?${query}`);
      return [json.data.map(({ id }: JsonObject) => id), json.has_more];
    };
    assert.deepEqual(await page('limit=2'), [['model-a', 'model-b'], true]);
    assert.deepEqual(await page('limit=2&after_id=model-b'), [['claude-exact'], false]);
    assert.deepEqual(await page('limit=1&before_id=claude-exact'), [['model-b'], true]);
    for (const query of ['limit=0', 'limit=1001', 'limit=x', 'after_id=nobody']) {
      const { status, json } = await get(`/v1/models?${query}`);
      assert.deepEqual([status, json.error?.type], [400, 'invalid_request_error'], query);
    }
  });

  test('[AM3] and one model, are for clients that state the version; others have their own shape', async () => {
    const one = await get('/v1/models/claude-opus-5-5%5B1m%5D');
    assert.deepEqual([one.status, one.json.id, one.json.type], [200, 'model-a', 'model']);
    assert.deepEqual((await get('/v1/models/gpt-secret')).json.error.type, 'not_found_error');
    assert.equal((await get('/v1/models/model-a', { headers: narrow })).status, 403);
    const other = await gate.send('/v1/models/model-a');
    assert.deepEqual([other.status, other.json.error.code, other.json.type], [404, 'unknown_endpoint', undefined]);
    assert.equal((await gate.send('/v1/models')).json.object, 'list');
  });
});

describe('an error', () => {
  test('[AM10] has the envelope of Messages on their rows, and for their clients on unknown paths', async () => {
    const typeOf = async (path: string, init: RequestOptions): Promise<readonly Json[]> => {
      const { status, json } = await gate.send(path, init);
      return [status, json.type ?? null, json.error.type];
    };
    const mine = [404, 'error', 'not_found_error'];
    assert.deepEqual(await typeOf('/v1/messages/batches', { method: 'POST', body: {} }), mine);
    assert.deepEqual(await typeOf('/v1/messages/batches/batch_1', {}), mine);
    assert.deepEqual(await typeOf('/v1/nothing', { headers: VERSION }), mine);
    assert.deepEqual(await typeOf('/v1/nothing', {}), [404, null, 'invalid_request_error']);
    assert.deepEqual(await typeOf('/v1/messages', { method: 'GET' }), [405, 'error', 'invalid_request_error']);
  });

  test('[AM7] [AM9] [AU1] of a key in `x-api-key`: it opens the lists for clients that state the version, and no other row', async () => {
    const key = { authorization: '', 'x-api-key': KEY };
    const list = async (headers: Record<string, string>): Promise<readonly Json[]> => {
      const { status, json } = await gate.send('/v1/models', { headers });
      return [status, json.has_more ?? null];
    };
    assert.deepEqual(await list({ ...key, ...VERSION }), [200, false]);
    assert.deepEqual(await list({ ...VERSION, authorization: 'Bearer sk-foreign', 'x-api-key': KEY }), [200, false]);
    assert.deepEqual(await list({ ...VERSION, authorization: '', 'x-api-key': 'sk-foreign' }), [401, null]);
    assert.deepEqual(await list(key), [401, null]);
    assert.deepEqual(await list({ authorization: 'Bearer sk-foreign', 'x-api-key': KEY }), [401, null]);
    for (const headers of [key, { ...key, ...VERSION }]) assert.equal((await gate.send('/v1/usage', { headers })).status, 401);
    assert.equal(
      (await gate.send('/v1/responses', { body: { model: 'model-a', input: 'hi' }, headers: { ...key, ...VERSION } })).status,
      401,
    );
  });
});

describe('a count of tokens', () => {
  const count = (body: JsonObject, headers: Record<string, string> = {}) =>
    gate.send(`${MESSAGES}/count_tokens?beta=true`, { body, headers });

  test('[AM61] passes the checks of a turn’s model, needs no cap, and no account gets it', async () => {
    const { max_tokens: _, ...body } = ask();
    const { status, json, headers } = await count(body);
    assert.equal(status, 200);
    assert.ok(json.input_tokens >= 5 && json.input_tokens < 20, JSON.stringify(json));
    assert.deepEqual(Object.keys(json), ['input_tokens']);
    assert.equal(gate.upstream.turns().length, 0);
    const row = await gate.row(headers.get('x-request-id') ?? '');
    assert.deepEqual([row?.status, row?.endpoint, row?.model, row?.account], [200, '/v1/messages/count_tokens', 'model-a', null]);
    const managed = await count({ ...body, model: 'claude-opus-5-5', context_management: { edits: [] } });
    assert.deepEqual(managed.json, { input_tokens: json.input_tokens, context_management: { original_input_tokens: json.input_tokens } });
    assert.equal((await count({ ...body, model: 'gpt-secret' })).status, 404);
    assert.equal((await count({ ...body, model: 'model-a' }, narrow)).status, 403);
    assert.equal((await count(body, { authorization: 'Bearer nobody' })).status, 401);
    const shape = await count({ ...body, messages: [{ role: 'nobody', content: 'hi' }] });
    assert.deepEqual([shape.status, shape.json.error.message.split(':')[0]], [400, 'messages.0.role']);
  });

  test('[AM63] of a text grows with it, and counts tools', async () => {
    const text = 'The quick brown fox jumps over the lazy dog. '.repeat(100);
    const { json } = await count(ask({ messages: [{ role: 'user', content: text }] }));
    assert.ok(Math.abs(json.input_tokens - 1_000) < 150, JSON.stringify(json));
    const tools = [{ name: 'read', input_schema: { type: 'object', properties: { path: { type: 'string' } } } }];
    assert.ok((await count(ask({ tools }))).json.input_tokens > (await count(ask())).json.input_tokens + 8);
  });
});

test('[AM68] a row has the surface of its client, and no name that it sent', async () => {
  const surfaceOf = async (path: string, body: JsonObject): Promise<string | undefined> => {
    const { headers } = await gate.send(path, { body });
    const row = await gate.row(headers.get('x-request-id') ?? '');
    assert.doesNotMatch(JSON.stringify(row), /claude-opus|somebody/);
    return row?.surface;
  };
  const turn = { model: 'claude-opus-5-5', metadata: { user_id: 'user_somebody' } };
  assert.equal(await surfaceOf(MESSAGES, ask(turn)), 'messages');
  assert.equal(await surfaceOf(`${MESSAGES}/count_tokens`, ask(turn)), 'messages');
  assert.equal(await surfaceOf('/v1/responses', { model: 'model-a', input: 'hi' }), 'public');
  assert.equal(await surfaceOf('/v1/chat/completions', { model: 'model-a', messages: [{ role: 'user', content: 'hi' }] }), 'chat');
});

describe('a session', () => {
  const keyOf = async (headers: Record<string, string>, members: JsonObject = {}): Promise<string | undefined> => {
    const { status, text } = await send(ask(members), headers);
    assert.equal(status, 200, text);
    return upstream().prompt_cache_key;
  };

  test('[AM64] [AM65] is named by a header or by user_id, and gives the key of the prompt cache', async () => {
    const named = await keyOf({ 'x-claude-code-session-id': 'session-one' });
    assert.match(named ?? '', /^[0-9a-f]{32}$/);
    const user = (id: string): JsonObject => ({ metadata: { user_id: id } });
    assert.equal(await keyOf({}, user(JSON.stringify({ device_id: 'd', session_id: 'session-one' }))), named);
    assert.equal(await keyOf({}, user('user_abc_account__session_session-one')), named);
    assert.equal(await keyOf({ 'session-id': 'session-one', 'x-claude-code-session-id': 'another' }), named);
    assert.notEqual(await keyOf({ 'x-claude-code-session-id': 'session-two' }), named);
    const agent = await keyOf({ 'x-claude-code-session-id': 'session-one', 'x-claude-code-agent-id': 'a1' });
    assert.notEqual(agent, named);
    assert.equal(await keyOf({}, user('somebody')), undefined);
    assert.doesNotMatch(JSON.stringify(gate.upstream.turns()), /session-one|session-two/);
  });

  test('[AM65] stays at its account', async () => {
    const headers = { 'x-claude-code-session-id': 'session-kept' };
    gate.upstream.next('north', 'refuse 429 rate_limit_exceeded retry 1');
    await send(ask(), headers);
    const first = gate.upstream.turns().at(-1)?.account;
    assert.equal(first, 'south');
    gate.heal();
    await send(ask(), headers);
    assert.equal(gate.upstream.turns().at(-1)?.account, 'south');
    await send(ask());
    assert.equal(gate.upstream.turns().at(-1)?.account, 'north');
  });
});
