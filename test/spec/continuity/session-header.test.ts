// `session_header: derived`: the session id that accounts get, and the prompt cache that follows it (RB14, Q35, F8.1).
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { after, before, beforeEach, test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { frameOf, NATIVE_SOCKET, PUBLIC_SOCKET, responseId } from '../../support/native-frames.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { connect } from '../../support/websocket.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const NATIVE = '/backend-api/agent/responses';

let gate: TestGateway;
before(async () => {
  gate = await startGateway({
    upstream: { accounts: ['north'] },
    config: (draft) => {
      draft.accounts[0].session_header = 'derived';
      draft.keys.push({ id: 'other', pool: 'team', secret_sha256: [hash('sha256', 'other-key', 'hex')] });
    },
  });
});
after(() => gate.close());
beforeEach(() => gate.upstream.clear());

/** The header that the account got with the only turn that `send` makes. */
async function sentBy(send: () => Promise<unknown>): Promise<string | undefined> {
  gate.upstream.clear();
  await send();
  const [turn] = gate.upstream.turns();
  assert.ok(turn, 'a turn arrived');
  return turn.headers['session-id'] as string | undefined;
}

const native = (headers: Record<string, string>, text = 'hi') => sentBy(() => gate.send(NATIVE, { body: turnBody(text), headers }));
const open = (body: JsonObject, headers: Record<string, string> = {}) =>
  sentBy(() => gate.send('/v1/responses', { body: { model: 'model-a', ...body }, headers }));

test('[Q35] a session has one derived id over HTTP and websocket, and no client’s own value is sent', async () => {
  const own = 'a-session-of-the-client';
  const first = await native({ 'session-id': own });
  assert.match(first ?? '', UUID);
  assert.equal(await native({ 'session-id': own }, 'another text'), first);
  assert.equal(await open({ input: 'hello' }, { 'session-id': own }), first);
  assert.notEqual(await native({ 'session-id': 'another' }), first);
  assert.notEqual(await native({ 'session-id': own, authorization: 'Bearer other-key' }), first, 'of another key');
  gate.upstream.clear();
  using socket = await connect(gate, NATIVE_SOCKET, { headers: { 'session-id': own } });
  await socket.turn(frameOf('hi'));
  assert.equal(gate.upstream.upgrades('north')[0]?.headers['session-id'], first);
  assert.ok(!JSON.stringify(gate.upstream.requests().map(({ headers, json }) => [headers, json])).includes(own));
});

test('[Q35] without a session the conversation decides: the cache key, or the first messages', async () => {
  const keyed = await open({ input: 'one', prompt_cache_key: 'k' });
  assert.match(keyed ?? '', UUID);
  assert.equal(await open({ input: 'two', prompt_cache_key: 'k' }), keyed);
  assert.notEqual(await open({ input: 'one', prompt_cache_key: 'l' }), keyed);
  const begun = await open({ input: 'one' });
  const history = [
    { role: 'user', content: 'one' },
    { role: 'assistant', content: 'answer' },
    { role: 'user', content: 'more' },
  ];
  assert.equal(await open({ input: history }), begun);
  assert.notEqual(await open({ input: 'two' }), begun);
  assert.notEqual(await open({ input: 'one', instructions: 'Be brief.' }), begun);
});

test('[Q35] an upstream socket is reused under the same value only, and by turns that continue a response of it', async () => {
  using socket = await connect(gate, PUBLIC_SOCKET);
  const first = await socket.turn(frameOf('one'));
  await socket.turn({ ...frameOf('and then'), previous_response_id: responseId(first) });
  assert.equal(gate.upstream.upgrades('north').length, 1, 'the anchored turn stays');
  await socket.turn(frameOf('one'));
  assert.equal(gate.upstream.upgrades('north').length, 1, 'the same conversation stays');
  await socket.turn(frameOf('a conversation of its own'));
  const ids = gate.upstream.upgrades('north').map(({ headers }) => headers['session-id']);
  assert.equal(ids.length, 2);
  assert.notEqual(ids[0], ids[1]);
});

test('[Q35] by default no session header is sent', async () => {
  await gate.reconfigure((draft) => {
    draft.accounts[0].session_header = 'none';
  });
  assert.equal(await native({ 'session-id': 'own' }), undefined);
  await gate.reconfigure((draft) => {
    draft.accounts[0].session_header = 'derived';
  });
  const reads = gate.upstream.requests().filter(({ turn }) => turn === 0);
  assert.ok(
    reads.every(({ headers }) => headers['session-id'] === undefined),
    'own reads have none',
  );
});

test('[RB14] with the header the cache of the account has the conversation, and without it only now and then', async () => {
  const long = 'word '.repeat(2_000);
  const cached = async (prefix: string): Promise<number> => {
    let tokens = 0;
    for (let i = 0; i < 10; i++) {
      const reply = await gate.send('/v1/responses', { body: { model: 'model-a', input: `${prefix} ${long}` } });
      const { input_tokens, input_tokens_details } = reply.json.usage;
      tokens += input_tokens_details.cached_tokens / input_tokens;
    }
    return tokens / 10;
  };
  const derived = await cached('a');
  await gate.reconfigure((draft) => {
    draft.accounts[0].session_header = 'none';
  });
  const without = await cached('b');
  await gate.reconfigure((draft) => {
    draft.accounts[0].session_header = 'derived';
  });
  assert.ok(derived > 0.85, `derived: ${derived}`);
  assert.ok(without < derived, `without: ${without}`);
});

test('[RB26] every upgrade states the websocket protocol, also for public websockets', async () => {
  for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
    gate.upstream.clear();
    using socket = await connect(gate, path);
    await socket.turn(frameOf('hi'));
    assert.equal(gate.upstream.upgrades('north')[0]?.headers['openai-beta'], 'responses_websockets=2026-02-06', path);
  }
  gate.upstream.clear();
  using socket = await connect(gate, NATIVE_SOCKET, { headers: { 'openai-beta': 'other=1' } });
  await socket.turn(frameOf('hi'));
  assert.equal(gate.upstream.upgrades('north')[0]?.headers['openai-beta'], 'other=1, responses_websockets=2026-02-06');
});
