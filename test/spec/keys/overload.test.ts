// The overload guard over real sockets: which requests are refused while the process is short of time or memory, and which are served.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../support/clocks/manual-clock.ts';
import { type Reply, startGateway, type TestGateway } from '../../support/gateway.ts';
import { frameOf, NATIVE_SOCKET, PUBLIC_SOCKET, typesOf } from '../../support/native-frames.ts';
import { HandLoad } from '../../support/program/hand-load.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { connect, refusedUpgrade } from '../../support/websocket.ts';

const NATIVE = '/backend-api/agent/responses';
/** A sample of the load is used for less time than this. */
const LATER_MS = 1_000;

interface Stage extends AsyncDisposable {
  readonly gate: TestGateway;
  readonly load: HandLoad;
  readonly clock: ManualClock;
}

async function stageOf(): Promise<Stage> {
  const clock = new ManualClock();
  const load = new HandLoad();
  const gate = await startGateway({ clock, load, upstream: { accounts: ['north'], clock } });
  return { gate, load, clock, [Symbol.asyncDispose]: () => gate.close() };
}

/** Makes the process short of a resource while a turn runs; returns the reply of that turn. */
async function shorten({ gate, load, clock }: Stage, fields: Partial<HandLoad>): Promise<{ readonly reply: Promise<Reply> }> {
  gate.upstream.next('north', 'stall before headers');
  const reply = gate.send(NATIVE, { body: turnBody('running') });
  await gate.upstream.stalled('north');
  Object.assign(load, fields);
  // Turns take the samples, and the event loop counts as late after two; this turn is refused in any case.
  for (let samples = 0; samples < 2; samples++) {
    await clock.advance(LATER_MS);
    await gate.send(NATIVE, { body: '{' });
  }
  return { reply };
}

const refusalOf = ({ status, json, headers }: Reply): readonly unknown[] => [status, json.error?.code, headers.has('retry-after')];

const REFUSED = [503, 'server_is_overloaded', true];

for (const [what, fields, counter] of [
  ['the event loop is late', { delay: 1_000 }, 'guard_event_loop_refused'],
  ['memory is short', { memory: 95 }, 'guard_memory_refused'],
] as const) {
  test(`[S2] while ${what} new turns are refused before their body is read, and running turns complete`, async () => {
    await using stage = await stageOf();
    const { gate, load, clock } = stage;
    const running = await shorten(stage, fields);
    const before = gate.count(counter);
    for (const path of [
      NATIVE,
      '/backend-api/agent/responses/compact',
      '/v1/responses',
      '/v1/chat/completions',
      '/v1/images/generations',
    ]) {
      assert.deepEqual(refusalOf(await gate.send(path, { body: '{ this is no JSON' })), REFUSED, path);
    }
    assert.equal(gate.count(counter), before + 5);
    const row = (await gate.rows()).at(-1);
    assert.deepEqual([row?.code, row?.outcome, row?.account], ['server_is_overloaded', 'refused', null]);
    gate.upstream.release();
    assert.equal((await running.reply).status, 200);
    assert.equal(gate.upstream.turns().length, 1);
    assert.equal((await gate.send(NATIVE, { body: turnBody('hi') })).status, 200, 'while no turn runs, one is taken');
    load.delay = 0;
    load.memory = 0;
    gate.upstream.next('north', 'stall before headers');
    const other = gate.send(NATIVE, { body: turnBody('other') });
    await gate.upstream.stalled('north');
    await clock.advance(LATER_MS);
    assert.equal((await gate.send(NATIVE, { body: turnBody('hi') })).status, 200, 'the load has eased');
    gate.upstream.release();
    assert.equal((await other).status, 200);
    assert.equal(gate.count(counter), before + 5);
  });
}

test('cheap requests are answered under load: models, usage, health, and the refusal of a wrong key', async () => {
  await using stage = await stageOf();
  const { gate } = stage;
  const running = await shorten(stage, { delay: 1_000 });
  for (const path of ['/v1/models', '/backend-api/agent/models', '/v1/usage', '/api/agent/usage']) {
    assert.equal((await gate.send(path)).status, 200, path);
  }
  const wrong = await gate.send(NATIVE, { body: turnBody('hi'), headers: { authorization: 'Bearer pg-wrong' } });
  assert.deepEqual([wrong.status, wrong.json.error.code], [401, 'invalid_api_key']);
  assert.deepEqual(refusalOf(await gate.send(NATIVE, { body: turnBody('hi') })), REFUSED);
  const status = (await (await fetch(`${gate.adminUrl}/api/status`)).json()) as { readonly guard: unknown };
  assert.deepEqual(status.guard, { refusing: 'event_loop', event_loop_ms: 1_000, memory_percent: 0 });
  const metrics = await gate.metrics();
  for (const line of [
    'poolgate_guard_refusing 1',
    'poolgate_guard_event_loop_delay_seconds 1',
    'poolgate_guard_event_loop_refused_total 2',
    'poolgate_guard_memory_refused_total 0',
    'poolgate_admission_displaced_total 0',
  ]) {
    assert.ok(metrics.includes(`\n${line}\n`), line);
  }
  gate.upstream.release();
  await running.reply;
});

for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
  test(`under load a frame on an open websocket gets an error frame, and a new upgrade is refused, ${path}`, async () => {
    await using stage = await stageOf();
    const { gate, load, clock } = stage;
    const socket = await connect(gate, path);
    const running = await shorten(stage, { memory: 95 });
    const frames = await socket.turn(frameOf('hi'));
    const last = frames.at(-1) as { readonly type: string; readonly status: number; readonly error: { readonly code: string } };
    assert.deepEqual([last.type, last.status, last.error.code], ['error', 503, 'server_is_overloaded']);
    const refused = await refusedUpgrade(gate, path);
    assert.deepEqual([refused.status, refused.error.code], [503, 'server_is_overloaded']);
    load.memory = 0;
    await clock.advance(LATER_MS);
    assert.equal(typesOf(await socket.turn(frameOf('hi'))).at(-1), 'response.completed');
    gate.upstream.release();
    await running.reply;
    socket.terminate();
  });
}

test('a reload turns a limit off', async () => {
  await using stage = await stageOf();
  const { gate, clock } = stage;
  const running = await shorten(stage, { delay: 1_000 });
  assert.deepEqual(refusalOf(await gate.send(NATIVE, { body: turnBody('hi') })), REFUSED);
  await gate.reconfigure((draft) => {
    draft.guard = { event_loop_ms: 0 };
  });
  await clock.advance(LATER_MS);
  assert.equal((await gate.send(NATIVE, { body: turnBody('hi') })).status, 200);
  gate.upstream.release();
  await running.reply;
});
