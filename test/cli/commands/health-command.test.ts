// `health` for containers and service managers: it uses the port of the file, even if the file has errors elsewhere.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { fileWith, SMALL } from '../../config/files.ts';
import { poolgate } from '../run.ts';

/** Starts a listener that answers 200 to these paths and 503 to all others; returns its port. */
async function listener(context: TestContext, ...paths: readonly string[]): Promise<number> {
  const server = createServer(({ url = '' }, response) => response.writeHead(paths.includes(url) ? 200 : 503).end('{}'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  context.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

const health = (context: TestContext, settings: string, ...options: readonly string[]) =>
  poolgate(['health', ...options, '--config', fileWith(context, settings)]);

test('health asks the admin listener of the file, and with --ready whether it takes traffic', async (context) => {
  const port = await listener(context, '/healthz');
  const file = `${SMALL}admin: { host: 0.0.0.0, port: ${port} }\n`;
  assert.deepEqual(await health(context, file), { code: 0, out: 'ok\n', err: '' });
  const starting = await health(context, file, '--ready');
  assert.deepEqual(starting, { code: 1, out: '', err: `http://127.0.0.1:${port}/readyz answers 503\n` });
  const ready = await listener(context, '/healthz', '/readyz');
  assert.deepEqual(await health(context, `${SMALL}admin: { port: ${ready} }\n`, '--ready'), { code: 0, out: 'ready\n', err: '' });
});

test('errors elsewhere in the file do not make a gateway that runs an unhealthy one', async (context) => {
  const port = await listener(context, '/healthz');
  const broken = `${SMALL}admin: { port: ${port} }\nlogg: { level: info }\nstore_key: { env: UNSET }\nretention: { requests_days: x }\n`;
  assert.equal((await health(context, broken)).code, 0);
  for (const syntax of ['pools: [', 'log: { level: "info }', '  : :', 'a: *b', '\t- x'])
    assert.equal((await health(context, `admin: { port: ${port} }\n${SMALL}${syntax}\n`)).code, 0, syntax);
  const { code, err } = await health(context, `${SMALL}admin: { port: four }\n`);
  assert.equal(code, 1);
  assert.match(err, /config\.yaml:\d+:\d+: admin\.port: must be/);
});

test('without the admin listener the metrics listener is asked, and without both the one of clients', async (context) => {
  const port = await listener(context, '/readyz');
  const ready = await health(context, `${SMALL}admin: false\nmetrics: { host: 127.0.0.1, port: ${port} }\n`, '--ready');
  assert.equal(ready.code, 0);
  const alone = `${SMALL}admin: false\nlisten: { port: ${port} }\n`;
  assert.equal((await health(context, alone)).code, 0, 'any answer');
  assert.equal((await health(context, alone, '--ready')).code, 1);
});

test('health fails where nothing answers, and where the port is not known', async (context) => {
  const unused = 1;
  assert.deepEqual(await health(context, `${SMALL}admin: { port: ${unused} }\n`), {
    code: 1,
    out: '',
    err: `no gateway answers at http://127.0.0.1:${unused}/healthz\n`,
  });
  assert.match((await health(context, `${SMALL}admin: { port: 0 }\n`)).err, /free port/);
});
