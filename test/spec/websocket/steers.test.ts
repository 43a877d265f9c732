// `response.steer` over the wire: it follows the rules of a turn, goes to the websocket that runs the response, and the further response is
// a turn (RB31).
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { frameOf, NATIVE_SOCKET, PUBLIC_SOCKET, responseId, typesOf, userMessage } from '../../support/native-frames.ts';
import { until } from '../../support/until.ts';
import { connect } from '../../support/websocket.ts';
import { codeOf, controls, INSIDE, PLAIN, reasonOf, running, twoPools } from './running-response.ts';

const LIMITED = 'pg-limited-key';
const MODEST = 'pg-modest-key';

let gate: TestGateway;
before(async () => {
  gate = await startGateway({
    upstream: { accounts: ['north', 'plain'] },
    config: (draft) => {
      twoPools(draft);
      const modest = [hash('sha256', MODEST, 'hex')];
      draft.keys.push({ id: 'modest', pool: 'team', secret_sha256: modest, reasoning_effort: { allow_up_to: 'medium' } });
      for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
        const secret_sha256 = [hash('sha256', LIMITED + path, 'hex')];
        draft.keys.push({ id: `limited${path.replaceAll('/', '-')}`, pool: 'team', secret_sha256, limits: { requests_per_minute: 1 } });
      }
    },
  });
});
after(() => gate.close());
beforeEach(() => gate.reset());

const steerOf = (previous_response_id: Json, input: Json = [userMessage('also this')]): JsonObject => ({
  type: 'response.steer',
  previous_response_id,
  input,
});

for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
  describe(path, () => {
    test('[RB31] a steer is accepted, and the further response is a turn with a row and usage of its own, before all that waits', async () => {
      using socket = await connect(gate, path);
      const id = await running(gate, socket, INSIDE.websocket);
      socket.send({ type: 'response.create', ...frameOf('waits') });
      socket.send(steerOf(id));
      const first = await socket.rest();
      assert.equal(first[0]?.type, 'response.steer.accepted');
      assert.equal(reasonOf(first.at(-1)), 'steered');
      const second = await socket.rest();
      assert.equal(typesOf(second).at(-1), 'response.completed');
      const successor = responseId(second);
      assert.notEqual(successor, id);
      assert.equal(second.filter(({ type }) => type === 'response.created').length, 1);
      assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
      assert.deepEqual(controls(gate), [steerOf(id)]);
      assert.deepEqual(
        gate.upstream.turns().map(({ json }) => (json as JsonObject).previous_response_id),
        [undefined, undefined],
        'no request for the further response',
      );
      const rows = (await gate.rows()).slice(-3);
      assert.deepEqual(
        rows.map(({ outcome, account }) => [outcome, account]),
        [
          ['incomplete', 'NORTH'],
          ['completed', 'NORTH'],
          ['completed', 'NORTH'],
        ],
      );
      assert.ok(rows.every(({ input_tokens, model }) => (input_tokens ?? 0) > 0 && model === 'model-a'));
      assert.equal(new Set(rows.map((row) => row.id)).size, 3);
      gate.upstream.clear();
      assert.equal(typesOf(await socket.turn(frameOf('on', { previous_response_id: successor }))).at(-1), 'response.completed');
    });

    test('[RB31] a steer may wait for the end of the response, and several of them make one further response', async () => {
      using socket = await connect(gate, path);
      const id = await running(gate, socket, `${INSIDE.websocket} + steer waits`);
      for (const text of ['one', 'two']) socket.send(steerOf(id, text));
      for (let i = 0; i < 2; i++) {
        const answer = await socket.next();
        assert.equal(answer.type, 'response.steer.accepted', JSON.stringify(answer));
      }
      gate.upstream.release('north');
      assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
      assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
      assert.equal((await gate.rows()).length > 1, true);
      assert.equal(typesOf(await socket.turn(frameOf('again'))).at(-1), 'response.completed');
    });

    test('[RB31] a failed, a returned and a pending steer are relayed, also after the end of the response', async () => {
      for (const [words, at, type] of [
        ['steer failed invalid_input', 'before', 'response.steer.failed'],
        ['steer returned', 'after', 'response.steer.failed'],
        ['steer pending', 'after', 'response.steer.pending'],
      ] as const) {
        using socket = await connect(gate, path);
        const id = await running(gate, socket, `${INSIDE.websocket} + ${words}`);
        socket.send(steerOf(id));
        assert.equal((await socket.next()).type, at === 'before' ? type : 'response.steer.accepted');
        gate.upstream.release('north');
        assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
        if (at === 'after') assert.equal((await socket.next()).type, type);
        assert.equal(typesOf(await socket.turn(frameOf('again', { previous_response_id: id }))).at(-1), 'response.completed');
      }
    });

    test('[RB31] at most eight steers of one response wait; the ninth is returned with its input', async () => {
      using socket = await connect(gate, path);
      const id = await running(gate, socket, `${INSIDE.websocket} + steer waits`);
      for (let i = 0; i < 9; i++) socket.send(steerOf(id));
      const answers: JsonObject[] = [];
      for (let i = 0; i < 9; i++) answers.push(await socket.next());
      const [failed, ...more] = answers.filter(({ type }) => type === 'response.steer.failed');
      assert.deepEqual([codeOf(failed ?? {}), more.length, controls(gate).length], ['too_many_pending_steers', 0, 8]);
      gate.upstream.release('north');
      for (let i = 0; i < 2; i++) assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
    });

    test('[RB31] over an account without websocket a steer is answered steering_not_supported, with its input', async () => {
      using socket = await connect(gate, path, { key: PLAIN });
      const id = await running(gate, socket, 'stall after 3 events', 'plain');
      socket.send(steerOf(id));
      const failed = await socket.next();
      assert.deepEqual([failed.type, codeOf(failed)], ['response.steer.failed', 'steering_not_supported']);
      assert.deepEqual(failed.steer, { previous_response_id: id, input: [userMessage('also this')] });
      gate.upstream.release('plain');
      assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
    });

    test('[RB31] a steer of no running response, of another client, or without input is answered here', async () => {
      using other = await connect(gate, path);
      using socket = await connect(gate, path);
      const foreign = await running(gate, other, INSIDE.websocket);
      for (const [frame, code] of [
        [steerOf('resp_none'), 'response_not_found'],
        [steerOf(foreign), 'response_not_found'],
        [steerOf(foreign, []), 'invalid_input'],
        [{ type: 'response.steer' }, 'invalid_input'],
      ] as const) {
        socket.send(frame);
        const answer = await socket.next();
        assert.deepEqual([answer.type, codeOf(answer)], ['response.steer.failed', code]);
      }
      assert.deepEqual(controls(gate), []);
      gate.upstream.release('north');
      assert.equal(typesOf(await other.rest()).at(-1), 'response.completed');
    });

    test('[RB31] the input of a steer is under the rules of a turn: unknown files and remote MCP are refused, with a row, and the turn goes on', async () => {
      using socket = await connect(gate, path);
      const id = await running(gate, socket, INSIDE.websocket);
      for (const [item, code] of [
        [{ role: 'user', content: [{ type: 'input_file', file_id: 'file_unknown' }] }, 'file_not_found'],
        [
          { type: 'additional_tools', role: 'developer', id: 'at_1', tools: [{ type: 'mcp', server_url: 'https://x.example' }] },
          'invalid_request',
        ],
        [{ type: 'compaction_trigger' }, 'invalid_request'],
      ] as const) {
        socket.send(steerOf(id, [item as Json]));
        const failed = await socket.next();
        assert.deepEqual([failed.type, codeOf(failed)], ['response.steer.failed', code]);
      }
      assert.deepEqual(controls(gate), []);
      gate.upstream.release('north');
      assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
      const [refused] = (await gate.rows()).filter(({ code }) => code === 'file_not_found').slice(-1);
      assert.deepEqual([refused?.status, refused?.outcome], [404, 'refused']);
    });

    test('[RB15] [RB31] an effort update in a steer is under the policy of the key', async () => {
      using socket = await connect(gate, path, { key: MODEST });
      const id = await running(gate, socket, INSIDE.websocket);
      socket.send(steerOf(id, [{ type: 'configuration_update', reasoning: { effort: 'high' } }, userMessage('harder')]));
      const failed = await socket.next();
      assert.deepEqual([failed.type, codeOf(failed)], ['response.steer.failed', 'reasoning_effort_not_allowed']);
      assert.deepEqual(controls(gate), []);
      gate.upstream.release('north');
      assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
    });

    test('[RB31] a further response that a limit refuses is cancelled, and ends as that refusal', async () => {
      using socket = await connect(gate, path, { key: LIMITED + path });
      const id = await running(gate, socket, INSIDE.websocket);
      socket.send(steerOf(id));
      assert.equal(reasonOf((await socket.rest()).at(-1)), 'steered');
      const [refused] = await socket.rest();
      assert.deepEqual([refused?.type, refused?.status, codeOf(refused ?? {})], ['error', 429, 'rate_limit_exceeded']);
      await gate.upstream.sockets('north', 0);
      const rows = (await gate.rows()).filter(({ key_id }) => key_id === `limited${path.replaceAll('/', '-')}`);
      assert.deepEqual(
        rows.map(({ status, outcome }) => [status, outcome]),
        [
          [200, 'incomplete'],
          [429, 'refused'],
        ],
      );
    });
  });
}

test('[RB31] a client that leaves takes the further response with it', async () => {
  const socket = await connect(gate, PUBLIC_SOCKET);
  const id = await running(gate, socket, `${INSIDE.websocket} + steer waits`);
  socket.send(steerOf(id));
  assert.equal((await socket.next()).type, 'response.steer.accepted');
  gate.upstream.next('north', 'stall after 4 events');
  gate.upstream.release('north');
  assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
  await gate.upstream.stalled('north');
  socket.terminate();
  await gate.upstream.sockets('north', 0);
  const row = await until('the row', async () => (await gate.rows()).findLast(({ outcome }) => outcome === 'client_gone'));
  assert.equal(row.status, 499);
});
