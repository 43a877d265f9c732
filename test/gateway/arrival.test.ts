// The arrival of a request: its headers and its body within their sizes and times, early refusals, and the state of the connection
// afterwards.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { headOf, postOf, RawClient } from '../support/network/raw.ts';
import { turnBody } from '../support/rehearsal-replies.ts';
import { PATIENCE_MS, until } from '../support/until.ts';

const PATH = '/backend-api/agent/responses';
const HEADER_BYTES = 8_192;
const HEADER_COUNT = 200;
const BODY_BYTES = 300_000;
const TURN = JSON.stringify(turnBody('hello', { stream: false }));

let gate: TestGateway;
before(async () => {
  gate = await startGateway({
    upstream: { manners: { streamedUnstoredLists: false } },
    config: (draft) => {
      draft.limits = { header_bytes: HEADER_BYTES, request_body_bytes: BODY_BYTES };
      Object.assign(draft.timeouts, { client_header_ms: 2_000, client_body_idle_ms: 1_500 });
    },
  });
});
after(() => gate.close());

const json = { 'content-type': 'application/json' };
/** This many headers, in addition to the two that every request has. */
const numbered = (count: number, value = 'b'): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`x-${1_000 + i}`, value]));
const rowOf = (id: string | undefined) => until('the row', async () => (await gate.rows()).find((row) => row.id === id));

describe('headers', () => {
  test('past their limit are 431, whether in one line, in many, or in the target, and the client can read it while it is still sending', async () => {
    const before = gate.count('headers_too_large');
    const long = 'a'.repeat(2_000_000);
    const many = Object.fromEntries(Array.from({ length: 60_000 }, (_, i) => [`x-header-${i}`, 'some value']));
    for (const bytes of [
      headOf('GET', '/v1/models', { 'x-a': long }),
      headOf('GET', '/v1/models', many),
      headOf('GET', `/v1/models?${long}`),
    ]) {
      using client = await RawClient.connect(gate.url);
      client.write(bytes);
      const { status, headers, json: body } = await client.answer();
      assert.equal(status, 431);
      assert.equal(body.error.code, 'invalid_request');
      assert.match(headers['x-request-id'] ?? '', /^req_/);
      assert.equal(headers.connection, 'close');
    }
    assert.equal(gate.count('headers_too_large'), before + 3);
  });

  /** Each head is below the limit of Node's parser, which counts only names and values, and allows any number of headers. */
  const PAST_LIMITS: Readonly<Record<string, string>> = {
    'one header too many': headOf('GET', '/v1/models', numbered(HEADER_COUNT - 1)),
    'a thousand headers without a value': headOf('GET', '/v1/models', numbered(1_000, '')),
    'four thousand headers of one letter': `GET /v1/models HTTP/1.1\r\nhost: gateway\r\n${'a:\r\n'.repeat(4_000)}\r\n`,
    'separators past the bytes': headOf('GET', '/v1/models', numbered(190, 'a'.repeat(33))),
    'a Connection header with too many names': headOf('GET', '/v1/models', { connection: 'a,'.repeat(HEADER_COUNT) }),
    'a body behind the headers': headOf('POST', PATH, { ...json, 'content-length': TURN.length, ...numbered(1_000, '') }) + TURN,
  };
  for (const [what, bytes] of Object.entries(PAST_LIMITS)) {
    test(`past their limit are 431 however they are cut: ${what}`, async () => {
      const before = gate.count('headers_too_large');
      gate.upstream.clear();
      for (const size of [bytes.length, 1_000, 7]) {
        using client = await RawClient.connect(gate.url);
        await client.writePieces(bytes, size);
        const { status, headers, json: body } = await client.answer();
        assert.deepEqual([status, body.error.code, headers.connection], [431, 'invalid_request', 'close']);
        assert.equal(await client.ended(), '', 'nothing behind them is taken for a request');
      }
      assert.equal(gate.count('headers_too_large'), before + 3);
      assert.equal(gate.upstream.turns().length, 0);
    });
  }

  test('past their limit on a connection that is in use end it, after the earlier answer', async () => {
    using client = await RawClient.connect(gate.url);
    client.write(headOf('GET', '/v1/models'));
    assert.equal((await client.answer()).status, 200);
    client.write(headOf('GET', '/v1/models', numbered(HEADER_COUNT)));
    assert.equal((await client.answer()).status, 431);
    assert.equal(await client.ended(), '');
  });

  test('at the limit of their number are accepted', async () => {
    using client = await RawClient.connect(gate.url);
    client.write(headOf('GET', '/v1/models', { connection: `keep-alive${', a'.repeat(HEADER_COUNT - 1)}`, ...numbered(HEADER_COUNT - 3) }));
    assert.equal((await client.answer()).status, 200);
  });

  test('below their limit are accepted', async () => {
    using client = await RawClient.connect(gate.url);
    client.write(headOf('GET', '/v1/models', { 'x-a': 'a'.repeat(HEADER_BYTES - 500) }));
    assert.equal((await client.answer()).status, 200);
  });

  for (const part of ['GET /v1/mod', '\r\n\r\n', 'GET /v1/models HTTP/1.1\r\nhost: gateway\r\nx-slow: ']) {
    test(`that do not come in time are 408, and the connection ends: ${JSON.stringify(part)}`, async () => {
      const before = gate.count('header_timeouts');
      using client = await RawClient.connect(gate.url);
      client.write(part);
      const { status, json: body, headers } = await client.answer();
      assert.equal(status, 408);
      assert.deepEqual([body.error.code, body.error.type], ['request_timeout', 'invalid_request_error']);
      assert.equal(headers.connection, 'close');
      assert.equal(await client.ended(), '');
      assert.equal(gate.count('header_timeouts'), before + 1);
    });
  }

  test('that end with their client in the first line end the connection', async () => {
    using client = await RawClient.connect(gate.url);
    client.write('GET /v1/mod').socket.end();
    assert.equal(await client.ended(), '');
  });
});

describe('a body', () => {
  test('that stalls is 408 and leaves its row, and nothing reaches an account', async () => {
    gate.upstream.clear();
    using client = await RawClient.connect(gate.url);
    client.write(headOf('POST', PATH, { ...json, 'content-length': TURN.length }) + TURN.slice(0, 10));
    const { status, headers, json: body } = await client.answer();
    assert.deepEqual([status, body.error.code], [408, 'request_timeout']);
    const row = await rowOf(headers['x-request-id']);
    assert.deepEqual([row.status, row.code, row.pool, row.endpoint], [408, 'request_timeout', 'team', PATH]);
    assert.equal(gate.upstream.requests().length, 0);
    await client.ended();
  });

  test('that stalls between its chunks is 408 as well', async () => {
    using client = await RawClient.connect(gate.url);
    client.write(`${headOf('POST', PATH, { ...json, 'transfer-encoding': 'chunked' })}5\r\n{"mod`);
    assert.equal((await client.answer()).status, 408);
  });

  test('that arrives slowly is accepted: the time counts from its last piece', async (context) => {
    const IDLE_MS = 54_321;
    const PIECE = 40;
    const { setTimeout } = globalThis;
    const restarts: (() => number)[] = [];
    context.mock.method(globalThis, 'setTimeout', (run: () => void, ms?: number) => {
      const timer = setTimeout(run, ms);
      if (ms === IDLE_MS) {
        const { mock } = context.mock.method(timer, 'refresh');
        restarts.push(() => mock.callCount());
      }
      return timer;
    });
    await using patient = await startGateway({
      upstream: { manners: { streamedUnstoredLists: false } },
      config: (draft) => {
        draft.timeouts.client_body_idle_ms = IDLE_MS;
      },
    });
    using client = await RawClient.connect(patient.url);
    client.write(headOf('POST', PATH, { ...json, 'content-length': TURN.length }));
    for (let i = 0; i < TURN.length; i += PIECE) {
      client.write(TURN.slice(i, i + PIECE));
      await until('the piece to restart the time', () => restarts[0]?.() === 1 + i / PIECE || undefined);
    }
    assert.equal((await client.answer()).status, 200);
    assert.equal(restarts.length, 1);
  });

  test('whose client resets the connection leaves the row of a client that is gone, and nothing reaches an account', async () => {
    gate.upstream.clear();
    const known = (await gate.rows()).length;
    using client = await RawClient.connect(gate.url);
    client.write(headOf('POST', PATH, { ...json, expect: '100-continue', 'content-length': TURN.length }));
    assert.equal((await client.answer()).status, 100);
    client.socket.resetAndDestroy();
    const row = await until('the row', async () => (await gate.rows())[known]);
    assert.deepEqual([row.status, row.status_class, row.code, row.outcome], [499, '4xx', null, 'client_gone']);
    assert.equal(gate.upstream.requests().length, 0);
  });
});

describe('Expect: 100-continue', () => {
  const waiting = (path: string, headers: Readonly<Record<string, string | number | undefined>>): string =>
    headOf('POST', path, { ...json, expect: '100-continue', 'content-length': TURN.length, ...headers });

  test('is granted after all checks of the headers have passed, and the body is a turn', async () => {
    gate.upstream.clear();
    using client = await RawClient.connect(gate.url);
    client.write(waiting(PATH, { expect: '100-Continue' }));
    assert.equal((await client.answer()).status, 100);
    client.write(TURN);
    assert.equal((await client.answer()).status, 200);
    assert.equal(gate.upstream.turns().length, 1);
  });

  const REFUSED = [
    ['an unknown path', waiting('/nowhere', {}), 404],
    ['a wrong method', waiting('/v1/models', {}), 405],
    ['no key', waiting(PATH, { authorization: undefined }), 401],
    ['an unsupported row', waiting('/v1/embeddings', {}), 404],
    ['another media type', waiting(PATH, { 'content-type': 'text/plain' }), 415],
    ['an unknown coding', waiting(PATH, { 'content-encoding': 'compress' }), 415],
    ['a length over the limit', waiting(PATH, { 'content-length': BODY_BYTES + 1 }), 413],
  ] as const;
  for (const [what, bytes, status] of REFUSED) {
    test(`is answered with the refusal of ${what} without 100 Continue, and the connection ends`, async () => {
      using client = await RawClient.connect(gate.url);
      client.write(bytes);
      const answer = await client.answer();
      assert.equal(answer.status, status);
      assert.equal(answer.headers.connection, 'close');
      assert.equal(await client.ended(), '');
    });
  }

  test('of HTTP/1.0 is ignored: the body is read, and no 100 Continue is written', async () => {
    using client = await RawClient.connect(gate.url);
    client.write(waiting(PATH, {}).replace('HTTP/1.1', 'HTTP/1.0') + TURN);
    assert.equal((await client.answer()).status, 200);
  });
});

describe('an early refusal', () => {
  test('reaches a client that never stops sending; then the connection closes', async () => {
    using client = await RawClient.connect(gate.url);
    const endless = setInterval(() => client.socket.writable && client.write(Buffer.alloc(65_536)), 1);
    try {
      client.write(headOf('POST', PATH, { ...json, authorization: undefined, 'content-length': 1_000_000_000_000 }));
      const { status, headers, json: body } = await client.answer();
      assert.deepEqual([status, body.error.code, headers.connection], [401, 'invalid_api_key', 'close']);
      assert.equal(await client.ended(), '');
    } finally {
      clearInterval(endless);
    }
  });

  test('reads 64 KiB of the body at most', async () => {
    using client = await RawClient.connect(gate.url);
    client.write(headOf('POST', PATH, { ...json, authorization: undefined, 'content-length': 1_000_000_000 }));
    let sent = 0;
    const piece = Buffer.alloc(65_536);
    while (client.socket.write(piece)) sent += piece.length;
    assert.equal((await client.answer()).status, 401);
    await client.ended();
    // The kernel buffers bytes on both sides, which the gateway cannot limit; if the gateway read the body, all of it would be sent.
    assert.ok(client.socket.bytesWritten < 100_000_000);
    assert.ok(sent < 100_000_000);
  });

  test('reaches a fetch client whose upload is large', async () => {
    const response = await gate.fetch(PATH, { body: Buffer.alloc(BODY_BYTES * 10), headers: { authorization: 'Bearer wrong' } });
    assert.equal(response.status, 401);
    const tooLarge = await gate.send(PATH, { body: Buffer.alloc(BODY_BYTES + 1) });
    assert.deepEqual([tooLarge.status, tooLarge.json.error.code], [413, 'request_too_large']);
  });

  test('of a short body keeps the connection, also when the rest comes late', async (context) => {
    const { setTimeout } = globalThis;
    // The second in which the rest may come does not pass.
    context.mock.method(globalThis, 'setTimeout', (run: () => void, ms?: number) => setTimeout(run, ms === 1_000 ? PATIENCE_MS : ms));
    using client = await RawClient.connect(gate.url);
    for (const path of [PATH, '/nowhere', '/v1/embeddings']) {
      client.write(headOf('POST', path, { ...json, authorization: undefined, 'content-length': TURN.length }));
      const { headers, status } = await client.answer();
      assert.ok(status >= 400);
      assert.notEqual(headers.connection, 'close');
      client.write(TURN);
    }
    client.write(postOf(PATH, TURN));
    assert.equal((await client.answer()).status, 200, 'the bodies before were not taken for requests');
  });

  test('of a short body that never comes ends the connection after a second', async () => {
    using client = await RawClient.connect(gate.url);
    client.write(headOf('POST', '/nowhere', { ...json, 'content-length': 10 }));
    assert.equal((await client.answer()).status, 404);
    assert.equal(await client.ended(), '');
  });

  test('of a chunked body ends the connection after it', async () => {
    using client = await RawClient.connect(gate.url);
    client.write(`${headOf('POST', '/nowhere', { ...json, 'transfer-encoding': 'chunked' })}3\r\nabc\r\n0\r\n\r\n`);
    const { status, headers } = await client.answer();
    assert.deepEqual([status, headers.connection], [404, 'close']);
    assert.equal(await client.ended(), '');
  });
});

test('a refusal that was sent before the body is not lost when the body is not HTTP', async () => {
  using client = await RawClient.connect(gate.url);
  const head = headOf('POST', PATH, { ...json, authorization: undefined, 'transfer-encoding': 'chunked' });
  client.write(`${head}no chunk\r\n`);
  const { status, json: body } = await client.answer();
  assert.deepEqual([status, body.error.code], [401, 'invalid_api_key']);
  assert.equal(await client.ended(), '');
});

test('one connection carries refusals and turns one after another', async () => {
  gate.upstream.clear();
  using client = await RawClient.connect(gate.url);
  const steps: readonly (readonly [string, number])[] = [
    [headOf('GET', '/v1/models', { authorization: undefined }), 401],
    [headOf('GET', '/nowhere'), 404],
    [postOf(PATH, 'no JSON'), 400],
    [postOf(PATH, TURN), 200],
    [headOf('PUT', '/v1/models'), 405],
    [postOf('/v1/embeddings', {}), 404],
    [headOf('GET', '/v1/responses'), 426],
    [postOf(PATH, { model: 'nobody-knows' }), 400],
    [headOf('GET', '/v1/models'), 200],
    [postOf(PATH, TURN), 200],
  ];
  for (const [bytes, status] of steps) {
    client.write(bytes);
    assert.equal((await client.answer()).status, status);
  }
  assert.equal(gate.upstream.turns().length, 2);
});
