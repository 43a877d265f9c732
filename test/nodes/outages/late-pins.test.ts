// If a store does not accept a pin in time, the turn still ends after 50 ms, and its earlier events are not held back.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import pg from 'pg';
import { type Clock, systemClock } from '../../../proxy/base/time/clock.ts';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { type Reply, startGateway, type TestGateway } from '../../support/gateway.ts';
import { freshDatabase } from '../../support/postgres/postgres.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { idOf } from '../../support/stages/continuity.ts';
import { connect } from '../../support/websocket.ts';

/** The wait for a pin; no other timer of a turn has this duration. */
const WAIT_MS = 50;

/** A clock with which a pin is never late, however slow the machine is. */
const patient: Clock = { ...systemClock, after: (ms, run) => (ms === WAIT_MS ? () => {} : systemClock.after(ms, run)) };

/** How often a pin was late. */
let fired = 0;
const counting: Clock = {
  ...systemClock,
  after: (ms, run) =>
    systemClock.after(ms, () => {
      if (ms === WAIT_MS) fired++;
      run();
    }),
};

suite('a store that is slow with pins', () => {
  let gate: TestGateway;
  let holder: pg.Client;

  before(async () => {
    const store = await freshDatabase();
    gate = await startGateway({ store, upstream: { strict: false }, clock: counting });
    holder = new pg.Client({ connectionString: store });
    await holder.connect();
  });
  after(async () => {
    await holder.end();
    await gate.close();
  });

  /** Runs while no pin can be written. */
  async function whileHeld<Result>(act: () => Promise<Result>): Promise<Result> {
    await holder.query('BEGIN; LOCK TABLE pins IN ACCESS EXCLUSIVE MODE');
    try {
      return await act();
    } finally {
      await holder.query('ROLLBACK');
    }
  }

  const native = (changes: JsonObject = {}): Promise<Reply> =>
    gate.send('/backend-api/agent/responses', { body: turnBody('hello', { store: true, ...changes }) });
  const collected = (): Promise<Reply> => native({ stream: false });
  const streamed = (): Promise<Reply> => native();

  for (const [kind, send] of Object.entries({ collected, streamed })) {
    test(`[Q34] a ${kind} turn ends after 50 ms, and is counted`, async () => {
      const late = gate.count('pins_late');
      const before = fired;
      const reply = await whileHeld(send);
      assert.equal(reply.status, 200, reply.text);
      assert.equal(gate.count('pins_late'), late + 1);
      assert.equal(fired, before + 1, 'the time was up');
      // The pin was not lost.
      await gate.flush();
      assert.equal((await native({ previous_response_id: idOf(reply) })).status, 200);
    });
  }

  test('[Q34] a turn over a websocket ends after 50 ms, and the events before its end were not held back', async () => {
    const late = gate.count('pins_late');
    using socket = await connect(gate);
    gate.upstream.next('north', 'stall after 6 events');
    await whileHeld(async () => {
      const body = { model: 'model-a', input: [{ type: 'message', role: 'user', content: 'hello' }], store: false, stream: true };
      socket.send({ type: 'response.create', ...body });
      await gate.upstream.stalled('north');
      while ((await socket.next()).type !== 'response.output_item.added');
      gate.upstream.release();
      const frames = await socket.rest();
      assert.equal(frames.at(-1)?.type, 'response.completed');
    });
    // The pins were stored while the turn ran, or the turn waited for them at its end, because the lock held all the time.
    assert.equal(gate.count('pins_late'), late + 1);
  });
});

test('[Q34] a turn whose pin is stored in time is not counted', async () => {
  const gate = await startGateway({ store: await freshDatabase(), upstream: { strict: false }, clock: patient });
  try {
    for (const stream of [false, true]) {
      const reply = await gate.send('/backend-api/agent/responses', { body: turnBody('hello', { store: true, stream }) });
      assert.equal(reply.status, 200, reply.text);
    }
    assert.equal(gate.count('pins_late'), 0);
  } finally {
    await gate.close();
  }
});
