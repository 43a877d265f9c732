// Explicit compaction on the public websocket: with an anchor it uses the live upstream socket, otherwise the compact path.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { ShiftedClock } from '../../support/clocks/shifted-clock.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { modelEntry } from '../../support/rehearsal-replies.ts';
import { user } from '../../support/stages/continuity.ts';
import { until } from '../../support/until.ts';
import { connect, type TestSocket } from '../../support/websocket.ts';

const PUBLIC = '/v1/responses';
const RESPONSES = '/backend-api/agent/responses';
const COMPACT = '/backend-api/agent/responses/compact';
const TRIGGER: JsonObject = { type: 'compaction_trigger' };

const clock = new ShiftedClock();
let gate: TestGateway;
before(async () => {
  gate = await startGateway({
    clock,
    upstream: { models: [modelEntry({ slug: 'model-a' }), modelEntry({ slug: 'model-b' })], manners: { noCompactPath: false } },
  });
});
after(() => gate.close());
beforeEach(() => {
  clock.setAhead(3_600_000);
  gate.heal();
  gate.upstream.clear();
});

const explicit = (more: JsonObject = {}): JsonObject => ({ model: 'model-a', input: [user('so much'), TRIGGER], ...more });

/** The account and the path of each turn. */
const went = (): readonly string[] => gate.upstream.turns().map(({ account, path, method }) => `${account} ${method} ${path}`);

/** The body of the last turn at an account. */
const lastSent = (of = gate): JsonObject => of.upstream.turns().at(-1)?.json as JsonObject;

const responseIn = (frames: readonly JsonObject[]): JsonObject => (frames.at(-1)?.response ?? {}) as JsonObject;

/** A socket with one finished turn, and that turn's id. */
async function conversation(): Promise<{ readonly socket: TestSocket; readonly anchor: string }> {
  const socket = await connect(gate, PUBLIC);
  const frames = await socket.turn({ model: 'model-a', input: [user('hello')] });
  return { socket, anchor: String(responseIn(frames).id) };
}

/**
 * Asserts the frames of a successful compaction (the item and the completed response, numbered from 0, without an end mark), and returns
 * the item.
 */
function itemIn(frames: readonly JsonObject[]): JsonObject {
  assert.deepEqual(
    frames.map(({ type, sequence_number }) => [type, sequence_number]),
    [
      ['response.output_item.done', 0],
      ['response.completed', 1],
    ],
  );
  const { item } = frames[0] as { readonly item: JsonObject };
  const { object, status, output, model } = responseIn(frames);
  assert.deepEqual([object, status, output, model], ['response', 'completed', [item], 'model-a']);
  assert.deepEqual([item.type, typeof item.encrypted_content], ['compaction', 'string']);
  return item;
}

/** The only error frame of a turn. */
function refusalIn(frames: readonly JsonObject[]): readonly unknown[] {
  assert.equal(frames.length, 1, JSON.stringify(frames));
  const { type, status, error } = frames[0] as { readonly type: string; readonly status: number; readonly error: JsonObject };
  assert.equal(type, 'error');
  return [status, error.code, error.param];
}

const NOT_FOUND = [400, 'previous_response_not_found', 'previous_response_id'];

describe('[F3.6] without an anchor', () => {
  test('the full history goes through the HTTP compact path, and the socket stays unchanged', async () => {
    const { socket, anchor } = await conversation();
    const frames = await socket.turn(explicit());
    itemIn(frames);
    assert.deepEqual(went(), [`north WS ${RESPONSES}`, `north POST ${COMPACT}`]);
    assert.deepEqual(lastSent(), { model: 'model-a', input: [user('so much')] });
    const row = (await gate.rows()).at(-1);
    assert.deepEqual([row?.endpoint, row?.method, row?.status, row?.outcome, row?.output_tokens], [PUBLIC, 'WS', 200, 'completed', 24]);
    assert.equal(
      (await socket.turn({ model: 'model-a', input: [user('more')], previous_response_id: anchor })).at(-1)?.type,
      'response.completed',
    );
    assert.deepEqual(new Set(gate.upstream.turns().map(({ connection }) => connection)).size, 2, 'one websocket, and HTTP');
    socket.terminate();
  });

  test('an account that compacts by turns gets an ordinary turn over HTTP', async () => {
    await using other = await startGateway({
      upstream: { accounts: ['north'] },
      config: (draft) => {
        draft.accounts[0].compact = 'trigger';
      },
    });
    using socket = await connect(other, PUBLIC);
    itemIn(await socket.turn(explicit()));
    const [turn] = other.upstream.turns();
    assert.deepEqual([turn?.method, turn?.path, lastSent(other).stream], ['POST', RESPONSES, true]);
  });

  test('another account is tried before the first one begins to answer', async () => {
    using socket = await connect(gate, PUBLIC);
    gate.upstream.next('north', 'refuse 503');
    itemIn(await socket.turn(explicit()));
    assert.deepEqual(went(), [`north POST ${COMPACT}`, `south POST ${COMPACT}`]);
  });
});

describe('[F3.5] with an anchor', () => {
  test('the live upstream websocket gets a trigger, with nothing of F1.4 added', async () => {
    const { socket, anchor } = await conversation();
    itemIn(await socket.turn(explicit({ previous_response_id: anchor })));
    assert.deepEqual(went(), [`north WS ${RESPONSES}`, `north WS ${RESPONSES}`]);
    const [first, second] = gate.upstream.turns();
    assert.equal(first?.connection, second?.connection, 'the same connection');
    assert.deepEqual(lastSent(), {
      type: 'response.create',
      model: 'model-a',
      input: [user('so much'), TRIGGER],
      previous_response_id: anchor,
      stream: true,
      store: false,
    });
    socket.terminate();
  });

  test('[F3.4] the returned item begins a new chain', async () => {
    const { socket, anchor } = await conversation();
    const item = itemIn(await socket.turn(explicit({ previous_response_id: anchor })));
    assert.equal((await socket.turn({ model: 'model-a', input: [item, user('go on')] })).at(-1)?.type, 'response.completed');
    assert.deepEqual(lastSent().input, [item, user('go on')]);
    const anchored = await socket.turn({ model: 'model-a', input: [item, user('go on')], previous_response_id: anchor });
    assert.deepEqual(refusalIn(anchored), [400, 'invalid_request', 'previous_response_id']);
    const unknown = await socket.turn({ model: 'model-a', input: [{ ...item, status: 'completed' }, user('go on')] });
    assert.deepEqual(refusalIn(unknown), [400, 'invalid_request', 'input.0.status']);
    socket.terminate();
  });

  for (const [what, anchorOf] of [
    ['is not known', () => 'resp_unknown'],
    ['came over HTTP', async () => (await gate.send(PUBLIC, { body: { model: 'model-a', input: 'hi' } })).json.id],
    [
      'came over another connection',
      async () => {
        const { socket, anchor } = await conversation();
        socket.terminate();
        return anchor;
      },
    ],
  ] as const) {
    test(`one that ${what} is not found, and nothing is sent`, async () => {
      const { socket } = await conversation();
      const anchor: string = await anchorOf();
      gate.upstream.clear();
      assert.deepEqual(refusalIn(await socket.turn(explicit({ previous_response_id: anchor }))), NOT_FOUND);
      assert.deepEqual(went(), []);
      socket.terminate();
    });
  }

  test('it is not found when its connection is gone, and the full history without it is accepted', async () => {
    const { socket, anchor } = await conversation();
    await gate.upstream.hangUp('north');
    await gate.upstream.pickUp('north');
    gate.upstream.clear();
    assert.deepEqual(refusalIn(await socket.turn(explicit({ previous_response_id: anchor }))), NOT_FOUND);
    assert.deepEqual(went(), [], 'no connection is opened for it, and nothing goes over HTTP');
    itemIn(await socket.turn(explicit()));
    assert.deepEqual(went(), [`north POST ${COMPACT}`]);
    socket.terminate();
  });

  test('it is not found when its account is out of quota, and the full history goes to another one', async () => {
    const { socket, anchor } = await conversation();
    const error = { code: null, type: null, param: null, message: null };
    gate.fail('north', 'model-a', { cause: 'quota', status: 429, error, retryAfterMs: undefined, resetsAt: undefined, answer: undefined });
    gate.upstream.clear();
    assert.deepEqual(refusalIn(await socket.turn(explicit({ previous_response_id: anchor }))), NOT_FOUND);
    assert.deepEqual(went(), []);
    itemIn(await socket.turn(explicit()));
    assert.deepEqual(went(), [`south POST ${COMPACT}`]);
    socket.terminate();
  });

  test('it is not found when the mode of its response has changed since', async () => {
    const { socket, anchor } = await conversation();
    await gate.reconfigure((draft) => {
      draft.pools[0].serving_modes = { 'model-a': 'lite' };
    });
    gate.upstream.clear();
    assert.deepEqual(refusalIn(await socket.turn(explicit({ previous_response_id: anchor }))), NOT_FOUND);
    assert.deepEqual(went(), []);
    await gate.reconfigure((draft) => {
      draft.pools[0].serving_modes = {};
    });
    itemIn(await socket.turn(explicit({ previous_response_id: anchor })));
    socket.terminate();
  });

  test('[F2.15] [F2.2] Lite rewrites its frame and marks it', async () => {
    await using lite = await startGateway({
      upstream: { accounts: ['north'] },
      config: (draft) => {
        draft.pools[0].serving_modes = { 'model-a': 'lite' };
      },
    });
    using socket = await connect(lite, PUBLIC);
    const anchor = responseIn(await socket.turn({ model: 'model-a', input: [user('hello')] })).id;
    itemIn(await socket.turn(explicit({ previous_response_id: anchor, instructions: 'Summarise.', reasoning: { effort: 'low' } })));
    const { input, reasoning, client_metadata, instructions, tools } = lastSent(lite);
    assert.deepEqual(input, [
      { type: 'additional_tools', role: 'developer', tools: [] },
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Summarise.' }] },
      user('so much'),
      TRIGGER,
    ]);
    assert.deepEqual([reasoning, instructions, tools], [{ effort: 'low', context: 'all_turns' }, undefined, undefined]);
    assert.deepEqual(client_metadata, { ws_request_header_x_internal_agent_responses_lite: 'true' });
  });

  test('it is not found when its connection dies while it waits for its account, and none is opened for it', async () => {
    await using busy = await startGateway({
      upstream: { accounts: ['north'] },
      config: (draft) => {
        draft.accounts[0].max_concurrent = 1;
      },
    });
    using socket = await connect(busy, PUBLIC);
    const anchor = responseIn(await socket.turn({ model: 'model-a', input: [user('hello')] })).id;
    busy.upstream.clear();
    busy.upstream.next('north', 'stall after headers');
    const running = busy.send(PUBLIC, { body: { model: 'model-a', input: 'hi' } });
    await busy.upstream.stalled('north');
    const refused = socket.turn(explicit({ previous_response_id: anchor }));
    await until('the compaction to wait', () => (busy.admission('websocket').waiting === 1 ? true : undefined));
    await busy.upstream.hangUp('north');
    await busy.upstream.pickUp('north');
    assert.deepEqual(refusalIn(await refused), NOT_FOUND);
    assert.equal((await running).status, 502);
    assert.equal(busy.upstream.turns().length, 1, 'the running turn alone');
  });

  for (const fault of ['compaction missing', 'compaction twice', 'compaction blank', 'compaction unsealed']) {
    test(`[F3.7] ${fault} is an error frame of 502, without another attempt, and the connection stays open`, async () => {
      const { socket, anchor } = await conversation();
      gate.upstream.clear();
      gate.upstream.next('north', fault);
      const refused = await socket.turn(explicit({ previous_response_id: anchor }));
      assert.deepEqual(refusalIn(refused), [502, 'invalid_compaction_response', null]);
      assert.deepEqual(went(), [`north WS ${RESPONSES}`]);
      const row = (await gate.rows()).at(-1);
      assert.deepEqual([row?.code, row?.error_class, row?.retries], ['invalid_compaction_response', 'upstream_malformed', 0]);
      assert.deepEqual(
        (await gate.attempts(row?.id ?? '')).map(({ error_class }) => error_class),
        ['upstream_malformed'],
      );
      assert.equal(gate.account('north').status, 'active');
      itemIn(await socket.turn(explicit({ previous_response_id: anchor })));
      socket.terminate();
    });
  }

  for (const fault of [
    'reset before headers',
    'reset after 1 event',
    'reset after 3 events',
    'close 1011 after 4 events',
    'close 1000',
    'no terminal',
    'connection limit',
    'anchor lost',
  ]) {
    test(`it is not found when its connection ends (${fault}): no other connection or account is tried, and no HTTP`, async () => {
      const { socket, anchor } = await conversation();
      gate.upstream.clear();
      gate.upstream.next('north', fault);
      assert.deepEqual(refusalIn(await socket.turn(explicit({ previous_response_id: anchor }))), NOT_FOUND);
      assert.deepEqual(went(), [`north WS ${RESPONSES}`]);
      itemIn(await socket.turn(explicit()));
      socket.terminate();
    });
  }

  for (const [fault, refusal] of [
    ['refuse 503', [502, 'upstream_error', null]],
    ['refuse inside context_length_exceeded as error', [400, 'context_length_exceeded', null]],
    ['refuse inside', [502, 'upstream_error', null]],
    ['refuse 429 usage_limit_reached resets 60', [429, 'usage_limit_reached', null]],
  ] as const) {
    test(`a refusal in place of the compaction is one error frame (${fault})`, async () => {
      const { socket, anchor } = await conversation();
      gate.upstream.clear();
      gate.upstream.next('north', fault);
      assert.deepEqual(refusalIn(await socket.turn(explicit({ previous_response_id: anchor }))), refusal);
      assert.deepEqual(went(), [`north WS ${RESPONSES}`]);
      socket.terminate();
    });
  }

  test('its upstream websocket is closed when the client leaves', async () => {
    const { socket, anchor } = await conversation();
    gate.upstream.clear();
    gate.upstream.next('north', 'stall after 2 events');
    socket.send({ type: 'response.create', ...explicit({ previous_response_id: anchor }) });
    await gate.upstream.stalled('north');
    socket.terminate();
    assert.equal(await gate.upstream.turns()[0]?.closed, 'left');
  });
});

describe('a frame', () => {
  test('[F3.1] with a misplaced trigger gets an error frame, and the connection stays open', async () => {
    const { socket } = await conversation();
    gate.upstream.clear();
    for (const input of [[TRIGGER], [TRIGGER, user('late')], [user('x'), TRIGGER, TRIGGER]]) {
      assert.deepEqual(refusalIn(await socket.turn({ model: 'model-a', input })), [400, 'invalid_request', 'input']);
    }
    assert.deepEqual(went(), []);
    itemIn(await socket.turn(explicit()));
    socket.terminate();
  });

  test('[F4.5] is under the effort policy of its key', async () => {
    await using gated = await startGateway({
      upstream: { accounts: ['north'] },
      config: (draft) => {
        draft.keys[0].reasoning_effort = { allow_up_to: 'low' };
      },
    });
    using socket = await connect(gated, PUBLIC);
    const refused = await socket.turn(explicit({ reasoning: { effort: 'high' } }));
    assert.deepEqual(refusalIn(refused), [400, 'reasoning_effort_not_allowed', 'reasoning.effort']);
    itemIn(await socket.turn(explicit()));
    assert.deepEqual(lastSent(gated).reasoning, { effort: 'low' });
  });

  test('[A4] of a native client with a trigger is an ordinary turn, anchored, and its next one begins a new chain', async () => {
    using socket = await connect(gate, RESPONSES);
    const native = { model: 'model-a', stream: true, store: false, reasoning: {}, include: ['reasoning.encrypted_content'] };
    const anchor = responseIn(await socket.turn({ ...native, input: [user('hello')] })).id;
    const frames = await socket.turn({ ...native, input: [user('so much'), TRIGGER], previous_response_id: anchor });
    const items = frames.filter(({ type }) => type === 'response.output_item.done');
    assert.deepEqual(
      items.map(({ item }) => (item as JsonObject).type),
      ['compaction'],
    );
    assert.equal(frames.filter(({ type }) => type === 'agent.response.metadata').length, 1, '[EV1]');
    assert.deepEqual(lastSent(), {
      type: 'response.create',
      ...native,
      input: [user('so much'), TRIGGER],
      previous_response_id: anchor,
    });
    const item = (items[0] as JsonObject).item as JsonObject;
    const next = await socket.turn({ ...native, input: [user('hello'), { ...item, odd: true }] });
    assert.equal(next.at(-1)?.type, 'response.completed');
    assert.deepEqual(went(), [`north WS ${RESPONSES}`, `north WS ${RESPONSES}`, `north WS ${RESPONSES}`]);
  });
});
