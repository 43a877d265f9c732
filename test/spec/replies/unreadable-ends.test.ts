// Replies without an end that their client can read: a terminal event that is not JSON or has no response, or no event after a held head.
// The client would fail on it or wait forever, so the gateway breaks the reply off.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startGateway } from '../../support/gateway.ts';
import { frameOf, NATIVE_SOCKET, PUBLIC_SOCKET, typesOf } from '../../support/native-frames.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { replyBytes, replyEvents, turnBody } from '../../support/rehearsal-replies.ts';
import { CHAT, turnOn } from '../../support/turns/turn-paths.ts';
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

describe('[F1.8] a terminal event without a response breaks the reply off', () => {
  const shown = { type: 'response.output_text.delta', sequence_number: 0, output_index: 0, content_index: 0, delta: 'a' };
  const ends = [
    ['response.completed', undefined],
    ['response.completed', null],
    ['response.incomplete', undefined],
  ] as const;

  for (const [type, response] of ends) {
    const end = { type, sequence_number: 1, ...(response === undefined ? {} : { response }) };
    const name = `${type}, ${response === undefined ? 'absent' : 'null'}`;

    test(`${name}: a stream ends with an error, without [DONE]`, async () => {
      await using gate = await startGateway({ upstream: { accounts: ['north'] } });
      for (const path of ['/v1/responses', CHAT]) {
        gate.upstream.next('north', replyEvents([shown, end]));
        const events = eventsOf((await gate.send(path, { body: turnOn(path, 'hello') })).text);
        assert.equal(events.at(-1)?.data.error.code, 'server_error', path);
      }
    });

    test(`${name}: before visible output, and for a client without a stream, it is 502`, async () => {
      await using gate = await startGateway({ upstream: { accounts: ['north'] } });
      for (const path of ['/v1/responses', CHAT]) {
        for (const [stream, events] of [
          [true, [end]],
          [false, [shown, end]],
        ] as const) {
          gate.reset();
          gate.upstream.next('north', replyEvents(events));
          const { status, json } = await gate.send(path, { body: turnOn(path, 'hello', { stream }) });
          assert.deepEqual([status, json.error.code], [502, 'upstream_error'], path);
        }
      }
    });

    test(`${name}: a websocket gets an error frame, a native one after visible output a close`, async () => {
      await using gate = await startGateway({ upstream: { accounts: ['north'] } });
      for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
        gate.upstream.next('north', replyEvents([end]));
        using socket = await connect(gate, path);
        assert.deepEqual((await socket.turn(frameOf('hello'))).at(-1)?.status, 502, path);
      }
      gate.upstream.next('north', replyEvents([shown, end]));
      using socket = await connect(gate, NATIVE_SOCKET);
      socket.send({ type: 'response.create', ...frameOf('hello') });
      assert.equal((await socket.closed).code, 1011);
    });
  }
});
