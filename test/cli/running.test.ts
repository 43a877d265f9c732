// `diff`, `reload` and `status` against a gateway's admin listener.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { redact, versionOf } from '../../proxy/config/diff.ts';
import { ConfigError } from '../../proxy/config/finding.ts';
import { loadConfig } from '../../proxy/config/load.ts';
import { Reloader } from '../../proxy/config/reloader.ts';
import { fileWith, SMALL } from '../config/files.ts';
import { poolgate } from './run.ts';

/** A gateway as far as these commands see one, on a file of its own that names its port. */
async function gateway(context: TestContext): Promise<string> {
  let reloader: Reloader | undefined;
  const server = createServer(async (request, response) => {
    const { status, body } = await (request.url === '/reload' ? reloadAnswer(reloader) : statusAnswer(reloader));
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
    return { status: 422, body: { findings: error.findings } };
  }
}

test('diff tells what a reload would change, reload changes it, and then they agree', async (context) => {
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

test('a gateway that finds its file broken keeps its configuration, and reload tells the findings', async (context) => {
  const path = await gateway(context);
  const broken = fileWith(context, readFileSync(path, 'utf8'));
  writeFileSync(path, readFileSync(path, 'utf8').replace('pool: team', 'pool: taem'));
  // Asked through a valid file of the same address: the gateway reads its own.
  const { code, err } = await poolgate(['reload', '--config', broken]);
  assert.equal(code, 1);
  assert.match(err, /^the gateway keeps its configuration; the file has mistakes:\n.*keys\[ci\]\.pool: there is no Pool 'taem'/);
});

test('status shows how the gateway is, and its configuration only as JSON', async (context) => {
  const path = await gateway(context);
  const plain = await poolgate(['status', '--config', path]);
  assert.match(plain.out, /^version: "?[0-9a-f]{12}"?\nuptime_s: 1\n$/);
  assert.equal(JSON.parse((await poolgate(['status', '--json', '--config', path])).out).config.keys[0].id, 'ci');
});

test('where no gateway answers, or none could, the commands say so and exit with 1', async (context) => {
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
