// The owner of a session does not answer, was replaced by another process, or dies while it serves a forwarded client (Q34).
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { WebSocketServer } from 'ws';
import { ManualClock } from '../../support/clocks/manual-clock.ts';
import { NODE_SECRET, type TestGateway } from '../../support/gateway.ts';
import { turnFrame, typesOf } from '../../support/native-frames.ts';
import { startNodes } from '../../support/nodes/nodes.ts';
import { TcpRelay } from '../../support/nodes/tcp-relay.ts';
import {
  dropped,
  interrupted,
  openSession,
  QUESTION,
  scriptOf,
  turnsAndRetries,
  wholeTurn,
} from '../../support/stages/interrupted-turns.ts';
import { until } from '../../support/until.ts';
import type { TestSocket } from '../../support/websocket.ts';

/** A port without a listener. */
const NOWHERE = 'http://127.0.0.1:1';

async function replayed(gate: TestGateway, frames = 5): Promise<TestSocket> {
  const socket = await openSession(gate);
  socket.send(turnFrame('t1', QUESTION));
  await until('the replay', () => (socket.frames.length >= frames ? true : undefined));
  return socket;
}

/** Asserts that this node serves the retry as a new turn. */
async function servedHere(gate: TestGateway, socket: TestSocket): Promise<void> {
  assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
  assert.deepEqual([gate.upstream.turns().length, gate.count('websockets_forwarded')], [2, 0]);
}

/** Puts the server in the place of the owner `a` of a session, and asserts that `b` serves the client's retry itself. */
async function servedInPlaceOf(server: Server, nodes: Awaited<ReturnType<typeof startNodes<'a' | 'b'>>>): Promise<void> {
  const { a, b } = nodes;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  await dropped(a, await interrupted(a, 4));
  await nodes.moveOwners(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  using socket = await openSession(b);
  socket.send(turnFrame('t1', QUESTION));
  await servedHere(b, socket);
}

test('[Q34] an owner that cannot be reached: the retry is a turn of the node where it arrives, which then owns the session', async () => {
  await using nodes = await startNodes(['a', 'b']);
  const { a, b } = nodes;
  await dropped(a, await interrupted(a, 4));
  await nodes.moveOwners(NOWHERE);
  using socket = await openSession(b);
  socket.send(turnFrame('t1', QUESTION));
  await servedHere(b, socket);
  assert.match((await nodes.owned())[0]?.owner ?? '', /^b\//);
});

test('[Q34] an owner that accepts the connection and does not answer counts as dead after 2 s', async () => {
  const clock = new ManualClock(Date.now());
  await using nodes = await startNodes(['a', 'b'], { clocks: { b: clock } });
  const { a, b } = nodes;
  await using silent = await TcpRelay.start();
  await dropped(a, await interrupted(a, 4));
  await nodes.moveOwners(silent.url);
  using socket = await openSession(b);
  socket.send(turnFrame('t1', QUESTION));
  await until('the connection to the owner', () => (silent.accepted === 1 ? true : undefined));
  await clock.advance(1_999);
  assert.equal(b.count('owners_silent'), 0);
  await clock.advance(1);
  await servedHere(b, socket);
  assert.equal(b.count('owners_silent'), 1);
  await until('the end of that connection', () => (silent.open === 0 ? true : undefined));
});

test('[Q34] another process at the address of an owner is not mistaken for it', async () => {
  await using nodes = await startNodes(['a', 'b', 'c']);
  const { a, b, c } = nodes;
  await dropped(a, await interrupted(a, 4));
  using other = await openSession(c, { 'x-agent-window-id': 'thread-2:0' });
  other.send(turnFrame('t1', QUESTION));
  await other.rest();
  const address = (await nodes.owned()).find(({ owner }) => owner.startsWith('c/'))?.address ?? '';
  await nodes.moveOwners(address);
  using socket = await openSession(b);
  socket.send(turnFrame('t1', QUESTION));
  assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
  assert.deepEqual([b.count('websockets_forwarded'), c.count('websockets_taken_over'), c.count('hops_refused')], [0, 0, 0]);
});

test('[Q34] a process without the secret that accepts the client gets no frame of it', async () => {
  await using nodes = await startNodes(['a', 'b']);
  const server = createServer();
  const impostor = new WebSocketServer({ server });
  let messages = 0;
  impostor.on('connection', (ws) => ws.on('message', () => (messages += 1)));
  await servedInPlaceOf(server, nodes);
  assert.equal(messages, 0);
  server.close();
});

test('[Q34] an owner that refuses the signature is not asked again, and the log names the settings to check', async () => {
  await using nodes = await startNodes(['a', 'b']);
  const { b } = nodes;
  const refusing = createServer();
  let asked = 0;
  refusing.on('upgrade', (_request, socket) => {
    asked += 1;
    socket.end('HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n');
  });
  await servedInPlaceOf(refusing, nodes);
  assert.deepEqual([asked, b.logged.filter((line) => line.includes('owner_refused')).length], [1, 1]);
  assert.ok(!b.logged.join('\n').includes(NODE_SECRET));
  refusing.close();
});

test('[Q34] an owner that dies while it serves a forwarded client: the connection ends with 1011, and the client may come back', async () => {
  await using nodes = await startNodes(['a', 'b']);
  const { a, b } = nodes;
  await dropped(a, await interrupted(a, 4));
  const [owned] = await nodes.owned();
  await using network = await TcpRelay.start(owned?.address ?? '');
  await nodes.moveOwners(network.url);
  const first = await replayed(b);
  network.cut();
  assert.deepEqual(await first.closed, { code: 1011, reason: 'the reply broke off' });
  await until('the turn without its client', () => (a.count('turns_detached') === 2 ? true : undefined));
  using socket = await replayed(b);
  a.upstream.release('north');
  assert.deepEqual(typesOf(await socket.rest()), wholeTurn);
  const { turns, retries } = await turnsAndRetries(a);
  assert.deepEqual([a.upstream.turns().length, turns.length], [1, 1]);
  assert.deepEqual(
    retries.map(({ status }) => status),
    [499, 200],
  );
});

test('[Q34] an owner that stops answering pings is dead: the client is disconnected after the third one', async () => {
  const clock = new ManualClock(Date.now());
  await using nodes = await startNodes(['a', 'b'], { clocks: { b: clock } });
  const { a, b } = nodes;
  await dropped(a, await interrupted(a, 4));
  const [owned] = await nodes.owned();
  await using network = await TcpRelay.start(owned?.address ?? '');
  await nodes.moveOwners(network.url);
  using socket = await replayed(b);
  network.freeze();
  for (let unanswered = 1; unanswered <= 2; unanswered++) {
    await clock.advance(25_000);
    await socket.ping();
  }
  await clock.advance(25_000);
  assert.equal((await socket.closed).code, 1011);
});

test('[Q34] a node that was paused has lost its session: it ends the turn that its client has at another node, and forwards the client there', async () => {
  const clock = new ManualClock(Date.now());
  await using nodes = await startNodes(['a', 'b'], { clocks: { a: clock } });
  const { a, b } = nodes;
  await dropped(a, await interrupted(a, 4));
  await nodes.moveOwners(NOWHERE);
  a.upstream.next('north', scriptOf(2, 4));
  const socket = await openSession(b);
  socket.send(turnFrame('t1', QUESTION));
  await a.upstream.stalled('north', 2);
  await dropped(b, socket);
  // The client reaches the paused node before that node has renewed anything.
  using back = await openSession(a);
  back.send(turnFrame('t1', QUESTION));
  await until('the turn to be rejoined', () => (b.count('turns_resumed') === 1 ? true : undefined));
  assert.deepEqual([a.count('sessions_lost'), a.count('turns_resumed'), a.count('websockets_forwarded')], [1, 0, 1]);
  await until('the row of its own turn', async () => ((await a.rows()).length === 1 ? true : undefined));
  a.upstream.release('north');
  assert.deepEqual(typesOf(await back.rest()), wholeTurn);
  assert.deepEqual(
    (await b.rows()).map(({ outcome, account }) => [outcome, account]),
    [
      ['client_gone', 'NORTH'],
      ['completed', 'NORTH'],
      ['completed', null],
    ],
  );
});

test('[Q34] a node that was paused finds out with its next renewal, and ends the turns that it must not resume', async () => {
  const clock = new ManualClock(Date.now());
  await using nodes = await startNodes(['a', 'b'], { clocks: { a: clock } });
  const { a, b } = nodes;
  await dropped(a, await interrupted(a, 4));
  await nodes.moveOwners(NOWHERE);
  using socket = await openSession(b);
  socket.send(turnFrame('t1', QUESTION));
  await servedHere(b, socket);
  assert.equal(a.upstream.socketsOf('north'), 2);
  await clock.advance(15_000);
  await a.upstream.sockets('north', 1);
  assert.equal(a.count('sessions_lost'), 1);
});

for (const [how, answer] of [
  ['fails', () => Promise.reject(new Error('the database is gone'))],
  ['does not answer', () => new Promise<never>(() => undefined)],
] as const) {
  test(`[Q34] while the store ${how} a client can still come back at the node of its turn, and at another one its turn starts again`, async () => {
    const clock = new ManualClock(Date.now());
    await using nodes = await startNodes(['a', 'b'], { clocks: { a: clock, b: clock } });
    const { a, b } = nodes;
    await dropped(a, await interrupted(a, 4));
    for (const node of [a, b]) node.answerSessionClaims(answer);
    using elsewhere = await openSession(b);
    elsewhere.send(turnFrame('t1', QUESTION));
    using socket = await openSession(a);
    socket.send(turnFrame('t1', QUESTION));
    const waited = async (node: TestGateway, name: 'session_claims_failed'): Promise<void> => {
      await until('the claim to be given up', async () => {
        await clock.advance(100);
        return node.count(name) > 0 ? true : undefined;
      });
    };
    await Promise.all([waited(a, 'session_claims_failed'), waited(b, 'session_claims_failed')]);
    await servedHere(b, elsewhere);
    a.upstream.release('north');
    assert.deepEqual(typesOf(await socket.rest()), wholeTurn);
    assert.equal(a.count('turns_resumed'), 1);
  });
}
