// Admission over real sockets: how many turns run at once, how long others wait, and which turns are refused (Q7).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { type GatewayOptions, type Reply, startGateway, type TestGateway } from '../../support/gateway.ts';
import { headOf, RawClient } from '../../support/network/raw.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { supported } from '../../support/stages/control.ts';
import { CHAT, CHAT_ALIAS, turnOn } from '../../support/turns/turn-paths.ts';
import { until } from '../../support/until.ts';

const NATIVE = '/backend-api/agent/responses';
const turn = (gate: TestGateway): Promise<Reply> => gate.send(NATIVE, { body: turnBody('hi') });
const waiting = (gate: TestGateway, count: number): Promise<true> =>
  until(`${count} to wait`, () => (gate.admission('stream').waiting === count ? true : undefined));

const ONE_EACH: GatewayOptions = {
  config: (draft) => {
    for (const account of draft.accounts) account.max_concurrent = 1;
  },
};

/** Starts a turn at each of the two accounts, which stalls there, and a third turn, which waits. */
async function thirdWaits(gate: TestGateway): Promise<{ readonly running: readonly Promise<Reply>[]; readonly third: Promise<Reply> }> {
  for (const account of ['north', 'south']) gate.upstream.next(account, 'stall before headers');
  const running = [turn(gate), turn(gate)];
  await Promise.all([gate.upstream.stalled('north'), gate.upstream.stalled('south')]);
  const third = turn(gate);
  await waiting(gate, 1);
  return { running, third };
}

test('turns beyond `running` wait, and turns beyond `waiting` get 503 server_is_overloaded with the time to wait', async () => {
  await using gate = await startGateway({
    config: (draft) => {
      draft.admission = { stream: { running: 1, waiting: 1, wait_ms: 20_000 } };
    },
  });
  gate.upstream.next('north', 'stall before headers');
  const first = turn(gate);
  await gate.upstream.stalled('north');
  const second = turn(gate);
  await waiting(gate, 1);
  const third = await turn(gate);
  assert.deepEqual([third.status, third.json.error.code, third.headers.get('retry-after')], [503, 'server_is_overloaded', '20']);
  assert.equal((await gate.send('/v1/models')).status, 200, 'another class has its own places');
  assert.equal(gate.upstream.turns().length, 1);
  gate.upstream.release();
  assert.deepEqual([(await first).status, (await second).status], [200, 200]);
  assert.equal(gate.count('admission_full'), 1);
});

test('a client that leaves before the end of its chunked body leaves the queue at once', async () => {
  await using gate = await startGateway({
    config: (draft) => {
      draft.admission = { control: { running: 1, waiting: 1, wait_ms: 60_000 } };
      supported(draft);
    },
  });
  const control = async (running: number, waiting: number): Promise<void> => {
    const wanted = { running, waiting };
    await until(`${running} to run and ${waiting} to wait`, () => isDeepStrictEqual(gate.admission('control'), wanted) || undefined);
  };
  const type = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
  const begun = headOf('POST', '/backend-api/agent/alpha/search', type) + `400\r\n${' '.repeat(1_024)}\r\n`.repeat(4);
  using running = await RawClient.connect(gate.url);
  running.write(begun);
  await control(1, 0);
  using client = await RawClient.connect(gate.url);
  client.write(begun);
  await control(1, 1);
  client.socket.end();
  await control(1, 0);
});

test('a turn that waits longer than wait_ms gets 503', async () => {
  await using gate = await startGateway({
    config: (draft) => {
      draft.admission = { stream: { running: 1, waiting: 1, wait_ms: 30 } };
    },
  });
  gate.upstream.next('north', 'stall before headers');
  const first = turn(gate);
  await gate.upstream.stalled('north');
  const second = await turn(gate);
  assert.deepEqual([second.status, second.json.error.code], [503, 'server_is_overloaded']);
  const row = (await gate.rows()).at(-1);
  assert.deepEqual([row?.code, row?.outcome, row?.account], ['server_is_overloaded', 'refused', null]);
  gate.upstream.release();
  assert.equal((await first).status, 200);
});

test('where every account is at its max_concurrent a turn waits for the first account that has room', async () => {
  await using gate = await startGateway(ONE_EACH);
  const { running, third } = await thirdWaits(gate);
  gate.upstream.release('south');
  assert.equal((await third).status, 200);
  assert.deepEqual(
    gate.upstream.turns().map(({ account }) => account),
    ['north', 'south', 'south'],
  );
  gate.upstream.release();
  for (const reply of running) assert.equal((await reply).status, 200);
});

test('a failover that finds the other account full waits for it', async () => {
  await using gate = await startGateway(ONE_EACH);
  gate.upstream.next('north', 'stall before headers + refuse 503');
  gate.upstream.next('south', 'stall before headers');
  const failing = turn(gate);
  await gate.upstream.stalled('north');
  const other = turn(gate);
  await gate.upstream.stalled('south');
  gate.upstream.release('north');
  await waiting(gate, 1);
  gate.upstream.release('south');
  assert.deepEqual([(await failing).status, (await other).status], [200, 200]);
  assert.deepEqual(
    gate.upstream.turns().map(({ account }) => account),
    ['north', 'south', 'south'],
  );
});

test('[F8.3] turns with one prompt-cache key stay at one account, whatever the strategy; without one they go round', async () => {
  await using gate = await startGateway({
    upstream: { accounts: ['a', 'b', 'c', 'd'] },
    config: (draft) => {
      draft.pools[0].strategy = 'rotation';
    },
  });
  const where = async (path: string, prompt_cache_key?: string): Promise<number> => {
    gate.upstream.clear();
    const keyed = prompt_cache_key === undefined ? {} : { prompt_cache_key };
    for (let i = 0; i < 8; i++) assert.equal((await gate.send(path, { body: turnOn(path, 'hi', keyed) })).status, 200);
    return new Set(gate.upstream.turns().map(({ account }) => account)).size;
  };
  for (const path of [NATIVE, '/backend-api/agent/v1/responses', '/v1/responses', CHAT, CHAT_ALIAS]) {
    assert.deepEqual([await where(path, 'one'), await where(path)], [1, 4]);
  }
  const rows = await gate.rows();
  assert.deepEqual(new Set(rows.map(({ why }) => why?.reason)), new Set(['locality', 'rotation']));
  await gate.reconfigure((draft) => {
    draft.pools[0].prompt_cache_locality = false;
  });
  assert.equal(await where(NATIVE, 'one'), 4);
});

for (const { paused, waits } of [
  { paused: ['north'], waits: 'goes to the account that is left' },
  { paused: ['north', 'south'], waits: 'is refused' },
] as const) {
  test(`[UA1] a turn that waits while ${paused.join(' and ')} is paused by hand ${waits}`, async () => {
    await using gate = await startGateway(ONE_EACH);
    const { running, third } = await thirdWaits(gate);
    await gate.reconfigure((draft) => {
      for (const account of draft.accounts) account.paused = paused.includes(account.id as never);
    });
    gate.upstream.release('north');
    assert.equal((await running[0])?.status, 200, 'a running turn ends as it would have');
    if (paused.length === 2) {
      const refused = await third;
      assert.deepEqual([refused.status, refused.json.error.code], [503, 'no_eligible_account']);
    }
    gate.upstream.release('south');
    if (paused.length === 1) assert.equal((await third).status, 200);
    assert.equal((await running[1])?.status, 200);
    assert.deepEqual(
      gate.upstream.turns().map(({ account }) => account),
      ['north', 'south', ...(paused.length === 1 ? ['south'] : [])],
    );
  });
}
