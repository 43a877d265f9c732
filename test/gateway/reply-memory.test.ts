// The limits of the reply bytes that turns hold, against hostile providers: one limit for a turn and one for all turns.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { type WebSocket, WebSocketServer } from 'ws';
import type { JsonObject } from '../../proxy/turn/json/json.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { frameOf } from '../support/native-frames.ts';
import { postOf, RawClient } from '../support/network/raw.ts';
import { type RawUpstream, rawHead, rawResponse, startRawUpstream } from '../support/network/raw-upstream.ts';
import { eventsOf } from '../support/network/sse-events.ts';
import { turnBody } from '../support/rehearsal-replies.ts';
import { until } from '../support/until.ts';
import { connect, type TestSocket } from '../support/websocket.ts';

const NATIVE = '/backend-api/agent/responses';
const PUBLIC = '/v1/responses';
const COLLECTED = { model: 'model-a', input: 'hello' };
const STREAMED = { ...COLLECTED, stream: true };

/** The limit of one turn and the limit of all turns. */
const TURN_BYTES = 1_000_000;
const ALL_BYTES = 1_500_000;

const HEAD = rawHead(200, { 'content-type': 'text/event-stream' });
const sse = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;
const DELTA = sse({ type: 'response.output_text.delta', sequence_number: 0, delta: 'a' });
const item = (bytes: number): string => sse({ type: 'response.output_item.done', item: { type: 'message', id: 'x'.repeat(bytes) } });
const completed = (bytes: number): string =>
  sse({ type: 'response.completed', response: { id: 'x'.repeat(bytes), status: 'completed', model: 'theirs', output: [] } });

let answer: (socket: Socket) => void;
let rawUpstream: RawUpstream;
let gate: TestGateway;
before(async () => {
  rawUpstream = await startRawUpstream((socket) => answer(socket));
});
after(() => rawUpstream[Symbol.asyncDispose]());
beforeEach(async () => {
  gate = await startGateway({
    upstream: { accounts: ['north'] },
    config: (draft) => {
      rawUpstream.as('north')(draft);
      draft.limits = { upstream_event_bytes: TURN_BYTES, replies_in_memory_bytes: ALL_BYTES };
    },
  });
});

afterEach(() => gate.close());

/** Writes the same text again and again as long as the gateway reads. */
function endlessly(socket: Socket, text: string): void {
  while (!socket.destroyed) {
    if (socket.write(text)) continue;
    socket.once('drain', () => endlessly(socket, text));
    return;
  }
}

/** Asserts that nothing is held any more, by a turn that needs most of the memory of all turns. */
async function nothingIsHeld(): Promise<void> {
  answer = (socket) => void socket.end(HEAD + DELTA + completed(200_000));
  for (let i = 0; i < 8; i++) assert.equal((await gate.send(PUBLIC, { body: COLLECTED })).status, 200);
}

describe('a reply of one turn', () => {
  test('with endless finished items breaks off, streamed and collected', async () => {
    answer = (socket) => {
      socket.write(HEAD + DELTA);
      endlessly(socket, item(10_000));
    };
    const { text } = await gate.send(PUBLIC, { body: STREAMED });
    assert.equal(eventsOf(text).at(-1)?.data.error.code, 'server_error');
    assert.ok(text.length < TURN_BYTES);
    const { status, json } = await gate.send(PUBLIC, { body: COLLECTED });
    assert.deepEqual([status, json.error.code], [502, 'upstream_error']);
    assert.deepEqual([gate.count('upstream_events_too_large'), gate.count('replies_guard_refused')], [2, 0]);
    assert.deepEqual(
      (await gate.rows()).map(({ outcome }) => outcome),
      ['cut', 'cut'],
    );
    assert.equal(gate.count('server_errors'), 0);
    await nothingIsHeld();
  });

  test('with a terminal event that does not fit with its copies breaks off, and natively ends as a broken reply', async () => {
    answer = (socket) => void socket.end(HEAD + DELTA + completed(300_000));
    const { text } = await gate.send(PUBLIC, { body: STREAMED });
    assert.equal(eventsOf(text).at(-1)?.data.error.code, 'server_error');
    await assert.rejects(gate.send(NATIVE, { body: turnBody('hello') }));
    assert.equal((await gate.send(PUBLIC, { body: COLLECTED })).status, 502);
    assert.equal(gate.count('upstream_events_too_large'), 3);
    await nothingIsHeld();
  });

  test('with an event that no rule reads fits with the event and its pieces', async () => {
    const large = (bytes: number): string => sse({ type: 'response.output_text.delta', delta: 'x'.repeat(bytes) });
    answer = (socket) => void socket.end(HEAD + DELTA + large(450_000) + completed(10));
    assert.ok((await gate.send(NATIVE, { body: turnBody('hello') })).text.endsWith(completed(10)));
    answer = (socket) => void socket.end(HEAD + DELTA + large(600_000) + completed(10));
    await assert.rejects(gate.send(NATIVE, { body: turnBody('hello') }));
    assert.equal(gate.count('upstream_events_too_large'), 1);
    await nothingIsHeld();
  });

  test('with a whole answer that does not fit with its copies is a failure of the account', async () => {
    const json = (bytes: number): string => JSON.stringify({ id: 'x'.repeat(bytes), object: 'response', status: 'completed', output: [] });
    for (const [bytes, status] of [
      [200_000, 200],
      [300_000, 502],
    ] as const) {
      answer = (socket) => void socket.end(rawResponse(200, json(bytes)));
      assert.equal((await gate.send(NATIVE, { body: turnBody('hello', { stream: false }) })).status, status);
      assert.equal((await gate.send(PUBLIC, { body: COLLECTED })).status, status);
    }
    assert.equal(gate.count('upstream_events_too_large'), 2);
    await nothingIsHeld();
  });
});

test('the replies of all turns together have a limit: past it the reply that needs more breaks off, and the others continue', async () => {
  const sockets: Socket[] = [];
  answer = (socket) => {
    sockets.push(socket);
    socket.write(HEAD + DELTA + item(200_000));
  };
  // Each turn keeps its finished item, which counts twice.
  const clients: RawClient[] = [];
  for (let i = 1; i <= 3; i++) {
    const client = await RawClient.connect(gate.url);
    clients.push(client);
    client.write(postOf(PUBLIC, STREAMED));
    await client.until(() => client.pending.includes('"}}\n\n'), 'the item');
  }
  const { status, text } = await gate.send(PUBLIC, { body: STREAMED });
  assert.deepEqual([status, eventsOf(text).at(-1)?.data.error.code], [200, 'server_error']);
  assert.deepEqual([gate.count('replies_guard_refused'), gate.count('upstream_events_too_large')], [1, 1]);
  for (const socket of sockets.slice(0, 3)) socket.end(completed(10));
  for (const client of clients) {
    assert.ok((await client.answer()).body.endsWith('[DONE]\n\n'));
    client.close();
  }
  await nothingIsHeld();
});

const COMPLETED = '{"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}';

test('incomplete frames of accounts count too: past the limit the reply that needs more ends, and the others continue', async (context) => {
  const asked: WebSocket[] = [];
  const account = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  account.on('connection', (socket) => socket.once('message', () => asked.push(socket)));
  context.after(() => account.close());
  await once(account, 'listening');
  await gate.reconfigure((draft) => {
    draft.accounts[0].base_url = `http://127.0.0.1:${(account.address() as AddressInfo).port}`;
  });
  const turn = async (): Promise<{ readonly client: TestSocket; readonly socket: WebSocket }> => {
    const client = await connect(gate, NATIVE);
    client.send({ type: 'response.create', ...frameOf('hi') });
    return { client, socket: await until('its frame at the account', () => asked.pop()) };
  };
  /** Starts a turn that gets this many bytes of its reply, and no complete frame. */
  const begun = async (bytes: number): ReturnType<typeof turn> => {
    const { client, socket } = await turn();
    socket.send(`{"type":"response.output_text.delta","delta":"${'x'.repeat(bytes)}`, { fin: false });
    return { client, socket };
  };
  const first = await begun(900_000);
  await until('its bytes', () => gate.replyBytes > 900_000 || undefined);
  const second = await begun(599_000);
  await until('its bytes too', () => gate.replyBytes > 1_499_000 || undefined);
  const third = await begun(200_000);
  const { status, error } = (await third.client.next()) as { readonly status: number; readonly error: JsonObject };
  assert.deepEqual([status, error.code], [502, 'upstream_error']);
  assert.equal(gate.count('replies_guard_refused'), 1);
  const fourth = await turn();
  fourth.socket.send(COMPLETED);
  assert.equal((await fourth.client.rest()).at(-1)?.type, 'response.completed', 'small frames take no room');
  for (const { client, socket } of [first, second]) {
    socket.send('"}', { fin: true });
    socket.send(COMPLETED);
    assert.equal((await client.rest()).at(-1)?.type, 'response.completed');
  }
  await until('the release', () => gate.replyBytes === 0 || undefined);
  for (const { client } of [first, second, third, fourth]) client.terminate();
});
