// The end of replies that a gateway cuts, because the time of its drain has passed: the same as of replies that an account breaks off, with
// a row that names the gateway (F1.8, F1.9, AM16, Q17, Q28).
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { openStore, type RequestRow } from '../../../store/store.ts';
import { folderFor } from '../../config/files.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { until } from '../../support/until.ts';
import { connect } from '../../support/websocket.ts';

const NATIVE = '/backend-api/agent/responses';
const QUESTION = { model: 'model-a', input: 'say: alpha beta gamma delta epsilon zeta eta theta iota' };
const MESSAGES = {
  model: 'model-a',
  max_tokens: 100,
  messages: [{ role: 'user', content: 'say: alpha beta gamma delta epsilon zeta eta theta iota' }],
};
const CHAT = { model: 'model-a', messages: MESSAGES.messages };

/** A gateway whose account shows a part of its replies and then stalls. It waits for no running turn when it stops. */
async function stalling(
  context: TestContext,
): Promise<{ readonly gate: TestGateway; readonly rows: () => Promise<readonly RequestRow[]> }> {
  const store = `sqlite:${join(folderFor(context), 'poolgate.db')}`;
  const gate = await startGateway({
    store,
    upstream: { accounts: ['north'], strict: false },
    config: (draft) => {
      draft.timeouts.drain_ms = 0;
      draft.accounts[0].max_concurrent = 1;
    },
  });
  gate.upstream.next('north', 'stall after 10 events');
  const rows = async (): Promise<readonly RequestRow[]> => {
    const opened = await openStore(store, { clock: Date.now });
    const all = await opened.requests.list({});
    await opened.close();
    return all;
  };
  return { gate, rows };
}

const ending = ({ outcome, status, code, error_class, tokens_estimated }: RequestRow): unknown[] => [
  outcome,
  status,
  code,
  error_class,
  tokens_estimated,
];

const CUT = ['cut', 200, 'server_error', 'gateway_stopped', true];

/** Stops the gateway when the client has a part of the stream. @returns the text of the stream, and whether it was complete */
async function stoppedStream(gate: TestGateway, path: string, body: JsonObject): Promise<{ text: string; complete: boolean }> {
  const answer = await gate.fetch(path, { body: { ...body, stream: true } });
  assert.equal(answer.status, 200);
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader() ?? assert.fail('no body');
  let text = '';
  while (!text.includes('alpha')) text += (await reader.read()).value ?? assert.fail(`no output in ${text}`);
  const stopped = gate.stop();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return { text, complete: true };
      text += value;
    }
  } catch {
    return { text, complete: false };
  } finally {
    await stopped;
  }
}

for (const [id, path, body, error] of [
  ['F1.8', '/v1/responses', QUESTION, { type: 'server_error', code: 'server_error', param: null }],
  ['F1.9', '/v1/chat/completions', CHAT, { type: 'server_error', code: 'server_error', param: null }],
  ['AM16', '/v1/messages', MESSAGES, { type: 'api_error', details: { error_code: 'server_error' } }],
] as const) {
  test(`[${id}] a stream of ${path} that a drain cuts ends with one error event, and its row says so`, async (context) => {
    const { gate, rows } = await stalling(context);
    const { text, complete } = await stoppedStream(gate, path, body);
    await gate.close();
    assert.ok(complete, 'the stream ends in order');
    const events = eventsOf(text).map(({ data }) => data);
    const last = events.at(-1);
    assert.deepEqual(last.error, { ...error, message: 'The gateway stopped before the reply was complete.' });
    if (id === 'F1.8') assert.equal(last.sequence_number, events.at(-2).sequence_number + 1);
    assert.deepEqual(events.filter((data) => data.error).length, 1);
    assert.deepEqual((await rows()).map(ending), [CUT]);
  });
}

test('[Q17] a native stream that a drain cuts ends without its last chunk, and its row says so', async (context) => {
  const { gate, rows } = await stalling(context);
  const { text, complete } = await stoppedStream(gate, NATIVE, turnBody('say: alpha beta gamma delta epsilon zeta eta theta iota'));
  await gate.close();
  assert.ok(!complete, text);
  const cut = gate.logged.map((line) => JSON.parse(line)).filter(({ event }) => event === 'turns_cut');
  assert.deepEqual(
    cut.map(({ level, turns }) => [level, turns]),
    [['warn', 1]],
  );
  assert.deepEqual(
    eventsOf(text).filter(({ event }) => event === 'error' || event === 'response.failed'),
    [],
  );
  assert.deepEqual((await rows()).map(ending), [CUT]);
});

for (const [id, path, last] of [
  ['Q17', '/v1/responses', { type: 'error', status: 502, error: { type: 'server_error', code: 'server_error', param: null } }],
  ['Q28', NATIVE, undefined],
] as const) {
  test(`[${id}] a turn of a websocket of ${path} that a drain cuts ends before the close 1001, and its row says so`, async (context) => {
    const { gate, rows } = await stalling(context);
    using socket = await connect(gate, path);
    socket.send({ ...turnBody('say: alpha beta gamma delta epsilon zeta eta theta iota'), type: 'response.create' });
    await until('the first output', () => socket.frames.some(({ type }) => type === 'response.output_text.delta') || undefined);
    const stopped = gate.stop();
    const { code } = await socket.closed;
    await stopped;
    await gate.close();
    assert.equal(code, 1001);
    const error = socket.frames.find(({ type }) => type === 'error');
    const message = 'The gateway stopped before the reply was complete.';
    assert.deepEqual(error, last && { ...last, error: { ...last.error, message } });
    assert.deepEqual((await rows()).map(ending), [CUT]);
  });
}

test('[Q28] turns that have shown nothing when a drain cuts them are 503, and may be sent again', async (context) => {
  const { gate, rows } = await stalling(context);
  const collected = gate.send('/v1/responses', { body: QUESTION });
  await gate.upstream.stalled('north');
  const waiting = gate.send('/v1/chat/completions', { body: CHAT });
  await until('the wait for the account', () => gate.admission('stream').waiting === 1 || undefined);
  await gate.stop();
  for (const { status, headers, json } of await Promise.all([collected, waiting])) {
    assert.deepEqual([status, json.error.code, headers.get('retry-after')], [503, 'server_is_overloaded', '1']);
  }
  await gate.close();
  assert.deepEqual(
    new Set((await rows()).map((row) => JSON.stringify(ending(row)))),
    new Set([
      JSON.stringify(['cut', 503, 'server_is_overloaded', 'gateway_stopped', true]),
      JSON.stringify(['refused', 503, 'server_is_overloaded', 'gateway_stopped', false]),
    ]),
  );
});
