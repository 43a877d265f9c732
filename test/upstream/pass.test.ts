// The pass-through carrier, and the known faults of the library below it, each under its own name.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { PassFailed, type PassRequest, PassThrough } from '../../proxy/upstream/pass.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

interface Bench {
  readonly url: string;
  readonly upstream: Server;
  readonly failures: string[];
  /** Connections that the upstream took. */
  connections(): number;
  [Symbol.asyncDispose](): Promise<void>;
}

const listening = async (
  server: { listen(port: number, host: string): unknown; address(): unknown } & NodeJS.EventEmitter,
): Promise<number> => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
};

/** A client-facing server that passes everything on, and an upstream that answers. */
async function bench(answer: Answer, pass: Partial<PassRequest> = {}, firstByteMs = 5_000): Promise<Bench> {
  let connections = 0;
  const upstream = createServer(answer).on('connection', () => connections++);
  const carrier = new PassThrough(`http://127.0.0.1:${await listening(upstream)}`, { connectMs: 1_000, firstByteMs });
  const failures: string[] = [];
  const front = createServer(async (request, response) => {
    const body = request.method === 'GET' || request.method === 'DELETE' ? null : request;
    try {
      const reply = await carrier.send({ method: request.method ?? '', path: request.url ?? '', headers: {}, body, ...pass }, response)
        .reply;
      response.writeHead(reply.statusCode ?? 0, reply.headers);
      await pipeline(reply, response);
    } catch (thrown) {
      failures.push(thrown instanceof PassFailed ? thrown.failure : 'pipe');
      if (!response.headersSent) response.writeHead(502).end();
    }
  });
  const url = `http://127.0.0.1:${await listening(front)}`;
  return {
    url,
    upstream,
    failures,
    connections: () => connections,
    [Symbol.asyncDispose]: async () => {
      carrier.close();
      for (const server of [front, upstream]) {
        server.closeAllConnections();
        server.close();
      }
    },
  };
}

test('a body goes through unread and the connection to the account is used again', async () => {
  await using gate = await bench((request, response) => void request.pipe(response));
  for (const body of ['one', 'two']) {
    const response = await fetch(`${gate.url}/x`, { method: 'POST', body });
    assert.equal(await response.text(), body);
  }
  assert.equal(gate.connections(), 1);
});

test('chunked DELETE: no body rides on upstream as a second request', async () => {
  const seen: string[] = [];
  await using gate = await bench((request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers['transfer-encoding'] ?? '-'}`);
    response.end('ok');
  });
  const { port } = new URL(gate.url);
  const socket = connect(Number(port), '127.0.0.1');
  socket.write(
    'DELETE /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n29\r\nGET /smuggled HTTP/1.1\r\nHost: inner\r\n\r\n..\r\n0\r\n\r\n',
  );
  await once(socket, 'data');
  socket.destroy();
  assert.equal(await (await fetch(`${gate.url}/b`)).text(), 'ok');
  assert.deepEqual(seen, ['DELETE /a -', 'GET /b -']);
});

test('upstream dies mid-stream: the client is cut, and does not hang', async () => {
  await using gate = await bench((_request, response) => {
    response.writeHead(200, { 'content-length': '1000' });
    response.write('some');
    setImmediate(() => response.destroy());
  });
  const response = await fetch(`${gate.url}/x`);
  await assert.rejects(response.text());
});

test('client aborts: the upstream hears it', async () => {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  await using gate = await bench((_request, response) => {
    response.write('some');
    response.once('close', () => resolve());
    begin();
  });
  const controller = new AbortController();
  const response = await fetch(`${gate.url}/x`, { signal: controller.signal });
  await begun;
  controller.abort();
  await closed;
  await assert.rejects(response.text());
});

test('the fetch path is never taken, even when the environment asks for it', async () => {
  process.env.FORCE_FETCH_PATH = 'true';
  const gzipped = gzipSync('x'.repeat(10_000));
  await using gate = await bench((_request, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipped));
  const [reply] = (await once(get(gate.url), 'response')) as [IncomingMessage];
  const raw = Buffer.concat(await reply.toArray());
  assert.ok(raw.includes(gzipped), 'gzip bytes come through as they are');
});

test('failures tell a refused connection from a dead one and from silence', async () => {
  const dead = createTcpServer((socket) => socket.destroy());
  const deadPort = await listening(dead);
  const refused = new PassThrough('http://127.0.0.1:1', { connectMs: 1_000, firstByteMs: 5_000 });
  const cut = new PassThrough(`http://127.0.0.1:${deadPort}`, { connectMs: 1_000, firstByteMs: 5_000 });
  const failures: string[] = [];
  const front = createServer(async (request, response) => {
    const carrier = request.url === '/refused' ? refused : cut;
    await carrier
      .send({ method: 'GET', path: '/', headers: {}, body: null }, response)
      .reply.catch((thrown: PassFailed) => failures.push(thrown.failure));
    response.end();
  });
  const port = await listening(front);
  await fetch(`http://127.0.0.1:${port}/refused`);
  await fetch(`http://127.0.0.1:${port}/cut`);
  await using silent = await bench(() => undefined, {}, 20);
  assert.equal((await fetch(`${silent.url}/x`)).status, 502);
  assert.deepEqual([...failures, ...silent.failures], ['connect', 'network', 'first_byte']);
  front.closeAllConnections();
  front.close();
  dead.close();
});
