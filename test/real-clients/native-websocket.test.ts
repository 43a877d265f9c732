// Recorded websocket sessions of the native client, replayed frame by frame: each frame reaches the account, and each answer reaches the
// client.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isObject, type JsonObject } from '../../proxy/turn/json/json.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { hasWebsockets, isLite, type RecordedRequest, type RecordedSession, recordedSessions, turnsOf } from '../support/recorded.ts';
import { at } from '../support/rehearsal-client.ts';
import { replyEvents } from '../support/rehearsal-replies.ts';
import { connect, refusedUpgrade, type TestSocket } from '../support/websocket.ts';

const ENTRY = 'ws_request_header_x_internal_agent_responses_lite';
const METADATA = 'agent.response.metadata';

/** Headers of native clients that an account may not see (F8.1). */
const KEPT_BACK = new Set(['session-id']);

const sessions = recordedSessions().filter(hasWebsockets);
const sessionNamed = (name: string): RecordedSession => sessions.find((session) => session.name === name) ?? assert.fail(name);

for (const session of sessions.filter(({ requests }) =>
  requests.every(({ path, answer }) => path.startsWith('/backend-api/') && answer?.status !== 426),
)) {
  test(`the session ${session.name}`, async () => {
    await using gate = await startGateway({
      upstream: { accounts: ['north'], models: session.models },
      config: (draft) => {
        // Recorded clients leave without a close frame, and the account's websocket would be kept for a client that may come back.
        draft.timeouts.websocket_resume_ms = 0;
      },
    });
    const { headers: list } = await gate.send('/backend-api/agent/models?client_version=0.169.0');
    const etag = list.get('etag') ?? assert.fail();
    let turns = 0;
    for (const [index, request] of session.requests.entries()) {
      if (request.method !== 'WS') {
        const reply = await gate.send(request.path, { headers: request.headers });
        assert.deepEqual([reply.status, reply.headers.get('etag')], [200, etag]);
        continue;
      }
      gate.upstream.clear();
      turns += await replay(gate, session, request, etag);
      await gate.upstream.sockets('north', 0);
      assert.equal(gate.upstream.upgrades().length, 1, `request ${index}: one websocket to the account`);
    }
    const rows = (await gate.rows()).filter(({ method }) => method === 'WS');
    assert.equal(rows.length, turns, 'one row a turn');
    for (const { status, outcome, account, code } of rows) {
      const isLost = code === 'previous_response_not_found';
      assert.deepEqual([status, outcome, account], isLost ? [400, 'failed', 'NORTH'] : [200, 'completed', 'NORTH']);
    }
  });
}

/** Replays one websocket up to the point at which its client ended it. @returns the number of its turns */
async function replay(gate: TestGateway, session: RecordedSession, request: RecordedRequest, etag: string): Promise<number> {
  const { path, headers } = request;
  const turns = turnsOf(request);
  using socket = await connect(gate, path, { headers, offersCompression: true });
  assert.equal(socket.headers['x-models-etag'], etag, 'no refetch is triggered');
  for (const [index, { asked, answered }] of turns.entries()) {
    gate.upstream.next('north', replyEvents(answered));
    const { type: _, ...body } = asked;
    const frames = await socket.turn(body);
    assert.deepEqual(frames.map(withoutTurnState), shownInNative(answered, etag));
    assertArrived(gate, session, asked, index);
  }
  const [upgrade] = gate.upstream.upgrades();
  for (const [name, value] of Object.entries(headers)) assert.equal(upgrade?.headers[name], KEPT_BACK.has(name) ? undefined : value, name);
  socket.terminate();
  return turns.length;
}

/** EV1: each accepted turn has the ETag of the gateway, in place of the account's or in a separate event. */
function shownInNative(frames: readonly JsonObject[], etag: string): readonly JsonObject[] {
  const own = { 'x-models-etag': etag };
  const merged = frames.map((frame) =>
    frame.type === METADATA ? { ...frame, headers: { ...(frame.headers as JsonObject), ...own } } : frame,
  );
  return frames.some(({ type }) => type === METADATA || type === 'error') ? merged : [{ type: METADATA, headers: own }, ...merged];
}

/** A turn state in this event is that of the account's upgrade; turns have theirs in a separate event. */
function withoutTurnState(frame: JsonObject): JsonObject {
  if (frame.type !== METADATA) return frame;
  const { 'x-agent-turn-state': _, ...headers } = frame.headers as JsonObject;
  return { ...frame, headers };
}

function assertArrived(gate: TestGateway, session: RecordedSession, asked: JsonObject, index: number): void {
  const turn = gate.upstream.turns()[index];
  const arrived = turn?.json as JsonObject;
  assert.equal(turn?.connection, gate.upstream.turns()[0]?.connection, 'all turns on one websocket');
  assert.equal(at(arrived, 'client_metadata', ENTRY), isLite(session) ? 'true' : undefined);
  if (!isLite(session)) {
    assert.deepEqual(arrived, asked, 'the frame is what the client sent');
    return;
  }
  const [sent, said] = [arrived.input as readonly JsonObject[], asked.input as readonly JsonObject[]];
  assert.deepEqual(sent.slice(sent.length - said.length), said, 'the input is what the client sent');
  assert.equal(arrived.previous_response_id, asked.previous_response_id);
}

test('a client whose upgrade is refused with 426 continues over HTTP', async () => {
  const { requests, models } = sessionNamed('upgrade-refused-426');
  const [upgrade, post] = requests;
  assert.ok(upgrade && post?.answer?.events && post.body);
  await using gate = await startGateway({
    upstream: { accounts: [{ id: 'north', websocket: 'refused' }], models },
    config: (draft) => {
      draft.accounts[0].websocket = false;
    },
  });
  const refusal = await refusedUpgrade(gate, upgrade.path, { headers: upgrade.headers, offersCompression: true });
  assert.deepEqual([refusal.status, at(refusal.json, 'error', 'code')], [426, 'websocket_upgrade_required']);
  assert.equal(gate.upstream.upgrades().length, 0);
  gate.upstream.next('north', replyEvents(post.answer.events, { headers: post.answer.headers }));
  const reply = await gate.send(post.path, { body: post.body, headers: { ...post.headers } });
  assert.equal(reply.status, 200);
  assert.deepEqual(gate.upstream.turns()[0]?.json, post.body);
});

test('[Q16] the public session declares tool_search, which is refused as a frame; without that tool it runs', async () => {
  const session = sessionNamed('public-websocket');
  const [request] = session.requests;
  assert.ok(request);
  await using gate = await startGateway({ upstream: { accounts: ['north'], models: session.models } });
  const socket = await connect(gate, request.path, { headers: request.headers, offersCompression: true });
  const turns = turnsOf(request);
  for (const { asked } of turns) {
    const position = (asked.tools as readonly JsonObject[]).findIndex(({ type }) => type === 'tool_search');
    const { type: _, ...body } = asked;
    const [refusal, ...others] = await socket.turn(body);
    assert.equal(others.length, 0);
    assert.deepEqual(
      [refusal?.status, at(refusal, 'error', 'code'), at(refusal, 'error', 'param')],
      [400, 'invalid_request', `tools.${position}.type`],
    );
  }
  assert.equal(gate.upstream.turns().length, 0);
  for (const [index, { asked, answered }] of turns.entries()) {
    gate.upstream.next('north', replyEvents(answered));
    const { type: _, tools, ...body } = asked;
    const without = (tools as readonly JsonObject[]).filter(({ type }) => type !== 'tool_search');
    const frames = await socket.turn({ ...body, tools: without });
    assert.deepEqual(frames, shownInPublic(answered));
    const arrived = gate.upstream.turns()[index]?.json as JsonObject;
    assert.deepEqual([arrived.generate, arrived.previous_response_id], [asked.generate, asked.previous_response_id]);
    // In Full the texts of developer messages move to the instructions (F1.1).
    const users = (asked.input as readonly JsonObject[]).filter(({ role }) => role !== 'developer');
    assert.deepEqual((arrived.input as readonly JsonObject[]).slice(-users.length || undefined), users);
  }
  await gate.upstream.sockets('north', 1);
  await assertEnds(gate, socket);
});

/** The frames that a public client gets: no event of the backend's family, and the id of the model in responses (Q15). */
const shownInPublic = (frames: readonly JsonObject[]): readonly JsonObject[] =>
  frames
    .filter(({ type }) => !(type as string).startsWith('agent.'))
    .map((frame) => (isObject(frame.response) ? { ...frame, response: { ...frame.response, model: 'gpt-5.5' } } : frame));

async function assertEnds(gate: TestGateway, socket: TestSocket): Promise<void> {
  socket.terminate();
  await gate.upstream.sockets('north', 0);
}
