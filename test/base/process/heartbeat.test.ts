// A websocket stays open as long as its peer answers pings, or reads some of the bytes that wait for it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { WebSocket, WebSocketServer } from 'ws';
import { Heartbeat } from '../../../proxy/base/process/heartbeat.ts';
import { unsentBytes } from '../../../proxy/base/process/internals/socket-internals.ts';
import { connectionUnder } from '../../../proxy/base/process/internals/ws-internals.ts';
import { ManualClock } from '../../support/clocks/manual-clock.ts';
import { headOf } from '../../support/network/raw.ts';
import { until } from '../../support/until.ts';

/** The number of bytes that the peer reads at a time; it is more than the system buffers. */
const PIECE = 4 << 20;

test('a peer that reads a large frame for longer than two pings stays connected, and is disconnected when it stops reading', async (context) => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const peer = connect((server.address() as AddressInfo).port, '127.0.0.1');
  context.after(() => {
    peer.destroy();
    server.close();
  });
  const handshake = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  };
  peer.write(headOf('GET', '/', handshake));
  const [socket] = (await once(new WebSocketServer({ server }), 'connection')) as [WebSocket];
  const clock = new ManualClock();
  new Heartbeat(clock).watch(socket);
  socket.send(Buffer.alloc(64 << 20));
  const connection = connectionUnder(socket) as Socket;
  await until('the write', () => unsentBytes(connection) || undefined);
  let taken = 0;
  let goal = 0;
  peer.on('data', (chunk: Buffer) => {
    taken += chunk.length;
    if (taken >= goal) peer.pause();
  });
  for (let i = 0; i < 6; i++) {
    await clock.advance(25_000);
    assert.equal(socket.readyState, socket.OPEN);
    const before = unsentBytes(connection);
    goal = taken + PIECE;
    peer.resume();
    await until('a part', () => (taken >= goal && unsentBytes(connection) < before) || undefined);
  }
  assert.ok(unsentBytes(connection) > 0);
  const closed = once(socket, 'close');
  // The first ping sees the bytes that were read before the pause.
  for (let i = 0; i < 4; i++) await clock.advance(25_000);
  await closed;
});

test('a peer that only answers pings stays connected, and one that answers none is disconnected after two', async (context) => {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  context.after(() => server.close());
  await once(server, 'listening');
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const clock = new ManualClock();
  const heartbeat = new Heartbeat(clock);
  const connected = async (autoPong: boolean): Promise<{ readonly peer: WebSocket; readonly accepted: WebSocket }> => {
    const peer = new WebSocket(url, { autoPong });
    context.after(() => peer.terminate());
    const [[accepted]] = (await Promise.all([once(server, 'connection'), once(peer, 'open')])) as [[WebSocket], unknown];
    heartbeat.watch(accepted);
    return { peer, accepted };
  };
  const answering = await connected(true);
  const silent = await connected(false);
  const closed = once(silent.accepted, 'close');
  for (let i = 0; i < 4; i++) {
    assert.equal(silent.accepted.readyState === WebSocket.OPEN, i < 3);
    const answered = once(answering.accepted, 'pong');
    await clock.advance(25_000);
    await answered;
  }
  await closed;
  assert.equal(answering.accepted.readyState, WebSocket.OPEN);
});
