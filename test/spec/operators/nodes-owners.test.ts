// A native client that lost its websocket comes back at a node other than the one that has its turn (Q34, F8.4, Q29).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { ManualClock } from '../../support/clocks/manual-clock.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { frameOf, responseId, turnFrame, typesOf, userMessage } from '../../support/native-frames.ts';
import { startNodes } from '../../support/nodes/nodes.ts';
import {
  dropped,
  interrupted,
  items,
  openSession,
  QUESTION,
  scriptOf,
  turnsAndRetries,
  wholeTurn,
} from '../../support/stages/interrupted-turns.ts';
import { until } from '../../support/until.ts';

const counted = (gate: TestGateway, ...names: readonly Parameters<TestGateway['count']>[0][]): readonly number[] =>
  names.map((name) => gate.count(name));

/** The ids of the rows that this node has written. */
const writtenBy = ({ logged }: TestGateway): readonly unknown[] =>
  logged.flatMap((line) => (line.includes('"event":"request"') ? [JSON.parse(line).id] : []));

const endings = async (gate: TestGateway): Promise<unknown> =>
  (await gate.rows()).map(({ status, outcome, account }) => [status, outcome, account]);

test('[Q34] [F8.4] a turn dropped at one node is rejoined at another: one dispatch, each frame leaves one row [S5], and the client sees all of it', async () => {
  await using nodes = await startNodes(['a', 'b']);
  const { a, b } = nodes;
  await dropped(a, await interrupted(a, 4));
  using socket = await openSession(b);
  socket.send(turnFrame('t1', [userMessage('history'), ...QUESTION]));
  await until('the replay', () => (socket.frames.length >= 5 ? true : undefined));
  a.upstream.release('north');
  assert.deepEqual(typesOf(await socket.rest()), wholeTurn);
  assert.equal(a.upstream.turns().length, 1);
  const rows = await a.rows();
  assert.deepEqual(
    rows.map(({ status, outcome, account }) => [status, outcome, account]),
    [
      [200, 'completed', 'NORTH'],
      [200, 'completed', null],
    ],
  );
  assert.deepEqual([rows[1]?.key_id, rows[1]?.retries, await a.attempts(rows[1]?.id ?? '')], ['ci', 0, []]);
  assert.equal((await a.usageRows())[0]?.requests, 1, 'an exact retry uses nothing');
  assert.deepEqual([writtenBy(a), writtenBy(b)], [rows.map(({ id }) => id), []], 'the owner serves both frames');
  assert.deepEqual(counted(a, 'websockets_accepted', 'websockets_taken_over', 'turns_resumed'), [1, 1, 1]);
  assert.deepEqual(counted(b, 'websockets_accepted', 'websockets_forwarded', 'turns_resumed'), [1, 1, 0]);
});

test('[Q34] [F8.4] a retry at another node that echoes finished items gets the lifecycle events and what follows them', async () => {
  await using nodes = await startNodes(['a', 'b']);
  const { a, b } = nodes;
  await dropped(a, await interrupted(a, 6));
  using socket = await openSession(b);
  socket.send(turnFrame('t1', [userMessage('history'), ...QUESTION, ...items(1)]));
  a.upstream.release('north');
  assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
  assert.ok(socket.frames.every(({ output_index: index }) => index !== 0));
  assert.equal(a.upstream.turns().length, 1);
});

test('[Q34] [F8.4] a turn that ended without its client waits at its node, and the anchor is continued over the inherited websocket', async () => {
  await using nodes = await startNodes(['a', 'b']);
  const { a, b } = nodes;
  await dropped(a, await interrupted(a, 4));
  a.upstream.release('north');
  await until('its row', async () => ((await a.rows()).length === 1 ? true : undefined));
  using socket = await openSession(b);
  socket.send(turnFrame('t1', QUESTION));
  assert.deepEqual(typesOf(await socket.rest()), wholeTurn);
  const output = { type: 'function_call_output', call_id: 'call_0', output: 'ok' };
  socket.send(turnFrame('t1', [output], { previous_response_id: 'resp_1' }));
  assert.notEqual(typesOf(await socket.rest()).at(-1), 'error');
  const [first, second] = a.upstream.turns();
  assert.equal(second?.connection, first?.connection);
  assert.deepEqual(await endings(a), [
    [200, 'completed', 'NORTH'],
    [200, 'completed', null],
    [200, 'completed', 'NORTH'],
  ]);
});

test('[Q34] [F8.4] an edited turn at another node starts when the interrupted one has ended, once', async () => {
  await using nodes = await startNodes(['a', 'b']);
  const { a, b } = nodes;
  await dropped(a, await interrupted(a, 6));
  using socket = await openSession(b);
  socket.send(turnFrame('t2', [userMessage('edited')]));
  const frames = await socket.rest();
  assert.equal(typesOf(frames).at(-1), 'response.completed');
  assert.notEqual(responseId(frames), 'resp_1');
  assert.deepEqual(await endings(a), [
    [499, 'client_gone', 'NORTH'],
    [200, 'completed', 'NORTH'],
  ]);
  assert.deepEqual([a.upstream.turns().length, a.count('turns_replaced'), a.upstream.socketsOf('north')], [2, 1, 1]);
});

test('[Q34] [F8.4] a client whose connection at one node is half-dead takes its turn over at another', async () => {
  await using nodes = await startNodes(['a', 'b']);
  const { a, b } = nodes;
  using dead = await interrupted(a, 4);
  dead.pause();
  using socket = await openSession(b);
  socket.send(turnFrame('t1', QUESTION));
  await until('the turn to be taken over', () => (a.count('turns_resumed') === 1 ? true : undefined));
  a.upstream.release('north');
  assert.deepEqual(typesOf(await socket.rest()), wholeTurn);
  assert.equal(a.upstream.turns().length, 1);
});

test('[Q34] [F8.4] a client that comes back at two nodes at once: the later connection gets the turn, and nothing is dispatched twice', async () => {
  await using nodes = await startNodes(['a', 'b', 'c']);
  const { a, b, c } = nodes;
  await dropped(a, await interrupted(a, 4));
  using first = await openSession(b);
  using second = await openSession(c);
  first.send(turnFrame('t1', QUESTION));
  second.send(turnFrame('t1', QUESTION));
  await until('both', () => (a.count('turns_resumed') === 2 ? true : undefined));
  const [loser, winner] = await Promise.race([first.closed.then(() => [first, second]), second.closed.then(() => [second, first])]);
  assert.equal((await loser?.closed)?.code, 1001);
  a.upstream.release('north');
  assert.deepEqual(typesOf((await winner?.rest()) ?? []), wholeTurn);
  assert.equal(a.upstream.turns().length, 1);
  const { turns, retries } = await turnsAndRetries(a);
  assert.equal(turns.length, 1);
  assert.deepEqual(retries.map(({ status }) => status).sort(), [200, 499], 'each frame has its row');
});

test('[Q34] [F8.4] a client that leaves while it is forwarded detaches its turn again, and may come back at any node', async () => {
  await using nodes = await startNodes(['a', 'b', 'c']);
  const { a, b, c } = nodes;
  await dropped(a, await interrupted(a, 4));
  for (const gate of [b, a, c]) {
    const socket = await openSession(gate);
    socket.send(turnFrame('t1', QUESTION));
    await until('the replay', () => (socket.frames.length >= 5 ? true : undefined));
    await dropped(a, { terminate: () => socket.terminate() });
  }
  using socket = await openSession(b);
  socket.send(turnFrame('t1', QUESTION));
  a.upstream.release('north');
  assert.deepEqual(typesOf(await socket.rest()), wholeTurn);
  const { turns, retries } = await turnsAndRetries(a);
  assert.deepEqual([a.upstream.turns().length, turns.length, a.count('turns_detached')], [1, 1, 4]);
  assert.deepEqual(
    retries.map(({ status }) => status),
    [499, 499, 499, 200],
  );
});

test('[Q34] frames that belong to no interrupted turn are served at the node where they arrive: a prewarm, another session, a turn without an id', async () => {
  await using nodes = await startNodes(['a', 'b']);
  const { a, b } = nodes;
  await dropped(a, await interrupted(a, 4));
  for (const [session, frame] of [
    [undefined, { type: 'response.create', ...frameOf('x', { generate: false, client_metadata: { turn_id: '' } }) }],
    [{ 'x-agent-window-id': 'thread-2:0' }, turnFrame('t1', QUESTION)],
    [undefined, turnFrame('', QUESTION)],
    [{}, turnFrame('t1', QUESTION)],
  ] as const) {
    using socket = await openSession(b, session);
    socket.send(frame as JsonObject);
    assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
  }
  assert.deepEqual(counted(b, 'websockets_forwarded', 'turns_replaced'), [0, 0]);
  using socket = await openSession(b);
  socket.send(turnFrame('t1', QUESTION));
  a.upstream.release('north');
  assert.deepEqual(typesOf(await socket.rest()), wholeTurn);
});

test('[Q34] the first turn of a connection decides which node serves it, also after a prewarm', async () => {
  await using nodes = await startNodes(['a', 'b']);
  const { a, b } = nodes;
  await dropped(a, await interrupted(a, 4));
  using socket = await openSession(b);
  const prewarm = await socket.turn(frameOf('x', { generate: false, client_metadata: { turn_id: '' } }));
  assert.equal(b.count('websockets_forwarded'), 0);
  socket.send(turnFrame('t1', QUESTION, { previous_response_id: responseId(prewarm) }));
  a.upstream.release('north');
  assert.deepEqual(typesOf(await socket.rest()), wholeTurn);
  assert.equal(a.upstream.turns().filter(({ json }) => (json as JsonObject).generate !== false).length, 1);
});

test('[Q34] after its window the interrupted turn is gone at every node, and the retry is a turn of the node where it arrives', async () => {
  const clock = new ManualClock();
  await using nodes = await startNodes(['a', 'b'], { clocks: { a: clock, b: clock } });
  const { a, b } = nodes;
  await dropped(a, await interrupted(a, 4));
  await clock.advance(30_000);
  await until('its end', async () => ((await a.rows()).at(-1)?.outcome === 'client_gone' ? true : undefined));
  using socket = await openSession(b);
  socket.send(turnFrame('t1', QUESTION));
  assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
  assert.deepEqual([a.upstream.turns().length, b.count('websockets_forwarded')], [2, 0]);
  assert.match((await nodes.owned())[0]?.owner ?? '', /^b\//);
});

test('[Q34] a turn whose kept frames exceed the limit without its client is gone at every node', async () => {
  await using nodes = await startNodes(['a', 'b'], {
    config: (draft) => {
      draft.limits = { websocket_resume_bytes: 1_700 };
    },
  });
  const { a, b } = nodes;
  await dropped(a, await interrupted(a, 4));
  a.upstream.release('north');
  await until('its row', async () => ((await a.rows()).length === 1 ? true : undefined));
  using socket = await openSession(b);
  socket.send(turnFrame('t1', QUESTION));
  assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
  assert.deepEqual([a.upstream.turns().length, b.count('websockets_forwarded')], [2, 0]);
});

test('[Q34] another key with the same session header does not find the turn', async () => {
  const secret = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08';
  await using nodes = await startNodes(['a', 'b'], {
    config: (draft) => {
      draft.keys.push({ ...draft.keys[0], id: 'second', secret_sha256: [secret] });
    },
    own: (draft, node) => {
      if (node !== 'b') return;
      const [first, second] = draft.keys;
      [first.secret_sha256, second.secret_sha256] = [second.secret_sha256, first.secret_sha256];
    },
  });
  const { a, b } = nodes;
  await dropped(a, await interrupted(a, 4));
  using socket = await openSession(b);
  socket.send(turnFrame('t1', QUESTION));
  assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
  assert.deepEqual([a.upstream.turns().length, b.count('websockets_forwarded')], [2, 0]);
});

test('[Q34] a key that is of another Pool at one node is not served with its turns at the other', async () => {
  await using nodes = await startNodes(['a', 'b'], {
    config: (draft) => {
      draft.pools.push({ ...structuredClone(draft.pools[0]), id: 'other' });
    },
    own: (draft, node) => {
      if (node === 'b') draft.keys[0].pool = 'other';
    },
  });
  const { a, b } = nodes;
  await dropped(a, await interrupted(a, 4));
  using socket = await openSession(b);
  socket.send(turnFrame('t1', QUESTION));
  assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
  assert.deepEqual([a.upstream.turns().length, b.count('websockets_forwarded')], [2, 0]);
});

test('[Q34] a later turn of a connection is found too, after its session was given up in between', async () => {
  const clock = new ManualClock(Date.now());
  await using nodes = await startNodes(['a', 'b'], { clock });
  const { a, b } = nodes;
  const socket = await openSession(a);
  await socket.turn(turnFrame('t0', [userMessage('before')]));
  const owned = async (): Promise<boolean> => (await nodes.owned()).length > 0 || !/^poolgate_sessions_owned 0$/m.test(await a.metrics());
  await until('the session to be given up', async () => {
    // By this clock the database may answer late. The node then keeps a session that the database has released.
    await clock.advance(15_000);
    return (await owned()) ? undefined : true;
  });
  a.upstream.next('north', scriptOf(2, 4));
  socket.send(turnFrame('t1', QUESTION));
  await a.upstream.stalled('north');
  await until('its new owner', async () => ((await nodes.owned()).length === 1 ? true : undefined));
  await dropped(a, socket);
  using second = await openSession(b);
  second.send(turnFrame('t1', QUESTION));
  a.upstream.release('north');
  assert.deepEqual(typesOf(await second.rest()), wholeTurn);
  assert.deepEqual([a.upstream.turns().length, b.count('websockets_forwarded')], [2, 1]);
});

test('[Q34] when a client sends another turn at another node its session moves there: the former turn ends with its connection', async () => {
  await using nodes = await startNodes(['a', 'b']);
  const { a, b } = nodes;
  const former = await interrupted(a, 4);
  using socket = await openSession(b);
  socket.send(turnFrame('t2', [userMessage('other')]));
  assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
  assert.equal(b.count('websockets_forwarded'), 0);
  assert.match((await nodes.owned())[0]?.owner ?? '', /^b\//);
  assert.ok(former.isOpen, 'its turn goes on while it is connected');
  former.terminate();
  await until('its row', async () => (await a.rows()).some(({ outcome }) => outcome === 'client_gone') || undefined);
  assert.equal(a.count('turns_detached'), 0);
});

test('[Q34] a node that stops gives its sessions up', async () => {
  await using nodes = await startNodes(['a']);
  const { a } = nodes;
  using socket = await openSession(a);
  await socket.turn(turnFrame('t1', QUESTION));
  assert.equal((await nodes.owned()).length, 1);
  await a.stop();
  assert.deepEqual(await nodes.owned(), []);
});

for (const [engine, claims] of [
  ['SQLite', 0],
  ['PostgreSQL', 1],
] as const) {
  test(`[Q34] with ${engine} the turns of a connection ask the store ${claims === 0 ? 'never' : 'once'} for the owner of their session`, async () => {
    await using stack = new AsyncDisposableStack();
    const gate = claims === 0 ? stack.use(await startGateway({ upstream: { strict: false } })) : stack.use(await startNodes(['a'])).a;
    let asked = 0;
    gate.answerSessionClaims((ask) => {
      asked += 1;
      return ask();
    });
    using socket = await openSession(gate);
    for (let i = 0; i < 5; i++) await socket.turn(turnFrame(`t${i}`, [userMessage('hi')]));
    assert.equal(asked, claims);
  });
}
