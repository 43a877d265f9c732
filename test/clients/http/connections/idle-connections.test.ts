// A client that does not read its answer loses its connection, and its turn loses its slots.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { Counters } from '../../../../proxy/base/process/metrics.ts';
import { connectionOf } from '../../../../proxy/clients/http/connections/client-connection.ts';
import { IdleConnections } from '../../../../proxy/clients/http/connections/idle-connections.ts';
import { until } from '../../../support/until.ts';

/** A connection whose answer has begun. `sweep` runs the periodic check. */
async function answering(context: TestContext) {
  context.mock.timers.enable({ apis: ['setInterval'] });
  const counters = new Counters();
  const connections = new IdleConnections({ stalledMs: () => 10_000, counters });
  const answer = Promise.withResolvers<ServerResponse>();
  const server = createServer((request, response) => {
    connectionOf(request.socket).latest = response;
    answer.resolve(response);
  });
  server.on('connection', (socket) => connections.watch(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  context.after(() => {
    client.destroy();
    connections.stop();
    server.close();
  });
  client.on('error', () => undefined).write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
  const response = await answer.promise;
  response.on('error', () => undefined);
  const sweep = (times: number): void => {
    for (let i = 0; i < times; i++) context.mock.timers.tick(5_000);
  };
  return { response, client, counters, sweep };
}

/** This is more than the buffers of both systems hold. */
const MUCH = Buffer.alloc(32 << 20);

test('a client that reads nothing of its answer for longer than the limit loses its connection', async (context) => {
  const { response, client, counters, sweep } = await answering(context);
  client.pause();
  response.write(MUCH);
  const { socket } = response;
  // Bytes that the system accepts at once count as progress.
  await new Promise(setImmediate);
  sweep(3);
  assert.equal(socket?.destroyed, false, 'within the limit');
  sweep(1);
  assert.equal(socket?.destroyed, true);
  assert.equal(counters.values.clients_stalled, 1);
});

test('a client that reads slowly, and one whose answer has no bytes for it yet, keep their connections', async (context) => {
  const { response, client, counters, sweep } = await answering(context);
  response.write('data: one\n\n');
  await once(client, 'data');
  sweep(20);
  client.pause();
  for (let round = 0; round < 3; round++) {
    response.write(MUCH);
    sweep(2);
    client.resume();
    await until('the answer', () => (response.socket?.writableLength === 0 ? true : undefined));
    client.pause();
  }
  sweep(2);
  assert.equal(response.socket?.destroyed, false);
  assert.equal(counters.values.clients_stalled, 0);
});
