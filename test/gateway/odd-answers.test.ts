// Abnormal answers of accounts, and the headers of answers that a client sees.
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { frameOf } from '../support/native-frames.ts';
import { postOf, RawClient } from '../support/network/raw.ts';
import { type RawUpstream, rawHead, rawResponse, startRawUpstream } from '../support/network/raw-upstream.ts';
import { eventsOf } from '../support/network/sse-events.ts';
import { replyBytes, replyJson, turnBody } from '../support/rehearsal-replies.ts';
import { connect } from '../support/websocket.ts';

const NATIVE = '/backend-api/agent/responses';
const PUBLIC = '/v1/responses';
const PUBLIC_TURN = { model: 'model-a', input: 'hello' };
const PUBLIC_STREAM = { ...PUBLIC_TURN, stream: true };
const RESPONSE = JSON.stringify({ id: 'r', object: 'response', status: 'completed', model: 'model-a', output: [] });
const STREAM =
  'data: {"type":"response.output_text.delta","sequence_number":0,"delta":"a"}\n\n' +
  `data: {"type":"response.completed","sequence_number":1,"response":${RESPONSE}}\n\n`;

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
const EARLY_HINTS = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n';
/** JSON that can be parsed, but cannot be written again by recursion. */
const DEEP = '['.repeat(20_000) + ']'.repeat(20_000);
/** A reply whose model is rewritten for public clients. */
const nested = (reply: string): string => reply.replace('"output":[]', `"output":${DEEP}`).replace('model-a', 'theirs');

describe('bytes that are strange', () => {
  let answer: (socket: Socket) => void = () => undefined;
  let rawUpstream: RawUpstream;
  let gate: TestGateway;
  before(async () => {
    rawUpstream = await startRawUpstream((socket) => answer(socket));
    gate = await startGateway({ upstream: { accounts: ['north'] }, config: rawUpstream.as('north') });
  });
  after(async () => {
    await gate.close();
    await rawUpstream[Symbol.asyncDispose]();
  });

  const gzipped = gzipSync(RESPONSE);
  const event = { 'content-type': 'text/event-stream' };
  const json = { 'content-type': 'application/json' };
  /** The result of each answer for a native and for a public turn: a status and a code, or only a status if the answer passes. */
  const ANSWERS: Readonly<Record<string, readonly [string | Buffer, readonly unknown[], readonly unknown[]]>> = {
    'JSON that is gzipped without being asked for': [
      Buffer.concat([Buffer.from(rawHead(200, { ...json, 'content-encoding': 'gzip', 'content-length': gzipped.length })), gzipped]),
      [502, 'upstream_error'],
      [502, 'upstream_error'],
    ],
    'a stream of the coding br': [
      rawResponse(200, STREAM, { ...event, 'content-encoding': 'br' }),
      [502, 'upstream_error'],
      [502, 'upstream_error'],
    ],
    'a refusal that is gzipped': [
      Buffer.concat([Buffer.from(rawHead(400, { ...json, 'content-encoding': 'gzip', 'content-length': gzipped.length })), gzipped]),
      [400],
      [502, 'upstream_error'],
    ],
    'the coding identity': [rawResponse(200, RESPONSE, { 'content-encoding': 'identity' }), [200], [200]],
    '204': [rawHead(204), [502, 'upstream_error'], [502, 'upstream_error']],
    'status 201 with a body': [rawResponse(201, RESPONSE), [502, 'upstream_error'], [502, 'upstream_error']],
    'status 205 with a body': [rawResponse(205, RESPONSE), [502, 'upstream_error'], [502, 'upstream_error']],
    'status 206 with a body': [rawResponse(206, RESPONSE), [502, 'upstream_error'], [502, 'upstream_error']],
    'status 299 with a body': [rawResponse(299, RESPONSE), [502, 'upstream_error'], [502, 'upstream_error']],
    'status 600 with a body': [rawResponse(600, RESPONSE), [502, 'upstream_error'], [502, 'upstream_error']],
    'status 999 with a body': [rawResponse(999, RESPONSE), [502, 'upstream_error'], [502, 'upstream_error']],
    'status 000': [rawResponse(200, RESPONSE).replace(' 200 ', ' 000 '), [502, 'upstream_error'], [502, 'upstream_error']],
    '301 to somewhere': [
      rawResponse(301, '', { location: 'https://elsewhere.example/' }),
      [502, 'upstream_error'],
      [502, 'upstream_error'],
    ],
    '304': [rawHead(304, { etag: '"a"' }), [502, 'upstream_error'], [502, 'upstream_error']],
    '307 with a body': [rawResponse(307, RESPONSE, { location: '/' }), [502, 'upstream_error'], [502, 'upstream_error']],
    '103 before the answer': [`HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${rawResponse(200, RESPONSE)}`, [200], [200]],
    '102 and 103 before a stream': [
      `HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n${rawResponse(200, STREAM, event)}`,
      [200],
      [200],
    ],
    'an unexpected 100': [CONTINUE + rawResponse(200, RESPONSE), [200], [200]],
    'an unexpected 100 before a stream': [CONTINUE + rawResponse(200, STREAM, event), [200], [200]],
    '100 before a refusal': [CONTINUE + rawResponse(422, '{"error":{"code":"bad_request"}}'), [422], [422]],
    'sixteen interim answers': [(CONTINUE + EARLY_HINTS).repeat(8) + rawResponse(200, RESPONSE), [200], [200]],
    'interim answers without end': [CONTINUE.repeat(17) + rawResponse(200, RESPONSE), [502, 'upstream_error'], [502, 'upstream_error']],
    '101 to another protocol': [
      'HTTP/1.1 101 Switching Protocols\r\nupgrade: other\r\nconnection: upgrade\r\n\r\n',
      [502, 'upstream_error'],
      [502, 'upstream_error'],
    ],
    'headers of 100 KB': [rawResponse(200, RESPONSE, { 'x-large': 'a'.repeat(100_000) }), [502, 'upstream_error'], [502, 'upstream_error']],
    'no HTTP': ['SSH-2.0-OpenSSH_9.6\r\n', [502, 'upstream_error'], [502, 'upstream_error']],
    'a status that is none': [rawResponse(200, RESPONSE).replace(' 200 ', ' abc '), [502, 'upstream_error'], [502, 'upstream_error']],
    'nothing at all': ['', [502, 'upstream_error'], [502, 'upstream_error']],
    'half a head': ['HTTP/1.1 200 OK\r\ncontent-ty', [502, 'upstream_error'], [502, 'upstream_error']],
    'less than its length': [rawResponse(200, RESPONSE).slice(0, -5), [502, 'upstream_error'], [502, 'upstream_error']],
    'chunks that are none': [
      `${rawHead(200, { ...json, 'transfer-encoding': 'chunked' })}zz\r\n`,
      [502, 'upstream_error'],
      [502, 'upstream_error'],
    ],
    'a page of HTML with status 200': [
      rawResponse(200, '<html>log in</html>', { 'content-type': 'text/html' }),
      [502, 'upstream_error'],
      [502, 'upstream_error'],
    ],
    'JSON that is no object': [rawResponse(200, '[1]'), [502, 'upstream_error'], [502, 'upstream_error']],
    'half of JSON': [rawResponse(200, RESPONSE.slice(0, -3)), [502, 'upstream_error'], [502, 'upstream_error']],
    'JSON under another type': [rawResponse(200, RESPONSE, { 'content-type': 'application/octet-stream' }), [200], [200]],
    'no type at all': [rawHead(200, { 'content-length': RESPONSE.length }) + RESPONSE, [200], [200]],
    'a stream under a type in capitals': [rawResponse(200, STREAM, { 'content-type': 'Text/Event-Stream; charset=UTF-8' }), [200], [200]],
    'a stream with status 201': [rawResponse(201, STREAM, event), [502, 'upstream_error'], [502, 'upstream_error']],
    'a stream with status 206': [rawResponse(206, STREAM, event), [502, 'upstream_error'], [502, 'upstream_error']],
    'a stream with status 600': [rawResponse(600, STREAM, event), [502, 'upstream_error'], [502, 'upstream_error']],
    'a refusal that is a page of HTML': [
      rawResponse(400, '<html>no</html>', { 'content-type': 'text/html' }),
      [400],
      [502, 'upstream_error'],
    ],
    'a refusal without a body': [rawResponse(422, ''), [422], [502, 'upstream_error']],
    'a refusal larger than any error': [rawResponse(400, `{"error":{"message":"${'a'.repeat(100_000)}"}}`), [400], [502, 'upstream_error']],
    'a refusal that breaks off': [rawResponse(404, '{"error":{"message":"no"}}').slice(0, -3), [404], [502, 'upstream_error']],
    'a refusal that is nested without end': [rawResponse(400, `{"error":{"message":"no","x":${DEEP}}}`), [400], [400]],
    'a refusal inside a 200 that is nested without end': [rawResponse(200, `{"error":{"code":"bad_request","x":${DEEP}}}`), [200], [400]],
    'a response that is nested without end': [rawResponse(200, nested(RESPONSE)), [200], [502, 'upstream_error']],
    'a stream that ends with a response nested without end': [rawResponse(200, nested(STREAM), event), [200], [502, 'upstream_error']],
    'status 599': [rawResponse(599, '{}'), [599], [502, 'upstream_error']],
    'status 418': [rawResponse(418, '{"error":{"message":"teapot"}}'), [418], [502, 'upstream_error']],
  };

  for (const [what, [bytes, native, collected]] of Object.entries(ANSWERS)) {
    test(`${what} leaves the client with a proper answer, the turn with one row, and the gateway unharmed`, async () => {
      answer = (socket) => void socket.end(bytes);
      const known = (await gate.rows()).length;
      for (const [path, body, expected] of [
        [NATIVE, turnBody('hello', { stream: false }), native],
        [PUBLIC, PUBLIC_TURN, collected],
      ] as const) {
        const { status, json, headers, text } = await gate.send(path, { body });
        assert.deepEqual(expected.length === 1 ? [status] : [status, json.error.code], expected, text.slice(0, 300));
        assert.match(headers.get('x-request-id') ?? '', /^req_/);
        for (const name of ['content-encoding', 'location', 'link', 'x-large', 'upgrade']) assert.equal(headers.get(name), null);
      }
      const rows = (await gate.rows()).slice(known);
      assert.deepEqual(
        rows.map(({ status }) => status),
        [native[0], collected[0]],
      );
      assert.equal(gate.count('server_errors'), 0);
    });
  }

  test('a public stream that ends with a response nested without end breaks off, without an error of the gateway', async () => {
    answer = (socket) => void socket.end(rawResponse(200, nested(STREAM), event));
    const { status, text } = await gate.send(PUBLIC, { body: PUBLIC_STREAM });
    assert.equal(status, 200);
    assert.equal(eventsOf(text).at(-1)?.data.error.code, 'server_error');
    assert.equal(gate.count('server_errors'), 0);
  });

  for (const [sent, shown] of [
    ['7', '7'],
    ['1e21', null],
    ['1e300', null],
    ['Infinity', null],
    ['-5', null],
    ['9'.repeat(24), null],
    ['Fri, 31 Dec 9999 23:59:59 GMT', null],
  ] as const) {
    test(`Retry-After: ${sent} reaches a native client as ${shown}, and a public one as whole seconds`, async () => {
      answer = (socket) => void socket.end(rawResponse(429, '{"error":{"code":"rate_limit_exceeded"}}', { 'retry-after': sent }));
      const native = await gate.send(NATIVE, { body: turnBody('hello') });
      assert.deepEqual([native.status, native.headers.get('retry-after')], [429, shown]);
      const open = await gate.send(PUBLIC, { body: PUBLIC_TURN });
      assert.deepEqual([open.status, open.headers.get('retry-after')], [429, shown ?? '1']);
    });
  }

  test('a public stream of a provider that answers JSON is a failure, not a broken stream', async () => {
    answer = (socket) => void socket.end(rawResponse(200, RESPONSE));
    const { status, json } = await gate.send(PUBLIC, { body: PUBLIC_STREAM });
    assert.deepEqual([status, json.error.code], [502, 'upstream_error']);
  });

  test('an event that is not UTF-8 leaves the websocket of a native client open, whose account answers over HTTP', async () => {
    const text = Buffer.from([0xc3, 0x28]);
    const [begin, end] = STREAM.split('"delta":"a"') as [string, string];
    answer = (socket) =>
      void socket.end(Buffer.concat([Buffer.from(`${rawHead(200, event)}${begin}"delta":"`), text, Buffer.from(`"${end}`)]));
    await using other = await startGateway({
      upstream: { accounts: ['north', 'south'] },
      config: (draft) => {
        rawUpstream.as('north')(draft);
        draft.accounts[0].websocket = false;
      },
    });
    using socket = await connect(other, NATIVE);
    for (let i = 0; i < 2; i++) {
      const frames = await socket.turn(frameOf('hi'));
      assert.deepEqual(
        frames.flatMap(({ delta }) => delta ?? []),
        [text.toString()],
      );
      assert.equal(frames.at(-1)?.type, 'response.completed');
    }
  });

  test('a value that no header may have is left out', async () => {
    const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${RESPONSE.length}\r\n`;
    answer = (socket) =>
      void socket.end(Buffer.from(`${head}openai-model: mod\u00e8le \u6f22\r\nopenai-processing-ms: 5\r\n\r\n${RESPONSE}`));
    const { status, headers } = await gate.send(NATIVE, { body: turnBody('hello', { stream: false }) });
    assert.equal(status, 200);
    assert.equal(headers.get('openai-processing-ms'), '5');
  });

  test('an event that exceeds every limit cuts the reply, and no more of it is held', async () => {
    const large = await startGateway({
      upstream: { accounts: ['north'] },
      config: (draft) => {
        rawUpstream.as('north')(draft);
        draft.limits = { upstream_event_bytes: 100_000 };
      },
    });
    answer = (socket) => {
      socket.write(`${rawHead(200, event)}${STREAM.slice(0, STREAM.indexOf('\n\n') + 2)}`);
      const more = setInterval(() => socket.write(`data: ${'x'.repeat(65_536)}`), 1);
      socket.on('close', () => clearInterval(more));
    };
    const { text } = await large.send(PUBLIC, { body: PUBLIC_STREAM });
    assert.ok(text.includes('"sequence_number":1,"code":"server_error"'));
    const { status } = await large.send(PUBLIC, { body: PUBLIC_TURN });
    assert.equal(status, 502);
    answer = (socket) => {
      socket.write(rawHead(200, json));
      const more = setInterval(() => socket.write('x'.repeat(65_536)), 1);
      socket.on('close', () => clearInterval(more));
    };
    assert.equal((await large.send(NATIVE, { body: turnBody('hello', { stream: false }) })).status, 502);
    assert.equal(large.count('upstream_events_too_large'), 3);
    await large.close();
  });
});

describe('headers', () => {
  let gate: TestGateway;
  before(async () => {
    gate = await startGateway({ upstream: { accounts: ['north'], manners: { streamedUnstoredLists: false } } });
  });
  after(() => gate.close());
  beforeEach(() => gate.upstream.clear());

  const THEIRS = {
    'x-request-id': 'req_theirs',
    'x-oai-request-id': 'theirs',
    'set-cookie': 'session=theirs',
    server: 'theirs',
    via: '1.1 theirs',
    'openai-organization': 'org-theirs',
    'openai-project': 'proj_theirs',
    'openai-version': '2020-10-01',
    'x-ratelimit-remaining-requests': '1',
    'cf-ray': 'theirs',
    'access-control-allow-origin': '*',
    'www-authenticate': 'Bearer realm="theirs"',
    'x-models-etag': 'W/"theirs"',
    etag: '"theirs"',
    'x-should-retry': 'true',
    'openai-model': 'model-a',
    'openai-processing-ms': '12',
    'x-reasoning-included': 'true',
    'x-agent-turn-state': 'state',
    'x-agent-primary-used-percent': '42',
    'retry-after': '7',
  };
  const BOTH = ['openai-model', 'openai-processing-ms', 'x-reasoning-included'];
  const NATIVE_ONLY = [...BOTH, 'x-agent-turn-state', 'x-agent-primary-used-percent', 'retry-after'];

  for (const [path, how, body, passing] of [
    [NATIVE, 'streamed', turnBody('hello'), NATIVE_ONLY],
    [NATIVE, 'as JSON', turnBody('hello', { stream: false }), NATIVE_ONLY],
    [PUBLIC, 'streamed', PUBLIC_STREAM, BOTH],
    [PUBLIC, 'as JSON', PUBLIC_TURN, BOTH],
  ] as const) {
    test(`of an account that a client of ${path} sees, ${how}: those of the list, and our own id`, async () => {
      const native = path === NATIVE;
      const reply =
        how === 'streamed' || !native ? replyBytes(STREAM, { headers: THEIRS }) : replyJson(JSON.parse(RESPONSE), { headers: THEIRS });
      gate.upstream.next('north', reply);
      const { headers, status } = await gate.send(path, { body });
      assert.equal(status, 200);
      assert.match(headers.get('x-request-id') ?? '', /^req_[0-9a-f]{32}$/);
      for (const [name, value] of Object.entries(THEIRS)) {
        if (name === 'x-request-id') continue;
        const expected = name === 'x-models-etag' && native ? headers.get(name) : passing.includes(name) ? value : null;
        assert.equal(headers.get(name), expected, name);
      }
      const etag = (await gate.send('/backend-api/agent/models')).headers.get('etag');
      assert.equal(headers.get('x-models-etag'), native ? etag : null);
    });
  }

  test('of a refusal pass in the same way', async () => {
    gate.upstream.next('north', replyJson({ error: { message: 'no', code: 'invalid_value' } }, { status: 400, headers: THEIRS }));
    const native = await gate.send(NATIVE, { body: turnBody('hello') });
    for (const name of NATIVE_ONLY) assert.equal(native.headers.get(name), THEIRS[name as keyof typeof THEIRS], name);
    for (const name of ['set-cookie', 'server', 'openai-organization', 'www-authenticate', 'cf-ray'])
      assert.equal(native.headers.get(name), null);
    gate.upstream.next('north', replyJson({ error: { message: 'no', code: 'invalid_value' } }, { status: 400, headers: THEIRS }));
    const publicly = await gate.send(PUBLIC, { body: PUBLIC_TURN });
    for (const name of Object.keys(THEIRS)) {
      if (name !== 'x-request-id') assert.equal(publicly.headers.get(name), null, name);
    }
  });

  test('of the account that state its quota are stripped where the Pool hides them', async () => {
    await using hiding = await startGateway({
      upstream: { accounts: ['north'] },
      config: (draft) => {
        draft.pools[0].hide_account_quota = true;
      },
    });
    hiding.upstream.next('north', replyBytes(STREAM, { headers: THEIRS }));
    const { headers } = await hiding.send(NATIVE, { body: turnBody('hello') });
    assert.equal(headers.get('x-agent-primary-used-percent'), null);
    assert.equal(headers.get('x-agent-turn-state'), 'state');
  });

  const OURS = {
    cookie: 'session=client',
    'proxy-authorization': 'Basic client',
    'x-api-key': 'client',
    'api-key': 'client',
    'x-forwarded-for': '192.0.2.1',
    'x-forwarded-host': 'client',
    'x-real-ip': '192.0.2.1',
    forwarded: 'for=192.0.2.1',
    via: '1.1 client',
    'accept-encoding': 'gzip, br',
    'accept-language': 'de',
    referer: 'https://client.example/',
    'session-id': 'client',
    'x-session-id': 'client',
    'x-session-affinity': 'client',
    'x-request-id': 'client',
    'x-stainless-lang': 'js',
    'openai-organization': 'org-client',
    'openai-project': 'proj_client',
    'x-internal-agent-responses-lite': 'true',
    'x-custom': 'client',
    'x-agent-window-id': 'window:1',
    'x-agent-turn-metadata': '{"a":1}',
    'x-openai-something': 'some',
    'x-responsesapi-something': 'some',
    'x-oai-attestation': 'some',
    'x-client-request-id': 'some',
    'thread-id': 'some',
    session_id: 'some',
    originator: 'agent_exec',
    'user-agent': 'agent_exec/1',
    'openai-beta': 'responses=v1',
    version: '0.169.0',
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    tracestate: 'a=b',
    accept: 'text/event-stream',
  };
  const FORWARDED = Object.keys(OURS).slice(Object.keys(OURS).indexOf('x-agent-window-id'));

  for (const [path, body, passing] of [
    [NATIVE, turnBody('hello'), FORWARDED],
    [PUBLIC, PUBLIC_STREAM, ['user-agent', 'traceparent', 'tracestate']],
  ] as const) {
    test(`of a client of ${path} that an account sees: those of the list, with the account's own credential`, async () => {
      using client = await RawClient.connect(gate.url);
      client.write(postOf(`${path}?client_version=1&secret=query`, body, OURS));
      assert.equal((await client.answer()).status, 200);
      const [turn] = gate.upstream.turns();
      const headers: NodeJS.Dict<string | string[]> = turn?.headers ?? {};
      assert.equal(turn?.query, '', 'query strings are not forwarded');
      assert.equal(headers.authorization, 'Bearer bearer-of-north');
      assert.equal(headers['content-type'], 'application/json');
      assert.equal(headers['accept-encoding'], 'identity');
      assert.equal(headers.accept, 'text/event-stream');
      for (const [name, value] of Object.entries(OURS)) {
        if (name === 'accept-encoding' || name === 'accept') continue;
        assert.equal(headers[name], (passing as readonly string[]).includes(name) ? value : undefined, name);
      }
      const known = new Set([
        'host',
        'connection',
        'content-length',
        'authorization',
        'content-type',
        'accept-encoding',
        'accept',
        ...passing,
      ]);
      assert.deepEqual(
        Object.keys(headers).filter((name) => !known.has(name)),
        [],
      );
    });
  }
});
