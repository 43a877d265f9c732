// A reply that passes unread is held until its body begins: if it breaks off before, the client has seen nothing, and gets an answer.
import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { PipedReply } from '../../../proxy/dispatch/reply/piped-reply.ts';
import { ManualClock } from '../../support/clocks/manual-clock.ts';
import { headOf, postOf, RawClient } from '../../support/network/raw.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { control, supported } from '../../support/stages/control.ts';
import { requestedTurn } from '../../support/turns/live-turn.ts';
import { RecordingClient, RecordingContext } from '../../support/turns/replies.ts';
import { until } from '../../support/until.ts';

const GET = '/backend-api/agent/thread/goal/get';
const SET = '/backend-api/agent/thread/goal/set';

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n';
const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';

for (const [what, bytes] of Object.entries({
  'ends behind its head': HEAD,
  'has a chunk that is none': `${CHUNKED}zz\r\n`,
  'has a negative chunk': `${CHUNKED}-5\r\nhello\r\n`,
})) {
  test(`a reply that ${what} is 502, and the connection of its client stays open`, async () => {
    let asked = 0;
    const end = (request: IncomingMessage, response: ServerResponse): void => {
      asked += 1;
      request.resume().once('end', () => response.socket?.end(bytes));
    };
    await using bench = await control({ raw: end }, supported);
    using client = await RawClient.connect(bench.gate.url);
    client.write(postOf(SET, {}));
    const { status, json } = await client.answer();
    assert.deepEqual([status, json.error.code, asked], [502, 'upstream_error', 1]);
    client.write(headOf('GET', GET));
    assert.equal((await client.answer()).status, 502);
    assert.equal(asked, 3, 'a request without a body is tried at the other account');
  });
}

test('an unexpected switch of protocols is 502: its length would frame bytes that never come', async () => {
  const raw = (_request: IncomingMessage, response: ServerResponse): void => {
    response.socket?.write('HTTP/1.1 101 Switching Protocols\r\ncontent-length: 2\r\n\r\n{}');
  };
  await using bench = await control({ raw }, supported);
  using client = await RawClient.connect(bench.gate.url);
  client.write(headOf('GET', GET) + headOf('GET', '/v1/models'));
  assert.equal((await client.answer()).status, 502);
  assert.equal((await client.answer()).status, 200, 'the next answer is read as an answer');
});

test('after hold_ms the head goes to the client, and the body follows when it comes', async () => {
  const { promise: asked, resolve } = Promise.withResolvers<ServerResponse>();
  await using bench = await control({ raw: (_request, response) => resolve(response) }, (draft) => {
    supported(draft);
    draft.timeouts.hold_ms = 20;
  });
  using client = await RawClient.connect(bench.gate.url);
  client.write(headOf('GET', GET));
  const response = await asked;
  response.writeHead(200, { 'content-length': '4' }).flushHeaders();
  await client.until(() => client.pending.includes('content-length: 4\r\n'), 'the head');
  assert.equal(bench.gate.count('hold_expired'), 1);
  response.end('body');
  assert.equal((await client.answer()).body, 'body');
});

test('a client that leaves while the head is held ends the request', async () => {
  const { promise: asked, resolve } = Promise.withResolvers<ServerResponse>();
  await using bench = await control({ raw: (_request, response) => resolve(response) }, supported);
  using client = await RawClient.connect(bench.gate.url);
  client.write(headOf('GET', GET));
  const response = await asked;
  const left = new Promise((done) => response.once('close', done));
  response.writeHead(200, { 'content-length': '4' }).flushHeaders();
  client.close();
  await left;
  const row = await until('the row', async () => (await bench.gate.rows())[0]);
  assert.deepEqual([row.status, row.outcome], [499, 'client_gone']);
});

test('an error of the gateway while it writes the head ends the turn with a refusal, and not the process', async () => {
  const { turn, faults } = await requestedTurn(turnBody('hi'), { rules: [] });
  const context = new RecordingContext(turn);
  const client = Object.assign(new RecordingClient(), { pipe: () => Promise.reject(new Error('a bad head')) });
  const reply = Readable.from(['body']) as IncomingMessage;
  new PipedReply({ head: { status: 200, headers: {} }, client, context, idleMs: 60_000 }).stream(reply);
  await until('the end', () => context.ended);
  assert.deepEqual([context.ended, context.account.aborted, faults.length], ['refused 500 server_error undefined', true, 1]);
});

test('[AA6] an account that sends a head alone is left after its own idle time', async () => {
  const clock = new ManualClock();
  const { turn } = await requestedTurn(turnBody('hi'), { rules: [], clock });
  const context = new RecordingContext(turn);
  const reply = new Readable({ read: () => undefined }) as IncomingMessage;
  new PipedReply({ head: { status: 200, headers: {} }, client: new RecordingClient(), context, idleMs: 1_000 }).stream(reply);
  await clock.advance(999);
  assert.equal(context.account.aborted, false);
  await clock.advance(1);
  assert.equal(context.account.aborted, true, 'the time of the gateway is longer');
  assert.match(context.ended ?? '', /^failed /);
});
