// Each reply of the running program fits the schema of its operation in the OpenAPI document.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { Ajv } from 'ajv';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { withOperator } from '../support/mcp.ts';
import { turnBody } from '../support/rehearsal-replies.ts';

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required: boolean }[];
  readonly requestBody?: unknown;
  readonly responses: Readonly<Record<string, { readonly content: { readonly 'application/json': { readonly schema: object } } }>>;
}

const document: { readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> } = JSON.parse(
  readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8'),
);
const ajv = new Ajv({ strict: false, validateFormats: false }).addSchema(document, 'document');

let gate: TestGateway;
before(async () => {
  gate = await startGateway({
    config: (draft) => {
      withOperator(draft);
      draft.keys[0].limits = { requests_per_day: 100 };
    },
  });
  gate.upstream.next('north', 'refuse 503');
  await gate.send('/backend-api/agent/responses', { body: turnBody('hello') });
  await gate.send('/v1/nothing');
});
after(() => gate.close());

/** @param name such as `GET /api/requests?limit=1` */
async function ask(name: string, body?: unknown) {
  const [method = '', path = ''] = name.split(' ');
  const response = await fetch(gate.adminUrl + path, {
    method,
    headers: { 'x-poolgate-command': '1' },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  // biome-ignore lint/suspicious/noExplicitAny: assertions look where they expect something
  return { status: response.status, headers: response.headers, text, json: JSON.parse(text) as any };
}

/** Why an answer does not fit its operation; empty if it does. */
function misfit(method: string, path: string, status: number, json: unknown): string {
  const escaped = path.replaceAll('/', '~1').replaceAll('{', '%7B').replaceAll('}', '%7D');
  const pointer = `document#/paths/${escaped}/${method}/responses/${status}/content/application~1json/schema`;
  const check = ajv.getSchema(pointer);
  if (!check) return `${method} ${path} has no answer ${status}`;
  return check(json) ? '' : `${method} ${path} ${status}: ${ajv.errorsText(check.errors)}`;
}

/** The schemas of parameters, bodies and answers. */
const schemasIn = (value: object): readonly object[] =>
  Object.entries(value).flatMap(([name, member]) => {
    if (typeof member !== 'object' || member === null) return [];
    return name === 'schema' ? [member] : schemasIn(member);
  });

/** A request for each operation that a running gateway answers with 200. None of them changes what a later one needs. */
const asked = async (): Promise<readonly (readonly [operation: string, request: string, body?: unknown])[]> => {
  const { json } = await ask('GET /api/requests?key=ci&limit=1');
  return [
    ['GET /api/session', 'GET /api/session'],
    ['GET /api/status', 'GET /api/status'],
    ['GET /api/overview', 'GET /api/overview'],
    ['GET /api/pools', 'GET /api/pools'],
    ['GET /api/accounts', 'GET /api/accounts?limit=1&state=available'],
    ['GET /api/keys', 'GET /api/keys?status=active'],
    ['GET /api/models', 'GET /api/models'],
    ['GET /api/audit', 'GET /api/audit?since=7d'],
    ['GET /api/usage', 'GET /api/usage?by=account&by=model&since=24h'],
    ['GET /api/requests', 'GET /api/requests?status=2xx&limit=5'],
    ['GET /api/requests/{id}', `GET /api/requests/${json.rows[0].id}`],
    ['GET /api/explain', 'GET /api/explain?method=POST&path=/v1/responses&key=ci&model=model-a'],
    ['POST /api/explain', 'POST /api/explain?method=POST&path=/v1/responses&key=ci', { model: 'model-a', input: 'hello' }],
    ['GET /api/accounts/{id}/test', 'GET /api/accounts/north/test?model=model-a'],
    ['POST /api/accounts/{id}/test', 'POST /api/accounts/north/test?model=model-a&tools=true'],
    ['POST /api/accounts/{id}/restore', 'POST /api/accounts/north/restore'],
    ['GET /api/accounts/{id}/login', 'GET /api/accounts/north/login'],
    ['GET /api/tokens', 'GET /api/tokens'],
    ['GET /api/nodes', 'GET /api/nodes'],
    ['GET /api/config', 'GET /api/config'],
  ];
};

test('each operation that can be answered without a file is, in the form of its schema', async () => {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const requests = await asked();
  for (const [operation, request, body] of requests) {
    assert.ok(operations.includes(operation), operation);
    const [method = '', path = ''] = operation.split(' ');
    const { status, json, text } = await ask(request, body);
    assert.equal(status, 200, `${request}: ${text}`);
    assert.equal(misfit(method.toLowerCase(), path, status, json), '');
  }
  /** Operations that other tests call with a file, a tokens file or a browser. */
  const elsewhere = [
    'GET /api/events',
    'POST /api/session',
    'DELETE /api/session',
    'POST /api/reload',
    'POST /api/accounts/{id}/pause',
    'POST /api/accounts/{id}/resume',
    'POST /api/accounts/{id}/relogin',
    'POST /api/accounts/{id}/login',
    'POST /api/accounts/{id}/logins',
    'GET /api/logins/{login}',
    'POST /api/logins/{login}/callback',
    'DELETE /api/logins/{login}',
    'POST /api/keys',
    'PATCH /api/keys/{id}',
    'POST /api/keys/{id}/rotate',
    'POST /api/keys/{id}/pause',
    'POST /api/keys/{id}/resume',
    'POST /api/keys/{id}/revoke',
    'PUT /api/pools/{pool}/modes/{model}',
    'POST /api/tokens',
    'DELETE /api/tokens/{operator}/{token}',
  ];
  assert.deepEqual(operations.toSorted(), [...requests.map(([operation]) => operation), ...elsewhere].toSorted());
});

test('each schema of the document is a valid one: the running program does not ask', () => {
  const schemas = schemasIn(document.paths);
  assert.ok(schemas.length > 200);
  for (const schema of schemas) assert.ok(ajv.validateSchema(schema), `${ajv.errorsText(ajv.errors)} in ${JSON.stringify(schema)}`);
});

test('what is wrong with a request is named, in the form of a refusal', async () => {
  for (const [request, operation, status, error, body] of [
    ['GET /api/requests?colour=red', 'get /api/requests', 400, /^there is no parameter colour; known: id, pool, /],
    ['GET /api/requests?limit=many', 'get /api/requests', 400, /^limit takes 1 to 999$/],
    ['GET /api/requests?cursor=x', 'get /api/requests', 400, /^cursor is not a next_cursor/],
    ['GET /api/accounts?state=lost', 'get /api/accounts', 400, /^state takes one of available, /],
    ['GET /api/audit?since=never', 'get /api/audit', 400, /^since takes a time such as 30m, 24h, 7d or 2027-01-01T00:00:00Z$/],
    ['GET /api/usage?by=key&by=model', 'get /api/usage', 400, /^sums of keys are kept by Pool and day/],
    ['GET /api/usage?by=day&by=hour', 'get /api/usage', 400, /^by takes day or hour$/],
    ['GET /api/usage?by=colour', 'get /api/usage', 400, /^by takes one of key, pool, /],
    ['GET /api/explain?method=GET', 'get /api/explain', 400, /^the parameter path is missing$/],
    ['GET /api/explain?method=GET&path=/none', 'get /api/explain', 404, /^no such route$/],
    ['POST /api/explain?method=GET&path=/v1/models', 'post /api/explain', 400, /has no JSON body for an account$/, {}],
    ['GET /api/requests/req_none', 'get /api/requests/{id}', 404, /^the request log has no turn 'req_none'$/],
    ['POST /api/accounts/west/restore', 'post /api/accounts/{id}/restore', 404, /^the running gateway has no account 'west'$/],
    ['POST /api/accounts/north/login', 'post /api/accounts/{id}/login', 400, /^the member tokens is missing$/, {}],
    ['POST /api/accounts/north/login', 'post /api/accounts/{id}/login', 400, /^the member tokens is missing$/, 'no json'],
    [
      'POST /api/accounts/north/login',
      'post /api/accounts/{id}/login',
      400,
      /^by takes one of login, import$/,
      { tokens: {}, by: 'theft', another_user: false },
    ],
  ] as const) {
    const answer = await ask(request, body);
    const [method = '', path = ''] = operation.split(' ');
    assert.equal(answer.status, status, `${request}: ${answer.text}`);
    assert.match(answer.json.error, error);
    assert.equal(misfit(method, path, status, answer.json), '');
  }
});

test('an unknown path is 404, and a known one with another method names its methods', async () => {
  for (const path of ['/api', '/api/', '/api/nothing', '/api/requests/a/b', '/api/requests/', '/api/requests/%zz']) {
    assert.equal((await ask(`GET ${path}`)).status, 404, path);
  }
  const { status, headers } = await ask('POST /api/requests');
  assert.deepEqual([status, headers.get('allow')], [405, 'GET']);
  const large = await ask('POST /api/accounts/north/login', 'x'.repeat(300_000));
  assert.equal(large.status, 413);
});

test('[Q33] /status has the reply of /api/status', async () => {
  const { status, json } = await ask('GET /status');
  assert.equal(status, 200);
  assert.equal(misfit('get', '/api/status', status, json), '');
  assert.equal((await ask('POST /status')).headers.get('allow'), 'GET');
});

test('no page of another origin can read, frame or cache an answer', async () => {
  const { headers } = await ask('GET /api/session');
  assert.equal(headers.get('cache-control'), 'no-store');
  assert.equal(headers.get('x-content-type-options'), 'nosniff');
  assert.equal(headers.get('cross-origin-resource-policy'), 'same-origin');
  assert.match(headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/);
  assert.equal(headers.get('access-control-allow-origin'), null);
});

test('pages of the log follow each other by cursor, and the rows have every field of the log', async () => {
  const first = await ask('GET /api/requests?limit=1');
  assert.deepEqual([first.json.rows.length, first.json.more], [1, true]);
  const second = await ask(`GET /api/requests?limit=1&cursor=${first.json.next_cursor}`);
  assert.deepEqual([second.json.more, second.json.next_cursor], [false, null]);
  assert.deepEqual([first.json.rows[0].code, second.json.rows[0].key_id, second.json.rows[0].retries], ['unknown_endpoint', 'ci', 1]);
});
