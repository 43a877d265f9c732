// `response.interrupt` over the wire: it is sent on the websocket that runs the response; for a response over HTTP the gateway ends the
// response itself (RB29).
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { frameOf, NATIVE_SOCKET, PUBLIC_SOCKET, responseId, typesOf } from '../../support/native-frames.ts';
import { until } from '../../support/until.ts';
import { connect } from '../../support/websocket.ts';
import { codeOf, controls, INSIDE, PLAIN, reasonOf, running, twoPools } from './running-response.ts';

let gate: TestGateway;
before(async () => {
  gate = await startGateway({
    upstream: { accounts: ['north', 'plain'] },
    config: twoPools,
  });
});
after(() => gate.close());
beforeEach(() => gate.reset());

const interruptOf = (response_id: string): JsonObject => ({ type: 'response.interrupt', response_id, mode: 'discard_partial_items' });

const ENDING = ['response.interrupt.accepted', 'response.output_item.interrupted', 'response.incomplete'];

for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
  describe(path, () => {
    test('[RB29] an interrupt passes at once, its answers are relayed, its usage counts, and the next turn continues it', async () => {
      using socket = await connect(gate, path);
      const id = await running(gate, socket, INSIDE.websocket);
      // This frame waits; an interrupt does not.
      socket.send({ type: 'response.create', ...frameOf('next', { previous_response_id: id }) });
      socket.send(interruptOf(id));
      const frames = await socket.rest();
      assert.deepEqual(typesOf(frames), ENDING);
      assert.equal(reasonOf(frames.at(-1)), 'interrupted');
      assert.deepEqual(controls(gate), [interruptOf(id)]);
      if (path === PUBLIC_SOCKET) {
        const numbers = socket.frames.flatMap(({ sequence_number: number }) => (typeof number === 'number' ? [number] : []));
        assert.deepEqual(
          numbers,
          numbers.map((_, i) => i),
        );
      }
      assert.equal((await socket.rest()).at(-1)?.type, 'response.completed');
      const [first, second] = gate.upstream.turns();
      assert.equal(second?.connection, first?.connection);
      assert.equal((second?.json as JsonObject | undefined)?.previous_response_id, id);
      const row = (await gate.rows()).at(-2);
      assert.deepEqual([row?.status, row?.outcome, row?.tokens_estimated], [200, 'incomplete', false]);
      assert.ok((row?.input_tokens ?? 0) > 0);
    });

    test('[RB29] over an account without websocket the gateway aborts the response and ends it itself, with estimated usage', async () => {
      using socket = await connect(gate, path, { key: PLAIN });
      const id = await running(gate, socket, INSIDE.http, 'plain');
      socket.send(interruptOf(id));
      const frames = await socket.rest();
      assert.deepEqual(typesOf(frames), ENDING);
      const [accepted, interrupted, incomplete] = frames;
      assert.equal(accepted?.response_id, id);
      assert.ok(typeof interrupted?.item_id === 'string' && interrupted.output_index === 0);
      assert.deepEqual([reasonOf(incomplete), responseId(frames)], ['interrupted', id]);
      const numbers = socket.frames.flatMap(({ sequence_number: number }) => (typeof number === 'number' ? [number] : []));
      assert.deepEqual(
        numbers,
        numbers.map((_, i) => i),
      );
      const { usage } = (incomplete?.response ?? {}) as JsonObject;
      const [turn] = gate.upstream.turns('plain');
      await until('the end at the account', () => turn?.aborted || undefined);
      const row = (await gate.rows()).at(-1);
      assert.deepEqual([row?.status, row?.outcome, row?.tokens_estimated, row?.cached_input_tokens], [200, 'incomplete', true, null]);
      assert.deepEqual([row?.input_tokens, row?.output_tokens], [(usage as JsonObject).input_tokens, (usage as JsonObject).output_tokens]);
      assert.equal(typesOf(await socket.turn(frameOf('again'))).at(-1), 'response.completed', 'the connection goes on');
    });

    test('[RB29] a failed interrupt is relayed and ends nothing', async () => {
      using socket = await connect(gate, path);
      const id = await running(gate, socket, `${INSIDE.websocket} + interrupt failed`);
      socket.send(interruptOf(id));
      const failed = await socket.next();
      assert.deepEqual([failed.type, codeOf(failed)], ['response.interrupt.failed', 'interrupt_not_supported']);
      gate.upstream.release('north');
      assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
    });

    test('[RB29] an unknown response, a response of another client, no running turn and a missing id are answered here', async () => {
      using other = await connect(gate, path);
      using socket = await connect(gate, path);
      const foreign = await running(gate, other, INSIDE.websocket);
      for (const [frame, code] of [
        [interruptOf('resp_none'), 'response_not_found'],
        [interruptOf(foreign), 'response_not_found'],
        [{ type: 'response.interrupt' }, 'invalid_request'],
        [{ type: 'response.interrupt', response_id: 7 }, 'invalid_request'],
      ] as const) {
        socket.send(frame);
        const answer = await socket.next();
        assert.deepEqual([answer.type, codeOf(answer)], ['response.interrupt.failed', code]);
      }
      const own = await running(gate, socket, INSIDE.websocket);
      socket.send(interruptOf(foreign));
      assert.equal(codeOf(await socket.next()), 'response_not_found');
      gate.upstream.release('north');
      for (const one of [other, socket]) assert.equal(typesOf(await one.rest()).at(-1), 'response.completed');
      socket.send(interruptOf(own));
      assert.equal(codeOf(await socket.next()), 'response_not_found', 'it has ended');
      assert.deepEqual(controls(gate), []);
    });

    test('[RB29] an interrupt that the end of the response overtakes is answered as failed', async () => {
      using socket = await connect(gate, path);
      // The account never answers the interrupt.
      const id = await running(gate, socket, `${INSIDE.websocket} + interrupt ignored`);
      socket.send(interruptOf(id));
      await until('the interrupt at the account', () => (controls(gate).length === 1 ? true : undefined));
      gate.upstream.release('north');
      assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
      const late = await socket.next();
      assert.deepEqual([late.type, late.response_id, codeOf(late)], ['response.interrupt.failed', id, 'response_not_found']);
      assert.equal(typesOf(await socket.turn(frameOf('again'))).at(-1), 'response.completed');
    });

    test('[RB29] a response of which nothing was shown, and a turn that waits, cannot be interrupted by a client that has not seen them', async () => {
      using socket = await connect(gate, path);
      gate.upstream.next('north', 'stall after 4 events');
      socket.send({ type: 'response.create', ...frameOf('held') });
      await gate.upstream.stalled('north');
      socket.send({ type: 'response.create', ...frameOf('queued') });
      socket.send(interruptOf('resp_guess'));
      const failed = (await socket.next()) as JsonObject;
      assert.deepEqual([failed.type, codeOf(failed)], ['response.interrupt.failed', 'response_not_found']);
      gate.upstream.release('north');
      for (let i = 0; i < 2; i++) assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
    });
  });
}
