// The route table decides: a path without a row does not exist, and the status of a row decides the answer to its requests (S3, S8, E1,
// E2).
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, test } from 'node:test';
import type { RouteConfig } from '../../../proxy/config/config.ts';
import { noteOf } from '../../../proxy/turn/routes/route-table.ts';
import type { RouteStatus } from '../../../proxy/turn/settings.ts';
import { type Draft, KEY, startGateway, type TestGateway } from '../../support/gateway.ts';
import { headOf, RawClient } from '../../support/network/raw.ts';

const STATUSES: readonly RouteStatus[] = ['supported', 'translated', 'partial', 'unsupported'];
/** The methods of HTTP clients, without CONNECT, whose target is not a path. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'];

let gate: TestGateway;
let rows: readonly RouteConfig[];
before(async () => {
  gate = await startGateway();
  rows = gate.config.routes;
  gate.upstream.clear();
});
after(() => gate.close());

interface Told {
  readonly status: number;
  readonly allow: string | undefined;
  readonly code: string | undefined;
}

/** A minimal request of any method, as bytes. */
function ask(at: TestGateway, method: string, path: string, key: string | undefined = KEY): Promise<Told> {
  return new Promise((resolve, reject) => {
    const sent = request(at.url + path, { method, headers: key === '' ? {} : { authorization: `Bearer ${key}` } }, async (response) => {
      const text = Buffer.concat(await response.toArray()).toString('utf8');
      const { error } = text.startsWith('{') ? JSON.parse(text) : {};
      // Errors of Messages have the code in their details (AM10).
      const code = error?.code ?? error?.details?.error_code;
      resolve({ status: response.statusCode ?? 0, allow: response.headers.allow, code });
    });
    sent.on('error', reject).end();
  });
}

const pathOf = ({ path }: RouteConfig): string => path.replace(/\{[^}]+\}/g, 'some-id');

test('[S3] on every path of the table every method that it does not list gets 405, and reaches no account', async () => {
  const listed = Map.groupBy(rows, pathOf);
  for (const [path, own] of listed) {
    const methods = new Set(own.map(({ method }) => (method === 'WS' ? 'GET' : method)) as string[]);
    // `GET /mcp` only says that there is no stream (G2, Q25).
    const allowed = new Set([...methods].filter((method) => path !== '/mcp' || method !== 'GET'));
    for (const method of METHODS.filter((name) => !methods.has(name))) {
      const told = await ask(gate, method, path);
      assert.equal(told.status, 405, `${method} ${path}`);
      assert.deepEqual(new Set(told.allow?.split(', ')), allowed, `${method} ${path}`);
      if (method !== 'HEAD') assert.equal(told.code, 'method_not_allowed');
    }
  }
  assert.deepEqual(gate.upstream.requests(), []);
});

test('[S3] [S6] a path that differs slightly from a path of the table is in no row, for any method, and reaches no account', async () => {
  const known = new Set(rows.map(pathOf));
  const patterns = rows.filter(({ path }) => path.includes('{')).map(({ path }) => new RegExp(`^${path.replace(/\{[^}]+\}/g, '[^/]+')}$`));
  const beside = [...known].flatMap((path) => [
    `${path}/`,
    `${path}/more`,
    `/more${path}`,
    path.slice(0, path.lastIndexOf('/')),
    path.toUpperCase(),
    `${path}x`,
  ]);
  const unknown = new Set(beside.filter((path) => path !== '' && !known.has(path) && !patterns.some((pattern) => pattern.test(path))));
  assert.ok(unknown.size > 100);
  for (const path of unknown) {
    const told = await ask(gate, 'GET', path);
    assert.deepEqual([told.status, told.code], [404, 'unknown_endpoint'], path);
  }
  for (const method of METHODS) assert.equal((await ask(gate, method, '/v1/engines')).status, 404, method);
  assert.deepEqual(gate.upstream.requests(), []);
});

test('[S8] every row of the shipped table has one of the four statuses', () => {
  assert.equal(rows.length, 72);
  for (const { method, path, status } of rows) assert.ok(STATUSES.includes(status), `${method} ${path}`);
  assert.deepEqual(new Set(rows.map(({ status }) => status)), new Set(STATUSES));
});

test('[S8] a request on each row gets what `routes` states for it', async () => {
  for (const row of rows) {
    const route = { ...row, kind: row.serve };
    const { status, code } = await ask(gate, row.method === 'WS' ? 'GET' : row.method, pathOf(row));
    const note = noteOf(route);
    const name = `${row.method} ${row.path}: ${status} ${code}`;
    if (row.method === 'WS') assert.equal(status, 426, name);
    else if (note === null) assert.notEqual(code, 'unsupported_endpoint', name);
    else assert.ok(note.endsWith(`${status} ${code}`), `${name}, not ${note}`);
  }
});

test('[S8] [C5] every GET row that is supported answers with the bundled provider, as in the shipped configuration', async () => {
  const read = rows.filter(({ method, status, path }) => method === 'GET' && status === 'supported' && !path.includes('{'));
  assert.ok(read.some(({ path }) => path.endsWith('/jwks')) && read.length >= 8);
  for (const row of read) assert.deepEqual([row.path, (await ask(gate, 'GET', row.path)).status], [row.path, 200]);
});

/** The table with this status on every row that a kind could serve, or on the named rows. */
const marked =
  (status: RouteStatus, named: (row: Draft) => boolean = () => true) =>
  (draft: Draft): void => {
    const table = draft.routes ?? rows.map(({ method, path, ...row }) => ({ [method]: path, ...row }));
    draft.routes = table.map((row: Draft) => (row.serve !== undefined && named(row) ? { ...row, status } : row));
  };

test('[S8] an operator closes rows by marking them unsupported, and opens them by another status, with a reload only', async () => {
  await using own = await startGateway();
  const served = rows.filter((row) => row.serve !== undefined && row.method !== 'WS' && row.status !== 'unsupported');
  assert.ok(served.length >= 6);
  await own.reconfigure(marked('unsupported'));
  own.upstream.clear();
  for (const row of served) {
    const [path, name] = [pathOf(row), `${row.method} ${row.path}`];
    const { status, code } = await ask(own, row.method, path);
    assert.deepEqual([status, code], [404, 'unsupported_endpoint'], name);
    if (row.path !== '/mcp') assert.equal((await ask(own, row.method, path, '')).status, 401, `${name} without a key`);
  }
  assert.deepEqual(own.upstream.turns(), []);
  for (const status of STATUSES.filter((word) => word !== 'unsupported')) {
    await own.reconfigure(marked(status));
    for (const row of served) {
      assert.notEqual((await ask(own, row.method, pathOf(row))).code, 'unsupported_endpoint', `${row.method} ${row.path} ${status}`);
    }
  }
  // Only one row changes.
  await own.reconfigure(marked('unsupported', (row) => row.GET === '/v1/models'));
  assert.equal((await ask(own, 'GET', '/v1/models')).code, 'unsupported_endpoint');
  assert.equal((await ask(own, 'GET', '/backend-api/agent/models')).status, 200);
});

test('[S8] a row that is removed from the table is unknown, and a row that is added exists', async () => {
  await using own = await startGateway();
  await own.reconfigure((draft) => {
    draft.routes = [{ GET: '/v1/engines', status: 'supported', serve: 'models' }];
  });
  assert.deepEqual((await ask(own, 'GET', '/v1/models')).code, 'unknown_endpoint');
  assert.equal((await ask(own, 'GET', '/v1/engines')).status, 200);
});

test('[E2] a realtime websocket is in no row, and gets the answer of any other unknown path', async () => {
  gate.upstream.clear();
  for (const path of ['/v1/realtime', '/v1/realtime?model=model-a', '/v1/realtime/sessions', '/backend-api/agent/realtime', '/realtime']) {
    using client = await RawClient.connect(gate.url);
    client.write(
      headOf('GET', path, {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': 13,
        'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
        'sec-websocket-protocol': 'realtime',
      }),
    );
    const { status, json } = await client.answer();
    assert.deepEqual([status, json.error.code], [404, 'unknown_endpoint'], path);
  }
  assert.deepEqual(gate.upstream.requests(), []);
});
