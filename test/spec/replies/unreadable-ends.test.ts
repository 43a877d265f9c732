// Replies without an end that their client can read: a terminal event that is not JSON, or no event after a held head. The client would
// wait forever, so the gateway breaks the reply off.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventsOf, startGateway } from '../../support/gateway.ts';
import { frameOf, NATIVE_SOCKET, PUBLIC_SOCKET, typesOf } from '../../support/native-frames.ts';
import { replyBytes, turnBody } from '../../support/rehearsal-replies.ts';
import { connect } from '../../support/websocket.ts';

const DELTA = '{"type":"response.output_text.delta","sequence_number":0,"delta":"a"}';
const END = '{"type":"response.completed","sequence_number":1,"response":{"id":"r",';
const reply = (...events: readonly string[]) => replyBytes(events.map((data) => `data: ${data}\n\n`).join(''));

test('[Q17] on a native websocket it is an error frame, and the connection takes the next turn', async () => {
  await using gate = await startGateway({ upstream: { accounts: ['north'] } });
  using socket = await connect(gate, NATIVE_SOCKET);
  gate.upstream.next('north', replyBytes(END));
  const [frame, ...others] = await socket.turn(frameOf('hello'));
  assert.deepEqual([frame?.type, frame?.status, others.length], ['error', 502, 0]);
  assert.equal(typesOf(await socket.turn(frameOf('hello'))).at(-1), 'response.completed');
});

test('[Q17] one whose type is named twice gets it too: a reader uses the last type, and sees no terminal event', async () => {
  await using gate = await startGateway({ upstream: { accounts: ['north'] } });
  using socket = await connect(gate, NATIVE_SOCKET);
  gate.upstream.next('north', replyBytes('{"type":"response.completed","response":{"id":"r"},"type":"tomorrow"}'));
  const [frame] = await socket.turn(frameOf('hello'));
  assert.deepEqual([frame?.type, frame?.status], ['error', 502]);
});

test('[Q17] a public websocket gets an error frame where its account sends only dropped events for longer than hold_ms, and breaks off', async () => {
  await using gate = await startGateway({
    upstream: { accounts: ['north'] },
    config: (draft) => {
      Object.assign(draft.timeouts, { hold_ms: 20, upstream_idle_ms: 1_000 });
    },
  });
  using socket = await connect(gate, PUBLIC_SOCKET);
  gate.upstream.next('north', 'malformed event 1 + stall after 1 events');
  const [frame, ...others] = await socket.turn(frameOf('hello'));
  assert.deepEqual([frame?.type, frame?.status, others.length], ['error', 502, 0]);
  assert.equal(gate.count('hold_expired'), 1);
  assert.equal(typesOf(await socket.turn(frameOf('hello'))).at(-1), 'response.completed');
});

test('[F1.8] a public stream ends with the error event, without [DONE]; before visible output it is 502', async () => {
  await using gate = await startGateway({ upstream: { accounts: ['north'] } });
  const body = { model: 'model-a', input: 'hello', stream: true };
  gate.upstream.next('north', reply(DELTA, END));
  const { text } = await gate.send('/v1/responses', { body });
  assert.deepEqual(
    eventsOf(text).map(({ data }) => data.type ?? data),
    ['response.output_text.delta', 'error'],
  );
  gate.upstream.next('north', reply(END));
  assert.equal((await gate.send('/v1/responses', { body })).status, 502);
});

test('[F1.9] a Chat stream ends with an error, without [DONE]', async () => {
  await using gate = await startGateway({ upstream: { accounts: ['north'] } });
  gate.upstream.next('north', reply(DELTA, END));
  const body = { model: 'model-a', messages: [{ role: 'user', content: 'hello' }], stream: true };
  const { text } = await gate.send('/v1/chat/completions', { body });
  assert.equal(eventsOf(text).at(-1)?.data.error.code, 'server_error');
});

test('[Q17] a native stream over HTTP passes it as it came: the end of the stream is the end of the reply', async () => {
  await using gate = await startGateway({ upstream: { accounts: ['north'] } });
  const sent = reply(DELTA, END);
  gate.upstream.next('north', sent);
  const { text } = await gate.send('/backend-api/agent/responses', { body: turnBody('hello') });
  assert.equal(text, `data: ${DELTA}\n\ndata: ${END}\n\n`);
});
