// A client websocket keeps nothing of its turns: connections last for hours, so their memory must not grow with the number of turns.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway } from '../../support/gateway.ts';
import { NATIVE_SOCKET, PUBLIC_SOCKET, turnFrame, userMessage } from '../../support/native-frames.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { connect } from '../../support/websocket.ts';

/** This is more than the number of listeners at which Node warns of a leak. */
const MANY = 12;

test('a connection keeps no listener of its finished turns', async () => {
  const warnings: string[] = [];
  const onWarning = ({ message }: Error): void => void warnings.push(message);
  process.on('warning', onWarning);
  await using gate = await startGateway({ upstream: { accounts: ['north'] } });
  for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
    using socket = await connect(gate, path, { headers: { 'session-id': 'session' } });
    for (let i = 0; i < MANY; i += 1) {
      await socket.turn(turnBody('hello'));
      await socket.turn(turnFrame(`turn-${i}`, [userMessage('hello')]));
      await socket.turn(turnBody('hello', { model: 'no-such-model' }));
      socket.send('no JSON');
      await socket.rest();
    }
  }
  process.off('warning', onWarning);
  assert.deepEqual(warnings, []);
});

test('a connection keeps no listener of frames that were refused during a running turn', async () => {
  const warnings: string[] = [];
  const onWarning = ({ message }: Error): void => void warnings.push(message);
  process.on('warning', onWarning);
  await using gate = await startGateway({ upstream: { accounts: ['north'] } });
  gate.upstream.next('north', 'stall before headers');
  using socket = await connect(gate, NATIVE_SOCKET);
  for (let i = 0; i < 1 + 8 + MANY; i += 1) socket.send({ type: 'response.create', ...turnBody('hello') });
  for (let i = 0; i < MANY; i += 1) assert.equal((await socket.next()).status, 429);
  await gate.upstream.stalled('north');
  gate.upstream.release();
  for (let i = 0; i < 1 + 8; i += 1) assert.equal((await socket.rest()).at(-1)?.type, 'response.completed');
  process.off('warning', onWarning);
  assert.deepEqual(warnings, []);
});
