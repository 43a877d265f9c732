// Each undocumented behaviour on which socket-internals.ts relies: a test fails if an update changes it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerOptions } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, Socket } from 'node:net';
import { describe, test } from 'node:test';
import { createServer as createTlsServer, connect as tlsConnect } from 'node:tls';
import {
  connectionBelow,
  disableSocketTimeout,
  isHandshaking,
  takeOverConnections,
  unsentBytes,
} from '../../../../proxy/base/process/internals/socket-internals.ts';
import { selfSigned } from '../../../support/network/certificate.ts';
import { headOf, RawClient } from '../../../support/network/raw.ts';
import { until } from '../../../support/until.ts';
import { listening } from './listening.ts';

describe('unsentBytes', () => {
  for (const over of ['TCP', 'TLS']) {
    test(`falls while a client takes a large write piece by piece over ${over}, and is 0 at its end`, async (context) => {
      const day = 86_400_000;
      const certificate = selfSigned({ host: 'localhost', from: new Date(Date.now() - day), until: new Date(Date.now() + day) });
      const server = over === 'TLS' ? createTlsServer(certificate) : createTcpServer();
      context.after(() => server.close());
      const accepted = once(server.listen(0, '127.0.0.1'), over === 'TLS' ? 'secureConnection' : 'connection');
      await once(server, 'listening');
      const at = { port: (server.address() as AddressInfo).port, host: '127.0.0.1' };
      const client = over === 'TLS' ? tlsConnect({ ...at, ca: certificate.cert, servername: 'localhost' }) : connect(at);
      context.after(() => client.destroy());
      const [socket] = (await accepted) as [Socket];
      socket.on('error', () => undefined);
      socket.write(Buffer.alloc(32 << 20));
      let left = await until('the write', () => unsentBytes(socket) || undefined);
      let taken = 0;
      let goal = 0;
      client.on('data', (chunk: Buffer) => {
        taken += chunk.length;
        if (taken >= goal) client.pause();
      });
      for (let i = 0; i < 3; i++) {
        goal = taken + (4 << 20);
        client.resume();
        await until('progress', () => (taken >= goal && unsentBytes(socket) < left && socket.writableLength > 0) || undefined);
        left = unsentBytes(socket);
      }
      goal = Number.POSITIVE_INFINITY;
      client.resume();
      await until('the end', () => (socket.writableLength === 0 ? true : undefined));
      assert.equal(unsentBytes(socket), 0);
    });
  }
});

describe('disableSocketTimeout', () => {
  test('takes away the timer that Node sets on a socket after each answer', async () => {
    const sockets: Socket[] = [];
    // These times are as short as Node allows, so a connection with its timer is closed soon.
    const options = { keepAliveTimeout: 1, keepAliveTimeoutBuffer: 1 } as ServerOptions;
    await using upstream = await listening((_request, response) => response.writeHead(204).end(), options);
    upstream.server.on('connection', (socket: Socket) => {
      // Only the first connection loses its timeout.
      if (sockets.push(socket) === 1) disableSocketTimeout(socket);
    });
    using kept = await RawClient.connect(upstream.url);
    using timed = await RawClient.connect(upstream.url);
    for (const client of [kept, timed]) {
      client.write(headOf('GET', '/'));
      assert.equal((await client.answer()).status, 204);
    }
    await timed.ended();
    assert.equal(kept.over, false, 'it was idle for longer than the one that was closed');
    assert.ok(!sockets[0]?.timeout, 'no timer was set');
    kept.write(headOf('GET', '/'));
    assert.equal((await kept.answer()).status, 204);
  });

  test('leaves a socket that takes calls of setTimeout as before', () => {
    const socket = new Socket();
    disableSocketTimeout(socket);
    assert.equal(socket.setTimeout(5), socket);
    assert.ok(!socket.timeout);
  });
});

describe('isHandshaking', () => {
  test('is true for a TLS socket without a handshake, and false for a plain one', async () => {
    const server = createTcpServer(() => undefined).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const plain = connect(port, '127.0.0.1');
    const secure = tlsConnect({ port, host: '127.0.0.1' }).on('error', () => undefined);
    await once(plain, 'connect');
    assert.deepEqual([isHandshaking(plain), isHandshaking(secure)], [false, true]);
    plain.destroy();
    secure.destroy();
    server.close();
  });
});

describe('takeOverConnections', () => {
  test('a connection is parsed when it is handed over: first the bytes that were put back, then later ones', async () => {
    await using upstream = await listening((request, response) => response.end(request.url));
    const opened = Promise.withResolvers<Socket>();
    const parse = takeOverConnections(upstream.server, opened.resolve);
    using client = await RawClient.connect(upstream.url);
    const [first, second] = [headOf('GET', '/first'), headOf('GET', '/second')];
    client.write(first.slice(0, 30));
    const socket = await opened.promise;
    await once(socket, 'readable');
    const bytes: Buffer = socket.read();
    assert.equal(bytes.toString(), first.slice(0, 30));
    socket.removeAllListeners('readable').unshift(bytes);
    parse(socket);
    client.write(first.slice(30) + second);
    assert.deepEqual([(await client.answer()).body, (await client.answer()).body], ['/first', '/second']);
  });
});

test("connectionBelow: a server's TLS socket is made on the connection that the server accepted", async (context) => {
  const { cert, key } = selfSigned({ host: 'localhost', from: new Date(Date.now() - 60_000), until: new Date(Date.now() + 60_000) });
  const server = createTlsServer({ cert, key }).listen(0, '127.0.0.1');
  context.after(() => server.close());
  const [raw, secured] = [once(server, 'connection'), once(server, 'secureConnection')];
  await once(server, 'listening');
  const client = tlsConnect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', rejectUnauthorized: false });
  context.after(() => client.destroy());
  const [socket] = await secured;
  assert.equal(connectionBelow(socket), (await raw)[0]);
});
