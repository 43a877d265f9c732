// CORS on /v1: preflights and answers for listed origins, and nothing for other origins, other paths or by default.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway, type TestGateway } from '../../../support/gateway.ts';

const ORIGIN = 'https://app.example';
const TURN = { model: 'model-a', input: 'hello' };

const withOrigins = (...origins: readonly string[]): Promise<TestGateway> =>
  startGateway({
    config: (draft) => {
      draft.listen = { ...draft.listen, cors: { origins } };
    },
  });

function preflight(gate: TestGateway, path: string, { origin = ORIGIN, method = 'POST' } = {}): Promise<Response> {
  const headers = { origin, 'access-control-request-method': method, 'access-control-request-headers': 'authorization,content-type' };
  return fetch(gate.url + path, { method: 'OPTIONS', headers });
}

const corsHeaders = ({ headers }: { readonly headers: Headers }): readonly string[] =>
  [...headers.keys()].filter((name) => name.startsWith('access-control-') || name === 'vary');

test('[S5] a preflight of a listed origin is answered without a key or a turn, and leaves its row', async () => {
  await using gate = await withOrigins('https://other.example', ORIGIN);
  for (const [method, path] of [
    ['POST', '/v1/responses'],
    ['GET', '/v1/models'],
    ['DELETE', '/v1/files/file-1'],
  ] as const) {
    const { status, headers } = await preflight(gate, path, { method });
    assert.equal(status, 204);
    assert.equal(headers.get('access-control-allow-origin'), ORIGIN);
    assert.equal(headers.get('access-control-allow-methods'), method);
    assert.equal(headers.get('access-control-allow-headers'), 'authorization,content-type');
    assert.equal(headers.get('access-control-allow-credentials'), null);
    assert.equal(headers.get('vary'), 'origin');
    assert.ok(headers.get('x-request-id'));
  }
  assert.deepEqual(
    (await gate.rows()).map(({ method, endpoint, status, key_id }) => [method, endpoint, status, key_id]),
    [
      ['OPTIONS', '/v1/responses', 204, null],
      ['OPTIONS', '/v1/models', 204, null],
      ['OPTIONS', '/v1/files/{file_id}', 204, null],
    ],
  );
});

test('answers, streams and errors of /v1 can be read by a page of a listed origin', async () => {
  await using gate = await withOrigins(ORIGIN);
  const headers = { origin: ORIGIN };
  for (const [reply, status] of [
    [await gate.send('/v1/responses', { headers, body: TURN }), 200],
    [await gate.send('/v1/responses', { headers, body: { ...TURN, stream: true } }), 200],
    [await gate.send('/v1/models', { headers }), 200],
    [await gate.send('/v1/models', { headers: { ...headers, authorization: 'Bearer wrong' } }), 401],
    [await gate.send('/v1/responses', { headers, body: '{' }), 400],
    [await gate.send('/v1/nothing', { headers }), 404],
  ] as const) {
    assert.equal(reply.status, status);
    assert.equal(reply.headers.get('access-control-allow-origin'), ORIGIN);
    assert.equal(reply.headers.get('access-control-expose-headers'), '*');
    assert.equal(reply.headers.get('vary'), 'origin');
    assert.ok(reply.headers.get('x-request-id'));
  }
});

test('another origin, the native surface, and a path or method without a row get no access', async () => {
  await using gate = await withOrigins(ORIGIN);
  for (const origin of ['https://app.example.evil.example', 'http://app.example', 'https://app.example:8443', 'null']) {
    const refused = await preflight(gate, '/v1/responses', { origin });
    assert.deepEqual([refused.status, corsHeaders(refused)], [405, ['vary']]);
    const answered = await gate.send('/v1/models', { headers: { origin } });
    assert.deepEqual([answered.status, corsHeaders(answered)], [200, ['vary']]);
  }
  const native = await preflight(gate, '/backend-api/agent/responses');
  assert.deepEqual([native.status, corsHeaders(native)], [405, []]);
  assert.equal((await preflight(gate, '/v1/nothing')).status, 404);
  assert.equal((await preflight(gate, '/v1/models', { method: 'POST' })).status, 405);
});

test('without origins in the file nothing is added, and OPTIONS is refused as before', async () => {
  await using gate = await startGateway();
  const refused = await preflight(gate, '/v1/responses');
  assert.deepEqual([refused.status, refused.headers.get('allow'), corsHeaders(refused)], [405, 'POST, GET', []]);
  const answered = await gate.send('/v1/models', { headers: { origin: ORIGIN } });
  assert.deepEqual([answered.status, corsHeaders(answered)], [200, []]);
});
