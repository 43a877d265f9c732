// A large frame of a websocket is parsed in parts, in the order of its connection (Q38).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { startGateway } from '../../support/gateway.ts';
import { frameOf, NATIVE_SOCKET, typesOf, userMessage } from '../../support/native-frames.ts';
import { connect } from '../../support/websocket.ts';

test('[Q38] a frame of 8 MiB is dispatched whole, and the frame behind it after it', async () => {
  await using gate = await startGateway({ upstream: { accounts: ['north'] } });
  using socket = await connect(gate, NATIVE_SOCKET);
  const input = Array.from({ length: 8 }, () => userMessage('x'.repeat(1_048_576)));
  socket.send({ type: 'response.create', ...frameOf('hi'), input });
  socket.send({ type: 'response.create', ...frameOf('second') });
  for (let i = 0; i < 2; i++) assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
  const [first, second] = gate.upstream.turns();
  const inputOf = (turn: typeof first): unknown => (turn?.json as JsonObject | undefined)?.input;
  assert.equal(JSON.stringify(inputOf(first)), JSON.stringify(input));
  assert.deepEqual(inputOf(second), frameOf('second').input);
  assert.equal(gate.bodyBytes, 0);
});

test('[Q38] large frames with malformed JSON, too many values and too deep ones are answered as small ones are', async () => {
  await using gate = await startGateway({ upstream: { accounts: ['north'] } });
  using socket = await connect(gate, NATIVE_SOCKET);
  const padding = 'x'.repeat(3_000_000);
  for (const [text, status] of [
    [`{"type":"response.create","a":"${padding}",}`, 400],
    [`{"type":"response.create","a":"${padding}","b":[${'0,'.repeat(1_000_001)}0]}`, 413],
    [`{"type":"response.create","a":"${padding}","b":${'['.repeat(200)}${']'.repeat(200)}}`, 400],
  ] as const) {
    socket.send(text);
    assert.equal((await socket.next()).status, status);
  }
  assert.equal(typesOf(await socket.turn(frameOf('hi'))).at(-1), 'response.completed');
  assert.equal(gate.upstream.turns().length, 1);
});
