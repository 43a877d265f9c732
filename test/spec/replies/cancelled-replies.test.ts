// Replies that their provider cancels without closing the connection: clients do not know the event, so the gateway breaks the reply off.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { frameOf, NATIVE_SOCKET, PUBLIC_SOCKET, typesOf } from '../../support/native-frames.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import type { Script } from '../../support/rehearsal.ts';
import { replyEvents, turnBody } from '../../support/rehearsal-replies.ts';
import { connect } from '../../support/websocket.ts';

const response = (status: string): JsonObject => ({ id: 'r', object: 'response', status, model: 'model-a', output: [] });
const CREATED = { type: 'response.created', sequence_number: 0, response: response('in_progress') };
const DELTA = { type: 'response.output_text.delta', sequence_number: 1, output_index: 0, content_index: 0, item_id: 'm', delta: 'a' };

/** After these events the account sends nothing, and the connection stays open. */
function cancelledAfter(type: string, ...events: readonly JsonObject[]): Script {
  const all = [...events, { type, sequence_number: events.length, response: response('cancelled') }];
  return [replyEvents([...all, DELTA]), { kind: 'stall', at: { events: all.length } }];
}

const PUBLIC_TURN = { model: 'model-a', input: 'hello', stream: true };
const CHAT_TURN = { model: 'model-a', messages: [{ role: 'user', content: 'hello' }], stream: true };

const started = (): Promise<TestGateway> => startGateway({ upstream: { accounts: ['north'] } });

for (const type of ['response.cancelled', 'response.canceled']) {
  test(`[F1.8] after visible output a public stream ends at ${type} with its error event, and a native one ends there`, async () => {
    await using gate = await started();
    gate.upstream.next('north', cancelledAfter(type, CREATED, DELTA));
    const { text } = await gate.send('/v1/responses', { body: PUBLIC_TURN });
    assert.deepEqual(
      eventsOf(text).map(({ data }) => [data.type, data.sequence_number]),
      [
        ['response.created', 0],
        ['response.output_text.delta', 1],
        ['error', 2],
      ],
    );
    gate.upstream.next('north', cancelledAfter(type, CREATED, DELTA));
    const native = await gate.send('/backend-api/agent/responses', { body: turnBody('hello') });
    assert.equal(eventsOf(native.text).at(-1)?.data.type, type);
    assert.deepEqual(
      (await gate.rows()).map(({ outcome }) => outcome),
      ['cut', 'cut'],
    );
  });
}

test('[F1.9] a Chat stream ends with an error, without [DONE]; a collected answer is 502', async () => {
  await using gate = await started();
  gate.upstream.next('north', cancelledAfter('response.cancelled', CREATED, DELTA), cancelledAfter('response.cancelled', CREATED, DELTA));
  const { text } = await gate.send('/v1/chat/completions', { body: CHAT_TURN });
  assert.equal(eventsOf(text).at(-1)?.data.error.code, 'server_error');
  const { status, json } = await gate.send('/v1/responses', { body: { ...PUBLIC_TURN, stream: false } });
  assert.deepEqual([status, json.error.code], [502, 'upstream_error']);
});

test('[Q17] a public websocket gets an error frame and takes the next turn; a native one is closed as after any reply that breaks off', async () => {
  await using gate = await started();
  using open = await connect(gate, PUBLIC_SOCKET);
  gate.upstream.next('north', cancelledAfter('response.cancelled', CREATED, DELTA));
  const frames = await open.turn(frameOf('hello'));
  assert.deepEqual([frames.at(-1)?.type, frames.at(-1)?.status], ['error', 502]);
  assert.equal(typesOf(await open.turn(frameOf('hello'))).at(-1), 'response.completed');
  using native = await connect(gate, NATIVE_SOCKET);
  gate.upstream.next('north', cancelledAfter('response.cancelled', CREATED, DELTA));
  native.send({ type: 'response.create', ...frameOf('hello') });
  assert.equal((await native.closed).code, 1011);
});

test('[Q6] before any output another account answers', async () => {
  await using gate = await startGateway();
  gate.upstream.next('north', cancelledAfter('response.cancelled', CREATED));
  const { status, text } = await gate.send('/v1/responses', { body: PUBLIC_TURN });
  assert.equal(status, 200);
  assert.equal(eventsOf(text).at(-1)?.data, '[DONE]');
  assert.equal(gate.upstream.turns('south').length, 1);
});
