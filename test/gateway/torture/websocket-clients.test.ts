// Client frames that break off at every byte or arrive in pieces of any size, and clients that leave at every frame of their reply.
import assert from 'node:assert/strict';
import { connect as connectTo, type Socket } from 'node:net';
import { test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { ManualClock } from '../../support/clocks/manual-clock.ts';
import { KEY, startGateway, type TestGateway } from '../../support/gateway.ts';
import { NATIVE_SOCKET, PUBLIC_SOCKET, turnFrame, userMessage } from '../../support/native-frames.ts';
import { replyEvents, turnBody } from '../../support/rehearsal-replies.ts';
import { numbersTo, sampleOf } from '../../support/sample.ts';
import { until } from '../../support/until.ts';
import { connect } from '../../support/websocket.ts';

const MESSAGE = JSON.stringify({ type: 'response.create', model: 'model-a', input: [], stream: true, store: false });
const FRAME = maskedFrame(MESSAGE);
const HEAD_BYTES = FRAME.length - MESSAGE.length;
/** The offsets at which the frame stops or is split, including all of its header. */
const PLACES = sampleOf(numbersTo(FRAME.length), [...numbersTo(HEAD_BYTES + 2), FRAME.length - 1]);

/** A text frame of a client, with a mask that changes nothing (RFC 6455, 5.2). `opcode`: 1 begins a message, 0 continues it. */
function maskedFrame(text: string, { opcode = 1, isLast = true }: { readonly opcode?: number; readonly isLast?: boolean } = {}): Buffer {
  const payload = Buffer.from(text);
  const head = Buffer.from([(isLast ? 0x80 : 0) | opcode, 0x80 | (payload.length < 126 ? payload.length : 126)]);
  const length = Buffer.alloc(payload.length < 126 ? 0 : 2);
  if (length.length > 0) length.writeUInt16BE(payload.length);
  return Buffer.concat([head, length, Buffer.alloc(4), payload]);
}

const headOfUpgrade = (path: string): string =>
  [
    `GET ${path} HTTP/1.1`,
    'host: gateway',
    `authorization: Bearer ${KEY}`,
    'connection: Upgrade',
    'upgrade: websocket',
    'sec-websocket-version: 13',
    'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
    '\r\n',
  ].join('\r\n');

/** A raw connection, and everything that it received, as text. */
interface RawClient {
  readonly socket: Socket;
  received(): string;
}

function rawClient({ url }: TestGateway): RawClient {
  const { hostname, port } = new URL(url);
  const socket = connectTo(Number(port), hostname);
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
  });
  socket.on('error', () => undefined);
  return { socket, received: () => text };
}

const came = (client: RawClient, what: string): Promise<true> => until(what, () => client.received().includes(what) || undefined);
const noneOpen = (gate: TestGateway): Promise<true> => until('the end of every websocket', () => gate.websockets === 0 || undefined);

/**
 * Starts a gateway with memory for only a few frames: if the bytes of a client that left were not released, the last turn would not fit.
 */
async function startTight(): Promise<TestGateway> {
  return startGateway({
    upstream: { accounts: ['north'] },
    config: (draft) => {
      draft.limits = { request_body_bytes: FRAME.length, bodies_in_memory_bytes: 4 * FRAME.length };
    },
  });
}

for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
  test(`a client that is cut inside its frame, at any byte, has no turn and leaves nothing in memory: ${path}`, async () => {
    await using gate = await startTight();
    for (const bytes of PLACES) {
      const client = rawClient(gate);
      client.socket.write(headOfUpgrade(path));
      await came(client, '101 Switching Protocols');
      await new Promise((resolve) => client.socket.write(FRAME.subarray(0, bytes), resolve));
      if (bytes % 2 === 0) client.socket.destroy();
      else client.socket.resetAndDestroy();
    }
    await noneOpen(gate);
    assert.deepEqual([gate.upstream.turns().length, gate.upstream.upgrades().length], [0, 0]);
    assert.deepEqual(
      (await gate.rows()).filter(({ method }) => method === 'WS'),
      [],
    );
    const client = rawClient(gate);
    client.socket.write(headOfUpgrade(path));
    client.socket.write(FRAME);
    await came(client, 'response.completed');
    client.socket.destroy();
    await noneOpen(gate);
  });

  test(`a frame in two pieces is the same turn, wherever it is split, also right after the upgrade: ${path}`, async () => {
    await using gate = await startGateway({ upstream: { accounts: ['north'], strict: false } });
    for (const bytes of PLACES.filter((place) => place > 0)) {
      const client = rawClient(gate);
      client.socket.setNoDelay(true);
      await new Promise((resolve) =>
        client.socket.write(Buffer.concat([Buffer.from(headOfUpgrade(path)), FRAME.subarray(0, bytes)]), resolve),
      );
      if (bytes % 3 === 0) await came(client, '101 Switching Protocols');
      client.socket.write(FRAME.subarray(bytes));
      await came(client, 'response.completed');
      client.socket.destroy();
    }
    const turns = gate.upstream.turns();
    assert.equal(turns.length, PLACES.length - 1);
    for (const { body } of turns) assert.deepEqual(body, turns[0]?.body);
  });
}

test('a frame with the end of its connection in the same bytes has no turn and leaves nothing in memory', async () => {
  await using gate = await startTight();
  const ends = {
    'a close frame': Buffer.from([0x88, 0x80, 0, 0, 0, 0]),
    'a binary frame': maskedFrame('', { opcode: 2 }),
    'a frame with reserved bits': Buffer.from([0xf1, 0x80, 0, 0, 0, 0]),
    'a frame without a mask': Buffer.from([0x81, 0]),
  };
  for (const [what, end] of Object.entries(ends)) {
    const client = rawClient(gate);
    client.socket.write(headOfUpgrade(NATIVE_SOCKET));
    await came(client, '101 Switching Protocols');
    client.socket.write(Buffer.concat([FRAME, end]));
    await until(`the answer to ${what}`, () => client.received().includes('\x88') || undefined);
    client.socket.end();
    await noneOpen(gate);
  }
  assert.deepEqual([gate.upstream.turns().length, gate.upstream.upgrades().length], [0, 0]);
  assert.deepEqual(
    (await gate.rows()).filter(({ method }) => method === 'WS'),
    [],
  );
  using socket = await connect(gate, NATIVE_SOCKET);
  assert.equal((await socket.turn(JSON.parse(MESSAGE) as JsonObject)).at(-1)?.type, 'response.completed');
});

test('a message in fragments is one turn, with pings between them', async () => {
  await using gate = await startGateway({ upstream: { accounts: ['north'], strict: false } });
  const ping = Buffer.from([0x89, 0x80, 0, 0, 0, 0]);
  for (const size of [1, 2, 3, 7, 64]) {
    const client = rawClient(gate);
    client.socket.write(headOfUpgrade(NATIVE_SOCKET));
    for (let at = 0; at < MESSAGE.length; at += size) {
      client.socket.write(maskedFrame(MESSAGE.slice(at, at + size), { opcode: at === 0 ? 1 : 0, isLast: at + size >= MESSAGE.length }));
      // ws ends a client that sends dozens of pings before the first pong.
      if (at % 8 === 0) client.socket.write(ping);
    }
    await came(client, 'response.completed');
    client.socket.destroy();
  }
  const turns = gate.upstream.turns();
  assert.equal(turns.length, 5);
  for (const { json } of turns) assert.deepEqual(json, turns[0]?.json);
});

test('a client that sends a frame for longer than two pings stays connected while its bytes arrive, and is disconnected when none do', async () => {
  const clock = new ManualClock();
  await using gate = await startGateway({ clock, upstream: { accounts: ['north'], strict: false } });
  const client = rawClient(gate);
  client.socket.write(headOfUpgrade(NATIVE_SOCKET));
  await came(client, '101 Switching Protocols');
  const piece = Math.ceil(FRAME.length / 5);
  for (let end = piece; end < FRAME.length; end += piece) {
    client.socket.write(FRAME.subarray(end - piece, end));
    await until('the piece', () => gate.bodyBytes === end || undefined);
    await clock.advance(25_000);
  }
  client.socket.write(FRAME.subarray(Math.floor((FRAME.length - 1) / piece) * piece));
  await came(client, 'response.completed');
  for (let i = 0; i < 4; i += 1) await clock.advance(25_000);
  await noneOpen(gate);
  client.socket.destroy();
});

test('pings do not count as bodies that are being received', async () => {
  await using gate = await startTight();
  using socket = await connect(gate, NATIVE_SOCKET);
  for (const _ of FRAME) await socket.ping();
  assert.equal(gate.count('bodies_guard_refused'), 0);
  assert.equal((await socket.turn(JSON.parse(MESSAGE) as JsonObject)).at(-1)?.type, 'response.completed');
});

test('a client that leaves at any frame of its reply ends its turn where it cannot come back, once', async () => {
  await using gate = await startGateway({ upstream: { accounts: ['north'] } });
  const events = [
    { type: 'response.created', response: {} },
    { type: 'response.output_text.delta', delta: 'a' },
    { type: 'response.output_text.delta', delta: 'b' },
    { type: 'response.completed', response: { id: 'r', status: 'completed' } },
  ];
  let turns = 0;
  for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
    for (let frames = 2; frames < events.length; frames += 1) {
      gate.upstream.clear();
      const socket = await connect(gate, path);
      gate.upstream.next('north', [replyEvents(events), { kind: 'stall', at: { events: frames } }]);
      socket.send({ type: 'response.create', ...turnBody('hello') });
      do {} while ((await socket.next()).delta !== (frames === 2 ? 'a' : 'b'));
      socket.terminate();
      assert.equal(await gate.upstream.turns()[0]?.closed, 'left');
      assert.equal(gate.upstream.turns().length, 1);
      turns += 1;
    }
  }
  await noneOpen(gate);
  const rows = (await gate.rows()).filter(({ method }) => method === 'WS');
  assert.deepEqual(
    rows.map(({ status, account }) => [status, account]),
    Array.from({ length: turns }, () => [499, 'NORTH']),
  );
});

test('a client that stops reading and dies leaves no bytes held, with a turn that it could come back for and without', async () => {
  await using gate = await startGateway({
    upstream: { accounts: ['north'] },
    config: (draft) => {
      draft.limits = { websocket_resume_bytes: 65_536 };
    },
  });
  const long = [
    { type: 'response.created', response: {} },
    ...Array.from({ length: 400 }, () => ({ type: 'response.output_text.delta', delta: 'x'.repeat(65_536) })),
    { type: 'response.completed', response: { id: 'r', status: 'completed' } },
  ];
  for (const frame of [{ type: 'response.create', ...turnBody('hello') }, turnFrame('turn', [userMessage('hello')])]) {
    gate.upstream.clear();
    gate.upstream.next('north', replyEvents(long));
    const socket = await connect(gate, NATIVE_SOCKET, { headers: { 'session-id': 'session' } });
    socket.pause();
    socket.send(frame);
    await until('a held reply', () => gate.heldBytes > 1_048_576 || undefined);
    assert.ok(gate.heldBytes <= 2 * 1_048_576, `${gate.heldBytes} bytes are held`);
    socket.terminate();
    await noneOpen(gate);
    assert.equal(gate.heldBytes, 0);
    assert.equal(await gate.upstream.turns()[0]?.closed, 'left');
    await gate.upstream.sockets('north', 0);
  }
});
