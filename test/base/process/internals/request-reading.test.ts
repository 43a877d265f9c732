// Each undocumented behaviour on which request-reading.ts relies: a test fails if an update changes it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { awaitReader, readInParts, stopReading, unshiftInParts } from '../../../../proxy/base/process/internals/request-reading.ts';
import { takeOverConnections } from '../../../../proxy/base/process/internals/socket-internals.ts';
import { headOf, RawClient } from '../../../support/network/raw.ts';
import { until } from '../../../support/until.ts';
import { listening } from './listening.ts';

describe('readInParts', () => {
  const CHUNKS = 100_000;
  const head = 'POST /chunked HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n';

  test('what arrives after a connection was stopped is less than a part, and the rest arrives when it is read on', async () => {
    const arrived = Promise.withResolvers<IncomingMessage>();
    await using upstream = await listening((request, response) => {
      if (request.url === '/chunked') arrived.resolve(request);
      else request.resume();
      request.once('end', () => response.end(request.url));
    });
    using client = await RawClient.connect(upstream.url);
    client.write(head);
    const request = await arrived.promise;
    readInParts(request);
    let [pieces, most] = [0, 0];
    request.on('data', () => {
      pieces += 1;
      if (pieces > 1) return;
      const readOn = stopReading(request);
      setImmediate(() => {
        most = Math.max(most, pieces);
        pieces = 0;
        readOn();
      });
    });
    let all = 0;
    request.on('data', ({ length }: Buffer) => {
      all += length;
    });
    client.write(`${'1\r\na\r\n'.repeat(CHUNKS)}0\r\n\r\n${headOf('GET', '/next')}`);
    await once(request, 'end');
    assert.equal(all, CHUNKS);
    assert.ok(most < 200, `${most} pieces`);
    assert.deepEqual([(await client.answer()).body, (await client.answer()).body], ['/chunked', '/next']);
  });

  test('a connection that is stopped then reads on', async () => {
    await using upstream = await listening((request, response) => {
      const readOn = stopReading(request);
      readInParts(request);
      setImmediate(readOn);
      request.resume().once('end', () => response.end('whole'));
    });
    using client = await RawClient.connect(upstream.url);
    client.write(head);
    setTimeout(() => client.write(`${'1\r\na\r\n'.repeat(CHUNKS)}0\r\n\r\n`), 20);
    assert.equal((await client.answer()).body, 'whole');
  });

  test('a websocket on the same connection gets all of its bytes', async () => {
    await using upstream = await listening((request, response) => {
      readInParts(request);
      request.resume().once('end', () => response.end('first'));
    });
    const received: Buffer[] = [];
    upstream.server.on('upgrade', (_request, socket: Socket, first) => {
      received.push(first);
      socket.on('data', (chunk: Buffer) => received.push(chunk));
    });
    using client = await RawClient.connect(upstream.url);
    client.write(`${head}0\r\n\r\n`);
    assert.equal((await client.answer()).body, 'first');
    const frames = Array.from({ length: 100_000 }, (_, i) => String.fromCharCode(97 + (i % 26))).join('');
    client.write(headOf('GET', '/', { connection: 'upgrade', upgrade: 'other' }) + frames);
    await until('all bytes', () => Buffer.concat(received).length === frames.length || undefined);
    assert.equal(Buffer.concat(received).toString(), frames);
  });
});

/** A server on which each request awaits its reader. */
async function awaiting(arrived: (request: IncomingMessage) => void) {
  const upstream = await listening((request) => {
    awaitReader(request);
    arrived(request);
  });
  const parse = takeOverConnections(upstream.server, (socket) => {
    socket.once('readable', () => {
      unshiftInParts(socket, socket.read());
      parse(socket);
    });
  });
  return upstream;
}

describe('unshiftInParts and awaitReader', () => {
  test('the parser gets of a chunked request a part, and the rest when its body is read', async () => {
    const arrived = Promise.withResolvers<IncomingMessage>();
    await using upstream = await awaiting(arrived.resolve);
    using client = await RawClient.connect(upstream.url);
    const chunks = '1\r\na\r\n'.repeat(5_000);
    client.write(`POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`);
    const request = await arrived.promise;
    await new Promise((resolve) => setImmediate(resolve));
    assert.ok(request.readableLength < 200, `${request.readableLength} bytes`);
    assert.equal((await buffer(request)).length, 5_000);
  });

  test('a client that leaves before the end of its body is noticed while the body waits for its reader', async () => {
    for (const leave of ['end', 'destroy'] as const) {
      const arrived = Promise.withResolvers<IncomingMessage>();
      await using upstream = await awaiting(arrived.resolve);
      using client = await RawClient.connect(upstream.url);
      client.write(`POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\na\r\n'.repeat(5_000)}`);
      const { socket } = await arrived.promise;
      client.socket[leave]();
      await until('the end of the connection', () => socket.destroyed || undefined);
    }
  });

  test('a client that ends its side after its body gets the answer', async () => {
    for (const last of ['0\r\n\r\n', '000;a=b\r\n\r\n', '0\r\nx: y\r\n\r\n', '0\r\n\r\nGET / HTTP/1.1\r\nhost: a\r\n']) {
      const arrived = Promise.withResolvers<IncomingMessage>();
      await using upstream = await awaiting(arrived.resolve);
      using client = await RawClient.connect(upstream.url);
      client.write(`POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\na\r\n'.repeat(5_000)}${last}`);
      const request = await arrived.promise;
      const { push } = request.socket;
      const ended = new Promise((resolve) => {
        request.socket.push = (chunk) => {
          if (chunk === null) resolve(chunk);
          return push.call(request.socket, chunk);
        };
      });
      client.socket.end();
      await ended;
      assert.equal((await buffer(request)).length, 5_000, last);
    }
  });
});
