// Behaviour of accounts that affects websocket turns: refused upgrades, failures before and after commit, limits of connections and frames
// (Q6, Q17, Q28).
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import type { JsonObject } from '../../../../proxy/turn/json/json.ts';
import { ManualClock } from '../../../support/clocks/manual-clock.ts';
import { ShiftedClock } from '../../../support/clocks/shifted-clock.ts';
import { bearerOf, startGateway, type TestGateway } from '../../../support/gateway.ts';
import { frameOf, NATIVE_SOCKET, PUBLIC_SOCKET, responseId, typesOf } from '../../../support/native-frames.ts';
import { eventsOf } from '../../../support/network/sse-events.ts';
import { turnBody } from '../../../support/rehearsal-replies.ts';
import { until } from '../../../support/until.ts';
import { connect, type TestSocket } from '../../../support/websocket.ts';

const clock = new ShiftedClock();
let gate: TestGateway;
before(async () => {
  gate = await startGateway({ clock });
});
after(() => gate.close());
beforeEach(() => {
  gate.reset();
  clock.setAhead(2 * 3_600_000);
});

const went = (): readonly string[] => gate.upstream.turns().map(({ account, method }) => `${account} ${method}`);

const completes = async (socket: TestSocket, text = 'hi'): Promise<readonly JsonObject[]> => {
  const frames = await socket.turn(frameOf(text));
  assert.equal(typesOf(frames).at(-1), 'response.completed', JSON.stringify(frames.at(-1)));
  return frames;
};

const refusedWith = (frames: readonly JsonObject[]): readonly unknown[] => {
  const { type, status, error } = frames.at(-1) as { type: string; status: number; error: JsonObject };
  return [type, status, error.code];
};

for (const status of [404, 405, 426, 501]) {
  test(`an upgrade refused with ${status} means that the account has no websocket: its turns go over HTTP for an hour`, async () => {
    gate.upstream.nextUpgrade('north', `refuse upgrade ${status}`);
    using socket = await connect(gate, NATIVE_SOCKET);
    await completes(socket);
    await completes(socket);
    assert.deepEqual(went(), ['north POST', 'north POST']);
    assert.equal(gate.upstream.upgrades('north').length, 1);
    assert.equal((gate.upstream.turns()[0]?.json as JsonObject | undefined)?.stream, true);
    const row = (await gate.rows()).at(-2);
    assert.deepEqual([row?.status, row?.account, row?.retries], [200, 'NORTH', 1]);
    assert.equal(gate.account('north').status, 'active');
    clock.setAhead(3_600_000);
    await completes(socket);
    assert.equal(went().at(-1), 'north WS', 'asked again after an hour');
  });
}

test('[Q6] an account whose upgrade is refused loses its websockets alone: its neighbour at the same address keeps them', async () => {
  await using shared = await startGateway({
    config: (draft) => {
      const { base_url, credential } = structuredClone(draft.accounts[0]);
      Object.assign(draft.accounts[1], { base_url, credential });
      draft.pools.push({ id: 'other', label: 'Other', assignments: [{ account: 'south' }] });
      draft.keys.push({ id: 'neighbour', pool: 'other', secret_sha256: [hash('sha256', 'pg-neighbour', 'hex')] });
    },
  });
  shared.upstream.nextUpgrade('north', 'refuse upgrade 404');
  using first = await connect(shared, NATIVE_SOCKET);
  using second = await connect(shared, NATIVE_SOCKET, { key: 'pg-neighbour' });
  for (const socket of [first, second, first]) assert.equal(typesOf(await socket.turn(frameOf('hi'))).at(-1), 'response.completed');
  assert.deepEqual(
    shared.upstream.turns().map(({ method }) => method),
    ['POST', 'WS', 'POST'],
  );
  assert.deepEqual(
    (await shared.rows()).map(({ account }) => account),
    ['NORTH', 'SOUTH', 'NORTH'],
  );
});

for (const [status, health] of [
  [403, 'failing'],
  [429, 'active'],
  [500, 'active'],
  [503, 'active'],
] as const) {
  test(`an upgrade refused with ${status} is a failed attempt: the turn goes to another account`, async () => {
    gate.upstream.nextUpgrade('north', `refuse upgrade ${status}`);
    using socket = await connect(gate, PUBLIC_SOCKET);
    await completes(socket);
    assert.deepEqual(went(), ['south WS']);
    const [first] = await gate.attempts((await gate.rows()).at(-1)?.id ?? '');
    assert.deepEqual([first?.account, first?.status], ['NORTH', status]);
    assert.equal(gate.account('north').status, health);
  });
}

test('an upgrade refused with 401 at every account is 502, and the accounts must log in again', async () => {
  for (const account of ['north', 'south']) gate.upstream.nextUpgrade(account, 'refuse upgrade 401');
  using socket = await connect(gate, NATIVE_SOCKET);
  assert.deepEqual(refusedWith(await socket.turn(frameOf('hi'))), ['error', 502, 'upstream_error']);
  assert.deepEqual([gate.account('north').status, gate.account('south').status], ['reauth_required', 'reauth_required']);
});

for (const script of ['reset upgrade', 'refuse upgrade 200']) {
  test(`${script}: the turn goes to another account`, async () => {
    gate.upstream.nextUpgrade('north', script === 'reset upgrade' ? script : 'refuse upgrade 418');
    using socket = await connect(gate, NATIVE_SOCKET);
    if (script === 'reset upgrade') {
      await completes(socket);
      assert.deepEqual(went(), ['south WS']);
    } else assert.deepEqual(refusedWith(await socket.turn(frameOf('hi'))).slice(0, 2), ['error', 418]);
  });
}

for (const script of [
  'refuse 503',
  'refuse 429 rate_limit_exceeded',
  'refuse inside',
  'close 1011',
  'cut before headers',
  'reset after 3 events',
  'cut after 5 events',
]) {
  for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
    test(`${script} while nothing was shown moves the turn of ${path} to another account, unseen`, async () => {
      gate.upstream.next('north', script);
      using socket = await connect(gate, path);
      const frames = await completes(socket);
      assert.deepEqual(went(), ['north WS', 'south WS']);
      assert.equal(typesOf(frames).filter((type) => type === 'response.created').length, 1);
      assert.equal((await gate.rows()).at(-1)?.retries, 1);
    });
  }
}

test('a refusal that blames the request is passed on, with a status, and the connection stays open', async () => {
  for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
    gate.upstream.next('north', 'refuse 400 context_length_exceeded', 'refuse inside context_length_exceeded as error');
    using socket = await connect(gate, path);
    for (let i = 0; i < 2; i++) {
      assert.deepEqual(refusedWith(await socket.turn(frameOf('hi'))), ['error', 400, 'context_length_exceeded'], path);
    }
    await completes(socket);
    assert.ok(went().every((one) => one === 'north WS'));
    gate.upstream.clear();
  }
});

test('[F1.8] an immediate refusal is the first frame of its turn', async () => {
  gate.upstream.next('north', [{ kind: 'refuse', status: 400, code: 'context_length_exceeded' }]);
  using socket = await connect(gate, NATIVE_SOCKET);
  const frames = await socket.turn(frameOf('hi'));
  assert.ok(
    typesOf(frames).every((type) => type === 'error'),
    typesOf(frames).join(', '),
  );
});

test('with every account out of quota the client gets one error frame with the reset', async () => {
  for (const account of ['north', 'south']) gate.upstream.next(account, 'refuse 429 usage_limit_reached resets 600');
  using socket = await connect(gate, NATIVE_SOCKET);
  const frame = (await socket.turn(frameOf('hi'))).at(-1) as { status: number; error: JsonObject };
  assert.deepEqual([frame.status, frame.error.type, frame.error.code], [429, 'usage_limit_reached', 'usage_limit_reached']);
  assert.ok(Number(frame.error.resets_at) > 0);
});

test('[F1.8] a reply that dies after visible output closes the native websocket with 1011, and ends the public turn with a frame of 502', async () => {
  for (const script of ['cut after 12 events', 'close 1000 after 12 events', 'reset after 12 events']) {
    gate.upstream.next('north', script, script);
    using native = await connect(gate, NATIVE_SOCKET);
    native.send({ type: 'response.create', ...frameOf('hi') });
    assert.equal((await native.closed).code, 1011, script);
    assert.ok(typesOf(native.frames).includes('response.output_text.delta'), script);
    using open = await connect(gate, PUBLIC_SOCKET);
    assert.deepEqual(refusedWith(await open.turn(frameOf('hi'))), ['error', 502, 'server_error'], script);
    assert.deepEqual(went(), ['north WS', 'north WS'], script);
    await completes(open);
    gate.upstream.clear();
  }
});

test('an anchored turn whose websocket dies before commit is previous_response_not_found', async () => {
  for (const script of ['close 1001', 'cut after 3 events', 'connection limit', 'anchor lost']) {
    using socket = await connect(gate, NATIVE_SOCKET);
    const id = responseId(await completes(socket));
    gate.upstream.next('north', script);
    const anchored = await socket.turn(frameOf('more', { previous_response_id: id }));
    assert.deepEqual(refusedWith(anchored), ['error', 400, 'previous_response_not_found'], script);
    assert.deepEqual(went(), ['north WS', 'north WS'], script);
    assert.equal(gate.account('north').status, 'active', script);
    await completes(socket);
    gate.reset();
  }
});

const UNSTATED = {
  error: { code: null, type: null, param: null, message: null },
  retryAfterMs: undefined,
  resetsAt: undefined,
  answer: undefined,
};

for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
  for (const [name, before, script] of [
    ['says that it is out of quota', undefined, 'refuse 429 usage_limit_reached resets 60'],
    ['says that it is limited', undefined, 'refuse 429'],
    ['is out of quota', 'quota', undefined],
    ['has lost the model', 'model', undefined],
  ] as const) {
    test(`[Q10] an anchored turn on ${path} whose account ${name} is previous_response_not_found while another account can take it`, async () => {
      using socket = await connect(gate, path);
      const id = responseId(await completes(socket));
      if (before) gate.fail('north', 'model-a', { cause: before, status: before === 'quota' ? 429 : 404, ...UNSTATED });
      if (script) gate.upstream.next('north', script);
      const refused = refusedWith(await socket.turn(frameOf('on', { previous_response_id: id })));
      assert.deepEqual(refused, ['error', 400, 'previous_response_not_found']);
      await completes(socket);
      assert.deepEqual(went(), script ? ['north WS', 'north WS', 'south WS'] : ['north WS', 'south WS']);
      gate.heal();
    });
  }

  test(`[Q7] an anchored turn on ${path} that waited in vain for its full account is previous_response_not_found if another one is free`, async () => {
    const clock = new ManualClock();
    await using full = await startGateway({
      clock,
      upstream: { accounts: ['north', 'south'] },
      config: (draft) => {
        for (const account of draft.accounts) account.max_concurrent = 1;
      },
    });
    using socket = await connect(full, path);
    using other = await connect(full, path);
    using third = await connect(full, path);
    const frame = { type: 'response.create', ...frameOf('on', { previous_response_id: responseId(await completes(socket)) }) };
    full.upstream.next('north', 'stall before headers');
    other.send({ type: 'response.create', ...frameOf('hi') });
    await full.upstream.stalled('north');
    const refusals: unknown[] = [];
    for (const isSouthFull of [true, false]) {
      if (isSouthFull) {
        full.upstream.next('south', 'stall before headers');
        third.send({ type: 'response.create', ...frameOf('hi') });
        await full.upstream.stalled('south');
      } else {
        full.upstream.release('south');
        await third.rest();
      }
      const waits = full.count('account_waits');
      socket.send(frame);
      await until('the wait', () => full.count('account_waits') > waits || undefined);
      await clock.advance(10_000);
      refusals.push(refusedWith(await socket.rest()).slice(1));
    }
    assert.deepEqual(refusals, [
      [503, 'server_is_overloaded'],
      [400, 'previous_response_not_found'],
    ]);
    await completes(socket);
    assert.equal(full.upstream.turns().at(-1)?.account, 'south');
  });

  test(`[Q3] where no account can take it, an anchored turn on ${path} gets the limit of the Pool`, async () => {
    using socket = await connect(gate, path);
    const id = responseId(await completes(socket));
    gate.fail('south', 'model-a', { cause: 'quota', status: 429, ...UNSTATED });
    gate.upstream.next('north', 'refuse 429 usage_limit_reached resets 60');
    const refused = refusedWith(await socket.turn(frameOf('on', { previous_response_id: id })));
    assert.deepEqual(refused, ['error', 429, 'usage_limit_reached']);
    gate.heal();
  });
}

test('at the provider’s connection limit an unanchored turn moves to a new websocket of the same account, unseen', async () => {
  using socket = await connect(gate, NATIVE_SOCKET);
  await completes(socket);
  gate.upstream.next('north', 'connection limit');
  await completes(socket);
  const turns = gate.upstream.turns();
  assert.deepEqual(went(), ['north WS', 'north WS', 'north WS']);
  assert.deepEqual([turns[0]?.connection === turns[1]?.connection, turns[1]?.connection === turns[2]?.connection], [true, false]);
  assert.equal(gate.account('north').status, 'active');
});

test('an idle websocket that died is opened again, unseen', async () => {
  using socket = await connect(gate, PUBLIC_SOCKET);
  await completes(socket);
  gate.upstream.closeSockets('north', 1001);
  await gate.upstream.sockets('north', 0);
  await completes(socket);
  assert.deepEqual(went(), ['north WS', 'north WS']);
});

test('an account that moved to another address loses its websockets when their turns have ended', async () => {
  await using other = await startGateway({ upstream: { accounts: ['north', 'south'] } });
  using idle = await connect(other, NATIVE_SOCKET);
  await completes(idle);
  using busy = await connect(other, NATIVE_SOCKET);
  other.upstream.next('north', 'stall after 8 events');
  busy.send({ type: 'response.create', ...frameOf('hi') });
  await other.upstream.stalled('north');
  await other.reconfigure((draft) => {
    draft.accounts[0].base_url = draft.accounts[1].base_url;
  });
  await other.upstream.sockets('north', 1);
  other.upstream.release('north');
  assert.equal(typesOf(await busy.rest()).at(-1), 'response.completed');
  await other.upstream.sockets('north', 0);
});

test('[Q28] an account with other headers or another credential loses its idle websockets: the next turn is sent with the new ones', async (context) => {
  await using other = await startGateway({ upstream: { accounts: ['north'] } });
  using socket = await connect(other, NATIVE_SOCKET);
  let id = responseId(await completes(socket));
  const directory = await mkdtemp(join(tmpdir(), 'poolgate-'));
  context.after(() => rm(directory, { recursive: true }));
  const file = join(directory, 'bearer');
  await writeFile(file, bearerOf('north'));
  for (const changed of [{ headers: { 'x-account-id': 'second' } }, { credential: { bearer: { file } } }]) {
    await other.reconfigure((draft) => {
      Object.assign(draft.accounts[0], changed);
    });
    assert.deepEqual(refusedWith(await socket.turn(frameOf('on', { previous_response_id: id })))[2], 'previous_response_not_found');
    id = responseId(await completes(socket));
  }
  const turns = other.upstream.turns();
  assert.deepEqual(
    turns.map(({ headers }) => headers['x-account-id']),
    [undefined, 'second', 'second'],
  );
  assert.equal(new Set(turns.map(({ connection }) => connection)).size, 3);
});

test('a turn over 15 MiB goes over HTTP; one that continues a response is refused', async () => {
  using socket = await connect(gate, NATIVE_SOCKET);
  const id = responseId(await completes(socket));
  const large = 'x'.repeat(15_800_000);
  assert.deepEqual(refusedWith(await socket.turn(frameOf(large, { previous_response_id: id }))), ['error', 413, 'request_too_large']);
  await completes(socket, large);
  assert.deepEqual(went(), ['north WS', 'north POST']);
});

test('a frame that the account finds too large goes over HTTP', async () => {
  gate.upstream.next('north', 'frame too large');
  using socket = await connect(gate, NATIVE_SOCKET);
  await completes(socket);
  assert.deepEqual(went(), ['north WS', 'north POST']);
  const id = responseId(await completes(socket));
  gate.upstream.next('north', 'frame too large');
  assert.deepEqual(refusedWith(await socket.turn(frameOf('more', { previous_response_id: id }))), ['error', 413, 'request_too_large']);
});

test('a client that leaves ends the upstream websocket and its turn', async () => {
  gate.upstream.next('north', 'stall after 8 events');
  const socket = await connect(gate, NATIVE_SOCKET);
  socket.send({ type: 'response.create', ...frameOf('hi') });
  await gate.upstream.stalled('north');
  socket.terminate();
  await gate.upstream.sockets('north', 0);
  await gate.flush();
  const row = (await gate.rows()).at(-1);
  assert.deepEqual([row?.status, row?.outcome], [499, 'client_gone']);
  assert.equal(gate.account('north').status, 'active');
  assert.equal(gate.account('north').inFlight, 0);
});

test('a client that closes between turns closes its upstream websocket', async () => {
  using socket = await connect(gate, NATIVE_SOCKET);
  await completes(socket);
  assert.equal(gate.upstream.socketsOf('north'), 1);
  socket.close();
  await gate.upstream.sockets('north', 0);
});

test('a half-open account is found by its missing pongs, and the turn that it held fails over', async () => {
  const time = new ManualClock();
  await using other = await startGateway({ clock: time });
  other.upstream.next('north', 'half open');
  using socket = await connect(other, NATIVE_SOCKET);
  socket.send({ type: 'response.create', ...frameOf('hi') });
  await other.upstream.arrived(1);
  for (let i = 0; i < 3; i++) {
    await time.advance(25_000);
    await socket.ping();
  }
  assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
  assert.deepEqual(
    other.upstream.turns().map(({ account }) => account),
    ['north', 'south'],
  );
});

test('a turn that continues nothing stays at the account of the live websocket with every strategy', async () => {
  await gate.reconfigure((draft) => {
    draft.pools[0].strategy = 'rotation';
  });
  using socket = await connect(gate, PUBLIC_SOCKET);
  for (let i = 0; i < 4; i++) await completes(socket);
  assert.equal(new Set(went()).size, 1);
  assert.equal(new Set(gate.upstream.turns().map(({ connection }) => connection)).size, 1);
  await gate.reconfigure((draft) => {
    draft.pools[0].strategy = 'fill_first';
  });
});

test('the reset of an exhausted Pool is the soonest of its accounts, not that of the last one asked', async () => {
  for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
    for (const [north, south] of [
      [30, 5_000],
      [5_000, 30],
    ]) {
      gate.upstream.next('north', `refuse 429 usage_limit_reached resets ${north}`);
      gate.upstream.next('south', `refuse 429 usage_limit_reached resets ${south}`);
      using socket = await connect(gate, path);
      const frame = (await socket.turn(frameOf('hi'))).at(-1) as { status: number; error: JsonObject };
      assert.deepEqual([frame.status, frame.error.code], [429, 'usage_limit_reached']);
      const seconds = Number(frame.error.resets_at) - clock.now() / 1_000;
      assert.ok(seconds > 20 && seconds < 40, `${path}: in ${seconds} s`);
      gate.reset();
    }
  }
});

const DELTA = { type: 'response.output_text.delta', delta: 'a' };
const failing = (status: number, events: readonly JsonObject[]) => ({
  kind: 'reply' as const,
  status: 200,
  headers: {},
  body: {
    events: [...events, { type: 'error', status, error: { type: 'x', code: 'theirs', message: 'The account of bob.', param: 'input.0' } }],
  },
});

for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
  test(`after visible output a status that blames the account is 502 with our own message on ${path}`, async () => {
    for (const status of [401, 402, 403, 407]) {
      gate.upstream.next('north', failing(status, [DELTA]));
      using socket = await connect(gate, path);
      const frames = await socket.turn(frameOf('hi'));
      assert.deepEqual(refusedWith(frames), ['error', 502, 'upstream_error']);
      assert.ok(!JSON.stringify(frames).includes('bob'));
      assert.equal((await gate.rows()).at(-1)?.status, 502);
      gate.reset();
    }
  });
}

test('[Q3] [Q8] an error frame keeps only the headers that an answer may have, and nothing of the account’s owner', async () => {
  const headers = {
    'x-agent-primary-used-percent': '80',
    'x-agent-turn-state': 's',
    'openai-organization': 'org-123456',
    'set-cookie': 'a=1',
  };
  const error = { type: 'x', code: 'theirs', message: 'No.', param: null };
  const events = [DELTA, { type: 'error', status: 400, error, headers, account_id: 'acct_123456' }];
  gate.upstream.next('north', { kind: 'reply', status: 200, headers: {}, body: { events } });
  using socket = await connect(gate, NATIVE_SOCKET);
  const { 'x-agent-primary-used-percent': used, 'x-agent-turn-state': state } = headers;
  const shown = { 'x-agent-primary-used-percent': used, 'x-agent-turn-state': state };
  assert.deepEqual((await socket.turn(frameOf('hi'))).at(-1), { type: 'error', status: 400, error, headers: shown });
});

test('on the public websocket an error frame of 429 or 5xx has our own message, one of 400 the account’s', async () => {
  for (const [status, expected] of [
    [429, [429, 'rate_limit_exceeded', null]],
    [500, [502, 'upstream_error', null]],
    [503, [502, 'upstream_error', null]],
    [400, [400, 'theirs', 'input.0']],
  ] as const) {
    for (const account of ['north', 'south']) gate.upstream.next(account, failing(status, []));
    using socket = await connect(gate, PUBLIC_SOCKET);
    const frame = (await socket.turn(frameOf('hi'))).at(-1) as { status: number; error: JsonObject };
    assert.deepEqual([frame.status, frame.error.code, frame.error.param], expected);
    assert.equal(String(frame.error.message).includes('bob'), status === 400);
    gate.reset();
  }
});

test('[Q2] after visible output a failure event without a response is an error with a status; over SSE it has none', async () => {
  const events = [DELTA, { type: 'response.failed', sequence_number: 1 }];
  gate.upstream.next('north', { kind: 'reply', status: 200, headers: {}, body: { events } });
  using socket = await connect(gate, PUBLIC_SOCKET);
  const shown = { type: 'server_error', code: null, param: null };
  const frame = (await socket.turn(frameOf('hi'))).at(-1) as { type: string; status: number; error: JsonObject };
  const { message, ...error } = frame.error;
  assert.deepEqual([frame.type, frame.status, error], ['error', 502, shown]);
  gate.upstream.next('north', { kind: 'reply', status: 200, headers: {}, body: { events } });
  const { text } = await gate.send('/v1/responses', { body: { model: 'model-a', input: 'hi', stream: true } });
  const last = eventsOf(text).at(-1);
  assert.deepEqual([last?.event, last?.data.type, last?.data.error], ['error', 'error', { ...shown, message }]);
  gate.heal();
});

test('a provider that states its connection limit on a new websocket too is 502', async () => {
  gate.upstream.next('north', 'connection limit', 'connection limit');
  using socket = await connect(gate, NATIVE_SOCKET);
  assert.deepEqual(refusedWith(await socket.turn(frameOf('hi'))), ['error', 502, 'upstream_error']);
});

for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
  test(`a prewarm of ${path} goes to an account that speaks websocket, past those that do not`, async () => {
    await using mixed = await startGateway({
      config: (draft) => {
        draft.accounts[0].websocket = false;
      },
    });
    const wentTo = (): readonly string[] => mixed.upstream.turns().map(({ account, method }) => `${account} ${method}`);
    using socket = await connect(mixed, path);
    assert.equal(typesOf(await socket.turn(frameOf('hi', { generate: false }))).at(-1), 'response.completed');
    assert.deepEqual(wentTo(), ['south WS']);
    assert.equal((await mixed.rows()).at(-1)?.retries, 0);
    assert.equal(mixed.account('north').status, 'active');
  });

  test(`a prewarm of ${path} whose first account refuses the upgrade goes there too; without any such account it is 426`, async () => {
    gate.upstream.nextUpgrade('north', 'refuse upgrade 404');
    using socket = await connect(gate, path);
    assert.equal(typesOf(await socket.turn(frameOf('hi', { generate: false }))).at(-1), 'response.completed');
    assert.deepEqual(went(), ['south WS']);
    assert.equal(gate.account('north').status, 'active');
    gate.upstream.closeSockets('south', 1001);
    gate.upstream.nextUpgrade('south', 'refuse upgrade 404');
    assert.deepEqual(refusedWith(await socket.turn(frameOf('hi', { generate: false }))), ['error', 426, 'websocket_upgrade_required']);
  });

  test(`a prewarm of ${path} does not wait for an account that has no websocket`, async () => {
    await using full = await startGateway({
      upstream: { accounts: ['north'] },
      config: (draft) => {
        draft.accounts[0].max_concurrent = 1;
      },
    });
    using socket = await connect(full, path);
    await full.reconfigure((draft) => {
      draft.accounts[0].websocket = false;
    });
    full.upstream.next('north', 'stall before headers');
    const running = full.send(NATIVE_SOCKET, { body: turnBody('hi') });
    await full.upstream.stalled('north');
    assert.deepEqual(refusedWith(await socket.turn(frameOf('hi', { generate: false }))), ['error', 426, 'websocket_upgrade_required']);
    full.upstream.release();
    assert.equal((await running).status, 200);
  });

  test(`[Q28] turns of an open ${path} go over HTTP once their account is set to websocket: false`, async () => {
    await using changed = await startGateway({ upstream: { accounts: ['north'] } });
    using socket = await connect(changed, path);
    await socket.turn(frameOf('hi'));
    await changed.reconfigure((draft) => {
      draft.accounts[0].websocket = false;
    });
    assert.equal(typesOf(await socket.turn(frameOf('more'))).at(-1), 'response.completed');
    assert.deepEqual(
      changed.upstream.turns().map(({ method }) => method),
      ['WS', 'POST'],
    );
  });
}
