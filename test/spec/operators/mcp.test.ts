// /mcp over real sockets: transport, credential, hosts, JSON-RPC errors, and that it is read-only.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { Ajv } from 'ajv';
import { KEY, startGateway, type TestGateway } from '../../support/gateway.ts';
import { call, failure, post, rpc, TOOL_NAMES, tokenOf, withOperator } from '../../support/mcp.ts';
import { headOf, RawClient } from '../../support/network/raw.ts';
import { until } from '../../support/until.ts';

const PING = { jsonrpc: '2.0', id: 1, method: 'ping' };
const initialize = (protocolVersion: string) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } },
});

let gate: TestGateway;
before(async () => {
  gate = await startGateway({
    config: (draft) => {
      withOperator(draft);
      draft.limits = { request_body_bytes: 100_000 };
    },
  });
});
after(() => gate.close());

test('[G1] POST answers JSON-RPC with one JSON body, whatever the client accepts', async () => {
  for (const accept of ['application/json, text/event-stream', 'application/json', 'text/event-stream', '*/*']) {
    const { status, headers, json } = await post(gate, PING, { accept });
    assert.deepEqual([status, headers.get('content-type'), json], [200, 'application/json', { jsonrpc: '2.0', id: 1, result: {} }]);
    assert.equal(headers.get('mcp-session-id'), null, 'it is stateless');
    assert.match(headers.get('x-request-id') ?? '', /^req_/);
  }
});

test('[G1] initialize negotiates the client’s revision, and describes the server', async () => {
  for (const version of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
    const { json } = await post(gate, initialize(version));
    assert.equal(json.result.protocolVersion, version);
    assert.deepEqual(json.result.capabilities, { tools: { listChanged: false } });
    assert.equal(json.result.serverInfo.name, 'poolgate');
    assert.match(json.result.instructions, /Begin with service_status/);
  }
  const unknown = await post(gate, initialize('1999-01-01'));
  assert.match(unknown.json.result.protocolVersion, /^2025-/, 'an unknown revision gets the newest of that handshake');
});

test('[G1] every request works without an earlier one', async () => {
  assert.deepEqual(
    (await rpc(gate, 'tools/list')).result.tools.map(({ name }: { name: string }) => name),
    TOOL_NAMES,
  );
});

test('[G1] notifications and answers of the client are accepted with 202 and no body', async () => {
  for (const message of [
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } },
    { jsonrpc: '2.0', id: 9, result: {} },
  ]) {
    const { status, text, headers } = await post(gate, message);
    assert.deepEqual([status, text, headers.get('content-type')], [202, '', null]);
  }
});

test('[G2] GET answers that stateless SSE is unavailable, and OPTIONS lists the methods; neither needs a token', async () => {
  using client = await RawClient.connect(gate.url);
  client.write(headOf('GET', '/mcp', { host: 'localhost', authorization: undefined, accept: 'text/event-stream' }));
  const get = await client.answer();
  assert.deepEqual([get.status, get.headers.allow, get.json.error.code], [405, 'POST, OPTIONS', 'method_not_allowed']);
  assert.match(get.json.error.message, /SSE is unavailable/);
  client.write(headOf('OPTIONS', '/mcp', { host: 'localhost', authorization: undefined }));
  await client.until(() => client.pending.includes('\r\n\r\n'), 'the head');
  assert.match(client.pending, /^HTTP\/1\.1 204 /);
  assert.match(client.pending, /\r\nallow: POST, OPTIONS\r\n/i);
  assert.ok(client.pending.endsWith('\r\n\r\n'));
});

test('[AU2] POST needs the token of an operator: without one, or with a wrong one, 401 with a challenge', async () => {
  for (const authorization of [
    '',
    'Bearer',
    'Bearer wrong',
    `Basic ${tokenOf('ops')}`,
    `Bearer ${tokenOf('ops')}, Bearer ${tokenOf('ops')}`,
  ]) {
    const { status, headers, json } = await post(gate, PING, { authorization });
    assert.deepEqual([status, headers.get('www-authenticate'), json.error.code], [401, 'Bearer', 'invalid_api_key'], authorization);
    assert.match(json.error.message, /MCP token of an operator/);
  }
});

test('[AU3] a Pool API key is refused on /mcp, and a token on runtime routes, each with the answer to an unknown one', async () => {
  const unknown = await post(gate, PING, { authorization: 'Bearer wrong' });
  const key = await post(gate, PING, { authorization: `Bearer ${KEY}` });
  assert.deepEqual([key.status, key.json], [401, unknown.json]);
  const headers = { authorization: `Bearer ${tokenOf('ops')}` };
  for (const path of ['/v1/models', '/backend-api/agent/models', '/backend-api/meter/usage']) {
    const { status, json } = await gate.send(path, { headers });
    assert.deepEqual([status, json.error.code], [401, 'invalid_api_key'], path);
  }
});

test('[AU4] cookies, query tokens and headers of other names are not accepted', async () => {
  const token = tokenOf('ops');
  const others = [
    { cookie: `token=${token}; session=${token}` },
    { 'x-api-key': token },
    { 'x-mcp-token': token },
    { 'proxy-authorization': `Bearer ${token}` },
    { 'mcp-session-id': token },
  ];
  for (const headers of others) {
    const { status } = await gate.send('/mcp', { body: PING, headers: { authorization: '', ...headers } });
    assert.equal(status, 401, Object.keys(headers).join());
  }
  for (const query of [`?token=${token}`, `?access_token=${token}`, `?authorization=Bearer%20${token}`]) {
    assert.equal((await gate.send(`/mcp${query}`, { body: PING, headers: { authorization: '' } })).status, 401, query);
  }
});

test('[Q25] a foreign Host or Origin is 403, before the token; loopback and mcp.allowed_hosts are not foreign', async () => {
  await gate.reconfigure((draft) => {
    draft.mcp = { allowed_hosts: ['gateway.example', 'other.example:8443'] };
  });
  const port = new URL(gate.url).port;
  const ask = async (headers: Record<string, string | undefined>) => {
    using client = await RawClient.connect(gate.url);
    const body = JSON.stringify(PING);
    const own = { authorization: `Bearer ${tokenOf('ops')}`, 'content-type': 'application/json', 'content-length': body.length };
    client.write(headOf('POST', '/mcp', { ...own, ...headers }) + body);
    const { status, json } = await client.answer();
    return status === 200 ? 200 : `${status} ${json.error.code} ${/The (\w+)/.exec(json.error.message)?.[1]}`;
  };
  const own = [
    `127.0.0.1:${port}`,
    `localhost:${port}`,
    'LOCALHOST',
    '[::1]:4000',
    '127.8.9.1',
    'gateway.example',
    'Gateway.Example:4000',
    'other.example:8443',
  ];
  for (const host of own) {
    assert.equal(await ask({ host }), 200, host);
    assert.equal(await ask({ host: `localhost:${port}`, origin: `http://${host}` }), 200, `an origin on ${host}`);
  }
  for (const host of [
    'evil.example',
    'localhost.evil.example',
    'gateway.example.evil.example',
    'other.example:1',
    '10.0.0.1',
    '127.0.0.1.evil.example',
  ]) {
    assert.equal(await ask({ host }), '403 invalid_request Host', host);
    assert.equal(await ask({ host: 'localhost', origin: `https://${host}` }), '403 invalid_request Origin', `an origin on ${host}`);
    assert.equal(await ask({ host, authorization: undefined }), '403 invalid_request Host', `${host} without a token`);
  }
  for (const origin of ['null', 'file://', 'https://localhost, https://evil.example', 'https://evil.example/@localhost', 'localhost']) {
    assert.equal(await ask({ host: 'localhost', origin }), '403 invalid_request Origin', origin);
  }
});

test('[Q25] a body that is not a JSON-RPC request is refused: a batch, no JSON, another shape, another media type', async () => {
  const cases: readonly (readonly [unknown, number])[] = [
    [[PING], -32600],
    [[], -32600],
    ['{', -32700],
    ['', -32700],
    [new Uint8Array([0xff, 0x7b, 0x7d]), -32700],
    ['7', -32600],
    ['null', -32600],
    [{ method: 'ping', id: 1 }, -32600],
    [{ jsonrpc: '1.0', method: 'ping', id: 1 }, -32600],
    [{ jsonrpc: '2.0', id: 1 }, -32600],
    [{ jsonrpc: '2.0', id: null, method: 'ping' }, -32600],
    [{ jsonrpc: '2.0', id: { a: 1 }, method: 'ping' }, -32600],
    [{ jsonrpc: '2.0', id: 1, method: 7 }, -32600],
    [{ jsonrpc: '2.0', id: 1, method: 'ping', params: [1] }, -32600],
    [`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"__proto__":{"a":1}}}`, -32600],
    [`{"jsonrpc":"2.0","id":1,"method":"ping","params":${'{"a":'.repeat(200)}1${'}'.repeat(200)}}`, -32600],
  ];
  for (const [body, code] of cases) {
    const { status, json, headers } = await post(gate, body);
    assert.deepEqual([status, json.jsonrpc, json.id, json.error.code], [400, '2.0', null, code], JSON.stringify(body));
    assert.equal((await gate.row({ headers }))?.code, 'invalid_request');
  }
  const { status, json } = await post(gate, JSON.stringify(PING), { 'content-type': 'text/plain' });
  assert.deepEqual([status, json.error.code], [415, 'unsupported_media_type']);
});

test('[Q25] an unknown method is -32601 with HTTP 200, and so is every method that would change or stream something', async () => {
  for (const method of [
    'nope',
    'resources/list',
    'prompts/list',
    'logging/setLevel',
    'subscriptions/listen',
    'completion/complete',
    'tasks/list',
  ]) {
    const { error } = await rpc(gate, method, {
      level: 'debug',
      ref: { type: 'ref/prompt', name: 'a' },
      argument: { name: 'a', value: 'b' },
    });
    assert.equal(error.code, -32601, method);
  }
});

test('params of another shape are -32602 with their names, and no internal error', async () => {
  for (const [method, params, names] of [
    ['initialize', {}, 'params.protocolVersion, params.capabilities, params.clientInfo'],
    ['initialize', { protocolVersion: 5, capabilities: {} }, 'params.protocolVersion, params.clientInfo'],
    ['tools/list', { cursor: 5 }, 'params.cursor'],
  ] as const) {
    const { error } = await rpc(gate, method, params);
    assert.deepEqual(error, { code: -32602, message: `Invalid params: ${names}` }, method);
  }
  const prefix = 'io.modelcontextprotocol/';
  const _meta = {
    [`${prefix}protocolVersion`]: '2026-07-28',
    [`${prefix}clientInfo`]: { name: 'test', version: '1.0.0' },
    [`${prefix}clientCapabilities`]: {},
  };
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' };
  const { status, json } = await post(gate, { jsonrpc: '2.0', id: 7, method: 'tools/list', params: { _meta, cursor: 5 } }, headers);
  assert.deepEqual([status, json], [200, { jsonrpc: '2.0', id: 7, error: { code: -32602, message: 'Invalid params: params.cursor' } }]);
});

test('bodies have the limits and codings of every body', async () => {
  const zipped = await post(gate, gzipSync(JSON.stringify(PING)), { 'content-encoding': 'gzip' });
  assert.deepEqual(zipped.json.result, {});
  const coded = await post(gate, PING, { 'content-encoding': 'rot13' });
  assert.deepEqual([coded.status, coded.json.error.code], [415, 'unsupported_content_encoding']);
  const large = await post(gate, { ...PING, params: { text: 'x'.repeat(100_000) } });
  assert.deepEqual([large.status, large.json.error.code], [413, 'request_too_large']);
  const bomb = await post(gate, gzipSync(Buffer.alloc(5_000_000, 32)), { 'content-encoding': 'gzip' });
  assert.equal(bomb.status, 413);
});

test('a body that stalls ends with 408, and requests beyond the slots of class mcp get 503', async () => {
  await using small = await startGateway({
    config: (draft) => {
      withOperator(draft);
      draft.admission = { mcp: { running: 1, waiting: 0, wait_ms: 1000 } };
      draft.timeouts.client_body_idle_ms = 3_000;
    },
  });
  using stalled = await RawClient.connect(small.url);
  const own = { authorization: `Bearer ${tokenOf('ops')}`, 'content-type': 'application/json', 'content-length': 100 };
  stalled.write(headOf('POST', '/mcp', { host: 'localhost', ...own }));
  stalled.write('{');
  await until('its place', () => small.admission('mcp').running === 1 || undefined);
  const refused = await post(small, PING);
  assert.deepEqual([refused.status, refused.json.error.code], [503, 'server_is_overloaded']);
  assert.ok(Number(refused.headers.get('retry-after')) >= 1);
  assert.equal((await stalled.answer()).status, 408);
  assert.equal((await post(small, PING)).status, 200, 'the place is free again');
});

test('[S5] each request leaves a row of family mcp without Pool, key and account', async () => {
  const { headers } = await post(gate, PING);
  const row = await gate.row({ headers });
  assert.deepEqual(
    [row?.family, row?.endpoint, row?.method, row?.status, row?.code, row?.pool, row?.key_id, row?.account, row?.model],
    ['mcp', '/mcp', 'POST', 200, null, null, null, null, null],
  );
});

const ajv = new Ajv({ strict: false });

test('[Q25] there are nine tools: read-only, with strict schemas and a description of each field', async () => {
  const { tools } = (await rpc(gate, 'tools/list')).result;
  assert.deepEqual(
    tools.map(({ name }: { name: string }) => name),
    TOOL_NAMES,
  );
  for (const { name, title, description, inputSchema, outputSchema, annotations } of tools) {
    assert.deepEqual([annotations.readOnlyHint, annotations.destructiveHint], [true, false], name);
    assert.ok(title.length > 3 && description.length > 120, `${name} says when to use it`);
    assert.equal(inputSchema.additionalProperties, false);
    assertDescribed(name, inputSchema);
    assertDescribed(name, outputSchema);
    for (const schema of [inputSchema, outputSchema]) assert.ok(ajv.validateSchema(schema), `${name}: ${ajv.errorsText(ajv.errors)}`);
    if (!name.startsWith('list_')) continue;
    assert.ok(inputSchema.properties.id, `${name} has a filter for the id`);
    assert.deepEqual([inputSchema.properties.limit.minimum, inputSchema.properties.limit.maximum], [1, 200]);
    assert.ok(inputSchema.properties.cursor && outputSchema.properties.next_cursor);
  }
});

interface Described {
  readonly type: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Described>>;
  readonly items?: Described;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
}

/** Asserts that every field has a description, and that every object lists its fields. */
function assertDescribed(place: string, { properties = {}, items, additionalProperties }: Described): void {
  if (Object.keys(properties).length > 0) assert.equal(additionalProperties, false, place);
  for (const [name, field] of Object.entries(properties)) {
    const nested = Object.keys(field.properties ?? {}).length > 0;
    assert.ok(nested || (field.description ?? '').length > 3, `${place}.${name} has no description`);
    assertDescribed(`${place}.${name}`, field);
  }
  if (items) assertDescribed(`${place}[]`, items);
}

test('an invalid argument is named with the valid values, and an unknown tool is -32602', async () => {
  assert.match(await failure(gate, 'list_requests', { keys: 'ci' }), /there is no argument keys; known: id, pool, key, account/);
  assert.match(await failure(gate, 'list_requests', { limit: 201 }), /limit must be <= 200/);
  assert.match(await failure(gate, 'list_requests', { limit: '5' }), /limit must be integer/);
  assert.match(await failure(gate, 'list_requests', { status_class: '6xx' }), /status_class must be one of 2xx, 3xx, 4xx, 5xx/);
  assert.match(await failure(gate, 'list_requests', { since: 'yesterday' }), /since must match/);
  assert.match(await failure(gate, 'list_requests', { since: '2026-13-45' }), /there is no time 2026-13-45/);
  assert.match(await failure(gate, 'list_requests', { since: '2026-02-30' }), /there is no time 2026-02-30/);
  assert.match(await failure(gate, 'list_pools', { cursor: 'zzz' }), /cursor is not a next_cursor/);
  assert.match(await failure(gate, 'list_requests', { cursor: Buffer.from('[1]').toString('base64url') }), /cursor is not a next_cursor/);
  const { error } = await rpc(gate, 'tools/call', { name: 'delete_key', arguments: {} });
  assert.equal(error.code, -32602);
});

test('an unforeseen failure of a tool is reported without its text, and the gateway keeps running', async () => {
  await using broken = await startGateway({ config: withOperator });
  broken.breakPart('request search', new Error('the secret inside'));
  assert.equal(await failure(broken, 'list_requests', {}), 'the gateway failed unexpectedly');
  assert.ok(broken.logged.some((line) => line.includes('unexpected_error')));
  assert.ok(!broken.logged.some((line) => line.includes('the secret inside')));
  assert.equal((await call(broken, 'list_pools')).pools.length, 1);
});

test('[G1] the tools change nothing and ask no account', async () => {
  await using quiet = await startGateway({ config: withOperator });
  const before = [quiet.config, quiet.accounts(), await quiet.audit('config.reload')];
  quiet.upstream.clear();
  for (const name of TOOL_NAMES) await call(quiet, name);
  await call(quiet, 'explain_selection', { key: 'ci', model: 'model-a', continuity_id: 'some-session' });
  assert.deepEqual([quiet.config, quiet.accounts(), await quiet.audit('config.reload')], before);
  assert.equal(quiet.upstream.requests().length, 0);
});

test('a revoked token and an operator without Pools see nothing more after a reload', async () => {
  await using changed = await startGateway({ config: withOperator });
  assert.equal((await call(changed, 'list_pools')).pools.length, 1);
  await changed.reconfigure((draft) => {
    draft.operators[0].owns = [];
  });
  for (const [name, list] of [
    ['list_pools', 'pools'],
    ['list_accounts', 'accounts'],
    ['list_keys', 'keys'],
    ['list_models', 'models'],
    ['list_requests', 'requests'],
    ['list_audit', 'audit'],
  ] as const) {
    assert.deepEqual((await call(changed, name))[list], [], name);
  }
  assert.deepEqual((await call(changed, 'service_status')).attention, ['operator ops sees no Pool: it owns none and is assigned none']);
  await changed.reconfigure((draft) => {
    draft.operators = [];
  });
  assert.equal((await post(changed, PING)).status, 401);
});
