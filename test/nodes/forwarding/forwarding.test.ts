// A forwarded websocket behaves like a direct one: its limits, its pings, and its end with the key or with either node (Q34, Q28, LI1,
// LI2).
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { decodeClient } from '../../../proxy/nodes/forwarded-client.ts';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { ManualClock } from '../../support/clocks/manual-clock.ts';
import { KEY, NODE_SECRET, startGateway } from '../../support/gateway.ts';
import { turnFrame, typesOf, userMessage } from '../../support/native-frames.ts';
import { startNodes } from '../../support/nodes/nodes.ts';
import { TcpRelay } from '../../support/nodes/tcp-relay.ts';
import { freshDatabase } from '../../support/postgres/postgres.ts';
import { Link } from '../../support/postgres/postgres-link.ts';
import { dropped, interrupted, openSession, QUESTION, SESSION, turnsAndRetries } from '../../support/stages/interrupted-turns.ts';
import { until } from '../../support/until.ts';
import type { TestSocket } from '../../support/websocket.ts';
import { completed, errorOf, forwarded, reasonsOf, unread } from './forwarded.ts';

test('[Q28] frames wait at the owner in order during the running turn of a forwarded websocket, at most eight', async () => {
  await using at = await forwarded();
  const { a, b, socket } = at;
  for (let i = 0; i < 9; i++) socket.send(turnFrame(`more ${i}`, [userMessage(`turn ${i}`)]));
  await until('the refusal', () => (socket.frames.some(({ status }) => status === 429) ? true : undefined));
  a.upstream.release('north');
  for (let i = 0; i < 10; i++) await socket.rest();
  const texts = a.upstream.turns().map(({ json }) => /turn \d/.exec(JSON.stringify(json))?.[0]);
  assert.deepEqual(texts, [undefined, ...Array.from({ length: 8 }, (_, i) => `turn ${i}`)]);
  assert.deepEqual([a.count('websocket_frames_refused'), b.count('websocket_frames_refused')], [1, 0]);
});

test('[Q34] [RB29] [RB31] interrupts and steers of a forwarded websocket reach the response that runs at its owner', async () => {
  const accounts = [{ id: 'north', strict: false, manners: { controlFrames: true } }];
  await using at = await forwarded({ upstream: { accounts } });
  const { a, socket } = at;
  socket.send({ type: 'response.interrupt', response_id: 'resp_other' });
  socket.send({ type: 'response.steer', previous_response_id: 'resp_1', input: [userMessage('also this')] });
  await until('the answers', () => (socket.frames.some(({ type }) => type === 'response.steer.accepted') ? true : undefined));
  assert.ok(socket.frames.some(({ type }) => type === 'response.interrupt.failed'));
  assert.equal(typesOf(await socket.rest()).at(-1), 'response.incomplete');
  assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed', 'the further response');
  a.upstream.next('north', 'stall after 6 events');
  socket.send(turnFrame('t2', [userMessage('write 20 words')]));
  await a.upstream.stalled('north');
  const created = await until('the turn', () => socket.frames.filter(({ type }) => type === 'response.created')[2]);
  socket.send({ type: 'response.interrupt', response_id: String((created.response as JsonObject).id), mode: 'discard_partial_items' });
  const types = typesOf(await socket.rest());
  assert.deepEqual(types.slice(-3), ['response.interrupt.accepted', 'response.output_item.interrupted', 'response.incomplete']);
  assert.equal(a.upstream.turns().length, 2);
  const { turns, retries } = await turnsAndRetries(a);
  assert.equal(turns.filter(({ outcome }) => outcome === 'incomplete').length, 2);
  assert.deepEqual(
    retries.map(({ outcome }) => outcome),
    ['incomplete'],
    'as its turn ended',
  );
});

test('[Q31] numbers of strict schemas keep their digits in a forwarded frame', async () => {
  await using at = await forwarded();
  const { a, socket } = at;
  const bounds = '{"maximum":9223372036854775807}';
  const tool = { type: 'function', name: 'f', strict: true, parameters: { type: 'object', properties: { id: 'BOUNDS' } } };
  const frame = JSON.stringify({ ...turnFrame('t2', [userMessage('hi')]), tools: [tool] });
  socket.send(frame.replace('"BOUNDS"', bounds));
  await completed(a, socket);
  await socket.rest();
  assert.ok(a.upstream.turns().at(-1)?.body.includes(bounds));
});

test('[Q28] malformed JSON on a forwarded websocket gets its error frame after the running turn, and other types are ignored', async () => {
  await using at = await forwarded();
  const { a, b, socket } = at;
  socket.send('{"type": "response.cancel"}');
  socket.send('{"type": "response.create"');
  await completed(a, socket);
  assert.deepEqual(errorOf(await socket.rest()), [400, 'invalid_request']);
  assert.equal(b.count('websocket_frames_ignored'), 1);
  assert.deepEqual(
    (await a.rows()).map(({ status, key_id, account }) => [status, key_id, account]),
    [
      [200, 'ci', 'NORTH'],
      [200, 'ci', null],
      [400, 'ci', null],
    ],
  );
});

for (const [what, code, send] of [
  ['a binary frame', 1003, (socket: TestSocket) => socket.sendBytes(Buffer.from('{}'))],
  ['invalid UTF-8', 1007, (socket: TestSocket) => socket.sendBytes(Buffer.from([0x22, 0xc3, 0x28, 0x22]), { binary: false })],
  ['a frame over the limit', 1009, (socket: TestSocket) => socket.send(turnFrame('t2', [userMessage('x'.repeat(25_000))]))],
] as const) {
  test(`[LI2] [RM4] ${what} closes a forwarded websocket with ${code}, and detaches its turn`, async () => {
    await using at = await forwarded({
      config: (draft) => {
        draft.limits = { request_body_bytes: 20_000 };
      },
    });
    const { a, b, socket } = at;
    send(socket);
    assert.equal((await socket.closed).code, code);
    await until('the turn without its client', () => (a.count('turns_detached') === 2 ? true : undefined));
    const reasons = code === 1009 ? [['max_frame_size_exceeded', 413, 'request_too_large']] : [];
    assert.deepEqual(await reasonsOf(b), reasons);
  });
}

test('[LI1] [RM4] a forwarded websocket is idle when no frame came for the window of the owner, and leaves one row', async () => {
  const clock = new ManualClock(Date.now());
  await using at = await forwarded({
    clocks: { a: clock, b: clock },
    config: (draft) => {
      draft.timeouts.websocket_idle_timeout_ms = 60_000;
    },
  });
  const { a, b, socket } = at;
  await clock.advance(59_000);
  await socket.ping();
  await clock.advance(59_000);
  await socket.ping();
  assert.ok(socket.isOpen, 'a turn runs');
  await completed(a, socket);
  await clock.advance(59_000);
  await socket.ping();
  socket.send(turnFrame('t2', [userMessage('more')]));
  assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
  await clock.advance(59_000);
  await socket.ping();
  await clock.advance(1_000);
  assert.deepEqual(await socket.closed, { code: 1001, reason: 'idle' });
  assert.deepEqual([a.count('websocket_idle_timeouts'), b.count('websocket_idle_timeouts')], [1, 0]);
  await b.flush();
  assert.deepEqual(await reasonsOf(a), [['timeout', 408, 'request_timeout']]);
});

for (const [where, other] of [
  ['b', 'a'],
  ['a', 'b'],
] as const) {
  test(`[Q28] a key that is revoked at ${where} ends the forwarded websocket with 1008 when its running turn has ended`, async () => {
    await using at = await forwarded();
    const { a, socket, nodes } = at;
    await nodes[where].reconfigure((draft) => {
      draft.keys[0].status = 'revoked';
    });
    assert.equal(nodes[other].config.keys[0]?.status, 'active');
    await completed(a, socket);
    assert.equal((await socket.closed).code, 1008);
  });

  test(`[Q28] when ${where} stops, the running turn of a forwarded websocket ends, and the websocket with 1001`, async () => {
    await using at = await forwarded({
      config: (draft) => {
        draft.timeouts.drain_ms = 60_000;
      },
    });
    const { a, b, socket, nodes } = at;
    const stopping = nodes[where].stop();
    if (where === 'b') {
      // The client sends a new turn before that.
      socket.send(turnFrame('t2', [userMessage('more')]));
      await until('the frame', () => (b.count('drain_refused') === 1 ? true : undefined));
    }
    await completed(a, socket);
    if (where === 'b') assert.deepEqual(errorOf(await socket.rest()), [503, 'server_is_overloaded']);
    assert.deepEqual(await socket.closed, { code: 1001, reason: 'the gateway stops' });
    await stopping;
    assert.equal(a.upstream.turns().length, 1);
  });
}

test('[Q28] [Q29] the end of the drain of b ends a forwarded websocket with 1001, and its client can come back for its turn', async () => {
  await using at = await forwarded({
    config: (draft) => {
      draft.timeouts.drain_ms = 0;
    },
  });
  const { a, b, socket } = at;
  const stopping = b.stop();
  assert.deepEqual(await socket.closed, { code: 1001, reason: 'the gateway stops' });
  await stopping;
  assert.deepEqual(
    b.logged.filter((line) => line.includes('turns_cut')),
    [],
    'the turn goes on at a',
  );
  await until('the turn without its client', () => (a.count('turns_detached') === 2 ? true : undefined));
  using again = await openSession(a);
  again.send(turnFrame('t1', QUESTION));
  await completed(a, again);
  assert.equal(a.upstream.turns().length, 1);
});

test('[Q34] a node that stops takes no connections and no clients of other nodes, and leaves no session', async () => {
  await using nodes = await startNodes(['a', 'b'], {
    config: (draft) => {
      draft.timeouts.drain_ms = 60_000;
    },
  });
  const { a, b } = nodes;
  const busy = await interrupted(a, 4);
  const stopping = a.stop();
  await until('a closed listener', () =>
    fetch(`${a.url}/v1/models`).then(
      () => undefined,
      () => true,
    ),
  );
  using socket = await openSession(b);
  socket.send(turnFrame('t1', QUESTION));
  assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
  assert.deepEqual([b.count('websockets_forwarded'), a.count('hops_refused')], [0, 0]);
  b.upstream.release('north');
  await busy.closed;
  await stopping;
  const owners = (await nodes.owned()).map(({ owner }) => owner.split('/')[0]);
  assert.deepEqual(owners, ['b']);
});

test('[Q34] a forwarded client that does not read makes both nodes hold a bounded part of its reply, and gets all of it in the end', async () => {
  await using at = await forwarded();
  const { a, b, socket } = at;
  await completed(a, socket);
  await unread(at, { type: 'response.completed', response: { id: 'resp_long', status: 'completed', output: [] } });
  const held = [a.heldBytes, b.heldBytes];
  await Promise.all([a.flush(), b.flush()]);
  for (const [i, node] of [a, b].entries()) assert.ok(node.heldBytes <= (held[i] ?? 0) + 2_500_000, `${node.heldBytes} bytes are held`);
  socket.resume();
  const frames = await socket.rest();
  assert.equal(typesOf(frames).filter((type) => type === 'response.output_text.delta').length, 20);
});

test('[S4] [Q34] the secret of a forwarded client is not sent between nodes, and neither are headers that no node reads', async () => {
  await using nodes = await startNodes(['a', 'b']);
  const { a, b } = nodes;
  await dropped(a, await interrupted(a, 4));
  await using network = await TcpRelay.start((await nodes.owned())[0]?.address ?? '');
  await nodes.moveOwners(network.url);
  using socket = await openSession(b, { ...SESSION, cookie: 'a=b', 'x-unread': 'c', 'x-agent-read': 'd' });
  socket.send(turnFrame('t1', QUESTION));
  await completed(a, socket);
  const text = Buffer.concat(network.received).toString('latin1');
  const [, client = ''] = /x-poolgate-client: (\S+)/.exec(text) ?? [];
  const { headers, ...rest } = decodeClient(client) ?? { headers: {} };
  assert.deepEqual(rest, { key: 'ci', pool: 'team', path: '/backend-api/agent/responses', query: '', turn_id: 't1' });
  assert.deepEqual(headers, { ...SESSION, 'x-agent-read': 'd' });
  for (const secret of [KEY, hash('sha256', KEY, 'hex'), NODE_SECRET]) assert.ok(!text.includes(secret));
});

test('[S5] a frame whose client leaves while its owner is looked for leaves a row', async (context) => {
  const direct = await freshDatabase();
  const link = await Link.open(direct);
  context.after(() => link.close());
  await using gate = await startGateway({
    store: link.url(direct),
    upstream: { accounts: ['north'], strict: false },
    config: (draft) => {
      draft.node = { id: 'a', listen: { host: '127.0.0.1', port: 0 }, secret: { env: 'NODE_SECRET' } };
    },
  });
  const socket = await openSession(gate);
  const lookups = (): number => [...link.statements].reduce((sum, [text, count]) => sum + (text.includes('session_owners') ? count : 0), 0);
  const before = lookups();
  // The answer does not arrive, because its connection is cut.
  link.delayMs = 60_000;
  socket.send(turnFrame('t1', QUESTION));
  await until('the look-up', () => lookups() > before || undefined);
  socket.terminate();
  await until('its end', () => (gate.websockets === 0 ? true : undefined));
  link.delayMs = 0;
  link.cut();
  const rows = await until('its row', async () => {
    const found = await gate.rows();
    return found.length > 0 ? found : undefined;
  });
  assert.deepEqual(
    rows.map(({ outcome, key_id }) => [outcome, key_id]),
    [['client_gone', 'ci']],
  );
  assert.equal(gate.upstream.turns().length, 0);
});
