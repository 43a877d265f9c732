// If a client leaves in any phase of its turn, the request to the account ends before the next event, and the health of the account does
// not change.
import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import type { RequestRow } from '../../../store/store.ts';
import { ShiftedClock } from '../../support/clocks/shifted-clock.ts';
import { startGateway } from '../../support/gateway.ts';
import { frameOf } from '../../support/native-frames.ts';
import { replyEvents, turnBody } from '../../support/rehearsal-replies.ts';
import { CHAT, turnOn } from '../../support/turns/turn-paths.ts';
import { until } from '../../support/until.ts';
import { connect } from '../../support/websocket.ts';

const NATIVE = '/backend-api/agent/responses';
const PUBLIC = '/v1/responses';
const clock = new ShiftedClock();
const gate = await startGateway({
  clock,
  config: (draft) => {
    draft.admission = { stream: { running: 2, waiting: 4, wait_ms: 60_000 }, compact: { running: 2, waiting: 4, wait_ms: 60_000 } };
    for (const account of draft.accounts) account.max_concurrent = 2;
  },
});
after(() => gate.close());
beforeEach(() => {
  gate.heal();
  gate.upstream.clear();
});

/** Starts a turn; its client leaves when `leave` is called. */
function leaving(path = NATIVE, body = turnOn(path, 'hi')): { readonly leave: () => void } {
  const left = new AbortController();
  // The stream of this client breaks off too, because its reader has left.
  void gate.send(path, { body, signal: left.signal }).catch(() => undefined);
  return { leave: () => left.abort() };
}

/** The row of the turn whose client left; it is the only new row. */
async function leftRow(before: number): Promise<RequestRow> {
  const row = await until('the row', async () => (await gate.rows())[before]);
  assert.deepEqual([row.status, row.code, row.outcome], [499, null, 'client_gone']);
  return row;
}

for (const [phase, script] of [
  ['before the provider answered', 'stall before headers'],
  ['after its headers', 'stall after headers'],
  ['while its lifecycle events were held', 'stall after 2 events'],
  ['in the middle of the visible answer', 'stall after 6 events'],
] as const) {
  for (const path of [NATIVE, '/v1/responses', CHAT]) {
    test(`a client of ${path} that leaves ${phase} aborts the turn at the account, and does not count as a failure of the account`, async () => {
      for (let i = 0; i < 4; i++) {
        const before = (await gate.rows()).length;
        gate.upstream.next('north', script);
        const { leave } = leaving(path);
        const [turn] = await gate.upstream.arrived(1, 'north');
        await gate.upstream.stalled('north');
        leave();
        assert.equal(await turn?.closed, 'left', 'before it could send its next event');
        const row = await leftRow(before);
        assert.deepEqual(
          (await gate.attempts(row.id)).map(({ account, error_class }) => [account, error_class]),
          [['NORTH', null]],
        );
        assert.deepEqual(gate.account('north').models, {});
        gate.upstream.clear();
      }
      await until('the places', () => (gate.account('north').inFlight === 0 && gate.admission('stream').running === 0 ? true : undefined));
    });
  }
}

test('a client that leaves the queue for a slot never reaches an account', async () => {
  gate.upstream.always('north', 'stall before headers');
  const running = [leaving(), leaving()];
  await gate.upstream.stalled('north', 2);
  const before = (await gate.rows()).length;
  const waiting = leaving();
  await until('the queue', () => (gate.admission('stream').waiting === 1 ? true : undefined));
  waiting.leave();
  await until('it to be empty', () => (gate.admission('stream').waiting === 0 ? true : undefined));
  const row = await leftRow(before);
  assert.deepEqual([row.account, (await gate.attempts(row.id)).length, gate.upstream.turns().length], [null, 0, 2]);
  for (const { leave } of running) leave();
  await until('the places', () => (gate.admission('stream').running === 0 ? true : undefined));
});

test('a probe whose client leaves frees its slot for the next', async () => {
  await gate.upstream.hangUp('north');
  assert.equal((await gate.send(NATIVE, { body: turnBody('hi') })).status, 200);
  await gate.upstream.pickUp('north');
  clock.setAhead(10_000);
  for (let i = 0; i < 2; i++) {
    gate.upstream.clear();
    gate.upstream.next('north', 'stall before headers');
    const { leave } = leaving();
    await gate.upstream.stalled('north');
    assert.equal((await gate.send(NATIVE, { body: turnBody('hi') })).status, 200);
    assert.equal(gate.upstream.turns('south').length, 1, 'no other turn is admitted before the probe ends');
    leave();
    await until('the probe to be over', () => (gate.account('north').inFlight === 0 ? true : undefined));
  }
  gate.upstream.clear();
  assert.equal((await gate.send(NATIVE, { body: turnBody('hi') })).status, 200);
  assert.deepEqual([gate.upstream.turns('north').length, gate.account('north').status], [1, 'active']);
});

for (const path of [NATIVE, PUBLIC, CHAT]) {
  test(`a client of ${path} that leaves after the terminal event has a complete reply`, async () => {
    const response = { id: 'r', status: 'completed', output: [], usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 } };
    const events = [
      { type: 'response.output_text.delta', sequence_number: 0, delta: 'a' },
      { type: 'response.completed', sequence_number: 1, response },
    ];
    gate.upstream.next('north', [replyEvents(events), { kind: 'stall', at: { events: 2 } }]);
    const before = (await gate.rows()).length;
    const left = new AbortController();
    const { body } = await gate.fetch(path, { body: { ...turnOn(path, 'hi'), stream: true }, signal: left.signal });
    let text = '';
    for await (const chunk of body as ReadableStream<Uint8Array>) {
      text += Buffer.from(chunk).toString();
      if (/response\.completed|"finish_reason":"stop"/.test(text)) break;
    }
    left.abort();
    const row = await until('the row', async () => (await gate.rows())[before]);
    assert.deepEqual([row.status, row.outcome, row.input_tokens, row.output_tokens], [200, 'completed', 3, 2]);
    assert.equal(gate.slots('north'), 0);
  });
}

test('the same holds for a client of a websocket whose account answers over HTTP', async () => {
  await using other = await startGateway({
    upstream: { accounts: ['north', 'south'] },
    config: (draft) => {
      draft.accounts[0].websocket = false;
    },
  });
  const end = { type: 'response.completed', response: { id: 'r', status: 'completed', output: [], usage: null } };
  other.upstream.next('north', [replyEvents([end]), { kind: 'stall', at: { events: 1 } }]);
  using socket = await connect(other, NATIVE);
  await socket.turn(frameOf('hi'));
  socket.terminate();
  const row = await until('the row', async () => (await other.rows())[0]);
  assert.deepEqual([row.status, row.outcome], [200, 'completed']);
});
