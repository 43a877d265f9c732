// Which paths exist: the raw path is compared byte for byte, and a path without a row is refused without a key (S3, Q1, Q4).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { headOf, postOf, RawClient } from '../support/network/raw.ts';

let gate: TestGateway;
before(async () => {
  gate = await startGateway();
  gate.upstream.clear();
});
after(() => gate.close());

const UNKNOWN = [
  ['percent-encoded letters', '/v1/%6dodels'],
  ['an encoded slash', '/v1%2fmodels'],
  ['a dot segment', '/v1/./models'],
  ['two dots', '/v1/files/../models'],
  ['encoded dots', '/v1/%2e%2e/v1/models'],
  ['two dots at the end', '/v1/models/..'],
  ['a double slash in front', '//v1/models'],
  ['a double slash inside', '/v1//models'],
  ['a slash behind', '/v1/models/'],
  ['other letters', '/V1/Models'],
  ['a backslash', '/v1\\models'],
  ['a semicolon', '/v1/models;a=b'],
  ['a fragment', '/v1/models#a'],
  ['an encoded query', '/v1/models%3fa=b'],
  ['a tab', '/v1/models%09'],
  ['an empty parameter', '/v1/files/'],
  ['a parameter with a slash', '/v1/files/a/b/content'],
  ['a parameter of one dot', '/v1/files/.'],
  ['a parameter of encoded dots', '/v1/files/%2E./content'],
  ['the root', '/'],
  ['an unserved family', '/v1/realtime'],
  ['a reset-credit path', '/backend-api/agent/account/rateLimitResetCredit/consume'],
  ['the admin listener', '/healthz'],
  ['a name of Object.prototype', '/constructor'],
] as const;

for (const [what, path] of UNKNOWN) {
  test(`${what}: no such endpoint, with and without a key, and the path is in no row`, async () => {
    for (const headers of [{}, { authorization: undefined }]) {
      using client = await RawClient.connect(gate.url);
      client.write(headOf('GET', path, headers));
      const answer = await client.answer();
      assert.equal(answer.status, 404);
      assert.deepEqual(answer.json, {
        error: {
          // The most frequent cause is a wrong base URL.
          message: 'No such endpoint. The base URL of OpenAI clients ends with /v1, that of Anthropic clients has no /v1.',
          ...{ type: 'invalid_request_error', code: 'unknown_endpoint', param: null },
        },
      });
      const row = (await gate.rows()).find(({ id }) => id === answer.headers['x-request-id']);
      assert.deepEqual(
        [row?.family, row?.endpoint, row?.method, row?.code, row?.status],
        ['none', '(none)', 'GET', 'unknown_endpoint', 404],
      );
    }
    assert.equal(gate.upstream.requests().length, 0);
  });
}

/** None of these is the id of a file here, and each is a single segment. */
const ODD_IDS = ['a%2fb', 'a%20b', 'file:1', 'resp_YWJj%3D%3D', '%F0%9F%8E%89', '{file_id}', "it's", '...', `resp_${'a'.repeat(20_000)}`];

const WITH_IDS = [
  ['GET', '/v1/files/{id}', 'file_not_found'],
  ['GET', '/v1/files/{id}/content', 'file_not_found'],
  ['DELETE', '/v1/files/{id}', 'file_not_found'],
  ['GET', '/v1/responses/{id}', 'unsupported_endpoint'],
  ['POST', '/v1/responses/{id}/cancel', 'unsupported_endpoint'],
  ['DELETE', '/v1/responses/{id}', 'unsupported_endpoint'],
] as const;

for (const [method, path, code] of WITH_IDS) {
  test(`[E1] [D6] [D8] ${method} ${path} is that row with any id, and its log row has the template`, async () => {
    using client = await RawClient.connect(gate.url);
    for (const id of ODD_IDS) {
      client.write(headOf(method, path.replace('{id}', id)));
      const { status, json, headers } = await client.answer();
      assert.deepEqual([status, json.error.code], [404, code], id);
      const row = (await gate.rows()).find((one) => one.id === headers['x-request-id']);
      assert.match(row?.endpoint ?? '', /^[a-z0-9/]+\{(?:file|response)_id\}[a-z/]*$/);
    }
    assert.equal(gate.upstream.requests().length, 0);
  });
}

test('a query string is accepted, and changes nothing', async () => {
  using client = await RawClient.connect(gate.url);
  for (const query of ['?', '?client_version=0.169.0', '?a=/../b', '?%00']) {
    client.write(headOf('GET', `/v1/models${query}`));
    assert.equal((await client.answer()).status, 200, query);
  }
});

const METHODS = [
  ['/v1/models', 'POST', 'GET'],
  ['/v1/models', 'HEAD', 'GET'],
  ['/v1/models', 'OPTIONS', 'GET'],
  ['/v1/models', 'DELETE', 'GET'],
  ['/v1/models', 'PATCH', 'GET'],
  ['/v1/responses', 'PUT', 'POST, GET'],
  ['/v1/responses', 'HEAD', 'POST, GET'],
  ['/backend-api/agent/responses', 'DELETE', 'POST, GET'],
  ['/backend-api/agent/responses/compact', 'GET', 'POST'],
  ['/v1/embeddings', 'GET', 'POST'],
  ['/v1/files/file-1', 'POST', 'GET, DELETE'],
  ['/mcp', 'DELETE', 'POST, OPTIONS'],
] as const;

for (const [path, method, allow] of METHODS) {
  test(`${method} ${path} gets the allowed methods of the path, without a key, and the connection stays open`, async () => {
    using client = await RawClient.connect(gate.url);
    client.write(headOf(method, path, { authorization: undefined }));
    // The answer to HEAD has no body, whatever its length says.
    await client.until(() => client.pending.includes('\r\n\r\n'), 'the head');
    assert.match(client.pending, /^HTTP\/1\.1 405 /);
    assert.match(client.pending.toLowerCase(), new RegExp(`\r\nallow: ${allow.toLowerCase()}\r\n`));
    if (method === 'HEAD') {
      assert.ok(client.pending.endsWith('\r\n\r\n'));
      return;
    }
    const { json, headers } = await client.answer();
    assert.equal(json.error.code, 'method_not_allowed');
    const row = (await gate.rows()).find(({ id }) => id === headers['x-request-id']);
    assert.deepEqual([row?.code, row?.status, row?.pool], ['method_not_allowed', 405, null]);
    assert.ok(row?.endpoint.startsWith('/'), 'the path exists, so its name may be kept');
    client.write(headOf('GET', '/v1/models'));
    assert.equal((await client.answer()).status, 200);
  });
}

const WEBSOCKETS = ['/backend-api/agent/responses', '/backend-api/agent/v1/responses', '/v1/responses'];
const UPGRADE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': 13,
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

for (const path of WEBSOCKETS) {
  test(`GET ${path} without an upgrade is answered that one is required, after the key was checked`, async () => {
    using client = await RawClient.connect(gate.url);
    client.write(headOf('GET', path));
    const answer = await client.answer();
    assert.equal(answer.status, 426);
    assert.deepEqual([answer.headers.upgrade, answer.headers.connection], ['websocket', 'Upgrade'], 'RFC 9110');
    assert.equal(answer.json.error.code, 'websocket_upgrade_required');
    client.write(headOf('GET', path, { authorization: undefined }));
    assert.equal((await client.answer()).status, 401);
  });
}

test('an upgrade on a path without websockets is an ordinary request', async () => {
  for (const [bytes, status] of [
    [headOf('GET', '/v1/models', UPGRADE), 200],
    [headOf('GET', '/nowhere', UPGRADE), 404],
    [postOf('/v1/responses', { model: 'model-a', input: 'hello' }, { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c' }), 200],
  ] as const) {
    using client = await RawClient.connect(gate.url);
    client.write(bytes);
    assert.equal((await client.answer()).status, status);
    assert.equal(await client.ended(), '');
  }
});

test('a GET on a websocket row that asks for no websocket is refused with 426', async () => {
  using client = await RawClient.connect(gate.url);
  client.write(headOf('GET', '/v1/responses', { ...UPGRADE, upgrade: 'h2c' }));
  const answer = await client.answer();
  assert.equal(answer.status, 426);
  assert.deepEqual([answer.headers.upgrade, answer.headers.connection], ['websocket', 'Upgrade, close'], 'RFC 9110');
  assert.equal(await client.ended(), '');
  assert.equal(answer.json.error.code, 'websocket_upgrade_required');
  assert.equal(answer.json.error.message, 'This Pool or route does not accept websockets. Use POST on the same path.');
});
