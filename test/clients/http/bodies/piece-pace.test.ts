// Bodies in small pieces are read one read at a time, and keys take turns (Q38).
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { test } from 'node:test';
import { Counters } from '../../../../proxy/base/process/metrics.ts';
import { BodyArrival } from '../../../../proxy/clients/http/bodies/body-arrival.ts';
import { until } from '../../../support/until.ts';

const PIECES = 60_000;
const KEYS = ['many', 'many', 'many', 'one'] as const;

test('[Q38] the body in small pieces of one key does not wait for all of another key, and no byte is lost', async (context) => {
  const ended: string[] = [];
  let bytes = 0;
  const server = createServer((request) => {
    const key = String(request.headers['x-key']);
    const arrival = new BodyArrival(request, {
      idleMs: 60_000,
      counters: new Counters(),
      key,
      isBusy: () => false,
      closed: () => undefined,
      malformed: () => undefined,
      refuse: () => undefined,
    });
    request.once('end', () => {
      ended.push(key);
      bytes += arrival.bytes;
      arrival.stop();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(() => server.close());
  const sockets = KEYS.map((key) => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.write(
      `POST / HTTP/1.1\r\nhost: a\r\nx-key: ${key}\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\na\r\n'.repeat(PIECES)}0\r\n\r\n`,
    );
    return socket;
  });
  context.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  await until('all bodies', () => (ended.length === KEYS.length ? true : undefined), 60_000);
  assert.equal(ended[0], 'one');
  assert.equal(bytes, KEYS.length * PIECES);
});
