// Frames that an account sends after the end of a reply, or instead of an end, do not reach the next turn of the connection (A4, D3, F1.10,
// Q28).
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { type WebSocket, WebSocketServer } from 'ws';
import { modelsWithin } from '../../../proxy/rehearsal/model/sample-models.ts';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { frameOf, NATIVE_SOCKET, PUBLIC_SOCKET, responseId, typesOf } from '../../support/native-frames.ts';
import { connect } from '../../support/websocket.ts';

const LIFECYCLE = ['response.created', 'response.in_progress'].map((type) => ({ type, response: { id: 'first', status: 'in_progress' } }));
const ERROR = { type: 'error', error: { type: 'server_error', code: 'server_error', message: 'failed', param: null } };
const FAILED = { type: 'response.failed', response: { id: 'first', status: 'failed', error: { code: 'server_error', message: 'failed' } } };
const completed = (id: string): JsonObject => ({ type: 'response.completed', response: { id, status: 'completed', output: [] } });

/** Frames that the account sends at once for the first frame of the client, and frames that it sends just before it answers the second. */
interface Script {
  readonly first: readonly (JsonObject | string)[];
  readonly late: readonly JsonObject[];
}

/** A gateway whose only account follows the script. `sockets` are the connections that the account accepted. */
async function scripted(
  context: TestContext,
  { first, late }: Script,
): Promise<{ readonly gate: TestGateway; readonly sockets: Set<WebSocket> }> {
  const sockets = new Set<WebSocket>();
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ models: modelsWithin() }));
  });
  const websockets = new WebSocketServer({ server });
  context.after(() => {
    for (const socket of sockets) socket.terminate();
    websockets.close();
    server.close();
  });
  let former: WebSocket | undefined;
  const send = (socket: WebSocket, events: readonly (JsonObject | string)[]): void => {
    for (const event of events) socket.send(typeof event === 'string' ? event : JSON.stringify(event));
  };
  websockets.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('message', () => {
      if (former) {
        send(former, late);
        send(socket, [completed('second')]);
      } else {
        former = socket;
        send(socket, first);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const gate = await startGateway({
    upstream: { accounts: ['north'] },
    config: (draft) => {
      for (const account of draft.accounts) account.base_url = `http://127.0.0.1:${port}`;
    },
  });
  context.after(() => gate.close());
  return { gate, sockets };
}

for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
  test(`[Q28] the response.failed after an error does not answer the next turn of ${path}`, async (context) => {
    const { gate, sockets } = await scripted(context, { first: [...LIFECYCLE, ERROR], late: [FAILED] });
    using socket = await connect(gate, path);
    const refused = await socket.turn(frameOf('first'));
    assert.equal(typesOf(refused).at(-1), 'error');
    assert.equal(responseId(await socket.turn(frameOf('second'))), 'second');
    assert.equal(sockets.size, 2, 'the next turn has a connection of its own');
  });
}

test('[Q28] the connection is reused where no frame follows a completed reply', async (context) => {
  const { gate, sockets } = await scripted(context, { first: [completed('first')], late: [] });
  using socket = await connect(gate, NATIVE_SOCKET);
  assert.equal(responseId(await socket.turn(frameOf('first'))), 'first');
  assert.equal(responseId(await socket.turn(frameOf('second'))), 'second');
  assert.equal(sockets.size, 1);
});

for (const malformed of ['{"type":"response.completed","response":{', '{"type":"error"', '{"type":"response.failed"}trailing']) {
  test(`[F1.10] a public websocket drops ${malformed}, and the reply continues`, async (context) => {
    const numbered = [...LIFECYCLE, malformed, completed('first')].map((event, i) =>
      typeof event === 'string' ? event : { ...event, sequence_number: i },
    );
    const { gate, sockets } = await scripted(context, { first: numbered, late: [] });
    using socket = await connect(gate, PUBLIC_SOCKET);
    const frames = await socket.turn(frameOf('first'));
    assert.deepEqual(typesOf(frames), ['response.created', 'response.in_progress', 'response.completed']);
    assert.deepEqual(
      frames.map((frame) => frame.sequence_number),
      [0, 1, 2],
    );
    assert.equal(gate.count('upstream_frames_dropped'), 1);
    assert.equal(responseId(await socket.turn(frameOf('second'))), 'second');
    assert.equal(sockets.size, 1);
  });
}

test('[F1.10] where the type is named twice a public websocket uses the last, as its client does: neither counts as the other', async (context) => {
  const twice = (first: string, last: string): string => `{"type":"${first}","response":{"id":"first"},"delta":"a","type":"${last}"}`;
  const [delta, end] = ['response.output_text.delta', 'response.completed'];
  const { gate, sockets } = await scripted(context, { first: [...LIFECYCLE, twice(end, delta), twice(delta, end)], late: [] });
  using socket = await connect(gate, PUBLIC_SOCKET);
  assert.deepEqual(typesOf(await socket.turn(frameOf('first'))).slice(2), [delta, end]);
  assert.equal(responseId(await socket.turn(frameOf('second'))), 'second');
  assert.equal(sockets.size, 1);
});

test('[Q17] a native turn ends with an error after such a frame, and the rest of its reply does not answer the next turn', async (context) => {
  const { gate, sockets } = await scripted(context, {
    first: [...LIFECYCLE, '{"type":"response.completed","response":{'],
    late: [completed('first')],
  });
  using socket = await connect(gate, NATIVE_SOCKET);
  assert.equal(typesOf(await socket.turn(frameOf('first'))).at(-1), 'error');
  assert.equal(responseId(await socket.turn(frameOf('second'))), 'second');
  assert.equal(sockets.size, 2);
});
