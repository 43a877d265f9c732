// The pass-through carrier, and the known faults of the library below it, each under its name.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { CarrierRequest } from '../../../proxy/upstream/carriers/carrier.ts';
import { PassThrough } from '../../../proxy/upstream/carriers/pass-through.ts';
import { until } from '../../support/until.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

interface Bench {
  readonly url: string;
  readonly carrier: PassThrough;
  readonly upstream: Server;
  readonly failures: string[];
  /** Connections that the upstream accepted. */
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

class PassFailed extends Error {
  readonly failure: string;

  constructor(failure: string) {
    super(failure);
    this.failure = failure;
  }
}

/** Sends like dispatch: a client that leaves before the reply ends the exchange. */
function pass(
  carrier: PassThrough,
  request: CarrierRequest,
  response: ServerResponse,
): { readonly reply: Promise<IncomingMessage>; abort(): void } {
  const { promise: reply, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const failed = (failure: string): void => reject(new PassFailed(failure));
  if (response.destroyed) {
    failed('gone');
    return { reply, abort: () => undefined };
  }
  const sending = carrier.send(request, { head: () => ({ reads: 'stream', stream: resolve }), fail: failed });
  const end = (why: string): void => {
    sending.abort();
    failed(why);
  };
  response.once('close', () => response.writableFinished || end('gone'));
  return { reply, abort: () => end('network') };
}

/** Starts a server for clients that passes everything on, and an upstream that answers. */
async function bench(answer: Answer, changes: Partial<CarrierRequest> = {}, firstByteMs = 5_000): Promise<Bench> {
  let connections = 0;
  const upstream = createServer(answer).on('connection', () => connections++);
  const carrier = new PassThrough(`http://127.0.0.1:${await listening(upstream)}`, { connectMs: 5_000, firstByteMs, idleMs: 5_000 });
  const failures: string[] = [];
  const front = createServer(async (request, response) => {
    const body = request.method === 'GET' || request.method === 'DELETE' ? null : request;
    try {
      const reply = await pass(carrier, { method: request.method ?? '', path: request.url ?? '', headers: {}, body, ...changes }, response)
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
    carrier,
    upstream,
    failures,
    connections: () => connections,
    [Symbol.asyncDispose]: async () => {
      carrier.destroy();
      for (const server of [front, upstream]) {
        server.closeAllConnections();
        server.close();
      }
    },
  };
}

test('default agent closes every connection: ours is used again, and a body goes through it unread', async () => {
  await using gate = await bench((request, response) => void request.pipe(response));
  for (const body of ['one', 'two']) {
    const response = await fetch(`${gate.url}/x`, { method: 'POST', body });
    assert.equal(await response.text(), body);
  }
  assert.equal(gate.connections(), 1);
});

test('chunked DELETE: no body is sent upstream as a second request', async () => {
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

test('client aborts: the request to the upstream is aborted', async () => {
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

test('failures distinguish a refused connection, a dead one and silence', async () => {
  const dead = createTcpServer((socket) => socket.destroy());
  const deadPort = await listening(dead);
  const refused = new PassThrough('http://127.0.0.1:1', { connectMs: 5_000, firstByteMs: 5_000, idleMs: 5_000 });
  const cut = new PassThrough(`http://127.0.0.1:${deadPort}`, { connectMs: 5_000, firstByteMs: 5_000, idleMs: 5_000 });
  const failures: string[] = [];
  const front = createServer(async (request, response) => {
    const carrier = request.url === '/refused' ? refused : cut;
    await pass(carrier, { method: 'GET', path: '/', headers: {}, body: null }, response).reply.catch((thrown: PassFailed) =>
      failures.push(thrown.failure),
    );
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

/** Starts an upstream on a bare socket, for bytes that Node's own server would not send. */
async function rawUpstream(answer: (socket: Socket, request: string) => void): Promise<{ readonly port: number; close(): void }> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('data', (bytes: Buffer) => answer(socket, bytes.toString('latin1')));
  });
  const port = await listening(server);
  return {
    port,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** Sends one request through a new carrier. */
async function through(
  port: number,
  passed: Partial<CarrierRequest> = {},
  bounds = { connectMs: 5_000, firstByteMs: 5_000, idleMs: 5_000 },
  scheme = 'http',
) {
  const carrier = new PassThrough(`${scheme}://127.0.0.1:${port}`, bounds);
  const done = Promise.withResolvers<{ status?: number; body?: string; failure?: string }>();
  const front = createServer(async (_request, response) => {
    try {
      const reply = await pass(carrier, { method: 'GET', path: '/x', headers: {}, body: null, ...passed }, response).reply;
      const body = Buffer.concat(await reply.toArray()).toString('latin1');
      done.resolve({ status: reply.statusCode ?? 0, body });
    } catch (thrown) {
      done.resolve({ failure: thrown instanceof PassFailed ? thrown.failure : String(thrown) });
    }
    response.end();
  });
  const frontPort = await listening(front);
  await fetch(`http://127.0.0.1:${frontPort}/`);
  carrier.destroy();
  front.closeAllConnections();
  front.close();
  return done.promise;
}

test('stale keep-alive: a request without a body is sent again on a new connection, a POST is not', async () => {
  const seen: string[] = [];
  const used = new WeakSet<Socket>();
  // The upstream closes every connection at its second use, like a server whose idle time has just ended.
  await using gate = await bench((request, response) => {
    seen.push(`${request.method} ${used.has(request.socket) ? 'stale' : 'fresh'}`);
    if (used.has(request.socket)) return void request.socket.destroy();
    used.add(request.socket);
    response.end('ok');
  });
  const get = async () => (await fetch(`${gate.url}/x`)).text();
  assert.deepEqual([await get(), await get()], ['ok', 'ok']);
  assert.deepEqual(seen.splice(0), ['GET fresh', 'GET stale', 'GET fresh']);
  assert.equal((await fetch(`${gate.url}/x`, { method: 'POST', body: 'work' })).status, 502);
  assert.deepEqual([seen, gate.failures], [['POST stale'], ['network']]);
});

test('stale keep-alive: a server’s stated keep-alive time is respected', async () => {
  await using gate = await bench((_request, response) => response.writeHead(200, { 'keep-alive': 'timeout=1' }).end('ok'));
  for (const _ of [1, 2]) assert.equal(await (await fetch(`${gate.url}/x`)).text(), 'ok');
  assert.equal(gate.connections(), 2, 'one second is too short to be relied on');
});

test('agent.destroy: a connection in use ends with its exchange, not with the account', async () => {
  const { promise: waiting, resolve: arrived } = Promise.withResolvers<ServerResponse>();
  await using gate = await bench((_request, response) => {
    response.write('first ');
    arrived(response);
  });
  const response = await fetch(`${gate.url}/x`);
  const upstream = await waiting;
  gate.carrier.close();
  upstream.end('last');
  assert.equal(await response.text(), 'first last');
});

test('getPath: path and query are sent byte for byte', async () => {
  const seen: (string | undefined)[] = [];
  await using gate = await bench((request, response) => {
    seen.push(request.url);
    response.end();
  });
  const { port } = new URL(gate.url);
  for (const path of ["/a?q='x'&b=%2e%2E/..", '/a?x=1?y=2', '/a?q="<>"']) {
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await once(socket, 'data');
    socket.destroy();
    assert.equal(seen.pop(), path);
  }
});

test('connectTimeout ends with the TCP connection: a TLS handshake that never ends times out too', async () => {
  const mute = await rawUpstream(() => undefined);
  assert.deepEqual(await through(mute.port, {}, { connectMs: 30, firstByteMs: 5_000, idleMs: 5_000 }, 'https'), {
    failure: 'connect_timeout',
  });
  mute.close();
});

test('informational answers are not the answer, and an unasked upgrade is a failure', async () => {
  const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
  const early = await rawUpstream((socket) =>
    socket.write(`HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${ok}`),
  );
  assert.deepEqual(await through(early.port), { status: 200, body: 'ok' });
  early.close();
  const upgrade = await rawUpstream((socket) =>
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
  );
  assert.deepEqual(await through(upgrade.port), { failure: 'malformed' });
  upgrade.close();
});

test('bytes that are not an HTTP answer are reported as such', async () => {
  const babble = await rawUpstream((socket) => socket.write('SSH-2.0-nothing of yours\r\n\r\n'));
  assert.deepEqual(await through(babble.port), { failure: 'malformed' });
  babble.close();
});

test('slow upload: the time to the first byte counts from the last byte sent', async (context) => {
  const FIRST_BYTE_MS = 54_321;
  const BYTES = 6;
  const { setTimeout } = globalThis;
  const restarts: (() => number)[] = [];
  context.mock.method(globalThis, 'setTimeout', (run: () => void, ms?: number) => {
    const timer = setTimeout(run, ms);
    if (ms === FIRST_BYTE_MS) {
      const { mock } = context.mock.method(timer, 'refresh');
      restarts.push(() => mock.callCount());
    }
    return timer;
  });
  let received = 0;
  const answer: Answer = (request, response) => {
    request.on('data', ({ length }: Buffer) => {
      received += length;
    });
    request.on('end', () => response.end('whole'));
  };
  await using gate = await bench(answer, {}, FIRST_BYTE_MS);
  const steps = async function* () {
    for (let i = 0; i < BYTES; i++) {
      await until('the last byte', () => received === i || undefined);
      yield Buffer.from('x');
    }
  };
  const response = await fetch(`${gate.url}/x`, { method: 'POST', body: ReadableStream.from(steps()), duplex: 'half' } as RequestInit);
  assert.equal(await response.text(), 'whole');
  const [restarted = () => 0, ...others] = restarts;
  assert.ok(restarted() >= BYTES, `${restarted()} times for ${BYTES} bytes`);
  assert.equal(others.length, 0);
});

test('res close: a client that left, even before it was asked for its body, is not a failure of the account', async () => {
  let asked = 0;
  await using gate = await bench(() => void asked++);
  const controller = new AbortController();
  const left = fetch(`${gate.url}/x`, { signal: controller.signal });
  await once(gate.upstream, 'request');
  controller.abort();
  await assert.rejects(left);
  while (gate.failures.length === 0) await new Promise(setImmediate);

  const front = createServer(async (_request, response) => {
    response.destroy();
    await once(response, 'close');
    await pass(gate.carrier, { method: 'GET', path: '/', headers: {}, body: null }, response).reply.catch((thrown: PassFailed) =>
      gate.failures.push(thrown.failure),
    );
  });
  await assert.rejects(fetch(`http://127.0.0.1:${await listening(front)}/`));
  front.close();
  while (gate.failures.length === 1) await new Promise(setImmediate);
  assert.deepEqual([gate.failures, asked], [['gone', 'gone'], 1]);
});

test('an exchange that is given up before it has a connection opens none', async () => {
  let asked = 0;
  await using gate = await bench((_request, response) => {
    asked++;
    response.end();
  });
  const front = createServer(async (_request, response) => {
    const sending = pass(gate.carrier, { method: 'GET', path: '/', headers: {}, body: null }, response);
    sending.abort();
    await sending.reply.catch((thrown: PassFailed) => gate.failures.push(thrown.failure));
    response.end();
  });
  await fetch(`http://127.0.0.1:${await listening(front)}/`);
  front.closeAllConnections();
  front.close();
  assert.equal((await fetch(`${gate.url}/x`)).status, 200);
  assert.deepEqual([gate.failures, asked], [['network'], 1]);
});
