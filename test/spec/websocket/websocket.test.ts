// Websockets over the wire: upgrades, turns, anchors, and the frames that reach the account (A4, D3, EV1, F2.2, F8.2, SM6, SM8).
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import { isObject, type JsonObject } from '../../../proxy/turn/json/json.ts';
import { bearerOf, startGateway, type TestGateway } from '../../support/gateway.ts';
import { frameOf, NATIVE_SOCKET, PUBLIC_SOCKET, responseId, typesOf } from '../../support/native-frames.ts';
import { connect, refusedUpgrade } from '../../support/websocket.ts';

const ALIAS = '/backend-api/agent/v1/responses';
const OTHER = 'pg-other-pool';
const WITHOUT = 'pg-pool-without-websockets';

let gate: TestGateway;
before(async () => {
  gate = await startGateway({
    upstream: { accounts: ['north', 'south', 'plain'] },
    config: (draft) => {
      draft.accounts[2].websocket = false;
      draft.pools = [
        { id: 'team', label: 'Team', strategy: 'fill_first', assignments: [{ account: 'north' }, { account: 'south' }] },
        { id: 'other', label: 'Other', assignments: [{ account: 'south' }] },
        { id: 'plain', label: 'Plain', assignments: [{ account: 'plain' }] },
      ];
      for (const [pool, secret] of [
        ['other', OTHER],
        ['plain', WITHOUT],
      ] as const) {
        draft.keys.push({ id: pool, pool, secret_sha256: [hash('sha256', secret, 'hex')] });
      }
    },
  });
});
after(() => gate.close());
beforeEach(() => gate.reset());

const errorOf = (frames: readonly JsonObject[]): JsonObject => {
  const last = frames.at(-1) ?? {};
  assert.equal(last.type, 'error', typesOf(frames).join(', '));
  return last;
};

/** The frame that reached the account. */
const sentIn = (turn: { readonly json: unknown } | undefined): JsonObject => memberOf(turn as JsonObject | undefined, 'json');

function memberOf(json: JsonObject | undefined, name: string): JsonObject {
  const member = json?.[name];
  return isObject(member) ? member : assert.fail(`no ${name}`);
}

const codeOf = (frames: readonly JsonObject[]): readonly unknown[] => {
  const { status, error } = errorOf(frames) as { status: number; error: JsonObject };
  assert.deepEqual(Object.keys(error).sort(), ['code', 'message', 'param', 'type']);
  return [status, error.code, error.param];
};

for (const path of [NATIVE_SOCKET, ALIAS, PUBLIC_SOCKET]) {
  describe(path, () => {
    test(`[A4] [D3] the upgrade needs a key, and reveals nothing of the Pool without one`, async () => {
      for (const key of [null, 'pg-unknown']) {
        const { status, error, headers } = await refusedUpgrade(gate, path, { key });
        assert.deepEqual([status, error.code], [401, 'invalid_api_key']);
        assert.equal(headers['www-authenticate'], 'Bearer');
        assert.ok(headers['x-request-id']);
      }
    });

    test('[A4] [D3] an upgrade in a Pool without an account that speaks websocket is 426, so that clients fall back to HTTP', async () => {
      const { status, error, headers } = await refusedUpgrade(gate, path, { key: WITHOUT });
      assert.deepEqual([status, error.code], [426, 'websocket_upgrade_required']);
      assert.equal(headers.upgrade, 'websocket');
      const row = await gate.row(String(headers['x-request-id']));
      assert.deepEqual([row?.status, row?.code, row?.method], [426, 'websocket_upgrade_required', 'WS']);
    });

    test('[A4] [D3] each response.create frame is a turn with a row, and its answer is frames without an end mark', async () => {
      using socket = await connect(gate, path);
      for (const text of ['one', 'two']) {
        const frames = await socket.turn(frameOf(text));
        assert.equal(typesOf(frames).at(-1), 'response.completed');
        assert.ok(typesOf(frames).includes('response.output_text.delta'));
      }
      const [first, second] = gate.upstream.turns();
      assert.deepEqual([first?.method, first?.path, first?.account], ['WS', NATIVE_SOCKET, 'north']);
      assert.equal(first?.headers.authorization, `Bearer ${bearerOf('north')}`);
      assert.equal(second?.connection, first?.connection, 'one upstream websocket');
      const rows = (await gate.rows()).slice(-2);
      for (const row of rows) {
        assert.deepEqual([row.status, row.outcome, row.endpoint, row.method, row.account], [200, 'completed', path, 'WS', 'NORTH']);
        assert.ok((row.output_tokens ?? 0) > 0);
      }
    });

    test('[F8.2] an anchor is continued over the live upstream websocket, only at its account', async () => {
      using socket = await connect(gate, path);
      const id = responseId(await socket.turn(frameOf('one')));
      gate.upstream.clear();
      const frames = await socket.turn(frameOf('two', { previous_response_id: id }));
      assert.equal(typesOf(frames).at(-1), 'response.completed');
      const [turn, ...more] = gate.upstream.turns();
      assert.deepEqual([sentIn(turn).previous_response_id, turn?.account, more.length], [id, 'north', 0]);
      assert.equal((await gate.rows()).at(-1)?.why?.reason, 'hard_pin');
    });

    test('[F8.2] an anchor whose upstream websocket is gone is previous_response_not_found, without a dispatch', async () => {
      using socket = await connect(gate, path);
      const id = responseId(await socket.turn(frameOf('one')));
      assert.equal(gate.upstream.closeSockets('north', 1000), 1);
      await gate.upstream.sockets('north', 0);
      gate.upstream.clear();
      assert.deepEqual(codeOf(await socket.turn(frameOf('two', { previous_response_id: id }))), [
        400,
        'previous_response_not_found',
        'previous_response_id',
      ]);
      assert.equal(gate.upstream.turns().length, 0);
      assert.equal(typesOf(await socket.turn(frameOf('all'))).at(-1), 'response.completed', 'the connection goes on');
      assert.deepEqual(codeOf(await socket.turn(frameOf('two', { previous_response_id: id })))[1], 'previous_response_not_found');
      assert.equal(gate.upstream.turns().length, 1, 'a response of the former connection is not on the new one');
    });

    test('[F8.2] another client’s anchor, and one of another Pool, is not found', async () => {
      using socket = await connect(gate, path);
      const id = responseId(await socket.turn(frameOf('one')));
      using second = await connect(gate, path);
      using foreign = await connect(gate, path, { key: OTHER });
      gate.upstream.clear();
      for (const other of [second, foreign]) {
        assert.deepEqual(codeOf(await other.turn(frameOf('two', { previous_response_id: id })))[1], 'previous_response_not_found');
      }
      assert.equal(gate.upstream.turns().length, 0);
    });

    test('[F8.2] an anchor at an account that must log in again asks the client to restart, also when its websocket is gone', async () => {
      using socket = await connect(gate, path);
      const id = responseId(await socket.turn(frameOf('one')));
      gate.fail('north', 'model-a', {
        cause: 'credential',
        status: 401,
        error: NO_ERROR,
        retryAfterMs: undefined,
        resetsAt: undefined,
        answer: undefined,
      });
      gate.upstream.clear();
      for (const close of [false, true]) {
        if (close) gate.upstream.closeSockets('north', 1000);
        const refused = errorOf(await socket.turn(frameOf('two', { previous_response_id: id }))) as { status: number; error: JsonObject };
        assert.deepEqual([refused.status, refused.error.code], [400, 'continuation_requires_restart']);
        assert.match(String(refused.error.message), /full context without stale continuation anchors/);
      }
      assert.equal(gate.upstream.turns().length, 0);
    });

    test('a frame that is not a JSON object is refused, and one of another type is ignored', async () => {
      using socket = await connect(gate, path);
      const ignored = gate.count('websocket_frames_ignored');
      socket.send({ type: 'session.update' });
      socket.send({ model: 'model-a' });
      for (const text of ['{"type":', '[1]', '7']) {
        socket.send(text);
        assert.deepEqual(codeOf(await socket.rest()), [400, 'invalid_request', null]);
      }
      assert.equal(gate.count('websocket_frames_ignored') - ignored, 2);
      assert.equal(typesOf(await socket.turn(frameOf('still here'))).at(-1), 'response.completed');
    });

    test('a refused frame gets the status, code and param of its surface, and the connection stays open', async () => {
      using socket = await connect(gate, path);
      assert.deepEqual(codeOf(await socket.turn(frameOf('x', { model: 'no-such-model' }))), [400, 'invalid_model', 'model']);
      assert.deepEqual(codeOf(await socket.turn(frameOf('x', { tools: [{ type: 'mcp' }] }))).slice(0, 2), [400, 'invalid_request']);
      assert.equal(typesOf(await socket.turn(frameOf('x'))).at(-1), 'response.completed');
      assert.equal(gate.upstream.turns().length, 1);
    });
  });
}

const NO_ERROR = { code: null, type: null, param: null, message: null };

test('[A4] the upgrade of the backend websocket has the ETag of the models, and the public one has none', async () => {
  using native = await connect(gate, NATIVE_SOCKET);
  const { headers } = await gate.fetch('/backend-api/agent/models');
  assert.equal(native.headers['x-models-etag'], headers.get('etag'));
  using open = await connect(gate, PUBLIC_SOCKET);
  assert.equal(open.headers['x-models-etag'], undefined);
});

test('[EV1] each turn of the backend websocket has one metadata event with the ETag; the account’s own is absorbed', async () => {
  using socket = await connect(gate, NATIVE_SOCKET);
  const etag = socket.headers['x-models-etag'];
  for (const members of [{ generate: false }, {}]) {
    const frames = await socket.turn(frameOf('hi', members));
    const metadata = frames.filter(({ type }) => type === 'agent.response.metadata');
    assert.deepEqual(
      metadata.map(({ headers }) => headers),
      [{ 'openai-model': 'model-a', 'x-models-etag': etag }],
    );
  }
  gate.upstream.next('north', 'no preamble');
  const frames = await socket.turn(frameOf('hi'));
  assert.equal(frames[0]?.type, 'agent.response.metadata');
  assert.equal(memberOf(frames[0], 'headers')['x-models-etag'], etag);
  assert.equal(typesOf(frames).filter((type) => type === 'agent.response.metadata').length, 1);
});

test('[EV3] quota and metadata events reach native clients as sent, and no public client', async () => {
  using native = await connect(gate, NATIVE_SOCKET);
  assert.ok(typesOf(await native.turn(frameOf('hi'))).includes('agent.rate_limits'));
  using open = await connect(gate, PUBLIC_SOCKET);
  const frames = await open.turn(frameOf('hi'));
  assert.ok(typesOf(frames).every((type) => !type.startsWith('agent.')));
  assert.deepEqual(
    frames.flatMap(({ sequence_number: number }) => (number === undefined ? [] : [number])),
    frames.flatMap(({ sequence_number: number }) => (number === undefined ? [] : [number])).map((_, i) => i),
    'numbers without gaps',
  );
});

test('[F2.2] [SM8] [SM6] one connection carries Full and Lite turns; a new mode applies to the next frame', async () => {
  using socket = await connect(gate, NATIVE_SOCKET);
  const sent = (): JsonObject => sentIn(gate.upstream.turns().at(-1));
  const marker = 'ws_request_header_x_internal_agent_responses_lite';
  const frame = frameOf('hi', { instructions: 'be brief', client_metadata: { [marker]: 'true', kept: 'yes' } });
  await socket.turn(frame);
  assert.deepEqual([sent().client_metadata, sent().instructions], [{ kept: 'yes' }, 'be brief']);
  const etag = (await gate.fetch('/backend-api/agent/models')).headers.get('etag');
  await gate.reconfigure((draft) => {
    draft.pools[0].serving_modes = { 'model-a': 'lite' };
  });
  const frames = await socket.turn(frame);
  assert.deepEqual([sent().client_metadata, sent().instructions], [{ kept: 'yes', [marker]: 'true' }, undefined]);
  assert.deepEqual((sent().input as JsonObject[])[0], { type: 'additional_tools', role: 'developer', tools: [] });
  assert.equal(gate.upstream.turns().at(-1)?.headers['x-internal-agent-responses-lite'], undefined);
  const metadata = frames.find(({ type }) => type === 'agent.response.metadata')?.headers as JsonObject;
  assert.notEqual(metadata['x-models-etag'], etag, 'the ETag of the turn follows the mode');
  assert.equal(new Set(gate.upstream.turns().map(({ connection }) => connection)).size, 1, 'the same upstream websocket');
  await gate.reconfigure((draft) => {
    delete draft.pools[0].serving_modes;
  });
  await socket.turn(frame);
  assert.deepEqual(sent().client_metadata, { kept: 'yes' });
});

test('[F1.4] a frame to an account has reasoning and the include entry', async () => {
  using socket = await connect(gate, NATIVE_SOCKET);
  await socket.turn(frameOf('hi', { include: ['a'] }));
  const { reasoning, include, type } = sentIn(gate.upstream.turns()[0]);
  assert.deepEqual([reasoning, include, type], [{}, ['a', 'reasoning.encrypted_content'], 'response.create']);
});

test('[F1.10] a public websocket drops provider frames that are not JSON objects, without a gap in the numbers and without ending the reply', async () => {
  for (const script of ['malformed event 1', 'malformed event 4', 'malformed event 6 as array']) {
    gate.upstream.next('north', script);
    using socket = await connect(gate, PUBLIC_SOCKET);
    const frames = await socket.turn(frameOf('hi'));
    assert.equal(typesOf(frames).at(-1), 'response.completed', script);
    assert.ok(
      frames.every((frame) => !('malformed' in frame)),
      script,
    );
    const numbers = frames.flatMap(({ sequence_number: number }) => (number === undefined ? [] : [number]));
    assert.deepEqual(
      numbers,
      numbers.map((_, i) => i),
      script,
    );
    socket.terminate();
    gate.upstream.clear();
  }
});

test('a prewarm is a turn without tokens, and the following frame continues it', async () => {
  using socket = await connect(gate, NATIVE_SOCKET);
  const id = responseId(await socket.turn(frameOf('hi', { generate: false })));
  const { input_tokens, output_tokens } = (await gate.rows()).at(-1) ?? {};
  assert.deepEqual([input_tokens, output_tokens], [0, 0]);
  assert.equal(typesOf(await socket.turn(frameOf('go', { previous_response_id: id }))).at(-1), 'response.completed');
});

test('[RB26] [RB8] no account gets the stream_id of a frame; that of a public frame is on every frame of its reply and on its refusal', async () => {
  using native = await connect(gate, NATIVE_SOCKET);
  const reply = await native.turn(frameOf('hi', { stream_id: 'first' }));
  assert.equal(reply.at(-1)?.type, 'response.completed');
  assert.deepEqual(
    gate.upstream.turns().map((turn) => Object.hasOwn(sentIn(turn), 'stream_id')),
    [false],
  );
  gate.upstream.clear();
  using socket = await connect(gate, PUBLIC_SOCKET);
  const lanesOf = (frames: readonly JsonObject[]): readonly unknown[] => [...new Set(frames.map(({ stream_id: lane }) => lane))];
  assert.deepEqual(lanesOf(await socket.turn(frameOf('hi', { stream_id: 'first' }))), ['first']);
  assert.deepEqual(lanesOf(await socket.turn(frameOf('hi'))), [undefined]);
  assert.ok(gate.upstream.turns().every((turn) => !Object.hasOwn(sentIn(turn), 'stream_id')));
  gate.upstream.next('north', 'cut after 12 events');
  const broken = await socket.turn(frameOf('hi', { stream_id: 'second' }));
  assert.equal(broken.at(-1)?.type, 'error');
  assert.deepEqual(lanesOf(broken), ['second']);
  gate.heal();
  for (const lane of [7, 'x'.repeat(257)]) {
    const frames = await socket.turn(frameOf('hi', { stream_id: lane }));
    assert.deepEqual(codeOf(frames), [400, 'invalid_request', 'stream_id']);
    assert.deepEqual(lanesOf(frames), [undefined]);
  }
  gate.upstream.next('north', 'stall before headers');
  for (let i = 0; i < 10; i++) socket.send({ type: 'response.create', ...frameOf('hi', { stream_id: `lane ${i}` }) });
  assert.deepEqual([(await socket.next()).stream_id, gate.count('websocket_frames_refused')], ['lane 9', 1]);
});
