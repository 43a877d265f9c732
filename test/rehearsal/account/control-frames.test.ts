// The simulated provider understands the frames that interrupt and steer a response, and ends a websocket after 60 minutes (RB28, RB29, RB31).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { ManualClock } from '../../support/clocks/manual-clock.ts';
import { startUpstream, type Upstream } from '../../support/rehearsal.ts';
import { at, typesOf } from '../../support/rehearsal-client.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { connect, type TestSocket } from '../../support/websocket.ts';

const PATH = '/backend-api/agent/responses';

/** The reply stalls after its created event, its in-progress event and the start of the first item; three frames precede them. */
const INSIDE = 'stall after 6 events';

async function stalled(upstream: Upstream, script: string): Promise<{ readonly socket: TestSocket; readonly id: string }> {
  upstream.next('north', script);
  const socket = await connect({ url: upstream.urlOf('north') }, PATH, { key: null });
  socket.send({ type: 'response.create', ...turnBody('write 20 words') });
  await upstream.stalled('north');
  for (;;) {
    const frame = await socket.next();
    if (frame.type === 'response.output_item.added') break;
  }
  const created = socket.frames.find(({ type }) => type === 'response.created');
  return { socket, id: at(created, 'response', 'id') as string };
}

const interruptOf = (response_id: string): JsonObject => ({ type: 'response.interrupt', response_id, mode: 'discard_partial_items' });
const steerOf = (previous_response_id: string, text = 'also this'): JsonObject => ({
  type: 'response.steer',
  previous_response_id,
  input: [{ role: 'user', content: text }],
});

test('[RB29] an interrupt ends the response at once, with an event for each open item, and the next turn continues it', async () => {
  await using upstream = await startUpstream({});
  const { socket, id } = await stalled(upstream, INSIDE);
  socket.send(interruptOf(id));
  const frames = await socket.rest();
  assert.deepEqual(typesOf(frames), ['response.interrupt.accepted', 'response.output_item.interrupted', 'response.incomplete']);
  const last = frames.at(-1);
  assert.equal(at(last, 'response', 'incomplete_details', 'reason'), 'interrupted');
  assert.ok((at(last, 'response', 'usage', 'input_tokens') as number) > 0);
  const numbers = socket.frames.filter(({ sequence_number: number }) => number !== undefined).map((frame) => frame.sequence_number);
  assert.deepEqual(
    numbers,
    numbers.map((_, i) => i),
  );
  assert.equal((await socket.turn(turnBody('go on', { previous_response_id: id }))).at(-1)?.type, 'response.completed');
  socket.terminate();
});

test('[RB29] a failed interrupt is not the end: an unknown response, no turn, and an account that supports none', async () => {
  await using upstream = await startUpstream({});
  const { socket, id } = await stalled(upstream, `${INSIDE} + interrupt failed`);
  for (const [frame, code] of [
    [interruptOf('resp_other'), 'response_not_found'],
    [interruptOf(id), 'interrupt_not_supported'],
  ] as const) {
    socket.send(frame);
    assert.deepEqual([(await socket.next()).type, at(socket.frames.at(-1), 'error', 'code')], ['response.interrupt.failed', code]);
  }
  upstream.release('north');
  assert.equal((await socket.rest()).at(-1)?.type, 'response.completed');
  socket.send(interruptOf(id));
  assert.equal(at(await socket.next(), 'error', 'code'), 'response_not_found');
  socket.terminate();
});

test('[RB31] a steer ends the response at an item, and a further response follows without a request', async () => {
  await using upstream = await startUpstream({});
  const { socket, id } = await stalled(upstream, INSIDE);
  socket.send(steerOf(id));
  const first = await socket.rest();
  assert.deepEqual([first[0]?.type, first.at(-1)?.type], ['response.steer.accepted', 'response.incomplete']);
  assert.equal(at(first.at(-1), 'response', 'incomplete_details', 'reason'), 'steered');
  assert.ok(typesOf(first).includes('response.output_item.done'));
  const second = await socket.rest();
  assert.equal(second.at(-1)?.type, 'response.completed');
  assert.equal(at(second.at(-1), 'response', 'previous_response_id'), id);
  assert.notEqual(at(second.at(-1), 'response', 'id'), id);
  assert.equal(upstream.turns().length, 1);
  socket.terminate();
});

test('[RB31] a steer may fail, be returned, wait for the end, or wait for tool outputs', async () => {
  await using upstream = await startUpstream({});
  for (const [words, after] of [
    ['steer failed', []],
    ['steer returned', ['response.steer.failed']],
    ['steer pending', ['response.steer.pending']],
  ] as const) {
    const { socket, id } = await stalled(upstream, `${INSIDE} + ${words}`);
    socket.send(steerOf(id));
    assert.equal((await socket.next()).type, words === 'steer failed' ? 'response.steer.failed' : 'response.steer.accepted');
    upstream.release('north');
    assert.equal((await socket.rest()).at(-1)?.type, 'response.completed');
    for (const type of after) assert.equal((await socket.next()).type, type);
    socket.terminate();
  }
  const { socket, id } = await stalled(upstream, `${INSIDE} + steer waits`);
  for (const text of ['one', 'two']) socket.send(steerOf(id, text));
  socket.send({ ...steerOf(id), stream_id: 'lane' });
  socket.send({ ...steerOf(id), input: [{ role: 'developer', content: 'x' }] });
  const answers = [await socket.next(), await socket.next(), await socket.next(), await socket.next()];
  assert.deepEqual(typesOf(answers), [...Array(2).fill('response.steer.accepted'), ...Array(2).fill('response.steer.failed')]);
  upstream.release('north');
  assert.equal((await socket.rest()).at(-1)?.type, 'response.completed');
  assert.equal((await socket.rest()).at(-1)?.type, 'response.completed');
  socket.terminate();
});

test('[RB28] a websocket ends after 60 minutes, as the answer to a frame', async () => {
  const clock = new ManualClock();
  await using upstream = await startUpstream({ clock });
  const socket = await connect({ url: upstream.urlOf('north') }, PATH, { key: null });
  await clock.advance(3_599_999);
  assert.equal((await socket.turn(turnBody('hello'))).at(-1)?.type, 'response.completed');
  await clock.advance(1);
  const [frame] = await socket.turn(turnBody('hello'));
  assert.deepEqual([frame?.status, at(frame, 'error', 'code')], [400, 'websocket_connection_limit_reached']);
  assert.equal((await socket.closed).code, 1000);
});

test('[RB28] the frame of the limit may come between turns', async () => {
  await using upstream = await startUpstream({});
  upstream.next('north', 'connection limit after turn');
  using socket = await connect({ url: upstream.urlOf('north') }, PATH, { key: null });
  assert.equal((await socket.turn(turnBody('hello'))).at(-1)?.type, 'response.completed');
  assert.equal(at(await socket.next(), 'error', 'code'), 'websocket_connection_limit_reached');
});
