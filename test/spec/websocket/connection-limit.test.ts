// Limits of the provider on its websockets, and its error frames: 60 minutes, idle frames, `status_code`, headers, quota by event (RB27,
// RB28, RB32).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isObject, type JsonObject } from '../../../proxy/turn/json/json.ts';
import { ManualClock } from '../../support/clocks/manual-clock.ts';
import { startGateway } from '../../support/gateway.ts';
import { frameOf, NATIVE_SOCKET, PUBLIC_SOCKET, responseId, typesOf } from '../../support/native-frames.ts';
import { connect } from '../../support/websocket.ts';

const codeOf = (frame: JsonObject | undefined): unknown => (isObject(frame?.error) ? frame.error.code : undefined);
const accounts = ['north'] as const;

for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
  test(`[RB28] ${path}: after 60 minutes an unanchored turn is repeated on a new websocket, and an anchored one is not found`, async () => {
    const clock = new ManualClock();
    await using gate = await startGateway({ upstream: { accounts, clock } });
    using socket = await connect(gate, path);
    const id = responseId(await socket.turn(frameOf('one')));
    await clock.advance(3_600_000);
    assert.equal(codeOf((await socket.turn(frameOf('two', { previous_response_id: id }))).at(-1)), 'previous_response_not_found');
    assert.equal(typesOf(await socket.turn(frameOf('all'))).at(-1), 'response.completed');
    await clock.advance(3_600_000);
    const frames = await socket.turn(frameOf('more'));
    assert.equal(typesOf(frames).at(-1), 'response.completed');
    assert.equal(frames.filter(({ type }) => type === 'error').length, 0);
    assert.equal((await gate.rows()).at(-1)?.retries, 1);
  });

  test(`[RB28] ${path}: the frame of the limit between turns answers no turn, and retires the websocket`, async () => {
    await using gate = await startGateway({ upstream: { accounts } });
    using socket = await connect(gate, path);
    gate.upstream.next('north', 'connection limit after turn');
    const id = responseId(await socket.turn(frameOf('one')));
    await gate.upstream.sockets('north', 0);
    assert.equal(codeOf((await socket.turn(frameOf('two', { previous_response_id: id }))).at(-1)), 'previous_response_not_found');
    assert.equal(typesOf(await socket.turn(frameOf('all'))).at(-1), 'response.completed');
    const rows = await gate.rows();
    assert.deepEqual(
      rows.map(({ status, retries }) => [status, retries]),
      [
        [200, 0],
        [400, 0],
        [200, 0],
      ],
    );
  });

  test(`[RB27] ${path}: a status_code and the headers of an error frame count as those of an answer; the frame has a status`, async () => {
    await using gate = await startGateway({ upstream: { accounts } });
    using socket = await connect(gate, path);
    gate.upstream.next('north', 'refuse 422 + status code');
    const [refused] = await socket.turn(frameOf('one'));
    assert.deepEqual([refused?.type, refused?.status, refused?.status_code], ['error', 422, undefined]);
  });
}

test('[RB32] quota on a websocket is read from its event: the upgrade states none', async () => {
  const quota = { primary: { used_percent: 37, window_minutes: 300 }, secondary: null };
  await using gate = await startGateway({ upstream: { accounts: [{ id: 'north', quota }] } });
  using socket = await connect(gate, NATIVE_SOCKET);
  const frames = await socket.turn(frameOf('one'));
  assert.ok(typesOf(frames).includes('agent.rate_limits'));
  const { rate_limit } = (await gate.send('/backend-api/meter/usage')).json as { readonly rate_limit: JsonObject };
  assert.equal((rate_limit.primary_window as JsonObject).used_percent, 37);
});
