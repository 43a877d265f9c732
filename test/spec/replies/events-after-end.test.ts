// Events that an account sends after the terminal event of a turn, in the same bytes. The turn is over (RB16).
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { startGateway } from '../../support/gateway.ts';
import { frameOf, NATIVE_SOCKET, PUBLIC_SOCKET, responseId } from '../../support/native-frames.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { replyEvents, turnBody } from '../../support/rehearsal-replies.ts';
import { connect } from '../../support/websocket.ts';

const endOf = (id: string): JsonObject => ({
  type: 'response.completed',
  sequence_number: 0,
  response: { id, object: 'response', status: 'completed', output: [] },
});
const DELTA = { type: 'response.output_text.delta', sequence_number: 1, output_index: 0, content_index: 0, delta: 'late' };
const FAILED = {
  type: 'response.failed',
  sequence_number: 2,
  response: { id: 'resp_1', error: { code: 'server_error', message: 'late' } },
};
const reply = replyEvents([endOf('resp_1'), DELTA, endOf('resp_2'), FAILED]);

describe('[RB16] a turn ends at its terminal event', () => {
  test('in a public stream', async () => {
    await using gate = await startGateway({ upstream: { accounts: ['north'] } });
    gate.upstream.next('north', reply);
    const events = eventsOf((await gate.send('/v1/responses', { body: turnBody('hello') })).text);
    assert.deepEqual(
      events.map(({ data }) => data.response?.id ?? data),
      ['resp_1', '[DONE]'],
    );
  });

  test('in a native stream, which passes as it came: a failure after the end is none of the account (Q5)', async () => {
    await using gate = await startGateway();
    for (let turn = 0; turn < 4; turn++) {
      gate.upstream.next('north', reply);
      assert.match((await gate.send('/backend-api/agent/responses', { body: turnBody('hello') })).text, /response.failed/);
    }
  });

  for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
    test(`on the websocket ${path}, whose next turn gets its own reply from an account over HTTP`, async () => {
      await using gate = await startGateway({
        // The other account lets clients upgrade.
        upstream: { accounts: ['north', 'south'] },
        config: (draft) => {
          draft.accounts[0].websocket = false;
        },
      });
      gate.upstream.next('north', reply);
      gate.upstream.next('north', replyEvents([endOf('resp_3')]));
      using socket = await connect(gate, path);
      assert.equal(responseId(await socket.turn(frameOf('hello'))), 'resp_1');
      assert.equal(responseId(await socket.turn(frameOf('hello'))), 'resp_3');
    });
  }
});
