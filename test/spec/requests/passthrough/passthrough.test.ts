// Control-plane rows and key sets are passed through exactly if their row is marked supported, and refused if it is not.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { bearerOf, KEY } from '../../../support/gateway.ts';
import { CONTROL_ROWS, control, supported } from '../../../support/stages/control.ts';

const bodyOf = (method: string): { body?: string; headers?: Record<string, string> } =>
  method === 'POST' ? { body: '{"a":1}', headers: { 'content-type': 'application/json' } } : {};

test('[B1] [S8] every control-plane row is refused as shipped, and reaches no account', async () => {
  await using bench = await control(() => ({}));
  for (const [method, path] of CONTROL_ROWS) {
    const { status, json } = await bench.gate.send(path, { method, ...bodyOf(method) });
    assert.deepEqual([status, json.error.code], [404, 'unsupported_endpoint'], `${method} ${path}`);
  }
  assert.deepEqual(bench.seen, []);
});

test('[B1] [S8] a row marked supported forwards to the same path of one account, and logs only metadata', async () => {
  await using bench = await control(() => ({}), supported);
  for (const [method, path] of CONTROL_ROWS) {
    const sent = path.endsWith('/realtime/calls') ? { body: 'v=0', headers: { 'content-type': 'application/sdp' } } : bodyOf(method);
    const reply = await bench.gate.send(`${path}?q=secret-query`, { method, ...sent });
    const arrived = bench.seen.at(-1);
    assert.deepEqual([reply.status, reply.text], [200, '{"ok":true}'], `${method} ${path}`);
    assert.deepEqual([arrived?.method, arrived?.url, arrived?.body], [method, `${path}?q=secret-query`, sent.body ?? '']);
    assert.match(arrived?.headers.authorization ?? '', /^Bearer bearer-of-(north|south)$/);
  }
  const rows = await bench.gate.rows();
  assert.equal(rows.length, CONTROL_ROWS.length);
  assert.ok(
    rows.every(
      ({ status, outcome, account, family }) => status === 200 && outcome === 'completed' && account && family === 'backend-agent',
    ),
  );
  assert.ok(!JSON.stringify(rows).includes('secret-query'));
});

test('[B2] thread/goal/get serves only GET and POST; realtime/calls accepts only SDP', async () => {
  await using bench = await control(
    () => ({ status: 201, headers: { 'content-type': 'application/sdp', location: '/calls/rtc_1' }, body: 'v=0 answer' }),
    supported,
  );
  const goal = '/backend-api/agent/thread/goal/get';
  assert.equal((await bench.gate.send(goal)).status, 201);
  assert.equal((await bench.gate.send(goal, { body: {} })).status, 201);
  assert.equal((await bench.gate.send(goal, { method: 'DELETE' })).status, 405);
  const calls = '/backend-api/agent/realtime/calls';
  const refused = await bench.gate.send(calls, { body: '{"sdp":"v=0"}' });
  assert.deepEqual([refused.status, refused.json.error.code], [415, 'unsupported_media_type']);
  const call = await bench.gate.send(calls, { body: 'v=0 offer', headers: { 'content-type': 'application/sdp; charset=utf-8' } });
  assert.deepEqual([call.status, call.text, call.headers.get('location')], [201, 'v=0 answer', '/calls/rtc_1']);
  assert.equal((await bench.gate.send(goal)).headers.get('location'), null, 'a location of another row names nothing of ours');
  assert.deepEqual(
    bench.seen.filter(({ url }) => url === calls).map(({ body }) => body),
    ['v=0 offer'],
  );
});

test('[B3] [E2] reset-credit and realtime paths are in no row', async () => {
  await using bench = await control(() => ({}));
  for (const [method, path] of [
    ['POST', '/backend-api/agent/account/rateLimitResetCredit/consume'],
    ['POST', '/account/rateLimitResetCredit/consume'],
    ['GET', '/v1/realtime'],
    ['POST', '/v1/realtime/sessions'],
    ['POST', '/v1/realtime/client_secrets'],
  ] as const) {
    const { status, json } = await bench.gate.send(path, { method, ...bodyOf(method) });
    assert.deepEqual([status, json.error.code], [404, 'unknown_endpoint'], path);
  }
  assert.deepEqual(bench.seen, []);
});

test('[C5] the key set is read from an account', async () => {
  const keys = '{"keys":[{"kty":"OKP","kid":"1"}]}';
  await using bench = await control(() => ({ body: keys }));
  const { status, text, headers } = await bench.gate.send('/backend-api/meter/agent-identities/jwks');
  assert.deepEqual([status, text, headers.get('content-type')], [200, keys, 'application/json']);
  assert.equal(bench.seen[0]?.url, '/backend-api/meter/agent-identities/jwks');
});

test('[E1] [ER3] the ten unsupported routes answer the same to every valid key, before admission and dispatch', async () => {
  await using bench = await control(() => ({}));
  const answers = new Set<string>();
  for (const [method, path] of [
    ['POST', '/v1/responses/compact'],
    ['POST', '/v1/images/variations'],
    ['POST', '/v1/content_provenance_checks'],
    ['POST', '/v1/embeddings'],
    ['POST', '/v1/batches'],
    ['POST', '/v1/moderations'],
    ['POST', '/v1/fine_tuning/jobs'],
    ['GET', '/v1/responses/resp_1'],
    ['POST', '/v1/responses/resp_1/cancel'],
    ['DELETE', '/v1/responses/resp_1'],
  ] as const) {
    for (const body of method === 'POST' ? ['{"model":"x"}', 'no json'] : [undefined]) {
      const reply = await bench.gate.send(path, { method, ...(body === undefined ? {} : { body }) });
      assert.equal(reply.status, 404, path);
      answers.add(reply.text);
    }
    const stranger = await bench.gate.send(path, { method, headers: { authorization: 'Bearer nobody' } });
    assert.deepEqual([stranger.status, stranger.json.error.code], [401, 'invalid_api_key']);
  }
  assert.equal(answers.size, 1);
  assert.equal(JSON.parse([...answers][0] ?? '').error.code, 'unsupported_endpoint');
  assert.deepEqual(bench.seen, []);
});

test('cookies, credentials, hop-by-hop, Connection-named and forwarding headers never reach an account', async () => {
  await using bench = await control(() => ({}), supported);
  const socket = connect(Number(new URL(bench.gate.url).port), '127.0.0.1');
  socket.write(
    [
      'GET /backend-api/agent/thread/goal/get HTTP/1.1',
      'Host: gateway',
      `Authorization: Bearer ${KEY}`,
      'Cookie: session=1',
      'Connection: close, x-agent-private',
      'x-agent-private: hop',
      'x-agent-kept: yes',
      'Keep-Alive: timeout=5',
      'TE: trailers',
      'Proxy-Authorization: Basic x',
      'X-Forwarded-For: 10.0.0.1',
      'Forwarded: for=10.0.0.1',
      'Via: 1.1 x',
      'Accept-Encoding: gzip',
      'session-id: s',
      '\r\n',
    ].join('\r\n'),
  );
  await once(socket.resume(), 'close');
  const { host, authorization, connection, ...rest } = bench.seen[0]?.headers ?? {};
  assert.match(authorization ?? '', new RegExp(`^Bearer ${bearerOf('')}`));
  assert.notEqual(host, 'gateway');
  assert.equal(connection, 'keep-alive');
  assert.deepEqual(rest, { 'x-agent-kept': 'yes', 'accept-encoding': 'identity' });
});

test('set-cookie, server and organisation headers never reach a client', async () => {
  const leaks = { 'set-cookie': 'a=1', server: 'provider', 'openai-organization': 'org-x', 'x-request-id': 'req_upstream', 'cf-ray': '1' };
  await using bench = await control(() => ({ headers: { 'content-type': 'application/json', 'x-agent-own': 'yes', ...leaks } }), supported);
  const { headers } = await bench.gate.send('/backend-api/agent/thread/goal/get');
  for (const name of ['set-cookie', 'server', 'openai-organization', 'cf-ray']) assert.equal(headers.get(name), null, name);
  assert.equal(headers.get('x-agent-own'), 'yes');
  assert.match(headers.get('x-request-id') ?? '', /^req_[0-9a-f]{32}$/);
});

test('a refusal of the account is passed on without its owner, and one that blames the account is replaced by our own', async () => {
  const error = { error: { message: 'no goal for user-abc123def', code: 'goal_missing', account_id: 'acct_secret' } };
  await using bench = await control(
    ({ method }) => (method === 'GET' ? { status: 404, body: JSON.stringify(error) } : { status: 401, body: '{}' }),
    supported,
  );
  const missing = await bench.gate.send('/backend-api/agent/thread/goal/get');
  assert.deepEqual([missing.status, missing.json], [404, { error: { message: 'no goal for [redacted]', code: 'goal_missing' } }]);
  const blamed = await bench.gate.send('/backend-api/agent/thread/goal/set', { body: '{}' });
  assert.deepEqual([blamed.status, blamed.json.error.code], [502, 'upstream_error']);
  assert.equal(bench.seen.filter(({ method }) => method === 'POST').length, 1, 'a body is never sent twice');
});

test('a bodyless request tries another account where the first is unreachable', async () => {
  await using bench = await control(
    () => ({}),
    (draft) => {
      supported(draft);
      draft.accounts[0].base_url = 'http://127.0.0.1:9';
    },
  );
  assert.equal((await bench.gate.send('/backend-api/agent/thread/goal/get')).status, 200);
  assert.equal((await bench.gate.rows())[0]?.retries, 1);
});

test('[LI3] a body over the limit is refused while it streams', async () => {
  await using bench = await control(
    () => ({}),
    (draft) => {
      supported(draft);
      draft.limits = { request_body_bytes: 1000 };
    },
  );
  const { status, json } = await bench.gate.send('/backend-api/agent/thread/goal/set', { body: 'x'.repeat(100_000) });
  assert.deepEqual([status, json.error.code], [413, 'request_too_large']);
  assert.equal((await bench.gate.send('/backend-api/agent/thread/goal/get')).status, 200);
});

test('an answer on these rows counts for the account’s health: one that refuses its credential is not asked again', async () => {
  await using bench = await control(
    ({ headers }) => (headers.authorization === `Bearer ${bearerOf('north')}` ? { status: 401, body: '{}' } : {}),
    supported,
  );
  for (let i = 0; i < 6; i++) assert.equal((await bench.gate.send('/backend-api/agent/thread/goal/get')).status, 200);
  const asked = bench.seen.filter(({ headers }) => headers.authorization === `Bearer ${bearerOf('north')}`);
  assert.ok(asked.length <= 1);
  assert.equal(bench.gate.account('north').status, asked.length === 1 ? 'reauth_required' : 'active');
});

test('a request without a body that its account refuses goes to another, and its row shows that', async () => {
  const refused = new Set<string>();
  await using bench = await control(({ headers: { authorization = '' } }) => {
    if (refused.size > 0) return {};
    refused.add(authorization);
    return { status: 503, body: '{}' };
  }, supported);
  assert.equal((await bench.gate.send('/backend-api/agent/thread/goal/get')).status, 200);
  const [row] = await bench.gate.rows();
  assert.equal(row?.retries, 1);
  assert.deepEqual(
    (await bench.gate.attempts(row?.id ?? '')).map(({ cause, status, error_class }) => [cause, status, error_class]),
    [
      ['first', 503, 'upstream_status'],
      ['server', 200, null],
    ],
  );
});
