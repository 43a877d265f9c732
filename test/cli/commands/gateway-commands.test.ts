// `diff` and `reload` against an admin listener.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { stage } from '../../admin/edits/stage.ts';
import { fileWith, SMALL } from '../../config/files.ts';
import { poolgate } from '../run.ts';

test('diff lists what a reload would change, and nothing after the reload', async (context) => {
  const { path, file } = await stage(context, { onLoopback: true });
  assert.deepEqual(await poolgate(['diff', '--exit-code', '--config', path]), { code: 0, out: 'no difference\n', err: '' });
  writeFileSync(path, file().replace('label: Team', 'label: Team\n    serving_modes: { model-a: lite }'));
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
  const { path, file } = await stage(context, { onLoopback: true });
  writeFileSync(path, file().replace('id: ci\n', 'id: ci\n    status: paused\n'));
  const { running, file: next, changes } = JSON.parse((await poolgate(['diff', '--json', '--config', path])).out);
  assert.notEqual(running, next);
  assert.deepEqual(changes, [{ path: 'keys[ci].status', kind: 'changed', from: 'active', to: 'paused', restart: false }]);
});

test('reload of an invalid file reports the findings and keeps the configuration', async (context) => {
  const { path, file } = await stage(context, { onLoopback: true });
  writeFileSync(path, file().replace('pool: team', 'pool: taem'));
  const { code: differs, err: why } = await poolgate(['diff', '--config', path]);
  assert.equal(differs, 1);
  assert.match(why, /keys\[ci\]\.pool: there is no Pool 'taem'; did you mean 'team'\?\n$/);
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
      [['diff'], 'GET /api/config'],
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
