// `check`, and exit codes, help and JSON output of all commands.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileWith, SMALL } from '../../config/files.ts';
import { startGateway } from '../../support/gateway.ts';
import { selfSigned } from '../../support/network/certificate.ts';
import { COMMAND } from '../../support/program/program-run.ts';
import { poolgate } from '../run.ts';

const BROKEN = SMALL.replace('pools:', 'pool:');
const REAL = SMALL.replace('"rehearsal:"', 'https://a.example\n    credential: { bearer: { env: TOKEN } }');

test('check lists every error with its place, and exits with 1', async (context) => {
  const path = fileWith(context, BROKEN);
  const { code, out } = await poolgate(['check', '--config', path]);
  assert.equal(code, 1);
  assert.equal(
    out,
    `${path}:1:1: 'pools' is missing
${path}:4:1: pool: unknown key; did you mean 'pools'?
${path}:10:11: keys[ci].pool: there is no Pool 'team'
${path}: 3 errors
`,
  );
});

test('check of a valid file counts its contents, and exits with 0', async (context) => {
  const path = fileWith(context, SMALL);
  const { code, out } = await poolgate(['check', '--config', path]);
  assert.equal(code, 0);
  assert.equal(out, `${path}: no findings (1 account, 1 Pool, 1 key, 0 operators, 72 routes)\n`);
});

test('an unset variable is a warning in check and an error in check --strict', async (context) => {
  const path = fileWith(context, REAL);
  const lenient = await poolgate(['check', '--config', path]);
  assert.equal(lenient.code, 0);
  assert.match(
    lenient.out,
    /:4:34: warning: accounts\[north\]\.credential\.bearer\.env: the environment variable TOKEN is not set\n.*: 1 warning \(/,
  );
  const strict = await poolgate(['check', '--strict', '--config', path]);
  assert.equal(strict.code, 1);
  assert.match(strict.out, /:4:34: accounts\[north\]\.credential\.bearer\.env: the environment variable TOKEN is not set\n.*: 1 error\n$/);
  assert.equal((await poolgate(['check', '--strict', '--config', path], { TOKEN: 'x' })).code, 0);
});

test("check warns about a listener's certificate that has expired or soon will", async (context) => {
  const at = (days: number): Date => new Date(Date.now() + days * 86_400_000);
  for (const [until, said] of [
    [at(-1), 'this certificate has expired'],
    [at(13), `this certificate expires on ${at(13).toISOString().slice(0, 10)}`],
    [at(15), undefined],
  ] as const) {
    const { cert, key } = selfSigned({ host: 'localhost', from: new Date(0), until });
    const path = fileWith(context, `${SMALL}listen: { tls: { cert: own.pem, key: own.key } }\n`);
    writeFileSync(join(dirname(path), 'own.pem'), cert);
    writeFileSync(join(dirname(path), 'own.key'), key);
    const { code, out } = await poolgate(['check', '--config', path]);
    const summary = `${path}: ${said ? '1 warning' : 'no findings'} (1 account, 1 Pool, 1 key, 0 operators, 72 routes)\n`;
    assert.deepEqual([code, out.replace(/:\d+:\d+:/, ':')], [0, said ? `${path}: warning: listen.tls.cert: ${said}\n${summary}` : summary]);
  }
});

test('[AM20] check warns about a target of an alias that the running gateway does not list, and is silent without a gateway', async (context) => {
  const gate = await startGateway();
  const aliases = 'aliases: { claude-*: model-a, claude-haiku-*: model-mimi }';
  const file = (port: number): string =>
    fileWith(context, SMALL.replace('- id: team', `- id: team\n    ${aliases}`).concat(`admin: { port: ${port} }\n`));
  const asked = await poolgate(['check', '--config', file(Number(new URL(gate.adminUrl).port))]);
  assert.equal(asked.code, 0, asked.out);
  assert.match(
    asked.out,
    /:6:51: warning: pools\[team\]\.aliases\.…: the running gateway lists no model 'model-mimi' in this Pool; did you mean 'model-mini'\?\n.*: 1 warning \(/,
  );
  await gate.close();
  const alone = await poolgate(['check', '--config', file(Number(new URL(gate.adminUrl).port))]);
  assert.match(alone.out, /: no findings \(/);
});

test('check --json prints the findings as JSON', async (context) => {
  const path = fileWith(context, BROKEN);
  const { code, out } = await poolgate(['check', '--json', '--config', path]);
  assert.equal(code, 1);
  const { ok, findings } = JSON.parse(out);
  assert.equal(ok, false);
  assert.deepEqual(findings[0], { file: path, line: 1, column: 1, message: "'pools' is missing", severity: 'error' });
});

test('other commands refuse an invalid file with the same findings, on stderr or in JSON', async (context) => {
  const path = fileWith(context, BROKEN);
  const plain = await poolgate(['routes', '--config', path]);
  assert.deepEqual([plain.code, plain.out], [1, '']);
  assert.match(plain.err, /config\.yaml:4:1: pool: unknown key; did you mean 'pools'\?/);
  const asJson = await poolgate(['routes', '--json', '--config', path]);
  assert.deepEqual([asJson.code, asJson.err, JSON.parse(asJson.out).findings.length], [1, '', 3]);
});

test('an invalid command line exits with 2, and help with 0', async () => {
  for (const args of [['nothing'], ['check', '--sctrict'], ['explain', 'GET'], ['mode', 'set', 'team', 'model-a', 'fast'], ['key'], []]) {
    const { code, out } = await poolgate(args);
    assert.deepEqual([args, code, out], [args, 2, '']);
  }
  for (const args of [
    ['check', '--help'],
    ['key', 'create', '--help'],
  ]) {
    const { code, out } = await poolgate(args);
    assert.equal(code, 0);
    assert.match(out, /^Examples:\n {2}poolgate /);
  }
  const { code, out } = await poolgate(['--version']);
  assert.deepEqual([code, /^\d+\.\d+\.\d+\n$/.test(out)], [0, true]);
});

test('the process exits with the code of the command, and reads config.yaml of its folder', async (context) => {
  const path = fileWith(context, BROKEN);
  const { code, out } = await new Promise<{ readonly code: unknown; readonly out: string }>((resolve) => {
    execFile(process.execPath, [...COMMAND, 'check'], { cwd: dirname(path) }, (error, out) => resolve({ code: error?.code, out }));
  });
  assert.equal(code, 1);
  assert.match(out, /^config\.yaml:1:1: 'pools' is missing\n/);
});
