// JSON that is small as bytes but large after parsing is refused, wherever it comes from (Q38).
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { asList, type JsonObject } from '../../../proxy/turn/json/json.ts';
import { type Draft, startGateway, type TestGateway } from '../../support/gateway.ts';
import { NATIVE_SOCKET, PUBLIC_SOCKET } from '../../support/native-frames.ts';
import { replyJson, turnBody } from '../../support/rehearsal-replies.ts';
import { connect } from '../../support/websocket.ts';

const PATH = '/backend-api/agent/responses';
const MANY = 3_000;
const few = (draft: Draft): void => {
  draft.limits = { json_values: 2_000 };
};

describe('[Q38] a body with more values than limits.json_values', () => {
  let gate: TestGateway;
  before(async () => {
    gate = await startGateway({ config: few, upstream: { strict: false } });
  });
  after(() => gate.close());

  const values = `[${'{},'.repeat(MANY)}0]`;
  for (const [path, body] of [
    [PATH, `{"model":"model-a","input":${values}}`],
    ['/v1/responses', `{"model":"model-a","input":${values}}`],
    ['/v1/chat/completions', `{"model":"model-a","messages":${values}}`],
    [PATH, `{"model":"model-a","input":${values},"pad":"${'a'.repeat(3_000_000)}"}`],
  ] as const) {
    test(`of ${body.length} bytes on ${path} is 413, and reaches no account`, async () => {
      gate.upstream.clear();
      const { status, json } = await gate.send(path, { body });
      assert.deepEqual([status, json.error.code], [413, 'request_too_large']);
      assert.equal(gate.upstream.requests().length, 0);
    });
  }

  for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
    test(`as a frame on ${path} is an error frame 413, and the connection stays open`, async () => {
      const socket = await connect(gate, path);
      socket.send(`{"type":"response.create","model":"model-a","input":${values}}`);
      const frame = await socket.next();
      assert.deepEqual([frame.type, frame.status, (frame.error as JsonObject).code], ['error', 413, 'request_too_large']);
      socket.send({ type: 'response.create', ...turnBody('hello') });
      assert.notEqual((await socket.next()).type, 'error');
      socket.terminate();
    });
  }

  test('of an account is a failure of the reply: 502', async () => {
    const counted = gate.count('upstream_events_too_large');
    gate.upstream.next('north', replyJson({ output: Array.from({ length: MANY }, () => ({})) }));
    const { status, json } = await gate.send('/backend-api/agent/responses/compact', { body: { model: 'model-a', input: [] } });
    assert.equal(status, 502, JSON.stringify(json));
    assert.ok(gate.count('upstream_events_too_large') > counted);
  });
});

test('[Q38] a body as large as the limit with realistic items is accepted', async () => {
  await using gate = await startGateway({ upstream: { strict: false } });
  const text = 'The output of a tool, on \\"several\\" lines.\\n'.repeat(40);
  const item = `{"type":"message","role":"user","content":[{"type":"input_text","text":"${text}"}]}`;
  const input = Array.from({ length: 3_000 }, () => item).join(',');
  const { status, text: answered } = await gate.send(PATH, {
    body: `{"model":"model-a","stream":false,"store":false,"instructions":"a","input":[${input}]}`,
  });
  assert.equal(status, 200, answered);
  const [turn] = gate.upstream.turns();
  assert.equal(asList((turn?.json as JsonObject | undefined)?.input).length, 3_000);
});
