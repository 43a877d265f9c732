// The faults of the rehearsal provider on websockets, one after the other, as a client sees them.
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, test } from 'node:test';
import { ManualClock } from '../support/clocks/manual-clock.ts';
import { startUpstream } from '../support/rehearsal.ts';
import { at, typesOf } from '../support/rehearsal-client.ts';
import { replyBytes, replyEvents, replyJson, turnBody } from '../support/rehearsal-replies.ts';
import { connect, refusedUpgrade, type TestSocket } from '../support/websocket.ts';

// The quota does not change, so every turn has the same bytes.
const quota = { primary: { used_percent: 10, window_minutes: 300, reset_at: 2_000_000_000 }, secondary: null };
const upstream = await startUpstream({ accounts: [{ id: 'north', quota }] });
after(() => upstream.close());

const path = '/backend-api/agent/responses';
const open = (): Promise<TestSocket> => connect({ url: upstream.urlOf('north') }, path, { key: null });
const hello = turnBody('say: one two three four');

/** Opens a websocket and sends a turn that gets this fault. */
async function faulty(...scripts: Parameters<typeof upstream.next>[1][]): Promise<TestSocket> {
  upstream.clear();
  const socket = await open();
  upstream.next('north', ...scripts);
  socket.send({ type: 'response.create', ...hello });
  return socket;
}

test('[RB27] a refusal is an error frame with its status and its headers, numbers among them', async () => {
  using socket = await faulty('refuse 429 usage_limit_reached retry 7 resets 60', 'refuse 503', 'refuse 503 + status code');
  const [frame] = await socket.rest();
  assert.deepEqual([frame?.type, frame?.status, at(frame, 'headers', 'retry-after')], ['error', 429, 7]);
  assert.equal(at(frame, 'headers', 'x-agent-primary-window-minutes'), 300);
  assert.deepEqual([at(frame, 'error', 'type'), at(frame, 'error', 'resets_in_seconds')], ['usage_limit_reached', 60]);
  const [second] = await socket.turn(hello);
  assert.deepEqual(
    [second?.status, at(second, 'error', 'code'), at(second, 'headers', 'retry-after')],
    [503, 'server_is_overloaded', undefined],
  );
  const [third] = await socket.turn(hello);
  assert.deepEqual([third?.status, third?.status_code], [undefined, 503]);
  assert.equal((await socket.turn(hello)).at(-1)?.type, 'response.completed');
});

test('a refusal inside a turn follows the lifecycle events', async () => {
  using socket = await faulty('refuse inside', 'refuse inside context_length_exceeded as error after 0 events');
  const frames = await socket.rest();
  assert.deepEqual(typesOf(frames).slice(3), ['response.created', 'response.in_progress', 'response.failed']);
  assert.deepEqual(typesOf(await socket.turn(hello)).slice(3), ['error']);
});

test('a script in the request works on a websocket too', async () => {
  using socket = await open();
  const [frame] = await socket.turn({ ...hello, metadata: { rehearse: 'refuse 502' } });
  assert.equal(frame?.status, 502);
});

test('a cut after N frames shows exactly N frames, and both ends see 1006', async () => {
  for (const [script, count] of [
    ['cut before headers', 0],
    ['reset after headers', 0],
    ['cut after 2 events', 2],
    ['reset after 6 events', 6],
  ] as const) {
    const socket = await faulty(script);
    assert.equal((await socket.closed).code, 1006, script);
    if (script.startsWith('cut')) assert.equal(socket.frames.length, count, script);
    assert.equal(await upstream.turns()[0]?.closed, 'cut', script);
  }
});

test('a cut past the end follows a whole turn', async () => {
  const socket = await faulty('cut after 1000 events');
  assert.equal((await socket.rest()).at(-1)?.type, 'response.completed');
  assert.equal((await socket.closed).code, 1006);
  assert.equal(await upstream.turns()[0]?.closed, 'answered');
});

test('a cut inside a frame shows only the frames before it', async () => {
  const whole = await faulty('steady');
  const first = Buffer.byteLength(JSON.stringify((await whole.rest())[0]));
  whole.terminate();
  // The header of a frame has two bytes up to 125 bytes of content, otherwise four.
  const head = first > 125 ? 4 : 2;
  for (const [bytes, count] of [
    [1, 0],
    [head + first - 1, 0],
    [head + first, 1],
    [head + first + 1, 1],
  ] as const) {
    const socket = await faulty(`cut after ${bytes} bytes`);
    assert.equal((await socket.closed).code, 1006);
    assert.equal(socket.frames.length, count, `${bytes} bytes`);
  }
});

test('a stall can be at any position, inside a frame too, and pings wait for the end of that frame', async () => {
  for (const script of ['stall before headers', 'stall after 4 events', 'stall after 7 bytes']) {
    using socket = await faulty(script);
    await upstream.stalled('north');
    upstream.release();
    assert.equal((await socket.rest()).at(-1)?.type, 'response.completed', script);
  }
});

test('a websocket with a stalled turn answers pings', async () => {
  using socket = await faulty('stall after 4 events');
  await upstream.stalled('north');
  await socket.ping();
});

test('a close has its code, and follows the stated number of frames', async () => {
  const immediate = await faulty('close 1011');
  assert.equal((await immediate.closed).code, 1011);
  assert.equal(immediate.frames.length, 0);
  assert.equal(await upstream.turns()[0]?.closed, 'cut');
  const later = await faulty('close 4000 after 5 events');
  assert.equal((await later.closed).code, 4000);
  assert.equal(later.frames.length, 5);
  const last = await faulty('close 1001 after 1000 events');
  assert.equal((await last.rest()).at(-1)?.type, 'response.completed');
  assert.equal((await last.closed).code, 1001);
  assert.equal(await upstream.turns()[0]?.closed, 'answered');
});

test('a half-open websocket sends nothing more: no event, no pong and no close', async () => {
  const socket = await faulty('half open after 4 events');
  for (let i = 0; i < 4; i += 1) await socket.next();
  const pong = socket.ping();
  socket.close(1000);
  const silence = await Promise.race([pong, socket.closed, new Promise((resolve) => setTimeout(resolve, 50, 'silence'))]);
  assert.equal(silence, 'silence');
  assert.deepEqual([socket.frames.length, upstream.socketsOf('north')], [4, 1]);
  socket.terminate();
  assert.equal(await upstream.turns()[0]?.closed, 'left');
  await upstream.sockets('north', 0);
  await assert.rejects(pong);
});

test('the connection limit is an error frame and a close', async () => {
  const socket = await faulty('connection limit');
  const [frame] = await socket.rest();
  assert.deepEqual([frame?.status, at(frame, 'error', 'code')], [400, 'websocket_connection_limit_reached']);
  assert.equal((await socket.closed).code, 1000);
});

test('a frame that is too large is a close without an answer', async () => {
  const socket = await faulty('frame too large');
  assert.equal((await socket.closed).code, 1009);
  assert.equal(socket.frames.length, 0);
});

test('a turn without its terminal ends with the websocket', async () => {
  const socket = await faulty('no terminal');
  assert.equal((await socket.closed).code, 1000);
  assert.equal(socket.frames.at(-1)?.type, 'response.output_item.done');
});

test('frames can be binary, invalid JSON, or JSON that is not an object', async () => {
  const nth = async (script: string, n: number) => {
    using socket = await faulty(script);
    const frames = await socket.rest();
    return Object.keys(frames[n - 1] ?? {});
  };
  assert.deepEqual(await nth('malformed event 5', 5), ['malformed']);
  assert.deepEqual(await nth('malformed event', 3), ['malformed']);
  // A keepalive before this frame does not count.
  assert.deepEqual(await nth('binary frame 6', 7), ['binary']);
  using socket = await faulty('malformed event 5 as array');
  assert.deepEqual((await socket.rest())[4], { malformed: '[]' });
});

test('drip splits frames, and pace waits before each', async () => {
  using dripped = await faulty('drip 5 bytes');
  assert.equal((await dripped.rest()).at(-1)?.type, 'response.completed');
  const clock = new ManualClock();
  await using slow = await startUpstream({ clock });
  using socket = await connect({ url: slow.urlOf('north') }, path, { key: null });
  slow.next('north', 'pace 100');
  socket.send({ type: 'response.create', ...hello });
  await clock.waiting();
  assert.equal(socket.frames.length, 0);
  await clock.advance(100);
  assert.equal((await socket.next()).type, 'agent.rate_limits');
  await clock.waiting();
  assert.equal(socket.frames.length, 1);
});

test('empty output and scripted replies are sent as frames unchanged', async () => {
  const own = [
    { type: 'response.created', response: { id: 'resp_own' } },
    { type: 'response.completed', response: { id: 'resp_own' } },
  ];
  using socket = await faulty('empty output', replyEvents(own), replyJson({ type: 'error', odd: true }), replyBytes('{"type":"error"'));
  assert.deepEqual(at((await socket.rest()).at(-1), 'response', 'output'), []);
  assert.deepEqual(await socket.turn(hello), own);
  assert.equal((await socket.turn({ ...hello, previous_response_id: 'resp_own' })).at(-1)?.odd, true);
  socket.send({ type: 'response.create', ...hello });
  assert.deepEqual(await socket.next(), { malformed: '{"type":"error"' });
});

test('an upgrade is refused as scripted, with the body of a real provider', async () => {
  upstream.clear();
  const refusal = async (script: string) => {
    upstream.nextUpgrade('north', script);
    const { status, json, headers } = await refusedUpgrade({ url: upstream.urlOf('north') }, path, { key: null });
    return [status, at(json, 'error', 'code') ?? json?.detail, headers['retry-after']];
  };
  assert.deepEqual(await refusal('refuse upgrade 401'), [401, 'token_expired', undefined]);
  assert.deepEqual(await refusal('refuse upgrade 403'), [403, 'account_deactivated', undefined]);
  assert.deepEqual(await refusal('refuse upgrade 404'), [404, 'Not Found', undefined]);
  assert.deepEqual(await refusal('refuse upgrade 405'), [405, 'Method Not Allowed', undefined]);
  assert.deepEqual(await refusal('refuse upgrade 426'), [426, 'Upgrade Required', undefined]);
  assert.deepEqual(await refusal('refuse upgrade 429 retry 3'), [429, 'rate_limit_exceeded', '3']);
  assert.deepEqual(await refusal('refuse upgrade 500'), [500, 'server_error', undefined]);
  assert.deepEqual(await refusal('refuse upgrade 501'), [501, 'Not Implemented', undefined]);
  assert.deepEqual(await refusal('refuse upgrade 503 retry 2'), [503, 'server_is_overloaded', '2']);
  assert.deepEqual(await refusal('refuse upgrade 404 model_not_found'), [404, 'model_not_found', undefined]);
});

test('a standing refusal of upgrades does not affect turns over HTTP, and faults of turns do not affect upgrades', async () => {
  upstream.clear();
  upstream.always('north', 'refuse upgrade 426 + pace 0');
  assert.equal((await refusedUpgrade({ url: upstream.urlOf('north') }, path, { key: null })).status, 426);
  const answer = await fetch(upstream.urlOf('north') + path, { method: 'POST', body: JSON.stringify(hello) });
  assert.match(await answer.text(), /response\.completed/);
  upstream.always('north', 'refuse 503');
  using socket = await open();
  assert.equal((await socket.turn(hello))[0]?.status, 503);
});

test('an upgrade can stall, be released or be left, and be reset', async () => {
  upstream.clear();
  upstream.nextUpgrade('north', 'stall upgrade', 'stall upgrade', 'reset upgrade');
  const opening = open();
  await upstream.stalled('north');
  upstream.release('north');
  using socket = await opening;
  assert.equal((await socket.turn(hello)).at(-1)?.type, 'response.completed');
  const left = request(upstream.urlOf('north') + path, { headers: { connection: 'upgrade', upgrade: 'websocket' } });
  left.on('error', () => undefined).end();
  await upstream.stalled('north');
  left.destroy();
  assert.equal(await upstream.upgrades('north')[1]?.closed, 'left');
  await assert.rejects(open());
  assert.equal(await upstream.upgrades('north')[2]?.closed, 'cut');
});
