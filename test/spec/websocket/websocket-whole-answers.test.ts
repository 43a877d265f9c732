// Native websockets whose account answers a turn over HTTP with one JSON body instead of a stream (EV1, Q2, Q3).
import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { startGateway } from '../../support/gateway.ts';
import { replyJson, turnBody } from '../../support/rehearsal-replies.ts';
import { connect } from '../../support/websocket.ts';

const NATIVE = '/backend-api/agent/responses';
const METADATA = 'agent.response.metadata';

const gate = await startGateway({
  upstream: { accounts: ['north', 'south'], strict: false },
  config: (draft) => {
    draft.accounts[0].websocket = false;
  },
});
after(() => gate.close());
afterEach(() => {
  gate.heal();
  gate.upstream.clear();
});

const RESPONSE = { id: 'resp_1', object: 'response', status: 'completed', model: 'model-a', output: [] };
const BAD = { code: 'invalid_prompt', message: 'Bad.' };

async function turn(body: JsonObject): Promise<readonly JsonObject[]> {
  gate.upstream.next('north', replyJson(body));
  using socket = await connect(gate, NATIVE);
  return await socket.turn(turnBody('hi'));
}

for (const status of ['completed', 'incomplete']) {
  test(`[EV1] a ${status} response has its metadata event, and the event of its status`, async () => {
    const response = { ...RESPONSE, status };
    const [metadata, end, ...rest] = await turn(response);
    assert.deepEqual([metadata?.type, Object.keys(metadata?.headers ?? {})], [METADATA, ['x-models-etag']]);
    assert.deepEqual([end, rest], [{ type: `response.${status}`, response }, []]);
  });
}

test('[Q2] [Q3] a refusal is an error frame with a status, and no completed response', async () => {
  const error = { ...BAD, type: 'invalid_request_error', param: null };
  for (const body of [{ error }, { detail: BAD }]) assert.deepEqual(await turn(body), [{ type: 'error', status: 400, error }]);
});

test('[Q3] a failed response is response.failed', async () => {
  const response = { ...RESPONSE, status: 'failed', error: BAD };
  assert.deepEqual(await turn(response), [{ type: 'response.failed', response }]);
});

test('[Q17] a body that is no ended response is 502, because no event can have it', async () => {
  for (const body of [{ hello: 1 }, { ...RESPONSE, status: 'in_progress' }]) {
    const [frame, ...rest] = await turn(body);
    assert.deepEqual([frame?.type, frame?.status, rest], ['error', 502, []]);
    gate.heal();
  }
});

test('[Q3] over HTTP a native client gets these bodies as they came', async () => {
  for (const body of [{ error: BAD }, { detail: BAD }, { ...RESPONSE, status: 'failed', error: BAD }]) {
    gate.upstream.next('north', replyJson(body));
    const { status, json } = await gate.send(NATIVE, { body: turnBody('hi', { stream: false }) });
    assert.deepEqual([status, json], [200, body]);
  }
});
