// Limits of client websockets, and how a connection ends (LI1, LI2, RM4).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { ManualClock } from '../../support/clocks/manual-clock.ts';
import { type Draft, startGateway, type TestGateway } from '../../support/gateway.ts';
import { frameOf, NATIVE_SOCKET, PUBLIC_SOCKET, typesOf } from '../../support/native-frames.ts';
import { headOf, RawClient } from '../../support/network/raw.ts';
import { until } from '../../support/until.ts';
import { connect, type TestSocket } from '../../support/websocket.ts';

const SOCKETS = [NATIVE_SOCKET, PUBLIC_SOCKET];

const started = (config: (draft: Draft) => void = () => undefined): Promise<TestGateway> =>
  startGateway({ upstream: { accounts: ['north'] }, config });

const HANDSHAKE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

/** The head of a text frame, with a mask that changes nothing (RFC 6455, 5.2). */
function headOfFrame(bytes: number): Buffer {
  const head = Buffer.alloc(14);
  head.set([0x81, 0xff]);
  head.writeBigUInt64BE(BigInt(bytes), 2);
  return head;
}

const reasonsOf = async (gate: TestGateway): Promise<readonly unknown[]> =>
  (await gate.rows()).flatMap(({ reason_class, status, code, outcome }) => (reason_class ? [[reason_class, status, code, outcome]] : []));

const withIdleWindow = (clock: ManualClock, idle_ms: number): Promise<TestGateway> =>
  startGateway({
    clock,
    upstream: { accounts: ['north'] },
    config: (draft) => {
      draft.timeouts.websocket_idle_timeout_ms = idle_ms;
    },
  });

/** Makes a round trip; after it the gateway has read everything that the socket sent before. */
async function settled(socket: TestSocket): Promise<void> {
  await socket.ping();
}

for (const path of SOCKETS) {
  test(`[LI1] [RM4] ${path} is closed when no frame came for the window; pings do not count as frames, and a running turn does not count as idle`, async () => {
    const clock = new ManualClock();
    await using gate = await withIdleWindow(clock, 60_000);
    using socket = await connect(gate, path);
    await clock.advance(59_000);
    await settled(socket);
    gate.upstream.next('north', 'stall after 3 events');
    socket.send({ type: 'response.create', ...frameOf('hi') });
    await gate.upstream.stalled('north');
    await clock.advance(59_000);
    await settled(socket);
    await clock.advance(59_000);
    await settled(socket);
    assert.ok(socket.isOpen, 'a turn runs');
    gate.upstream.release('north');
    assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
    await clock.advance(59_000);
    await settled(socket);
    assert.ok(socket.isOpen, 'the turn ended within the window');
    await clock.advance(1_000);
    assert.equal((await socket.closed).code, 1001);
    assert.equal(gate.count('websocket_idle_timeouts'), 1);
    assert.deepEqual(await reasonsOf(gate), [['timeout', 408, 'request_timeout', 'refused']]);
  });

  test(`[LI1] a new window applies only to new upgrades of ${path}`, async () => {
    const clock = new ManualClock();
    await using gate = await withIdleWindow(clock, 120_000);
    using old = await connect(gate, path);
    await gate.reconfigure((draft) => {
      draft.timeouts.websocket_idle_timeout_ms = 60_000;
    });
    using fresh = await connect(gate, path);
    await clock.advance(60_000);
    assert.equal((await fresh.closed).code, 1001);
    await settled(old);
    await clock.advance(60_000);
    assert.equal((await old.closed).code, 1001);
  });

  test(`[LI2] [RM4] a frame over the body limit closes ${path} with 1009, and leaves a row with its reason`, async () => {
    await using gate = await started((draft) => {
      draft.limits = { request_body_bytes: 20_000 };
    });
    using socket = await connect(gate, path);
    assert.equal(typesOf(await socket.turn(frameOf('x'.repeat(15_000)))).at(-1), 'response.completed');
    socket.send({ type: 'response.create', ...frameOf('x'.repeat(25_000)) });
    assert.equal((await socket.closed).code, 1009);
    assert.equal(gate.upstream.turns().length, 1);
    assert.equal(gate.count('websocket_frames_too_large'), 1);
    assert.deepEqual(await reasonsOf(gate), [['max_frame_size_exceeded', 413, 'request_too_large', 'refused']]);
  });

  test(`a binary frame closes ${path} with 1003, invalid UTF-8 with 1007`, async () => {
    await using gate = await started();
    using binary = await connect(gate, path);
    binary.sendBytes(Buffer.from('{"type":"response.create"}'));
    assert.equal((await binary.closed).code, 1003);
    using garbled = await connect(gate, path);
    garbled.sendBytes(Buffer.from([0x22, 0xc3, 0x28, 0x22]), { binary: false });
    assert.equal((await garbled.closed).code, 1007);
    assert.equal(gate.count('websocket_frames_invalid'), 2);
  });

  test(`frames wait in order during a running turn of ${path}, at most eight`, async () => {
    await using gate = await started();
    gate.upstream.next('north', 'stall before headers');
    using socket = await connect(gate, path);
    for (let i = 0; i < 10; i++) socket.send({ type: 'response.create', ...frameOf(`turn ${i}`) });
    const refused = (await socket.next()) as { status: number; error: JsonObject };
    assert.deepEqual([refused.status, refused.error.code, refused.error.type], [429, 'rate_limit_exceeded', 'rate_limit_error']);
    await gate.upstream.stalled('north');
    gate.upstream.release('north');
    for (let i = 0; i < 9; i++) assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
    const texts = gate.upstream.turns().map(({ json }) => /turn \d/.exec(JSON.stringify(json))?.[0]);
    assert.deepEqual(
      texts,
      Array.from({ length: 9 }, (_, i) => `turn ${i}`),
    );
    assert.equal(gate.count('websocket_frames_refused'), 1);
    assert.equal((await gate.rows()).filter(({ code }) => code === 'rate_limit_exceeded').length, 1);
  });

  test(`a waiting frame of ${path} that is not a turn is ignored, and one that is not JSON is refused in its order`, async () => {
    await using gate = await started();
    gate.upstream.next('north', 'stall before headers');
    using socket = await connect(gate, path);
    socket.send({ type: 'response.create', ...frameOf('first') });
    socket.send('{"type":"response.create","type":"session.update"}');
    socket.send('{"type":"session.update"}');
    socket.send('{"type":"response.create",');
    socket.send({ ...frameOf('last'), type: 'response.create' });
    await gate.upstream.stalled('north');
    gate.upstream.release('north');
    assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
    const refused = (await socket.next()) as { status: number; error: JsonObject };
    assert.deepEqual([refused.status, refused.error.code], [400, 'invalid_request']);
    assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
    assert.deepEqual([gate.count('websocket_frames_ignored'), gate.upstream.turns().length], [2, 2]);
  });

  for (const leaves of [false, true]) {
    const end = leaves ? 'when their client leaves' : 'when their turns begin';
    test(`[Q4] frames that wait during a running turn of ${path} count as bodies in memory, and are released ${end}`, async () => {
      await using gate = await started((draft) => {
        draft.limits = { bodies_in_memory_bytes: 80_000 };
      });
      const large = { type: 'response.create', ...frameOf('x'.repeat(30_000)) };
      gate.upstream.next('north', 'stall before headers');
      using socket = await connect(gate, path);
      for (let i = 0; i < 3; i++) {
        socket.send(large);
        await settled(socket);
      }
      await gate.upstream.stalled('north');
      using other = await connect(gate, path);
      other.send(large);
      assert.equal((await other.closed).code, 1013, 'an arriving frame has no room beside the two that wait');
      if (leaves) {
        socket.terminate();
        await socket.closed;
        await until('the end of the websocket', () => gate.websockets === 0 || undefined);
      }
      gate.upstream.release('north');
      if (!leaves) for (let i = 0; i < 3; i++) assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
      assert.equal(gate.count('bodies_guard_refused'), 1);
      using last = await connect(gate, path);
      assert.equal(typesOf(await last.turn(frameOf('x'.repeat(75_000)))).at(-1), 'response.completed', 'nothing is held any more');
    });
  }

  test(`[Q4] no more of a frame of ${path} is kept once there is no room: the connection ends while its client still sends`, async () => {
    await using gate = await started((draft) => {
      draft.limits = { bodies_in_memory_bytes: 80_000 };
    });
    using client = await RawClient.connect(gate.url);
    client.write(headOf('GET', path, HANDSHAKE));
    assert.equal((await client.answer()).status, 101);
    client.write(headOfFrame(10_000_000));
    for (let pieces = 0; pieces < 20; pieces++) client.write(Buffer.alloc(100_000, ' '));
    const closing = Buffer.from(await client.ended(), 'latin1');
    assert.deepEqual([closing[0], closing.readUInt16BE(2)], [0x88, 1013]);
    client.write(Buffer.alloc(100_000, ' '));
    await until('a connection of which nothing more is counted', () => gate.count('bodies_guard_refused') === 1 || undefined);
    client.close();
    await until('the end of the websocket', () => (gate.websockets === 0 && gate.bodyBytes === 0) || undefined);
    assert.equal(gate.count('bodies_guard_refused'), 1);
  });

  test(`[Q4] a frame on ${path} without room to wait gets an error frame 503, and the connection stays open`, async () => {
    await using gate = await started((draft) => {
      draft.limits = { bodies_in_memory_bytes: 50_000 };
    });
    using first = await connect(gate, path);
    using second = await connect(gate, path);
    for (const socket of [first, second]) {
      gate.upstream.next('north', 'stall before headers');
      socket.send({ type: 'response.create', ...frameOf('hi') });
    }
    await gate.upstream.stalled('north', 2);
    // Both frames fit when they arrive, because they arrive in one turn of the event loop, before either waits.
    for (const socket of [first, second]) socket.send({ type: 'response.create', ...frameOf('x'.repeat(30_000)) });
    const refused = (await second.next()) as { status: number; error: JsonObject };
    assert.deepEqual([refused.status, refused.error.code], [503, 'server_is_overloaded']);
    gate.upstream.release('north');
    assert.equal(typesOf(await second.rest()).at(-1), 'response.completed');
    for (let i = 0; i < 2; i++) assert.equal(typesOf(await first.rest()).at(-1), 'response.completed');
    assert.deepEqual([gate.count('bodies_guard_refused'), gate.count('websocket_frames_refused')], [1, 0]);
  });

  test(`a paused key ends ${path} with 1008 when its running turn has ended`, async () => {
    await using gate = await started();
    gate.upstream.next('north', 'stall after 3 events');
    using busy = await connect(gate, path);
    using idle = await connect(gate, path);
    busy.send({ type: 'response.create', ...frameOf('hi') });
    await gate.upstream.stalled('north');
    await gate.reconfigure((draft) => {
      draft.keys[0].status = 'paused';
    });
    assert.deepEqual(await idle.closed, { code: 1008, reason: 'the key cannot be used any more' });
    gate.upstream.release('north');
    assert.equal(typesOf(await busy.rest()).at(-1), 'response.completed');
    assert.equal((await busy.closed).code, 1008);
  });

  test(`[Q28] a key that is paused and resumed during a turn of ${path} keeps its websocket`, async () => {
    await using gate = await started();
    gate.upstream.next('north', 'stall after 3 events');
    using busy = await connect(gate, path);
    busy.send({ type: 'response.create', ...frameOf('hi') });
    await gate.upstream.stalled('north');
    for (const status of ['paused', 'active'])
      await gate.reconfigure((draft) => {
        draft.keys[0].status = status;
      });
    gate.upstream.release('north');
    assert.equal(typesOf(await busy.rest()).at(-1), 'response.completed');
    assert.equal(typesOf(await busy.turn(frameOf('again'))).at(-1), 'response.completed');
  });

  for (const [what, routes] of [
    ['is taken out of the table', []],
    ['is marked unsupported', [{ WS: path, status: 'unsupported' }]],
  ] as const) {
    test(`[S8] a row of ${path} that ${what} ends its websockets with 1008, and the reason is not the key`, async () => {
      await using gate = await started();
      using socket = await connect(gate, path);
      await gate.reconfigure((draft) => {
        draft.routes = [{ GET: '/v1/models', status: 'supported', serve: 'models' }, ...routes];
      });
      assert.deepEqual(await socket.closed, { code: 1008, reason: 'this endpoint is not served any more' });
    });
  }

  test(`a key that expires while ${path} is open gets an error frame, then 1008`, async () => {
    const clock = new ManualClock();
    await using gate = await startGateway({
      clock,
      upstream: { accounts: ['north'] },
      config: (draft) => {
        draft.keys[0].expires_at = new Date(clock.now() + 10_000).toISOString();
      },
    });
    using socket = await connect(gate, path);
    await socket.turn(frameOf('hi'));
    await clock.advance(10_000);
    const [refused] = (await socket.turn(frameOf('hi'))) as { status: number; error: JsonObject }[];
    assert.deepEqual([refused?.status, refused?.error.code], [401, 'api_key_expired']);
    assert.equal((await socket.closed).code, 1008);
  });

  test(`a gateway that stops waits for the running turn of ${path}, and closes with 1001`, async () => {
    await using gate = await started((draft) => {
      draft.timeouts.drain_ms = 60_000;
    });
    gate.upstream.next('north', 'stall after 3 events');
    using busy = await connect(gate, path);
    using idle = await connect(gate, path);
    busy.send({ type: 'response.create', ...frameOf('hi') });
    await gate.upstream.stalled('north');
    busy.send({ type: 'response.create', ...frameOf('waits') });
    await settled(busy);
    const stopping = gate.stop();
    assert.equal((await idle.closed).code, 1001);
    gate.upstream.release('north');
    const frames = await busy.rest();
    assert.equal(typesOf(frames).at(-1), 'response.completed');
    const [refused] = (await busy.rest()) as { status: number; error: JsonObject }[];
    assert.deepEqual([refused?.status, refused?.error.code], [503, 'server_is_overloaded'], 'the turn that waited');
    assert.equal((await busy.closed).code, 1001);
    await stopping;
  });
}

test('an invalid websocket handshake is refused in the shape of the error table', async () => {
  await using gate = await started();
  for (const headers of [{ 'sec-websocket-version': '12' }, { 'sec-websocket-key': 'short' }]) {
    using client = await RawClient.connect(gate.url);
    client.write(headOf('GET', NATIVE_SOCKET, { ...HANDSHAKE, ...headers }));
    const { status, json, headers: told } = await client.answer();
    assert.deepEqual([status, json.error.code, told['sec-websocket-version']], [400, 'invalid_request', '13']);
  }
});

test('permessage-deflate, which native clients offer, is not accepted', async () => {
  await using gate = await started();
  using socket = await connect(gate, NATIVE_SOCKET, { offersCompression: true });
  assert.equal(socket.headers['sec-websocket-extensions'], undefined);
});

test('a websocket whose peer leaves two pings unanswered ends', async () => {
  const clock = new ManualClock();
  await using gate = await startGateway({ clock, upstream: { accounts: ['north'] } });
  using dead = await connect(gate, NATIVE_SOCKET, { answersPings: false });
  using alive = await connect(gate, NATIVE_SOCKET);
  for (let i = 1; i <= 3; i++) {
    await clock.advance(25_000);
    if (i < 3) await until('the ping', () => (alive.pings >= i ? true : undefined));
    await settled(alive);
  }
  assert.equal((await dead.closed).code, 1006);
  await settled(alive);
  assert.ok(alive.isOpen);
});

test('a client that does not read makes the gateway hold a bounded part of its reply, and gets all of it in the end', async () => {
  await using gate = await started();
  const words = 'word '.repeat(400_000);
  gate.upstream.next('north', {
    kind: 'reply',
    status: 200,
    headers: {},
    body: {
      events: [
        { type: 'response.created', response: { id: 'resp_long' } },
        ...Array.from({ length: 20 }, (_, i) => ({ type: 'response.output_text.delta', output_index: 0, delta: `${i} ${words}` })),
        { type: 'response.completed', response: { id: 'resp_long', status: 'completed', output: [] } },
      ],
    },
  });
  using socket = await connect(gate, NATIVE_SOCKET);
  socket.pause();
  socket.send({ type: 'response.create', ...frameOf('hi') });
  await until('a held reply', () => (gate.heldBytes > 1_048_576 ? true : undefined));
  const held = gate.heldBytes;
  await gate.flush();
  assert.ok(gate.heldBytes <= held + 2_500_000, `${gate.heldBytes} bytes are held`);
  socket.resume();
  const frames = await socket.rest();
  assert.equal(typesOf(frames).filter((type) => type === 'response.output_text.delta').length, 20);
});
