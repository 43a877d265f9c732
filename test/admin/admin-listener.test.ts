// The admin listener: its answers, and the refusal of requests of web pages.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { AdminServer, AnswerFault, adminJson } from '../../proxy/admin/admin-listener.ts';
import { Log } from '../../proxy/base/process/log.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { headOf, RawClient } from '../support/network/raw.ts';

let gate: TestGateway;
before(async () => {
  gate = await startGateway();
});
after(() => gate.close());

async function ask(method: string, path: string, headers: Readonly<Record<string, string | undefined>> = {}, url = gate.adminUrl) {
  using client = await RawClient.connect(url);
  client.write(headOf(method, path, { authorization: undefined, host: '127.0.0.1', ...headers }));
  await client.until(() => client.pending.includes('\r\n\r\n'), 'a head');
  const head = client.pending;
  return method === 'HEAD' ? { status: Number(head.slice(9, 12)), text: head.split('\r\n\r\n')[1] } : client.answer();
}

test('health and readiness are answered to GET and HEAD', async () => {
  for (const path of ['/healthz', '/readyz', '/healthz?verbose']) {
    assert.equal((await ask('GET', path)).status, 200, path);
    assert.deepEqual(await ask('HEAD', path), { status: 200, text: '' });
  }
});

test('the admin listener and the public listener share no path', async () => {
  for (const path of ['/v1/models', '/backend-api/agent/models', '/metricss']) assert.equal((await ask('GET', path)).status, 404);
  for (const path of ['/healthz', '/readyz', '/status', '/metrics', '/reload']) assert.equal((await gate.send(path)).status, 404);
});

test('requests of a web page of another origin are refused, and of one with a host name that was bound to loopback', async () => {
  const host = '127.0.0.1:4001';
  for (const headers of [
    { origin: 'http://evil.example' },
    { origin: 'http://127.0.0.1:4002' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ]) {
    assert.equal((await ask('GET', '/api/status', { host, ...headers })).status, 403, JSON.stringify(headers));
  }
  for (const headers of [{ origin: `http://${host}` }, { 'sec-fetch-site': 'same-origin' }, { 'sec-fetch-site': 'none' }]) {
    assert.equal((await ask('GET', '/api/status', { host, ...headers })).status, 200, JSON.stringify(headers));
  }
  for (const method of ['POST', 'PUT', 'DELETE']) {
    const { status } = await ask(method, '/api/reload', { host, origin: `http://${host}`, 'content-length': '0' });
    assert.equal(status, 403, 'without the header of a write');
  }
  for (const host of [
    'evil.example',
    'evil.example:4001',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    '[::2]:4001',
    '10.0.0.1',
    '',
    undefined,
  ]) {
    const { status } = await ask('GET', '/api/status', { host });
    assert.ok(status === 403 || status === 400, `${host}: ${status}`);
  }
  for (const host of ['127.0.0.1', '127.0.0.1:4001', 'localhost', 'LOCALHOST:4001', '[::1]:4001', '127.1.2.3']) {
    assert.equal((await ask('GET', '/healthz', { host })).status, 200, host);
  }
});

test('a listener on other addresses accepts every host name', async () => {
  const server = new AdminServer(new Log('error'));
  const site = { isProxied: () => false, answer: () => adminJson(200, {}) };
  const { port } = await server.listen(async () => site, { host: '0.0.0.0', port: 0 });
  const { status } = await ask('GET', '/healthz', { host: 'poolgate.monitoring:4001' }, `http://127.0.0.1:${port}`);
  assert.equal(status, 200);
  await server.close();
});

test('the metrics listener has only health, readiness and metrics', async () => {
  await using other = await startGateway({ config: (draft) => (draft.metrics = { host: '0.0.0.0', port: 0 }) });
  const url = other.metricsUrl;
  for (const path of ['/healthz', '/readyz', '/metrics']) {
    assert.equal((await ask('GET', path, { host: 'node-a:4003' }, url)).status, 200, path);
  }
  for (const path of ['/api/status', '/api/requests', '/api/session', '/'])
    assert.equal((await ask('GET', path, {}, url)).status, 404, path);
  const command = { 'x-poolgate-command': '1', 'content-length': '0' };
  for (const path of ['/api/reload', '/api/accounts/north/restore', '/api/session', '/metrics']) {
    assert.equal((await ask('POST', path, command, url)).status, 404, path);
  }
});

test('an answer that fails is a fixed 500, and the log has the class and the place of the error, and nothing of the request', async () => {
  const lines: string[] = [];
  const site = {
    isProxied: () => false,
    answer: () => {
      throw new AnswerFault('GET /api/status', Object.assign(new TypeError('canary'), { code: 'ERR_STATUS' }));
    },
  };
  const server = new AdminServer(new Log('error', (line) => lines.push(line)));
  const { port } = await server.listen(async () => site, { host: '127.0.0.1', port: 0 });
  const answer = await ask('GET', '/api/status?id=canary', {}, `http://127.0.0.1:${port}`);
  await server.close();
  assert.equal(answer.status, 500);
  const [line = '{}', ...others] = lines;
  const { at, place, ...fields } = JSON.parse(line);
  assert.match(place, /^proxy\/admin\/admin-listener\.ts:\d+$/);
  assert.deepEqual(fields, {
    level: 'error',
    event: 'admin_answer_failed',
    route: 'GET /api/status',
    thrown: 'TypeError',
    code: 'ERR_STATUS',
  });
  assert.deepEqual(others, []);
  assert.ok(!JSON.stringify([answer, line]).includes('canary'));
});
