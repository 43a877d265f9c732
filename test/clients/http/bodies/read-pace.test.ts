// Large bodies, and bodies in small pieces, are read a slice or a read at a time, and keys take turns (Q38).
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { Counters } from '../../../../proxy/base/process/metrics.ts';
import { BodyArrival } from '../../../../proxy/clients/http/bodies/body-arrival.ts';
import { until } from '../../../support/until.ts';

const KEYS = ['many', 'many', 'many', 'many', 'one'] as const;
const PIECES = 60_000;
const LARGE_BYTES = 16_000_000;

/** Sends one request for each of the keys at once. @returns the keys in the order in which their bodies ended, and all bytes of bodies */
async function sent(context: TestContext, body: string): Promise<{ readonly ended: readonly string[]; readonly bytes: number }> {
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
  const { port } = server.address() as AddressInfo;
  const sockets = KEYS.map((key) => {
    const socket = connect(port, '127.0.0.1');
    socket.write(`POST / HTTP/1.1\r\nhost: a\r\nx-key: ${key}\r\n${body}`);
    return socket;
  });
  context.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  await until('all bodies', () => (ended.length === KEYS.length ? true : undefined), 60_000);
  return { ended, bytes };
}

test('[Q38] the body in small pieces of one key does not wait for all of another key, and no byte is lost', async (context) => {
  const { ended, bytes } = await sent(context, `transfer-encoding: chunked\r\n\r\n${'1\r\na\r\n'.repeat(PIECES)}0\r\n\r\n`);
  assert.equal(ended[0], 'one');
  assert.equal(bytes, KEYS.length * PIECES);
});

test('[Q38] the large body of one key does not wait for all of another key, and no byte is lost', async (context) => {
  const { ended, bytes } = await sent(context, `content-length: ${LARGE_BYTES}\r\n\r\n${'a'.repeat(LARGE_BYTES)}`);
  assert.equal(ended[0], 'one');
  assert.equal(bytes, KEYS.length * LARGE_BYTES);
});
