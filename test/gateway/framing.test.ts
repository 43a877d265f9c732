// Framing, on raw sockets: a request that two HTTP parsers could read differently is refused before any other check.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { KEY, startGateway, type TestGateway } from '../support/gateway.ts';
import { headOf, postOf, RawClient } from '../support/network/raw.ts';
import { turnBody } from '../support/rehearsal-replies.ts';

let gate: TestGateway;
before(async () => {
  gate = await startGateway({ upstream: { accounts: ['north'], manners: { streamedUnstoredLists: false } } });
});
after(() => gate.close());

const TURN = JSON.stringify(turnBody('hello'));
const PATH = '/backend-api/agent/responses';
/** Bytes that a smuggler wants to be read as a request. */
const SMUGGLED = postOf(PATH, turnBody('smuggled'));

const post = (headers: Readonly<Record<string, string | number | undefined>>, body = TURN): string =>
  headOf('POST', PATH, { 'content-type': 'application/json', ...headers }) + body;

const chunked = (body: string): string => `${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n0\r\n\r\n`;

const REFUSED: Readonly<Record<string, string>> = {
  'an absolute target': headOf('GET', 'http://gateway/v1/models'),
  'an absolute target of https': headOf('GET', 'https://gateway/v1/models'),
  'the target *': headOf('OPTIONS', '*'),
  'an authority as target': headOf('GET', 'gateway:80'),
  'a fragment for a target': headOf('GET', '#'),
  'a target with bytes past ASCII': headOf('GET', '/v1/mod\xe9ls'),
  'a target with a control character': headOf('GET', '/v1/models\x01'),
  CONNECT: headOf('CONNECT', 'gateway:443'),
  'CONNECT with a path': headOf('CONNECT', '/v1/models'),
  'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'an unknown method': headOf('SMUGGLE', '/v1/models'),
  'HTTP/1.0 with Transfer-Encoding': post({ 'transfer-encoding': 'chunked' }, chunked(TURN)).replace('HTTP/1.1', 'HTTP/1.0'),
  'no Host': headOf('GET', '/v1/models', { host: undefined }),
  'no Host in HTTP/1.0': headOf('GET', '/v1/models', { host: undefined }).replace('HTTP/1.1', 'HTTP/1.0'),
  'two Hosts': headOf('GET', '/v1/models', { Host: 'other' }),
  'two equal Hosts': headOf('GET', '/v1/models', { HOST: 'gateway' }),
  'two Authorizations': headOf('GET', '/v1/models', { Authorization: 'Bearer other' }),
  'two equal Authorizations': headOf('GET', '/v1/models', { AUTHORIZATION: `Bearer ${KEY}` }),
  'two Content-Lengths': post({ 'content-length': TURN.length, 'Content-Length': 3 }),
  'two equal Content-Lengths': post({ 'content-length': TURN.length, 'Content-Length': TURN.length }),
  'a list of Content-Lengths': post({ 'content-length': `${TURN.length}, ${TURN.length}` }),
  'a signed Content-Length': post({ 'content-length': `+${TURN.length}` }),
  'a Content-Length in hexadecimal': post({ 'content-length': `0x${TURN.length.toString(16)}` }),
  'a negative Content-Length': post({ 'content-length': -1 }),
  'a Content-Length past all numbers': post({ 'content-length': '99999999999999999999999' }),
  'Content-Length with Transfer-Encoding': post({ 'content-length': 4, 'transfer-encoding': 'chunked' }, chunked(TURN)),
  'Transfer-Encoding with Content-Length': post({ 'transfer-encoding': 'chunked', 'content-length': TURN.length }, chunked(TURN)),
  'two Transfer-Encodings': post({ 'transfer-encoding': 'chunked', 'Transfer-Encoding': 'chunked' }, chunked(TURN)),
  'Transfer-Encoding gzip, chunked': post({ 'transfer-encoding': 'gzip, chunked' }, chunked(TURN)),
  'Transfer-Encoding chunked, identity': post({ 'transfer-encoding': 'chunked, identity' }, chunked(TURN)),
  'Transfer-Encoding identity': post({ 'transfer-encoding': 'identity' }),
  'an obscured Transfer-Encoding': post({ 'transfer-encoding': 'xchunked' }, chunked(TURN)),
  'a Transfer-Encoding behind a folded line': post({ 'x-a': 'b\r\n transfer-encoding: chunked', 'content-length': 0 }, ''),
  'a space before the colon': headOf('POST', PATH, { 'transfer-encoding ': 'chunked' }) + chunked(TURN),
  'a bare CR in a header': headOf('GET', '/v1/models', { 'x-a': 'b\rauthorization: c' }),
  'a NUL in a header': headOf('GET', '/v1/models', { 'x-a': 'b\0c' }),
  'lines that end in LF alone': headOf('GET', '/v1/models').replaceAll('\r\n', '\n'),
  'a body on GET': headOf('GET', '/v1/models', { 'content-length': SMUGGLED.length }) + SMUGGLED,
  'a chunked body on GET': headOf('GET', '/v1/models', { 'transfer-encoding': 'chunked' }) + chunked(SMUGGLED),
  'a body on DELETE': headOf('DELETE', '/v1/files/file-1', { 'content-length': SMUGGLED.length }) + SMUGGLED,
  'a chunked body on DELETE': headOf('DELETE', '/v1/files/file-1', { 'transfer-encoding': 'chunked' }) + chunked(SMUGGLED),
  'a body on OPTIONS': headOf('OPTIONS', '/mcp', { 'content-length': SMUGGLED.length }) + SMUGGLED,
  'a body on TRACE': headOf('TRACE', '/v1/models', { 'content-length': SMUGGLED.length }) + SMUGGLED,
  'a body on HEAD': headOf('HEAD', '/v1/models', { 'content-length': SMUGGLED.length }) + SMUGGLED,
  'another expectation': post({ 'content-length': TURN.length, expect: 'something' }),
  'an obscured expectation': post({ 'content-length': TURN.length, expect: 'y 100-continue' }),
  'two expectations': post({ 'content-length': TURN.length, expect: '100-continue', Expect: '100-continue' }),
  'no HTTP at all': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
};

const BAD_CHUNKS: Readonly<Record<string, string>> = {
  'a size that is no number': `xyz\r\n${TURN}\r\n0\r\n\r\n`,
  'a size with a sign': `-5\r\n${TURN}\r\n0\r\n\r\n`,
  'a size past all numbers': `ffffffffffffffffff\r\n${TURN}\r\n0\r\n\r\n`,
  'a size with a space before it': ` 5\r\nhello\r\n0\r\n\r\n`,
  'a chunk longer than its size': `2\r\n${TURN}\r\n0\r\n\r\n`,
  'LF for CRLF behind the size': `5\nhello\r\n0\r\n\r\n`,
  'a bare CR inside the size line': `5;a\rb\r\nhello\r\n0\r\n\r\n`,
};

describe('requests that are refused for their framing', { concurrency: true }, () => {
  before(() => gate.upstream.clear());

  for (const [what, bytes] of Object.entries(REFUSED)) {
    test(`${what} is refused, the connection ends, and neither it nor the bytes after it reach an account`, async () => {
      using client = await RawClient.connect(gate.url);
      client.write(bytes + SMUGGLED);
      const { status, headers, json, body } = await client.answer();
      assert.equal(status, 400);
      assert.equal(headers['content-type'], 'application/json');
      assert.match(headers['x-request-id'] ?? '', /^req_[0-9a-f]{32}$/);
      assert.equal(headers.connection, 'close');
      if (body !== '') {
        assert.deepEqual(Object.keys(json.error).sort(), ['code', 'message', 'param', 'type']);
        assert.equal(json.error.code, 'invalid_request');
        assert.equal(json.error.type, 'invalid_request_error');
      }
      assert.equal(await client.ended(), '', 'one answer, and no second one');
      assert.equal(gate.upstream.requests().length, 0);
    });
  }

  for (const [what, bytes] of Object.entries(BAD_CHUNKS)) {
    test(`bad chunking, ${what}, is answered 400 at once and reaches no account`, async () => {
      using client = await RawClient.connect(gate.url);
      client.write(post({ 'transfer-encoding': 'chunked' }, bytes) + SMUGGLED);
      const { status, json } = await client.answer();
      assert.equal(status, 400);
      assert.equal(json.error.code, 'invalid_request');
      assert.equal(await client.ended(), '');
      assert.equal(gate.upstream.requests().length, 0);
    });
  }
});

const ROWS = [headOf('GET', '/v1/models'), post({ 'content-length': TURN.length }), headOf('GET', '/nowhere')];

for (const [what, requests] of Object.entries({
  'HTTP/2.0': ROWS.map((row) => row.replace('HTTP/1.1', 'HTTP/2.0')),
  'HTTP/0.9': ROWS.map((row) => row.replace('HTTP/1.1', 'HTTP/0.9')),
  'RTSP/1.0': ROWS.map((row) => row.replace('HTTP/1.1', 'RTSP/1.0')),
  'RTSP/1.1 behind an empty line': ROWS.map((row) => `\r\n${row.replace('HTTP/1.1', 'RTSP/1.1')}`),
  'ICE/1.0': ['SOURCE /v1/models ICE/1.0\r\nhost: gateway\r\n\r\n'],
  'no version, which is HTTP/0.9': ['GET /v1/models\r\n\r\n'],
})) {
  test(`${what} is 505 on every row, the connection ends, and nothing reaches an account`, async () => {
    gate.upstream.clear();
    for (const bytes of requests) {
      for (const size of [bytes.length, 1]) {
        const refused = gate.count('framing_refused');
        using client = await RawClient.connect(gate.url);
        await client.writePieces(bytes, size);
        client.write(SMUGGLED);
        const { status, headers, json } = await client.answer();
        assert.deepEqual([status, json.error.code, headers.connection], [505, 'invalid_request', 'close']);
        assert.equal(await client.ended(), '');
        assert.equal(gate.count('framing_refused'), refused + 1);
      }
    }
    assert.equal(gate.upstream.requests().length, 0);
  });
}

test('another version on a connection that is in use is 505: a request of RTSP/1.0 would look like one of HTTP/1.0', async () => {
  using client = await RawClient.connect(gate.url);
  client.write(headOf('GET', '/v1/models'));
  assert.equal((await client.answer()).status, 200);
  client.write(headOf('GET', '/v1/models').replace('HTTP/1.1', 'RTSP/1.0'));
  assert.equal((await client.answer()).status, 505);
  assert.equal(await client.ended(), '');
});

test('a chunked body in proper pieces, extensions and trailers included, is one turn', async () => {
  gate.upstream.clear();
  using client = await RawClient.connect(gate.url);
  const half = TURN.length >> 1;
  const pieces = [TURN.slice(0, half), TURN.slice(half)].map((piece) => `${piece.length.toString(16).toUpperCase()};a=b\r\n${piece}\r\n`);
  client.write(post({ 'transfer-encoding': 'Chunked' }, `${pieces.join('')}0\r\nx-trailer: authorization\r\n\r\n`));
  assert.equal((await client.answer()).status, 200);
  assert.equal(gate.upstream.turns().length, 1);
  assert.equal(gate.upstream.turns()[0]?.headers['x-trailer'], undefined);
});

test('pipelined requests are answered in order, each by itself', async () => {
  gate.upstream.clear();
  using client = await RawClient.connect(gate.url);
  client.write(headOf('GET', '/v1/models') + postOf(PATH, turnBody('one', { stream: false })) + headOf('GET', '/nowhere'));
  const answers = [await client.answer(), await client.answer(), await client.answer()];
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 404],
  );
  assert.equal(new Set(answers.map(({ headers }) => headers['x-request-id'])).size, 3);
  assert.equal(gate.upstream.turns().length, 1);
});

test('garbage after a request that is being answered ends the connection, and its refusal is never mistaken for that answer', async () => {
  gate.upstream.clear();
  gate.upstream.next('north', 'stall before headers');
  using client = await RawClient.connect(gate.url);
  client.write(postOf(PATH, turnBody('hello')));
  await gate.upstream.stalled('north');
  client.write('GARBAGE\r\n\r\n');
  assert.equal(await client.ended(), '');
  const [turn] = await gate.upstream.arrived(1);
  assert.equal(await turn?.closed, 'left', 'the account is not kept busy for a client that cannot be answered');
});

test('bytes after a request with Connection: close are not a request: that one is answered, and the connection ends', async () => {
  gate.upstream.clear();
  gate.upstream.next('north', 'stall before headers');
  using client = await RawClient.connect(gate.url);
  const last = postOf(PATH, turnBody('hello', { stream: false }), { connection: 'close' });
  client.write(last + last);
  await gate.upstream.stalled('north');
  const refused = gate.count('framing_refused');
  client.write('GARBAGE\r\n\r\n');
  gate.upstream.release();
  const { status, headers } = await client.answer();
  assert.deepEqual([status, headers.connection], [200, 'close']);
  assert.equal(await client.ended(), '');
  assert.equal(gate.upstream.turns().length, 1);
  assert.equal(gate.count('framing_refused'), refused, 'counted once for the connection');
});

test('a pipelined turn whose client leaves while an earlier answer runs is aborted with it', async () => {
  gate.upstream.clear();
  gate.upstream.next('north', 'stall after 3 events', 'stall after 3 events');
  using client = await RawClient.connect(gate.url);
  client.write(postOf(PATH, turnBody('one')) + postOf(PATH, turnBody('two')));
  await gate.upstream.stalled('north', 2);
  client.close();
  const turns = await gate.upstream.arrived(2);
  assert.deepEqual(await Promise.all(turns.map(({ closed }) => closed)), ['left', 'left']);
});

test('an HTTP/1.0 request with one Host is served, and its connection ends', async () => {
  using client = await RawClient.connect(gate.url);
  client.write(headOf('GET', '/v1/models').replace('HTTP/1.1', 'HTTP/1.0'));
  const { status, headers } = await client.answer();
  assert.equal(status, 200);
  assert.equal(headers.connection, 'close');
  await client.ended();
});

test('every header up to the limit is checked: the last one may be a second Authorization', async () => {
  const many = Object.fromEntries(Array.from({ length: 197 }, (_, i) => [`x-${i}`, '1']));
  using client = await RawClient.connect(gate.url);
  client.write(headOf('GET', '/v1/models', { ...many, Authorization: 'Bearer other' }));
  assert.equal((await client.answer()).status, 400);
});

test('refused requests leave rows without their path', async () => {
  using client = await RawClient.connect(gate.url);
  client.write(headOf('GET', 'http://canary/canary'));
  const { headers } = await client.answer();
  const row = (await gate.rows()).find(({ id }) => id === headers['x-request-id']);
  assert.deepEqual(
    { ...row, id: '', at: 0, duration_ms: 0 },
    {
      ...{ id: '', at: 0, duration_ms: 0, family: 'none', surface: 'public', endpoint: '(none)', method: 'GET', status: 400 },
      ...{
        status_class: '4xx',
        pool: null,
        pool_label: null,
        account: null,
        key_id: null,
        model: null,
        code: 'invalid_request',
        retries: 0,
      },
      ...{ input_tokens: null, cached_input_tokens: null, output_tokens: null, tokens_estimated: false },
      ...{ configured_mode: null, effective_mode: null, mode_source: null, reason_class: null, error_class: null },
      ...{
        payload_compression: null,
        upstream_error_param: null,
        why: null,
        outcome: 'refused',
        first_event_ms: null,
        detached_ms: null,
        effort: null,
      },
      ...{ api: null, adapted: null, tier: null, overflow: null, requested_model: null, client_address: null },
    },
  );
});
