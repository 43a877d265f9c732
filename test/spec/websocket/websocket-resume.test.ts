// A native client that lost its websocket in the middle of a turn comes back for the turn (F8.4, Q29).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { ManualClock } from '../../support/clocks/manual-clock.ts';
import { type GatewayOptions, startGateway, type TestGateway } from '../../support/gateway.ts';
import { frameOf, responseId, turnFrame, typesOf, userMessage } from '../../support/native-frames.ts';
import {
  dropped,
  interrupted,
  items,
  openSession as open,
  QUESTION,
  replyOf,
  SESSION,
  scriptOf,
  wholeTurn,
} from '../../support/stages/interrupted-turns.ts';
import { until } from '../../support/until.ts';

const DONE = 'response.output_item.done';

const started = (options: Omit<GatewayOptions, 'upstream'> = {}): Promise<TestGateway> =>
  startGateway({ upstream: { accounts: ['north', 'south'], strict: false }, ...options });

test('[F8.4] an exact retry rejoins the running turn and sees all of it, with one dispatch, and each frame leaves a row [S5]', async () => {
  await using gate = await started();
  await dropped(gate, await interrupted(gate, 4));
  using socket = await open(gate);
  socket.send(turnFrame('t1', [userMessage('history'), ...QUESTION]));
  await until('the replay', () => (socket.frames.length >= 5 ? true : undefined));
  gate.upstream.release('north');
  assert.deepEqual(typesOf(await socket.rest()), wholeTurn);
  assert.equal(gate.upstream.turns().length, 1);
  await gate.flush();
  const rows = await gate.rows();
  assert.deepEqual(
    rows.map(({ status, outcome, account }) => [status, outcome, account]),
    [
      [200, 'completed', 'NORTH'],
      [200, 'completed', null],
    ],
  );
  assert.deepEqual([rows[1]?.key_id, rows[1]?.retries, await gate.attempts(rows[1]?.id ?? '')], ['ci', 0, []]);
  assert.equal((await gate.usageRows())[0]?.requests, 1);
  assert.equal(gate.count('turns_resumed'), 1);
});

const failed = {
  type: 'response.failed',
  response: { id: 'resp_1', status: 'failed', error: { code: 'server_error', message: 'broken' } },
};

for (const [what, end, expected] of [
  ['fails', [...replyOf(2).slice(0, 5), failed], [200, 'failed', 'server_error']],
  ['breaks off', replyOf(2).slice(0, 5), [200, 'cut', 'upstream_error']],
] as const) {
  test(`[S5] the row of an exact retry says how the turn ended for it: the turn ${what}`, async () => {
    await using gate = await started();
    gate.upstream.next('north', [
      { kind: 'reply', status: 200, headers: {}, body: { events: [...end] } },
      { kind: 'stall', at: { events: 4 } },
      { kind: 'cut', at: { events: end.length }, how: 'reset' },
    ]);
    const first = await open(gate);
    first.send(turnFrame('t1', QUESTION));
    await gate.upstream.stalled('north');
    await dropped(gate, first);
    using socket = await open(gate);
    socket.send(turnFrame('t1', QUESTION));
    await until('the replay', () => (socket.frames.length >= 5 ? true : undefined));
    gate.upstream.release('north');
    const rows = await until('both rows', async () => {
      const all = await gate.rows();
      return all.length === 2 ? all : undefined;
    });
    assert.deepEqual(
      rows.map(({ status, outcome, code, account }) => [status, outcome, code, account]),
      [
        [...expected, 'NORTH'],
        [...expected, null],
      ],
    );
  });
}

test('[Q29] the turn of a client that interrupted ends with the next turn of its session, and its row says how long it ran without a client', async () => {
  const clock = new ManualClock();
  await using gate = await started({ clock });
  await dropped(gate, await interrupted(gate, 4));
  await clock.advance(1_500);
  using socket = await open(gate);
  socket.send(turnFrame('t2', [...QUESTION, userMessage('something else')]));
  assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
  const rows = await until('both rows', async () => {
    const all = await gate.rows();
    return all.length === 2 ? all : undefined;
  });
  assert.deepEqual(
    rows.map(({ outcome, detached_ms }) => [outcome, detached_ms]),
    [
      ['client_gone', 1_500],
      ['completed', null],
    ],
  );
  assert.equal(gate.upstream.turns()[0]?.aborted, true);
  assert.equal(gate.count('turns_replaced'), 1);
});

test('[Q29] the row of a turn that its client came back for has the time in between', async () => {
  const clock = new ManualClock();
  await using gate = await started({ clock });
  await dropped(gate, await interrupted(gate, 4));
  await clock.advance(700);
  using socket = await open(gate);
  socket.send(turnFrame('t1', QUESTION));
  await until('the replay', () => (socket.frames.length >= 5 ? true : undefined));
  await clock.advance(400);
  gate.upstream.release('north');
  assert.deepEqual(typesOf(await socket.rest()), wholeTurn);
  const row = await until('its row', async () => (await gate.rows())[0]);
  assert.equal(row.detached_ms, 700);
});

test('[RB30] a further request of the same turn with other input is no retry, on the same websocket and on another one', async () => {
  await using gate = await started();
  using socket = await interrupted(gate, 4);
  gate.upstream.release('north');
  await socket.rest();
  socket.send(turnFrame('t1', [userMessage('a message of another agent')], { previous_response_id: 'resp_1' }));
  assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
  socket.send(turnFrame('t1', [...QUESTION, userMessage('in full')]));
  assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
  assert.deepEqual([gate.upstream.turns().length, gate.count('turns_resumed')], [3, 0]);
});

test('[F8.4] a retry that echoes the finished items gets the lifecycle events and what follows them', async () => {
  await using gate = await started();
  // These are the created event, the whole first item and the start of the second item.
  await dropped(gate, await interrupted(gate, 6));
  using socket = await open(gate);
  // The client sends the call back in another order, with an added note and without a status.
  const { id, call_id, name, arguments: text } = items(1)[0] ?? {};
  const echoed = { type: 'function_call', name, id, arguments: text, call_id, internal_note: { turn_id: 't1' } } as JsonObject;
  socket.send(turnFrame('t1', [userMessage('history'), ...QUESTION, echoed]));
  gate.upstream.release('north');
  assert.deepEqual(typesOf(await socket.rest()), [
    'agent.response.metadata',
    'agent.rate_limits',
    'response.created',
    'response.output_item.added',
    'response.function_call_arguments.delta',
    DONE,
    'response.completed',
  ]);
  assert.ok(socket.frames.every(({ output_index: index }) => index !== 0));
  assert.equal(gate.upstream.turns().length, 1);
});

test('[F8.4] a turn that ended without its client waits for it, and the anchor is continued over the inherited websocket', async () => {
  await using gate = await started();
  await dropped(gate, await interrupted(gate, 4));
  gate.upstream.release('north');
  await until('its row', async () => ((await gate.rows()).length === 1 ? true : undefined));
  using socket = await open(gate);
  socket.send(turnFrame('t1', QUESTION));
  assert.deepEqual(typesOf(await socket.rest()), wholeTurn);
  assert.equal(gate.upstream.turns().length, 1);
  socket.send(turnFrame('t1', [{ type: 'function_call_output', call_id: 'call_0', output: 'ok' }], { previous_response_id: 'resp_1' }));
  assert.notEqual(typesOf(await socket.rest()).at(-1), 'error');
  assert.equal(gate.upstream.turns().length, 2);
  assert.equal(gate.upstream.turns()[1]?.connection, gate.upstream.turns()[0]?.connection);
});

test('[F8.4] a turn is rejoined before its first frame too', async () => {
  await using gate = await started();
  gate.upstream.next('north', scriptOf(2, 1));
  const socket = await open(gate);
  socket.send(turnFrame('t1', QUESTION));
  await gate.upstream.stalled('north');
  await dropped(gate, socket);
  using second = await open(gate);
  second.send(turnFrame('t1', QUESTION));
  await until('the turn to be rejoined', () => (gate.count('turns_resumed') === 1 ? true : undefined));
  gate.upstream.release('north');
  assert.deepEqual(typesOf(await second.rest()), wholeTurn);
  assert.equal(gate.upstream.turns().length, 1);
});

for (const [name, frame] of [
  ['other settings', turnFrame('t1', QUESTION, { reasoning: { effort: 'high' } })],
  ['an edited item', turnFrame('t1', [userMessage('first'), userMessage('edited')])],
  ['another turn', turnFrame('t2', QUESTION)],
  ['items that it was not sent', turnFrame('t1', [...QUESTION, ...items(2)])],
] as const) {
  test(`[F8.4] an edited replacement (${name}) starts when the interrupted turn has ended`, async () => {
    await using gate = await started();
    await dropped(gate, await interrupted(gate, 6));
    using socket = await open(gate);
    socket.send(frame);
    const frames = await socket.rest();
    assert.equal(typesOf(frames).at(-1), 'response.completed');
    assert.notEqual(responseId(frames), 'resp_1');
    assert.equal(gate.upstream.turns().length, 2);
    await gate.flush();
    assert.deepEqual(
      (await gate.rows()).map(({ status, outcome }) => [status, outcome]),
      [
        [499, 'client_gone'],
        [200, 'completed'],
      ],
    );
    assert.equal(gate.count('turns_replaced'), 1);
    assert.equal(gate.upstream.socketsOf('north'), 1, 'the interrupted turn’s websocket is closed');
  });
}

test('[F8.4] a frame without items finds its turn again, and one of the same turn id with items of its own is not a retry of it', async () => {
  await using gate = await started();
  await dropped(gate, await interrupted(gate, 4, { frame: turnFrame('t1', []) }));
  gate.upstream.release('north');
  using socket = await open(gate);
  socket.send(turnFrame('t1', []));
  assert.equal(responseId(await socket.rest()), 'resp_1');
  socket.terminate();
  await until('the end of the websocket', () => gate.websockets === 0 || undefined);
  using next = await open(gate);
  next.send(turnFrame('t1', [...QUESTION, ...items(2), { type: 'function_call_output', call_id: 'call_1', output: 'ok' }]));
  assert.notEqual(responseId(await next.rest()), 'resp_1');
});

test('[F8.4] a prewarm and a frame of another session do not affect the interrupted turn', async () => {
  await using gate = await started();
  await dropped(gate, await interrupted(gate, 4));
  using prewarm = await open(gate);
  await prewarm.turn(frameOf('x', { generate: false, client_metadata: { turn_id: '' } }));
  using other = await open(gate, { 'x-agent-window-id': 'thread-2:0' });
  other.send(turnFrame('t1', QUESTION));
  assert.equal(typesOf(await other.rest()).at(-1), 'response.completed');
  assert.equal(gate.count('turns_replaced'), 0);
  using socket = await open(gate);
  socket.send(turnFrame('t1', QUESTION));
  gate.upstream.release('north');
  assert.deepEqual(typesOf(await socket.rest()), wholeTurn);
});

test('[F8.4] without a turn id, or in a session without a name, the turn ends with its client', async () => {
  await using gate = await started();
  for (const [session, frame] of [
    [SESSION, turnFrame('', QUESTION)],
    [{}, turnFrame('t1', QUESTION)],
  ] as const) {
    gate.upstream.next('north', scriptOf(2, 4));
    const socket = await open(gate, session);
    socket.send(frame);
    await gate.upstream.stalled('north');
    socket.terminate();
    await until('its row', async () => ((await gate.rows()).at(-1)?.outcome === 'client_gone' ? true : undefined));
    gate.upstream.clear();
  }
  assert.equal(gate.count('turns_detached'), 0);
});

test('[F8.4] a retry finds its turn when the frame of the turn is no longer in memory', async () => {
  const clock = new ManualClock();
  await using gate = await started({ clock });
  await dropped(gate, await interrupted(gate, 4));
  await clock.advance(2_000);
  using socket = await open(gate);
  socket.send(turnFrame('t1', [userMessage('history'), ...QUESTION]));
  await until('the replay', () => (socket.frames.length >= 5 ? true : undefined));
  gate.upstream.release('north');
  assert.deepEqual(typesOf(await socket.rest()), wholeTurn);
  assert.deepEqual([gate.upstream.turns().length, gate.count('turns_resumed')], [1, 1]);
});

test('[F8.4] after 30 s without its client the turn ends, and the retry is a turn of its own', async () => {
  const clock = new ManualClock();
  await using gate = await started({ clock });
  const socket = await interrupted(gate, 4);
  await dropped(gate, socket);
  await clock.advance(30_000);
  await until('its end', async () => ((await gate.rows()).at(-1)?.outcome === 'client_gone' ? true : undefined));
  await gate.upstream.sockets('north', 0);
  assert.equal(gate.count('detached_turns_expired'), 1);
  using second = await open(gate);
  second.send(turnFrame('t1', QUESTION));
  assert.equal(typesOf(await second.rest()).at(-1), 'response.completed');
  assert.equal(gate.upstream.turns().length, 2);
});

for (const [name, limits] of [
  ['its own limit', { websocket_resume_bytes: 1_700 }],
  ['the limit of all turns', { replies_in_memory_bytes: 3_500 }],
] as const) {
  test(`[F8.4] a turn whose frames exceed ${name} ends without its client, and continues with its client`, async () => {
    await using gate = await started({
      config: (draft) => {
        draft.limits = limits;
      },
    });
    await dropped(gate, await interrupted(gate, 4));
    gate.upstream.release('north');
    await until('its row', async () => ((await gate.rows()).length === 1 ? true : undefined));
    assert.equal(gate.count('detached_turns_too_large'), 1);
    using socket = await open(gate);
    gate.upstream.next('north', { kind: 'reply', status: 200, headers: {}, body: { events: [...replyOf(2)] } });
    socket.send(turnFrame('t1', QUESTION));
    assert.deepEqual(typesOf(await socket.rest()), wholeTurn);
    assert.equal(gate.upstream.turns().length, 2, 'the retry found nothing');
    assert.equal(gate.replyBytes, 0);
  });
}

test('[F8.4] kept frames count as memory for replies until their clients continue, or can no longer come back', async () => {
  const clock = new ManualClock();
  await using gate = await started({ clock });
  gate.upstream.next('north', { kind: 'reply', status: 200, headers: {}, body: { events: [...replyOf(2)] } });
  using socket = await open(gate);
  socket.send(turnFrame('t1', QUESTION));
  await socket.rest();
  const kept = gate.replyBytes;
  assert.ok(kept > 500, `${kept} bytes`);
  gate.upstream.next('north', 'stall before headers');
  socket.send(turnFrame('t2', [userMessage('next')], { previous_response_id: 'resp_1' }));
  await gate.upstream.stalled('north');
  assert.equal(gate.replyBytes, 0, 'its client went on');
  gate.upstream.release('north');
  await socket.rest();
  assert.ok(gate.replyBytes > 500);
  await clock.advance(30_000);
  assert.equal(gate.replyBytes, 0, 'its client can come back no more');
});

test('[F8.4] of two connections that come back at once the later one gets the turn, and nothing is dispatched twice', async () => {
  await using gate = await started();
  await dropped(gate, await interrupted(gate, 4));
  using first = await open(gate);
  using second = await open(gate);
  first.send(turnFrame('t1', QUESTION));
  second.send(turnFrame('t1', QUESTION));
  await until('both', () => (gate.count('turns_resumed') === 2 ? true : undefined));
  const [loser, winner] = await Promise.race([first.closed.then(() => [first, second]), second.closed.then(() => [second, first])]);
  assert.equal((await loser?.closed)?.code, 1001);
  gate.upstream.release('north');
  assert.deepEqual(typesOf((await winner?.rest()) ?? []), wholeTurn);
  assert.equal(gate.upstream.turns().length, 1);
  const rows = await gate.rows();
  assert.equal(rows.filter(({ account }) => account !== null).length, 1);
  assert.equal(rows.length, 3, 'each frame has its row');
});

test('[F8.4] a client whose old connection is half-dead takes its turn over', async () => {
  await using gate = await started();
  using dead = await interrupted(gate, 4);
  dead.pause();
  using socket = await open(gate);
  socket.send(turnFrame('t1', QUESTION));
  await until('the turn to be taken over', () => (gate.count('turns_resumed') === 1 ? true : undefined));
  gate.upstream.release('north');
  assert.deepEqual(typesOf(await socket.rest()), wholeTurn);
  assert.equal(gate.upstream.turns().length, 1);
});

test('[F8.4] an interrupted turn that fails is forgotten: the retry is dispatched again', async () => {
  await using gate = await started();
  gate.upstream.next('north', [
    { kind: 'reply', status: 200, headers: {}, body: { events: [...replyOf(2)] } },
    { kind: 'cut', at: { events: 7 } },
    { kind: 'stall', at: { events: 4 } },
  ]);
  const socket = await open(gate);
  socket.send(turnFrame('t1', QUESTION));
  await gate.upstream.stalled('north');
  await dropped(gate, socket);
  gate.upstream.release('north');
  await until('its row', async () => ((await gate.rows()).at(-1)?.outcome === 'cut' ? true : undefined));
  using second = await open(gate);
  second.send(turnFrame('t1', QUESTION));
  assert.equal(typesOf(await second.rest()).at(-1), 'response.completed');
  assert.equal(gate.upstream.turns().length, 2);
});

test('[F8.4] a client that resends in full after a refusal does not get that refusal again', async () => {
  await using gate = await started();
  using socket = await open(gate);
  socket.send(turnFrame('t1', QUESTION, { previous_response_id: 'resp_gone' }));
  assert.equal(typesOf(await socket.rest()).at(-1), 'error');
  using second = await open(gate);
  second.send(turnFrame('t1', [userMessage('history'), ...QUESTION]));
  assert.equal(typesOf(await second.rest()).at(-1), 'response.completed');
});

test('[F8.4] a gateway that stops ends the turns whose client has left, and waits for none of them', async () => {
  await using gate = await started({
    config: (draft) => {
      draft.timeouts.drain_ms = 60_000;
    },
  });
  await dropped(gate, await interrupted(gate, 4));
  await gate.stop();
  assert.equal(gate.upstream.socketsOf('north'), 0);
});

test('[F8.4] a client that leaves a gateway that stops ends its turn, which leaves its row', async () => {
  await using gate = await started({
    config: (draft) => {
      draft.timeouts.drain_ms = 60_000;
    },
  });
  const socket = await interrupted(gate, 4);
  const stopping = gate.stop();
  await until('the drain', async () => ((await fetch(`${gate.adminUrl}/readyz`)).ok ? undefined : true));
  socket.terminate();
  await stopping;
  assert.deepEqual([gate.count('turns_detached'), gate.count('client_gone'), gate.upstream.socketsOf('north')], [0, 1, 0]);
});

test('[F8.4] another key does not find the turn', async () => {
  await using gate = await started({
    config: (draft) => {
      draft.keys.push({
        ...draft.keys[0],
        id: 'second',
        secret_sha256: ['c7a1bd3c1e1c6e2a7ac5c9b7f3d2f8a5cf0c8ad22c1f6b0d1a6e1f2b3c4d5e6f'],
      });
    },
  });
  await dropped(gate, await interrupted(gate, 4));
  await gate.reconfigure((draft) => {
    const [first, second] = draft.keys;
    [first.secret_sha256, second.secret_sha256] = [second.secret_sha256, first.secret_sha256];
  });
  using socket = await open(gate);
  socket.send(turnFrame('t1', QUESTION));
  assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
  assert.equal(gate.upstream.turns().length, 2);
});
