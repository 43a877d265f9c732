// Each undocumented behaviour of Node and of libraries on which proxy/base/process/node-internals.ts relies: a test fails if an update
// changes it.
import assert from 'node:assert/strict';
import { executionAsyncResource } from 'node:async_hooks';
import { once } from 'node:events';
import { createServer, IncomingMessage, type RequestListener, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, Socket } from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { createServer as createTlsServer, connect as tlsConnect } from 'node:tls';
import { createProxyServer } from 'http-proxy-3';
import { type Dispatcher, Pool } from 'undici';
import { WebSocket, WebSocketServer } from 'ws';
import {
  awaitReader,
  connectionBelow,
  connectionUnder,
  detachedRequest,
  detachedResponse,
  disableFetchPath,
  disableSocketTimeout,
  dropArrivals,
  endConnectionAfter,
  isHandshaking,
  joinParts,
  keepsConnection,
  passContinue,
  readInParts,
  releaseRawHeaders,
  stopReading,
  takeOverChunking,
  takeOverConnections,
  unsentBytes,
  unshiftInParts,
  whenConnected,
} from '../../../proxy/base/process/node-internals.ts';
import { selfSigned } from '../../support/certificate.ts';
import { inUse } from '../../support/memory-in-use.ts';
import { headOf, RawClient } from '../../support/raw.ts';
import { until } from '../../support/until.ts';

interface Listening extends AsyncDisposable {
  readonly server: Server;
  readonly url: string;
}

async function listening(listener: RequestListener, options: ServerOptions = {}): Promise<Listening> {
  const server = createServer(options, listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    server,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

describe('dropArrivals', () => {
  test('a websocket that closes gets no more of a message, and its connection ends after the close frame', async (context) => {
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
    context.after(() => server.close());
    await once(server, 'listening');
    const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const [[accepted]] = (await Promise.all([once(server, 'connection'), once(client, 'open')])) as [[WebSocket], unknown];
    const connection = connectionUnder(accepted) ?? assert.fail('no connection');
    accepted.on('message', () => assert.fail('a message arrived'));
    client.send('the first part', { fin: false });
    await once(connection, 'data');
    accepted.close(1013);
    dropArrivals(accepted, connection);
    client.send('the last part', { fin: true });
    const [[code]] = await Promise.all([once(client, 'close'), once(accepted, 'close')]);
    assert.equal(code, 1013);
  });
});

describe('joinParts', () => {
  test('[Q38] fragments of one byte between pongs do not keep the reads that they came in', async (context) => {
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
    context.after(() => server.close());
    await once(server, 'listening');
    const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const [[accepted]] = (await Promise.all([once(server, 'connection'), once(client, 'open')])) as [[WebSocket], unknown];
    joinParts(accepted);
    const before = inUse();
    const pongs = Buffer.alloc(125);
    const parts = 200;
    for (let i = 0; i < parts; i++) {
      client.send('a', { fin: false });
      for (let pong = 0; pong < 400; pong++) client.pong(pongs);
      const pong = once(client, 'pong');
      client.ping();
      await pong;
    }
    const grown = inUse() - before;
    assert.ok(grown < 2_000_000, `${grown} bytes are held for ${parts}`);
    const message = once(accepted, 'message');
    client.send('b', { fin: true });
    assert.equal(String((await message)[0]), `${'a'.repeat(parts)}b`);
    client.terminate();
  });

  test('frames and fragments of any size, in reads of any size, come out whole', async (context) => {
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
    context.after(() => server.close());
    await once(server, 'listening');
    const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const [[accepted]] = (await Promise.all([once(server, 'connection'), once(client, 'open')])) as [[WebSocket], unknown];
    joinParts(accepted);
    const sizes = [0, 1, 2, 100, 65_535, 65_536, 300_000, 3, 1_000_000, 0, 5];
    for (const fragmented of [false, true]) {
      for (const size of sizes) {
        const whole = Array.from({ length: size }, (_, i) => String.fromCharCode(97 + (i % 26))).join('');
        const message = once(accepted, 'message');
        if (!fragmented) client.send(whole);
        else {
          for (let at = 0; at < size; at += 1 + ((at * 7) % 5_000))
            client.send(whole.slice(at, at + 1 + ((at * 7) % 5_000)), { fin: false });
          client.send('', { fin: true });
        }
        assert.equal(String((await message)[0]), whole);
      }
    }
    client.terminate();
  });
});

describe('connectionUnder', () => {
  test('is the connection of an open websocket, on both sides', async (context) => {
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
    context.after(() => server.close());
    await once(server, 'listening');
    const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const [[accepted]] = (await Promise.all([once(server, 'connection'), once(client, 'open')])) as [[WebSocket], unknown];
    assert.equal(connectionUnder(client)?.localPort, connectionUnder(accepted)?.remotePort);
    assert.ok((connectionUnder(accepted)?.bytesRead ?? 0) > 0);
    client.terminate();
  });
});

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

describe('releaseRawHeaders', () => {
  test('releases the headers that undici keeps on its controller: they share the memory of the first chunk, and the reply continues', async () => {
    await using upstream = await listening((_request, response) => response.writeHead(200, { 'x-own': 'yes' }).end('body'));
    const pool = new Pool(upstream.url);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let raw: unknown;
    let headers: unknown;
    let controllerAtEnd: Dispatcher.DispatchController | undefined;
    const chunks: Buffer[] = [];
    pool.dispatch(
      { method: 'GET', path: '/' },
      {
        onRequestStart: () => undefined,
        onResponseStart: (controller, _status, given) => {
          raw = controller.rawHeaders;
          headers = given;
          releaseRawHeaders(controller);
        },
        onResponseData: (_controller, chunk) => void chunks.push(chunk),
        onResponseEnd: (controller) => {
          controllerAtEnd = controller;
          resolve();
        },
        onResponseError: (_controller, error) => reject(error),
      },
    );
    await promise;
    await pool.close();
    assert.ok(Array.isArray(raw) && raw.length > 0, 'the controller has raw headers');
    const [name] = raw as readonly unknown[];
    assert.ok(Buffer.isBuffer(name) && name.buffer.byteLength > name.length, 'as slices of what was read');
    assert.equal((headers as Record<string, string>)['x-own'], 'yes');
    assert.equal(Buffer.concat(chunks).toString(), 'body');
    assert.equal(controllerAtEnd?.rawHeaders, null, 'nothing sets them again');
  });
});

describe('passContinue', () => {
  test('undici ends the connection at a 100 that it did not ask for, and afterwards reports it as an interim answer', async () => {
    await using upstream = await listening((_request, response) => {
      response.socket?.write('HTTP/1.1 100 Continue\r\nx-own: yes\r\n\r\n');
      response.end('body');
    });
    for (const passed of [false, true]) {
      const pool = new Pool(upstream.url);
      if (passed) passContinue(pool);
      // There are two requests because the second one uses the connection of the first.
      for (const _ of [1, 2]) {
        const statuses: number[] = [];
        const { promise, resolve } = Promise.withResolvers<unknown>();
        pool.dispatch(
          { method: 'GET', path: '/' },
          {
            onRequestStart: () => undefined,
            onResponseStart: (_controller, status) => void statuses.push(status),
            onResponseData: () => undefined,
            onResponseEnd: () => resolve(undefined),
            onResponseError: (_controller, error) => resolve(error),
          },
        );
        const failed = await promise;
        assert.deepEqual([failed === undefined, statuses], [passed, passed ? [102, 200] : []]);
      }
      await pool.destroy();
    }
  });
});

test('keepTickObject: inside a tick, the resource is the object that Node made for it', async () => {
  const ticked = await new Promise<{ resource: object; onTick: () => void }>((resolve) => {
    const onTick = (): void => resolve({ resource: executionAsyncResource(), onTick });
    process.nextTick(onTick);
  });
  assert.equal((ticked.resource as { readonly callback?: unknown }).callback, ticked.onTick);
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

describe('takeOverChunking', () => {
  test('of a length-less HTTP/1.1 answer returns true, and chunks framed by the writer are one valid answer', async () => {
    const taken: unknown[] = [];
    await using server = await listening((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' });
      taken.push(response.chunkedEncoding, takeOverChunking(response), response.chunkedEncoding);
      response.write('6\r\nfirst \r\n');
      response.write('6\r\nsecond\r\n');
      response.end('0\r\n\r\n');
    });
    using client = await RawClient.connect(server.url);
    for (let i = 0; i < 2; i++) {
      client.write(headOf('GET', '/'));
      const { headers, chunks } = await client.answer();
      assert.equal(headers['transfer-encoding'], 'chunked');
      assert.deepEqual(chunks, ['first ', 'second']);
      assert.equal(client.pending, '', 'the connection is ready for the next request');
    }
    assert.deepEqual(taken, [true, true, false, true, true, false]);
  });

  test('of an answer with a length returns false, and its bytes pass as they are', async () => {
    const taken: boolean[] = [];
    await using server = await listening((_request, response) => {
      response.writeHead(200, { 'content-length': 4 });
      taken.push(takeOverChunking(response));
      response.end('body');
    });
    using client = await RawClient.connect(server.url);
    client.write(headOf('GET', '/'));
    const { body, headers } = await client.answer();
    assert.deepEqual([taken, body, headers['transfer-encoding']], [[false], 'body', undefined]);
  });

  test('of an answer to HTTP/1.0 returns false: its body ends with its connection', async () => {
    const taken: boolean[] = [];
    await using server = await listening((_request, response) => {
      response.writeHead(200);
      taken.push(takeOverChunking(response));
      response.end('body');
    });
    using client = await RawClient.connect(server.url);
    client.write('GET / HTTP/1.0\r\n\r\n');
    const answer = await client.ended();
    assert.deepEqual([taken, answer.split('\r\n\r\n')[1]], [[false], 'body']);
  });
});

/** The result of a proxy of http-proxy-3, configured as for pass-through rows, for one exchange. */
async function proxied(
  target: string,
  request: IncomingMessage,
  body?: Readable,
): Promise<{ readonly path: 'http' | 'fetch'; readonly status: number | undefined; readonly text: string }> {
  const proxy = createProxyServer({ target, changeOrigin: true, selfHandleResponse: true, toProxy: true });
  const response = detachedResponse(request);
  let path: 'http' | 'fetch' = 'fetch';
  proxy.on('proxyReq', () => {
    path = 'http';
  });
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number | undefined; text: string }>();
  proxy.on('proxyRes', (reply) => {
    // A reply of the fetch path is not an IncomingMessage.
    if (!(reply instanceof IncomingMessage)) return resolve({ status: undefined, text: '' });
    const chunks: Buffer[] = [];
    reply.on('data', (chunk: Buffer) => chunks.push(chunk));
    reply.once('end', () => resolve({ status: reply.statusCode, text: Buffer.concat(chunks).toString() }));
  });
  void proxy.web(request, response, body ? { buffer: body } : {}, reject);
  const answer = await promise;
  assert.equal(response.headersSent, false, 'nothing is written to the answer that the library was given');
  return { path, ...answer };
}

describe('endConnectionAfter and keepsConnection', () => {
  test('make an answer the last one of its connection, and report that before it is written', async () => {
    const kept: boolean[] = [];
    const server = createServer((_request, response) => {
      kept.push(keepsConnection(response));
      endConnectionAfter(response);
      kept.push(keepsConnection(response));
      response.end('last');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const answer = Buffer.concat(await socket.toArray()).toString('latin1');
    assert.match(answer, /^connection: close\r$/im);
    assert.deepEqual(kept, [true, false]);
    server.close();
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

describe('disableFetchPath', () => {
  test('keeps http-proxy-3 from its fetch path, which the variable would switch on', async (context) => {
    const before = process.env.FORCE_FETCH_PATH;
    context.after(() => {
      if (before === undefined) delete process.env.FORCE_FETCH_PATH;
      else process.env.FORCE_FETCH_PATH = before;
    });
    await using upstream = await listening((_request, response) => response.end('ok'));
    process.env.FORCE_FETCH_PATH = 'true';
    assert.equal((await proxied(upstream.url, detachedRequest('GET', '/', {}))).path, 'fetch');
    disableFetchPath();
    assert.equal((await proxied(upstream.url, detachedRequest('GET', '/', {}))).path, 'http');
  });
});

describe('detachedRequest and detachedResponse', () => {
  interface Arrived {
    readonly method: string | undefined;
    readonly url: string | undefined;
    readonly headers: IncomingMessage['headers'];
    readonly body: string;
  }

  /** Starts an upstream that records what arrived. */
  const recording = (arrived: Arrived[]): Promise<Listening> =>
    listening((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.once('end', () => {
        const { method, url, headers } = request;
        arrived.push({ method, url, headers, body: Buffer.concat(chunks).toString() });
        response.writeHead(201).end('answer');
      });
    });

  for (const method of ['GET', 'DELETE']) {
    test(`go through http-proxy-3 as a ${method} without a client: method, path and headers as given, and no body`, async () => {
      const arrived: Arrived[] = [];
      await using upstream = await recording(arrived);
      const headers = Object.freeze({ 'x-own': 'yes', authorization: 'Bearer a' });
      const path = "/a%2Fb/{c}?q='%20x'&q=|";
      const { path: taken, status, text } = await proxied(upstream.url, detachedRequest(method, path, headers));
      assert.deepEqual([taken, status, text], ['http', 201, 'answer']);
      const [request] = arrived;
      assert.deepEqual([request?.method, request?.url, request?.body], [method, path, '']);
      assert.deepEqual([request?.headers['x-own'], request?.headers.authorization], ['yes', 'Bearer a']);
      assert.equal(request?.headers['transfer-encoding'], undefined);
      assert.equal(request?.headers.host, new URL(upstream.url).host);
      assert.deepEqual(headers, { 'x-own': 'yes', authorization: 'Bearer a' }, 'the library edits a copy');
    });
  }

  test('go through http-proxy-3 with a body of their own', async () => {
    const arrived: Arrived[] = [];
    await using upstream = await recording(arrived);
    const request = detachedRequest('POST', '/', { 'transfer-encoding': 'chunked' });
    const { status } = await proxied(upstream.url, request, Readable.from(['first ', 'second']));
    assert.deepEqual([status, arrived[0]?.body, arrived[0]?.headers['transfer-encoding']], [201, 'first second', 'chunked']);
  });

  test('report an account that refuses connections to the callback of their own call', async () => {
    const upstream = await listening(() => undefined);
    await upstream[Symbol.asyncDispose]();
    await once(upstream.server, 'close');
    await assert.rejects(proxied(upstream.url, detachedRequest('GET', '/', {})), { code: 'ECONNREFUSED' });
  });

  test('share one socket, which survives them because they are complete', async () => {
    const request = detachedRequest('GET', '/', {});
    const { socket } = request;
    request.resume();
    await once(request, 'close');
    assert.deepEqual([request.destroyed, socket.destroyed], [true, false]);
    assert.equal(detachedRequest('GET', '/', {}).socket, socket);

    const incomplete = new IncomingMessage(new Socket());
    incomplete.push(null);
    incomplete.resume();
    await once(incomplete, 'close');
    assert.equal(incomplete.socket.destroyed, true, 'as Node does with every other request');
  });

  for (const method of ['GET', 'POST']) {
    test(`report a ${method} that the account resets: the library hides that where the socket of the request is destroyed`, async () => {
      await using upstream = await listening((request) => request.socket.resetAndDestroy());
      const send = (request: IncomingMessage): ReturnType<typeof proxied> =>
        proxied(upstream.url, request, method === 'POST' ? Readable.from(['body']) : undefined);
      const headers = method === 'POST' ? { 'content-length': '4' } : {};
      for (let i = 0; i < 2; i++) await assert.rejects(send(detachedRequest(method, '/', headers)), { code: 'ECONNRESET' });
    });
  }

  test('have an empty body, which ends at once', async () => {
    const request = detachedRequest('GET', '/', {});
    request.resume();
    await once(request, 'end');
    assert.equal(request.complete, true);
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

describe('whenConnected', () => {
  test('an answer that waits for an earlier one has its connection when that one has been written', async () => {
    const responses: ServerResponse[] = [];
    await using upstream = await listening((_request, response) => void responses.push(response));
    using client = await RawClient.connect(upstream.url);
    client.write(headOf('GET', '/first') + headOf('GET', '/second'));
    const [first, second] = await until('two requests', () => (responses.length === 2 ? responses : undefined));
    assert.ok(first && second);
    const order: string[] = [];
    whenConnected(first, (socket) => order.push(`first ${socket === first.req.socket}`));
    whenConnected(second, (socket) => order.push(`second ${socket === second.req.socket}`));
    second.writeHead(200, { 'content-length': 2 }).write('2');
    assert.deepEqual(order, ['first true']);
    first.end('1');
    await client.until(() => client.pending.endsWith('2'), 'what the second has written');
    assert.deepEqual(order, ['first true', 'second true']);
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
