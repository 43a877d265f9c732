// `diff` and `reload` against an admin listener.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { redact, versionOf } from '../../../proxy/config/diff.ts';
import { loadConfig } from '../../../proxy/config/loading/load.ts';
import { Reloader } from '../../../proxy/config/loading/reloader.ts';
import { ConfigError } from '../../../proxy/config/schema/finding.ts';
import { fileWith, SMALL } from '../../config/files.ts';
import { poolgate } from '../run.ts';

/** A server with the admin routes of these commands, and a file with its port. */
async function gateway(context: TestContext): Promise<string> {
  let reloader: Reloader | undefined;
  const server = createServer(async (request, response) => {
    const { status, body } = await (request.url === '/api/reload' ? reloadAnswer(reloader) : statusAnswer(reloader));
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  context.after(() => server.close());
  const path = fileWith(context, `${SMALL}admin: { port: ${(server.address() as AddressInfo).port} }\n`);
  reloader = new Reloader((await loadConfig(path)).loaded, () => undefined);
  return path;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

function statusAnswer(reloader: Reloader | undefined): Answer {
  assert.ok(reloader);
  const { config } = reloader.running;
  return { status: 200, body: { version: versionOf(config), uptime_s: 1, config: redact(config) } };
}

async function reloadAnswer(reloader: Reloader | undefined): Promise<Answer> {
  assert.ok(reloader);
  try {
    return { status: 200, body: await reloader.reload() };
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return { status: 422, body: { error: 'the file has errors', findings: error.findings } };
  }
}

test('diff lists what a reload would change, and nothing after the reload', async (context) => {
  const path = await gateway(context);
  assert.deepEqual(await poolgate(['diff', '--exit-code', '--config', path]), { code: 0, out: 'no difference\n', err: '' });
  await poolgate(['mode', 'set', 'team', 'model-a', 'lite', '--config', path]);
  const change = 'pools[team].serving_modes.model-a: added "lite"\n';
  assert.equal((await poolgate(['diff', '--config', path])).out, change);
  assert.equal((await poolgate(['diff', '--exit-code', '--config', path])).code, 1);
  const reloaded = await poolgate(['reload', '--config', path]);
  assert.equal(reloaded.code, 0);
  assert.match(reloaded.out, /^pools\[team\]\.serving_modes\.model-a: added "lite"\nnow running on [0-9a-f]{12}\n$/);
  assert.equal((await poolgate(['diff', '--config', path])).out, 'no difference\n');
  assert.equal((await poolgate(['reload', '--config', path])).out, 'nothing changed\n');
});

test('diff --json names both versions and the changes', async (context) => {
  const path = await gateway(context);
  await poolgate(['key', 'pause', 'ci', '--config', path]);
  const { running, file, changes } = JSON.parse((await poolgate(['diff', '--json', '--config', path])).out);
  assert.notEqual(running, file);
  assert.deepEqual(changes, [{ path: 'keys[ci].status', kind: 'changed', from: 'active', to: 'paused', restart: false }]);
});

test('reload of an invalid file reports the findings and keeps the configuration', async (context) => {
  const path = await gateway(context);
  writeFileSync(path, readFileSync(path, 'utf8').replace('pool: team', 'pool: taem'));
  const { code, err } = await poolgate(['reload', '--config', path]);
  assert.equal(code, 1);
  assert.match(err, /^the gateway keeps its configuration; the file has errors:\n.*keys\[ci\]\.pool: there is no Pool 'taem'/);
});

test('without a reachable gateway the commands report it and exit with 1', async (context) => {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  const gone = await poolgate(['status', '--config', fileWith(context, `${SMALL}admin: { port: ${port} }\n`)]);
  assert.deepEqual([gone.code, gone.err], [1, `no gateway answers at http://127.0.0.1:${port}; is it running, and on this file?\n`]);
  const off = await poolgate(['reload', '--config', fileWith(context, `${SMALL}admin: false\n`)]);
  assert.equal(off.code, 1);
  assert.match(off.err, /admin: false.*SIGHUP/);
});

for (const [what, begin] of [
  ['no answer', () => undefined],
  ['half an answer', (response: ServerResponse) => response.writeHead(200, { 'content-type': 'application/json' }).write('{')],
] as const) {
  test(`a gateway that gives ${what} in time is not reported as absent`, async (context) => {
    const server = createServer((_request, response) => void begin(response)).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    context.after(() => {
      server.closeAllConnections();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    const timeout = AbortSignal.timeout;
    context.mock.method(AbortSignal, 'timeout', (ms: number) => timeout(ms / 100));
    const { code, err } = await poolgate(['status', '--config', fileWith(context, `${SMALL}admin: { port: ${port} }\n`)]);
    assert.deepEqual([code, err], [1, `the gateway at http://127.0.0.1:${port} did not answer within 15 s\n`]);
  });
}

test('a reply in another form is reported as one of another version, for every command that reads one', async (context) => {
  const replies = [
    '{}',
    '{"version":7,"config":{}}',
    'null',
    'text',
    '{"turns":[{}],"changes":[{}],"turn":{},"attempts":[],"version":"1"}',
  ];
  let body = '';
  const server = createServer((_, response) => response.end(body)).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  context.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const path = fileWith(context, `${SMALL}admin: { port: ${port} }\n`);
  const foreign = (request: string) =>
    `the answer of http://127.0.0.1:${port} to ${request} (HTTP 200) is not from a gateway of this version`;
  for (body of replies) {
    for (const [args, request] of [
      [['status'], 'GET /api/status'],
      [['top'], 'GET /api/status'],
      [['requests'], 'GET /api/requests'],
      [['diff'], 'GET /api/status'],
      [['reload'], 'POST /api/reload'],
      [['explain', '--turn', 'req_1'], 'GET /api/requests/req_1'],
    ] as const) {
      const { code, out, err } = await poolgate([...args, '--config', path]);
      assert.deepEqual([code, out, err], [1, '', `${foreign(request)}; is another version running?\n`], body);
    }
    const explained = await poolgate(['explain', 'POST', '/v1/responses', '--key', 'ci', '--config', path]);
    assert.equal(explained.code, 0);
    assert.ok(explained.out.includes(`from the file alone: ${foreign('GET /api/explain')}`));
  }
});
