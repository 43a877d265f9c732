// ER1 to ER3 and F1.6: each error that a client can get, with its status, type, param and headers, and the requests that reached an
// account.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import { ERRORS, type ErrorCode } from '../../../proxy/turn/errors/refusal.ts';
import { type Draft, type Reply, startGateway, type TestGateway } from '../../support/gateway.ts';
import { headOf, RawClient } from '../../support/network/raw.ts';
import { replyJson, turnBody } from '../../support/rehearsal-replies.ts';

const NATIVE = '/backend-api/agent/responses';
const PUBLIC = '/v1/responses';
const TURN = { model: 'model-a', input: 'hello' };

const secretOf = (id: string): string => `pg-key-${id}`;
const as = (id: string): Record<string, string> => ({ authorization: `Bearer ${secretOf(id)}` });

function configured(draft: Draft): void {
  const key = (id: string, more: object): object => ({
    ...{ id, pool: 'team', secret_sha256: [hash('sha256', secretOf(id), 'hex')] },
    ...more,
  });
  draft.keys.push(
    key('paused', { status: 'paused' }),
    key('expired', { expires_at: '2020-01-01T00:00:00Z' }),
    key('elsewhere', { allow_from: ['10.0.0.0/8'] }),
    key('narrow', { models: ['model-b'], reasoning_effort: { allow_up_to: 'low' }, output_tokens: { max: 100 } }),
    key('full', { pool: 'full' }),
    key('unroutable', { pool: 'unroutable' }),
  );
  draft.pools.push(
    { id: 'full', assignments: [{ account: 'south' }], serving_modes: { 'model-a': 'full' } },
    { id: 'unroutable', assignments: [{ account: 'north', active: false }] },
  );
  draft.limits = { request_body_bytes: 20_000 };
  Object.assign(draft.timeouts, { client_body_idle_ms: 1_500, upstream_first_byte_ms: 1_500 });
}

const start = (): Promise<TestGateway> =>
  startGateway({
    upstream: { manners: { streamedUnstoredLists: false } },
    config: (draft) => {
      configured(draft);
      draft.pools[0].assignments = [{ account: 'north' }];
    },
  });

let shared: TestGateway;
before(async () => {
  shared = await start();
});
after(() => shared.close());
beforeEach(() => shared.upstream.clear());

interface Case {
  readonly when: string;
  readonly ask: (gate: TestGateway) => Promise<Pick<Reply, 'status' | 'json'> & { readonly headers: (name: string) => string | undefined }>;
  readonly param?: string;
  readonly status?: number;
  /** The number of requests that reached an account. */
  readonly turns?: number;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** What tells a person how to correct the request. */
  readonly message?: RegExp;
}

type Init = Parameters<TestGateway['send']>[1];

const send =
  (path: string, init: Init = {}): Case['ask'] =>
  async (gate) => {
    const { status, json, headers } = await gate.send(path, init);
    return { status, json, headers: (name) => headers.get(name) ?? undefined };
  };
const raw =
  (bytes: string): Case['ask'] =>
  async (gate) => {
    using client = await RawClient.connect(gate.url);
    client.write(bytes);
    const { status, json, headers } = await client.answer();
    return { status, json, headers: (name) => headers[name] };
  };
const post = (body: unknown, headers: Record<string, string> = {}): Case['ask'] => send(PUBLIC, { body, headers });
const fails =
  (script: Parameters<TestGateway['upstream']['next']>[1], path = PUBLIC, headers: Record<string, string> = {}): Case['ask'] =>
  (gate) => {
    for (const account of ['north', 'south']) gate.upstream.always(account, script);
    return send(path, { body: path === PUBLIC ? TURN : turnBody('hello'), headers })(gate);
  };

const tool = (parameters: object): object => ({ ...TURN, tools: [{ type: 'function', name: 'f', strict: true, parameters }] });
const RETRY = { 'retry-after': '1' };
const FINAL = { 'x-should-retry': 'false' };
/** A wait of more than 60 s (Q1). */
const LONG_WAIT: Readonly<Record<string, string | undefined>> = { 'retry-after': undefined, ...FINAL };

const CASES: Partial<Record<ErrorCode, readonly Case[]>> = {
  invalid_api_key: [{ when: 'the key is unknown', ask: post(TURN, as('nobody')), headers: { 'www-authenticate': 'Bearer' } }],
  api_key_disabled: [{ when: 'the key is paused', ask: post(TURN, as('paused')), headers: { 'www-authenticate': 'Bearer' } }],
  api_key_expired: [{ when: 'the key has expired', ask: post(TURN, as('expired')), headers: { 'www-authenticate': 'Bearer' } }],
  ip_not_authorized: [
    { when: 'the address is not one of the key', ask: post(TURN, as('elsewhere')), headers: { 'www-authenticate': 'Bearer' } },
  ],
  model_not_allowed: [{ when: "the key's list lacks the model", ask: post(TURN, as('narrow')), param: 'model' }],
  invalid_request: [
    { when: 'the body is no JSON', ask: post('{') },
    { when: 'the framing is ambiguous', ask: raw(headOf('GET', '/v1/models', { 'content-length': 1 })) },
    { when: 'the headers are too large', ask: raw(headOf('GET', '/v1/models', { 'x-a': 'a'.repeat(100_000) })), status: 431 },
    { when: 'the input of a native turn is no list', ask: send(NATIVE, { body: turnBody('a', { input: 'hello' }) }), param: 'input' },
  ],
  invalid_model: [
    { when: 'no model is named', ask: post({ input: 'hello' }), param: 'model', message: /names no model/ },
    { when: 'the model is unknown', ask: post({ model: 'nobody-knows', input: 'hello' }), param: 'model', message: /GET \/v1\/models/ },
  ],
  unsupported_parameter: [
    { when: 'the response would run in the background', ask: post({ ...TURN, background: true }), param: 'background' },
  ],
  reasoning_effort_not_allowed: [
    {
      when: "the effort is above the key's",
      ask: post({ ...TURN, model: 'model-b', reasoning: { effort: 'high' } }, as('narrow')),
      param: 'reasoning.effort',
    },
  ],
  output_tokens_not_allowed: [
    {
      when: 'more output is asked for than the key allows',
      ask: post({ ...TURN, model: 'model-b', max_output_tokens: 101 }, as('narrow')),
      param: 'max_output_tokens',
    },
  ],
  invalid_json_schema: [
    {
      when: 'the strict root is no object',
      ask: post({ ...TURN, text: { format: { type: 'json_schema', name: 'a', strict: true, schema: { anyOf: [] } } } }),
      param: 'text.format.schema',
    },
  ],
  invalid_function_parameters: [
    { when: 'the strict root is a reference', ask: post(tool({ $ref: '#/$defs/a' })), param: 'tools.0.parameters' },
  ],
  unknown_endpoint: [{ when: 'the path is in no row', ask: send('/v1/realtime') }],
  unsupported_endpoint: [{ when: 'the row says so', ask: send('/v1/embeddings', { body: {} }) }],
  method_not_allowed: [{ when: 'the path has other methods', ask: send('/v1/models', { method: 'DELETE' }), headers: { allow: 'GET' } }],
  websocket_upgrade_required: [
    { when: 'a websocket row is asked without an upgrade', ask: send(PUBLIC), headers: { upgrade: 'websocket' } },
  ],
  request_timeout: [
    { when: 'the body stalls', ask: raw(headOf('POST', PUBLIC, { 'content-type': 'application/json', 'content-length': 10 })) },
  ],
  request_too_large: [{ when: 'the body is over the limit', ask: post(JSON.stringify({ ...TURN, input: 'a'.repeat(20_000) })) }],
  unsupported_content_encoding: [{ when: 'the coding is unknown', ask: post(TURN, { 'content-encoding': 'compress' }) }],
  unsupported_media_type: [
    {
      when: 'the body is said to be text',
      ask: post(JSON.stringify(TURN), { 'content-type': 'text/plain' }),
      message: /Content-Type: application\/json/,
    },
    { when: 'JSON comes where a form is expected', ask: send('/v1/files', { body: TURN }), message: /Content-Type: multipart\/form-data/ },
  ],
  no_eligible_account: [{ when: 'no account is routable', ask: post(TURN, as('unroutable')), headers: RETRY }],
  usage_limit_reached: [
    {
      when: 'every account is out of quota',
      ask: fails('refuse 429 usage_limit_reached resets 120', PUBLIC, as('full')),
      turns: 1,
      headers: LONG_WAIT,
    },
  ],
  rate_limit_exceeded: [
    {
      when: 'the provider limits the rate',
      ask: fails('refuse 429 rate_limit_exceeded retry 7'),
      turns: 1,
      headers: { 'retry-after': '7', 'x-should-retry': undefined },
    },
    {
      when: 'the provider limits it for long',
      ask: fails('refuse 429 rate_limit_exceeded retry 61'),
      turns: 1,
      headers: LONG_WAIT,
    },
  ],
  upstream_error: [
    { when: 'the account fails', ask: fails('refuse 500'), turns: 1 },
    { when: 'the account is to blame', ask: fails('refuse 403'), turns: 1 },
    { when: 'the account is to blame on a native route too', ask: fails('refuse 401', NATIVE), turns: 1 },
    { when: 'the account owes money', ask: fails('refuse 402', NATIVE), turns: 1 },
    { when: 'the connection dies', ask: fails('reset before headers'), turns: 1 },
    { when: 'the reply ends empty', ask: fails('cut after headers', NATIVE), turns: 1 },
  ],
  upstream_timeout: [{ when: 'no first byte comes', ask: fails('stall before headers'), turns: 1 }],
  full_upstream_rejection: [
    { when: 'a provider refuses an explicit full turn', ask: fails('refuse 422 invalid_value', PUBLIC, as('full')), status: 422, turns: 1 },
    { when: 'it refuses with a status of its own', ask: fails('refuse 418 invalid_value', PUBLIC, as('full')), status: 400, turns: 1 },
  ],
};

/** Errors of paths that are not served yet, or that only a test can cause; the last four have tests below or in other files. */
const ELSEWHERE: ReadonlySet<string> = new Set([
  ...['image_generation_disabled', 'previous_response_not_found', 'continuation_requires_restart', 'file_not_found', 'file_conflict'],
  ...['invalid_compaction_response', 'image_generation_failed', 'server_error', 'server_is_overloaded'],
]);

describe('the error table', () => {
  for (const [code, cases] of Object.entries(CASES)) {
    for (const { when, ask, param = null, status, turns = 0, headers = {}, message: hint = /./ } of cases) {
      test(`${code}, when ${when} [ER1]${turns === 0 ? ' [ER2]' : ''}`, async () => {
        // Failures change the health of an account, so these cases use a new gateway.
        await using own = turns === 0 ? undefined : await start();
        const gate = own ?? shared;
        const row = ERRORS[code as ErrorCode];
        const reply = await ask(gate);
        assert.equal(reply.status, status ?? row.status);
        assert.equal(reply.headers('content-type'), 'application/json');
        assert.match(reply.headers('x-request-id') ?? '', /^req_[0-9a-f]{32}$/);
        const { message, resets_at, ...error } = reply.json.error;
        assert.deepEqual(error, { type: row.type, code, param });
        assert.match(message, hint);
        assert.deepEqual(Object.keys(reply.json), ['error']);
        for (const [name, value] of Object.entries(headers)) if (value !== undefined) assert.equal(reply.headers(name), value, name);
        const retryable = (reply.status === 429 || reply.status === 503) && headers !== LONG_WAIT;
        if (retryable) assert.match(reply.headers('retry-after') ?? '', /^[1-9]\d*$/);
        else assert.equal(reply.headers('retry-after'), undefined);
        assert.equal(reply.headers('x-should-retry'), headers['x-should-retry']);
        assert.equal(reply.headers('www-authenticate'), reply.status === 401 ? 'Bearer' : undefined);
        assert.equal(gate.upstream.turns().length, turns);
        if (turns === 0) assert.equal(gate.upstream.requests().filter(({ method }) => method === 'POST').length, 0);
        if (code === 'usage_limit_reached') assert.ok(Math.abs(resets_at - Date.now() / 1000 - 120) < 10);
        else assert.equal(resets_at, undefined);
        const recorded = (await gate.rows()).find(({ id }) => id === reply.headers('x-request-id'));
        // A request whose headers are too large is not recorded as a request.
        if (reply.status !== 431) assert.deepEqual([recorded?.status, recorded?.code], [reply.status, code]);
      });
    }
  }

  test('has a case for each of its codes', () => {
    const known = new Set([...Object.keys(CASES), ...ELSEWHERE]);
    assert.deepEqual(
      Object.keys(ERRORS).filter((code) => !known.has(code)),
      [],
    );
  });
});

describe('a provider’s refusal', () => {
  const theirs = {
    error: {
      ...{
        message: 'Invalid value for user bob@owner.example in org-AbCdEf12345: see https://owner.example/billing',
        code: 'invalid_value',
      },
      ...{ type: 'invalid_request_error', param: 'input[0].content', plan_type: 'plus', user_id: 'user-1', bearer: 'bearer-of-north' },
    },
  };

  for (const status of [400, 404, 409, 413, 422]) {
    test(`${status} keeps its status, code and param on the compatible surface, and loses what identifies the account [ER1]`, async () => {
      shared.upstream.next('north', replyJson(theirs, { status }));
      const reply = await shared.send(PUBLIC, { body: TURN });
      assert.equal(reply.status, status);
      assert.deepEqual(reply.json, {
        error: {
          message: 'Invalid value for user [redacted] in [redacted]: see [redacted]',
          type: 'invalid_request_error',
          code: 'invalid_value',
          param: 'input[0].content',
        },
      });
      const row = (await shared.rows()).at(-1);
      assert.deepEqual([row?.code, row?.upstream_error_param, row?.outcome], ['invalid_value', 'input[0].content', 'failed']);
    });
  }

  test('passes natively as it is, without what identifies the account', async () => {
    shared.upstream.next('north', replyJson({ ...theirs, extra: [1, { a: null }] }, { status: 422 }));
    const { status, json } = await shared.send(NATIVE, { body: turnBody('hello') });
    assert.equal(status, 422);
    assert.deepEqual(json.extra, [1, { a: null }]);
    assert.deepEqual(json.error, {
      message: 'Invalid value for user [redacted] in [redacted]: see [redacted]',
      ...{ code: 'invalid_value', type: 'invalid_request_error', param: 'input[0].content', bearer: '[redacted]' },
    });
  });

  test('has a code and a param that are bounded identifiers', async () => {
    const error = { message: 'a'.repeat(50_000), code: 'not an identifier', param: 'no path at all', type: 7 };
    shared.upstream.next('north', replyJson({ error }, { status: 400 }));
    const { json } = await shared.send(PUBLIC, { body: TURN });
    assert.ok(json.error.message.length <= 2_000);
    assert.deepEqual([json.error.code, json.error.param, json.error.type], [null, null, 'invalid_request_error']);
    const row = (await shared.rows()).at(-1);
    assert.deepEqual([row?.code, row?.upstream_error_param], ['upstream_error', null]);
  });

  for (const body of ['', 'not JSON', '[]', '{"error":"text"}', '{"error":null}', 'null', '{"error":{}}']) {
    test(`${JSON.stringify(body)} with status 400 is malformed, and is 502 on the compatible surface`, async () => {
      shared.upstream.next('north', { kind: 'reply', status: 400, headers: { 'content-type': 'application/json' }, body: { text: body } });
      const { status, json } = await shared.send(PUBLIC, { body: TURN });
      assert.deepEqual([status, json.error.code], [502, 'upstream_error']);
    });
  }
});

test('unsupported rows answer the same to every valid key and body, before any account or model is looked up [ER3]', async () => {
  const message = 'This endpoint is not supported by this gateway.';
  const expected = { error: { message, type: 'invalid_request_error', code: 'unsupported_endpoint', param: null } };
  // The envelope of an error of Messages (AM10).
  const expectedOfMessages = {
    type: 'error',
    error: { type: 'not_found_error', message, details: { error_code: 'unsupported_endpoint' } },
  };
  const rows = shared.config.routes.filter(({ status, method }) => status === 'unsupported' && method !== 'WS');
  assert.ok(rows.length >= 10);
  for (const { method, path } of rows) {
    const url = path.replace(/\{[^}]+\}/g, 'id-1');
    const bodies = method === 'POST' ? [{}, 'no JSON', { model: 'nobody-knows' }] : [undefined];
    for (const body of bodies) {
      for (const headers of [{}, as('narrow'), as('unroutable')]) {
        const { status, json } = await shared.send(url, { method, body, headers });
        const { request_id: _id, ...answer } = json;
        const wanted = path.startsWith('/v1/messages') ? expectedOfMessages : expected;
        assert.deepEqual([status, answer], [404, wanted], `${method} ${path}`);
      }
    }
  }
  assert.equal(shared.upstream.requests().length, 0);
  assert.equal(shared.count('server_errors'), 0);
});

for (const path of [NATIVE, '/backend-api/agent/v1/responses']) {
  for (const member of ['input', 'tools']) {
    test(`${path} refuses a ${member} that is not a list, and accepts a missing one [F1.6] [ER2]`, async () => {
      for (const value of ['text', 1, true, {}, { 0: 'a', length: 1 }]) {
        const { status, json } = await shared.send(path, { body: turnBody('hello', { [member]: value }) });
        assert.deepEqual([status, json.error.code, json.error.param], [400, 'invalid_request', member]);
      }
      assert.equal(shared.upstream.requests().length, 0);
      shared.upstream.always('north', replyJson({ id: 'r', object: 'response', status: 'completed', output: [] }));
      const { [member]: _, ...without } = turnBody('hello', { stream: false });
      for (const body of [without, { ...without, [member]: null }]) assert.equal((await shared.send(path, { body })).status, 200);
    });
  }
}

test('/v1 makes a list of a text input first [F1.6]', async () => {
  assert.equal((await shared.send(PUBLIC, { body: TURN })).status, 200);
  const sent = shared.upstream.turns()[0]?.json as { input: unknown[] };
  assert.ok(Array.isArray(sent.input));
  assert.ok(JSON.stringify(sent.input).includes('hello'));
});

test('an unforeseen error is a fixed 500, logged with its place and without its message', async () => {
  await using broken = await startGateway();
  broken.breakPart('model list', new TypeError('canary: pg-test-key and a prompt'));
  const { status, json, headers } = await broken.send('/v1/models');
  assert.equal(status, 500);
  assert.deepEqual(json, {
    error: { message: 'The gateway failed unexpectedly.', type: 'server_error', code: 'server_error', param: null },
  });
  assert.equal(headers.get('x-should-retry'), null);
  const line = broken.logged.map((text) => JSON.parse(text)).find(({ event }) => event === 'unexpected_error');
  assert.equal(line.request_id, headers.get('x-request-id'));
  assert.equal(line.thrown, 'TypeError');
  assert.ok(!broken.logged.join('').includes('canary'));
  assert.equal(broken.count('server_errors'), 1);
  // A failing log does not prevent an answer.
  broken.breakPart('request log', new Error('canary'));
  assert.equal((await broken.send('/v1/responses', { body: TURN })).status, 200);
  assert.equal(broken.count('server_errors'), 2);
});
