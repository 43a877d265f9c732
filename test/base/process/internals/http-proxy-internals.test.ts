// Each undocumented behaviour on which http-proxy-internals.ts relies: a test fails if an update changes it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import { createProxyServer } from 'http-proxy-3';
import { detachedRequest, detachedResponse, disableFetchPath } from '../../../../proxy/base/process/internals/http-proxy-internals.ts';
import { type Listening, listening } from './listening.ts';

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
