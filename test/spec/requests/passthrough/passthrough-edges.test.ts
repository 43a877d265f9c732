// Edge cases of pass-through rows: sides that leave, stall or answer early, and requests byte by byte.
import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import type { Draft } from '../../../support/gateway.ts';
import { headOf, RawClient } from '../../../support/network/raw.ts';
import { type Control, control, supported } from '../../../support/stages/control.ts';
import { PATIENCE_MS, until } from '../../../support/until.ts';

const GET = '/backend-api/agent/thread/goal/get';
const SET = '/backend-api/agent/thread/goal/set';

/** Sets times and sizes that a test can wait for. On a busy machine this process, which also runs client and account, pauses for less. */
const hasty = (draft: Draft): void => {
  supported(draft);
  Object.assign(draft.timeouts, { client_body_idle_ms: 1_500, upstream_idle_ms: 1_500 });
  draft.limits = { request_body_bytes: 50_000_000 };
};

/** Resolves when the stream is closed, however it ended. */
const closed = (stream: IncomingMessage | ServerResponse | Socket): Promise<void> =>
  new Promise((resolve) => {
    if (stream.closed) resolve();
    else stream.on('error', () => undefined).once('close', resolve);
  });

/** The one row that a request left. */
const rowOf = (bench: Control) => until('the row', async () => (await bench.gate.rows())[0]);

const isHealthy = ({ gate }: Control): boolean => gate.accounts().every(({ status }) => status === 'active');

test('HEAD is refused', async () => {
  await using bench = await control(() => ({}), supported);
  const reply = await bench.gate.send(GET, { method: 'HEAD' });
  assert.deepEqual([reply.status, reply.headers.get('allow')], [405, 'GET, POST']);
  assert.equal(bench.seen.length, 0);
});

test('an answer without content passes without one, and an unexpected 304 is not an answer', async () => {
  const lean = (_request: IncomingMessage, response: ServerResponse): void => {
    response.socket?.write('HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n');
  };
  await using bench = await control({ raw: lean }, supported);
  using client = await RawClient.connect(bench.gate.url);
  client.write(headOf('GET', GET));
  const answer = await client.answer();
  assert.deepEqual([answer.status, answer.headers['content-length'], answer.body], [204, undefined, '']);

  await using cached = await control(() => ({ status: 304 }), supported);
  const reply = await cached.gate.send(GET, { headers: { 'if-none-match': '"a"' } });
  assert.deepEqual([reply.status, reply.json.error.code], [502, 'upstream_error']);
  assert.equal(cached.seen[0]?.headers['if-none-match'], undefined);
});

for (const [count, status] of [
  [1, 200],
  [16, 200],
  [17, 502],
] as const) {
  test(`an answer after ${count} interim answers is ${status}: they are skipped up to a limit`, async () => {
    const interim = (_request: IncomingMessage, response: ServerResponse): void => {
      for (let i = 0; i < count; i++) response.socket?.write(`HTTP/1.1 ${i % 2 === 0 ? '100 Continue' : '103 Early Hints'}\r\n\r\n`);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    };
    await using bench = await control({ raw: interim }, supported);
    for (const init of [{}, { body: {} }]) assert.equal((await bench.gate.send(GET, init)).status, status);
  });
}

test('a client that leaves before its answer causes no attempt at another account, and no failure of an account', async () => {
  const asked: IncomingMessage[] = [];
  await using bench = await control({ raw: (request) => void asked.push(request) }, supported);
  using client = await RawClient.connect(bench.gate.url);
  client.write(headOf('GET', GET));
  const request = await until('the request', () => asked[0]);
  const left = closed(request);
  client.close();
  await left;
  const row = await rowOf(bench);
  assert.deepEqual([row.status, row.outcome, row.code], [499, 'client_gone', null]);
  assert.equal(asked.length, 1);
  assert.deepEqual(
    (await bench.gate.attempts(row.id)).map(({ error_class }) => error_class),
    [null],
  );
  assert.ok(isHealthy(bench));
});

test('a client that leaves in the middle of its upload ends the request to the account, without a failure of the account', async () => {
  const { promise: arrived, resolve } = Promise.withResolvers<IncomingMessage>();
  await using bench = await control({ raw: (request) => void request.once('data', () => resolve(request)) }, supported);
  using client = await RawClient.connect(bench.gate.url);
  client.write(`${headOf('POST', SET, { 'content-length': '1000' })}some`);
  const request = await arrived;
  const left = closed(request);
  client.close();
  await left;
  assert.equal(request.complete, false);
  const row = await rowOf(bench);
  assert.deepEqual([row.status, row.outcome], [499, 'client_gone']);
  assert.ok(isHealthy(bench));
});

test('a client that leaves in the middle of its answer is distinguished from an account that dies there', async () => {
  const { promise: answered, resolve } = Promise.withResolvers<ServerResponse>();
  const start = (_request: IncomingMessage, response: ServerResponse): void => {
    response.write('some');
    resolve(response);
  };
  await using left = await control({ raw: start }, supported);
  using client = await RawClient.connect(left.gate.url);
  client.write(headOf('GET', GET));
  await client.until(() => client.pending.includes('some'), 'the start of the answer');
  const response = await answered;
  const over = closed(response);
  client.close();
  await over;
  assert.deepEqual([(await rowOf(left)).outcome, (await rowOf(left)).status], ['client_gone', 499]);

  const die = (_request: IncomingMessage, response: ServerResponse): void => {
    response.write('some');
    setImmediate(() => response.destroy());
  };
  await using died = await control({ raw: die }, supported);
  await assert.rejects(died.gate.send(GET));
  assert.deepEqual([(await rowOf(died)).outcome, (await rowOf(died)).status], ['cut', 200]);
});

for (const status of [200, 413]) {
  test(`an account that answers ${status} before the upload is over: its client gets the answer, and the upload ends there`, async () => {
    const { promise: arrived, resolve } = Promise.withResolvers<IncomingMessage>();
    const early = (request: IncomingMessage, response: ServerResponse): void => {
      response
        .writeHead(status, { 'content-type': 'application/json' })
        .end('{"error":{"message":"enough","code":"string_above_max_length"}}');
      resolve(request);
    };
    await using bench = await control({ raw: early }, supported);
    using client = await RawClient.connect(bench.gate.url);
    client.write(`${headOf('POST', SET, { 'content-length': '10000000' })}some`);
    const answer = await client.answer();
    assert.deepEqual([answer.status, answer.headers.connection], [status, 'close']);
    assert.match(answer.body, /enough/);
    const request = await arrived;
    await closed(request.socket);
    await client.ended();
    assert.equal((await rowOf(bench)).status, status);
    assert.ok(isHealthy(bench));
  });
}

test('a slow reader slows its account down, whatever the size of the answer, and does not count as silence of the account', async () => {
  const size = 64_000_000;
  const IDLE_MS = 2_000;
  const [LOOKS, LOOK_MS] = [6, 50];
  const chunk = Buffer.alloc(64_000, 'x');
  let written = 0;
  const huge = (_request: IncomingMessage, response: ServerResponse): void => {
    const more = (): void => {
      while (written < size) {
        written += chunk.length;
        if (!response.write(chunk)) return void response.once('drain', more);
      }
      response.end();
    };
    response.writeHead(200, { 'content-length': String(size) });
    more();
  };
  await using bench = await control({ raw: huge }, (draft) => {
    hasty(draft);
    draft.timeouts.upstream_idle_ms = IDLE_MS;
  });
  using client = await RawClient.connect(bench.gate.url);
  client.write(headOf('GET', GET));
  await client.until(() => client.pending.includes('\r\n\r\n'), 'the head');
  client.socket.pause();
  let [before, looks] = [-1, 0];
  const isStill = (): true | undefined => {
    looks = written === before ? looks + 1 : 0;
    before = written;
    return looks === LOOKS || undefined;
  };
  await until('a standstill', isStill, PATIENCE_MS, LOOK_MS);
  // The account is stalled for longer than it may be silent.
  await new Promise((resolve) => setTimeout(resolve, 1.25 * IDLE_MS));
  assert.ok(written < size / 2, `${written} bytes were taken from the account`);
  let received = client.pending.length;
  const count = (bytes: Buffer): void => {
    received += bytes.length;
  };
  client.socket.removeAllListeners('data').on('data', count).resume();
  await until('the rest', () => (received >= size ? true : undefined));
  assert.equal((await rowOf(bench)).outcome, 'completed');
});

test('an account that falls silent in its answer is cut, and one that does so in a refusal still has its refusal passed on', async () => {
  const stall = (_request: IncomingMessage, response: ServerResponse): void => void response.write('some');
  await using bench = await control({ raw: stall }, hasty);
  await assert.rejects(bench.gate.send(GET));
  assert.deepEqual([(await rowOf(bench)).outcome, (await rowOf(bench)).error_class], ['cut', 'upstream_timeout']);
  assert.equal(bench.gate.count('upstream_idle_timeouts'), 1);

  const mumble = (_request: IncomingMessage, response: ServerResponse): void => void response.writeHead(404).write('{"error"');
  await using refusing = await control({ raw: mumble }, hasty);
  assert.equal((await refusing.gate.send(GET)).status, 404);
});

test('an account that sends a head and then nothing is left after `upstream_idle_ms`, however long the head may be held', async () => {
  const asked: IncomingMessage[] = [];
  const headOnly = (request: IncomingMessage, response: ServerResponse): void => {
    asked.push(request);
    if (asked.length === 2) response.end('{"ok":true}');
    else response.writeHead(200, { 'content-type': 'application/json', 'content-length': 11 }).flushHeaders();
  };
  await using bench = await control({ raw: headOnly }, hasty);
  const moved = await bench.gate.send(GET);
  assert.deepEqual([moved.status, moved.json, asked.length], [200, { ok: true }, 2], 'nothing was shown: another account is asked');
  assert.ok(asked[0] && (await closed(asked[0].socket)) === undefined, 'the silent one is not kept busy');
  const upload = await bench.gate.send(SET, { body: {} });
  assert.deepEqual([upload.status, upload.json.error.code, asked.length], [502, 'upstream_error', 3], 'a body is sent once');
  assert.deepEqual([bench.gate.count('upstream_idle_timeouts'), bench.gate.count('hold_expired')], [2, 0]);
  assert.deepEqual(
    (await bench.gate.attempts((await bench.gate.rows())[0]?.id ?? '')).map(({ error_class }) => error_class),
    ['upstream_timeout', null],
  );
});

test('an upload that its account does not read is not a timeout of the client', async () => {
  const size = 30_000_000;
  const IDLE_MS = 1_500;
  const { promise: arrived, resolve } = Promise.withResolvers<{ request: IncomingMessage; response: ServerResponse }>();
  await using bench = await control({ raw: (request, response) => resolve({ request: request.pause(), response }) }, (draft) => {
    hasty(draft);
    Object.assign(draft.timeouts, { client_body_idle_ms: IDLE_MS, upstream_idle_ms: IDLE_MS });
  });
  const sent = bench.gate.send(SET, { body: new Uint8Array(size) });
  const { request, response } = await arrived;
  // This is longer than a client may be silent.
  await new Promise((resolve) => setTimeout(resolve, 1.5 * IDLE_MS));
  let bytes = 0;
  for await (const chunk of request) bytes += (chunk as Buffer).length;
  response.end('whole');
  assert.deepEqual([(await sent).text, bytes], ['whole', size]);
});

test('a client that stalls in its upload gets 408, one with malformed chunks gets 400, and the request to the account ends', async () => {
  for (const [bytes, status, code] of [
    ['', 408, 'request_timeout'],
    ['zz\r\n', 400, 'invalid_request'],
  ] as const) {
    const { promise: arrived, resolve } = Promise.withResolvers<IncomingMessage>();
    await using bench = await control({ raw: (request) => resolve(request.resume()) }, hasty);
    using client = await RawClient.connect(bench.gate.url);
    client.write(`${headOf('POST', SET, { 'transfer-encoding': 'chunked' })}4\r\nsome\r\n`);
    const request = await arrived;
    client.write(bytes);
    const answer = await client.answer();
    assert.deepEqual([answer.status, answer.json.error.code], [status, code]);
    assert.equal(bench.gate.count('body_timeouts'), status === 408 ? 1 : 0);
    await closed(request.socket);
    assert.ok(isHealthy(bench));
  }
});

test('a body with a too large declared length is refused before 100 Continue is sent, and before any account is asked', async () => {
  await using bench = await control(
    () => ({}),
    (draft) => {
      supported(draft);
      draft.limits = { request_body_bytes: 1_000 };
    },
  );
  using client = await RawClient.connect(bench.gate.url);
  client.write(headOf('POST', SET, { 'content-length': '1001', expect: '100-continue' }));
  assert.equal((await client.answer()).status, 413);
  assert.equal(bench.seen.length, 0);

  using allowed = await RawClient.connect(bench.gate.url);
  allowed.write(headOf('POST', SET, { 'content-length': '4', expect: '100-continue' }));
  assert.equal((await allowed.answer()).status, 100);
  allowed.write('body');
  assert.equal((await allowed.answer()).status, 200);
  const told = bench.seen.map(({ body, headers }) => [body, headers.expect]);
  assert.deepEqual(told, [['body', undefined]]);
});

test('100 Continue is sent only where an account can take the body', async () => {
  await using bench = await control(
    () => ({}),
    (draft) => {
      supported(draft);
      for (const assignment of draft.pools[0].assignments) assignment.eligible = false;
    },
  );
  using client = await RawClient.connect(bench.gate.url);
  client.write(headOf('POST', SET, { 'content-length': '4', expect: '100-continue' }));
  assert.equal((await client.answer()).status, 503);
});

test('a request in flight when the gateway stops ends in order', async () => {
  const { promise: asked, resolve } = Promise.withResolvers<ServerResponse>();
  await using bench = await control({ raw: (_request, response) => resolve(response) }, (draft) => {
    supported(draft);
    draft.timeouts.drain_ms = 60_000;
  });
  const reply = bench.gate.send(GET);
  const response = await asked;
  const closing = bench.gate.close();
  response.end('in time');
  assert.equal((await reply).text, 'in time');
  await closing;
});

test('parameters of a row are sent as they came; a dot segment, an encoding and a very long one match no row that has an account', async () => {
  await using bench = await control(
    () => ({}),
    (draft) => {
      draft.routes = [
        { GET: '/backend-api/agent/things/{id}/parts/{part}', status: 'supported', serve: 'forward', to: '/x/{part}/of/{id}' },
      ];
    },
  );
  const get = async (path: string) => {
    using client = await RawClient.connect(bench.gate.url);
    client.write(headOf('GET', path));
    return await client.answer();
  };
  assert.equal((await get("/backend-api/agent/things/a.b/parts/c-1?q='%41'")).status, 200);
  assert.equal(bench.seen[0]?.url, "/x/c-1/of/a.b?q='%41'");
  for (const path of [
    '/backend-api/agent/things/../parts/c',
    '/backend-api/agent/things/a/parts/..',
    '/backend-api/agent/things/%2e/parts/c',
    '/backend-api/agent/things/a%2f..%2fb/parts/c',
    `/backend-api/agent/things/a/parts/${'c'.repeat(257)}`,
  ]) {
    const answer = await get(path);
    assert.deepEqual([answer.status, answer.json.error.code], [404, 'unknown_endpoint'], path);
  }
  assert.equal(bench.seen.length, 1);
});
