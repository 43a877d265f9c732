// The local checks of `doctor`: configuration, Node, gateway and ports, memory, open files, and modes of files.
import assert from 'node:assert/strict';
import { chmodSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { inspect } from '../../proxy/config/loading/load.ts';
import { nodeDiagnosis, OLDEST_NODE } from '../../proxy/doctor/doctor.ts';
import { machineDiagnoses } from '../../proxy/doctor/machine-checks.ts';
import { statusFailure } from '../../proxy/turn/errors/failure.ts';
import { OLDEST_NODE as OLDEST_OF_SETUP } from '../../scripts/setup.mjs';
import { openStore } from '../../store/store.ts';
import { poolgate } from '../cli/run.ts';
import { fileAt, fileWith, SMALL } from '../config/files.ts';
import { startGateway } from '../support/gateway.ts';
import { selfSigned } from '../support/network/certificate.ts';
import { doctor, fileFor, listening, SECRET, secretFile } from './support.ts';

test('a correct machine has no problem, and exit code 0', async (context) => {
  const path = fileFor(context);
  const { code, out, err } = await poolgate(['doctor', '--config', path]);
  assert.deepEqual([code, err], [0, '']);
  assert.match(out, /^ok +configuration {2}\S+config\.yaml has no errors and no warnings\.\n/);
  assert.match(out, /^ok +node\.js +Node is v24\.\d+\.\d+\.$/m);
  assert.match(out, /^ok +gateway +No gateway runs; 127\.0\.0\.1:0 and 127\.0\.0\.1:0 can be listened on\.$/m);
  assert.match(out, /^ok +files +No other user can read the secrets, or write the files and folders\.$/m);
  assert.match(out, /^ok +store +\S+poolgate\.db does not exist; the first start creates it\.$/m);
  assert.match(out, /^ok +connection +All accounts are simulated: no address is asked\.$/m);
  assert.match(out, /^0 problems, \d warnings?\n$/m);
});

test('a finding of the file is a problem or a warning, and advice follows its line', async (context) => {
  const path = fileWith(context, SMALL.replace('pools:', 'pool:'));
  const { code, out } = await poolgate(['doctor', '--config', path]);
  assert.equal(code, 1);
  assert.match(
    out,
    /^problem +configuration +\S+config\.yaml:4:1: pool: unknown key; did you mean 'pools'\?\n +-> Correct the file, then run doctor again/m,
  );
  assert.match(out, /^3 problems, 0 warnings\n$/m);
  assert.ok(!/^\w+ +(?:gateway|files|store) /m.test(out));
});

test('an unset variable is a warning, because the gateway may start from another environment', async (context) => {
  const text = readFileSync(fileFor(context, { accounts: ['http://127.0.0.1:1'] }), 'utf8').replace('{ file: token-0 }', '{ env: TOKEN }');
  const path = fileWith(context, text);
  const [warning] = (await doctor(path, ['--offline'])).of('configuration');
  assert.match(warning ?? '', /^warning: .*the environment variable TOKEN is not set$/);
  const set = await doctor(path, ['--offline'], { TOKEN: SECRET });
  assert.equal(set.of('configuration').length, 1);
  assert.match(set.of('configuration')[0] ?? '', /^ok: /);
  assert.ok(!set.out.includes(SECRET));
});

test('an old Node is a problem; the oldest one is that of the set-up', () => {
  assert.equal(OLDEST_NODE, OLDEST_OF_SETUP);
  for (const [version, level] of [
    ['v22.19.0', 'problem'],
    ['v24.8.1', 'problem'],
    ['v24.9.0', 'ok'],
    ['v24.21.0', 'ok'],
    ['v26.0.0', 'ok'],
  ] as const) {
    assert.deepEqual([version, nodeDiagnosis(version).level], [version, level]);
  }
});

async function configOf(edit: (text: string) => string) {
  const { config, findings } = await inspect(edit(SMALL), { path: 'config.yaml', env: {} });
  assert.ok(config, JSON.stringify(findings));
  return config;
}

test('memory and open files of the machine are compared with the limits of the file', async () => {
  const levels = (config: Awaited<ReturnType<typeof configOf>>, memory_bytes: number, open_files: number | null) =>
    machineDiagnoses(config, { memory_bytes, open_files }).map(({ check, level }) => `${check} ${level}`);
  const config = await configOf(
    (text) => `${text}limits: { connections: 1000, bodies_in_memory_bytes: ${400 << 20}, replies_in_memory_bytes: ${308 << 20} }\n`,
  );
  // 708 MiB of bodies and replies and 192 MiB for the rest are 900 MiB: 90 % of 1,000 MiB.
  assert.deepEqual(levels(config, 1000 << 20, 2256), ['memory ok', 'open files ok']);
  assert.deepEqual(levels(config, 999 << 20, 2255), ['memory warning', 'open files warning']);
  assert.deepEqual(levels(config, 999 << 20, null), ['memory warning']);
  const [memory, files] = machineDiagnoses(config, { memory_bytes: 500 << 20, open_files: 1024 });
  assert.match(memory?.advice ?? '', /to 258 MiB together/);
  assert.match(files?.advice ?? '', /limits\.connections to at most 384\./);
});

test('a running gateway is asked: ready, on this file, and logged in', async (context) => {
  await using gate = await startGateway();
  const other = fileAt(context, gate);
  assert.deepEqual((await doctor(other)).of('gateway'), [
    'ok: A gateway runs and takes traffic.',
    'warning: The running gateway has another configuration than the file.',
  ]);
  const advice = (await doctor(other)).checks.find(({ message }) => message.startsWith('The running gateway has another'))?.advice;
  assert.match(advice ?? '', /^this gateway runs on \S+, not on \S+config\.yaml: name its file with --config$/);
  gate.fail('south', 'model-a', statusFailure(401, {}, Buffer.from('{}'), Date.now()));
  const report = await doctor(other);
  assert.match(report.of('gateway').join(), /problem: The provider refuses the credential of account south\./);
  assert.match(report.checks.find(({ level }) => level === 'problem')?.advice ?? '', /poolgate account relogin south/);
  assert.equal(report.code, 1);
});

test('a port that another program uses is a problem; without an admin listener that program may be the gateway', async (context) => {
  const port = await listening(
    context,
    createServer((_request, response) => response.end()),
  );
  const path = fileFor(context);
  const text = readFileSync(path, 'utf8').replace('admin: { port: 0 }', `admin: { port: ${port} }`);
  writeFileSync(path, text.replace('listen: { port: 0 }', 'listen: { host: 192.0.2.1, port: 4000 }'));
  const report = await doctor(path);
  assert.deepEqual(report.of('gateway'), [
    'problem: 192.0.2.1:4000 cannot be listened on (EADDRNOTAVAIL).',
    `problem: 127.0.0.1:${port} is in use; the answer of http://127.0.0.1:${port} to GET /api/status (HTTP 200) is not from a gateway of this version; is another version running?`,
  ]);
  writeFileSync(path, text.replace('listen: { port: 0 }', `listen: { port: ${port} }`).replace(/admin: .*/, 'admin: false'));
  const [warning, ...rest] = (await doctor(path)).of('gateway');
  assert.match(warning ?? '', new RegExp(`^warning: 127\\.0\\.0\\.1:${port} is in use; the admin listener is turned off`));
  assert.deepEqual(rest, []);
  writeFileSync(path, `${readFileSync(fileFor(context), 'utf8')}metrics: { host: 127.0.0.1, port: ${port} }\n`);
  assert.match((await doctor(path)).of('gateway').join(), new RegExp(`127\\.0\\.0\\.1:${port} is in use`));
});

test('a node among others has one more port, and a secret of its own', async (context) => {
  const port = await listening(context, createServer());
  const path = fileFor(context);
  const node = `node: { id: one, listen: { port: ${port} }, address: "http://127.0.0.1:${port}", secret: { file: node.secret } }\n`;
  const text = readFileSync(path, 'utf8').replace('store: sqlite:poolgate.db', 'store: { postgres: { env: DATABASE_URL } }');
  writeFileSync(path, `${text}${node}`);
  secretFile(join(dirname(path), 'node.secret'), 0o644);
  const report = await doctor(path);
  assert.match(report.of('files').join(), /problem: \S+node\.secret: every user of the machine can read it/);
  assert.match(report.of('gateway').join(), new RegExp(`127\\.0\\.0\\.1:${port} is in use`));
  assert.match(report.of('store').join(), /^warning: The URL of the database is not set here/);
  assert.ok(!report.out.includes(SECRET));
});

/** A file with a store and a key that the gateway has made. */
async function withStore(context: TestContext): Promise<{ readonly path: string; readonly folder: string }> {
  const path = fileFor(context, { accounts: ['http://127.0.0.1:1'] });
  const folder = dirname(path);
  const store = await openStore(`sqlite:${join(folder, 'poolgate.db')}`, { clock: Date.now });
  await store.close();
  secretFile(join(folder, 'store.key'), 0o600);
  return { path, folder };
}

test('files that others can read or write are named with the command that corrects them', async (context) => {
  const { path, folder } = await withStore(context);
  const faultsOf = async (name: string, mode: number): Promise<readonly string[]> => {
    const file = join(folder, name);
    const { mode: before } = statSync(file);
    chmodSync(file, mode);
    const { checks } = await doctor(path, ['--offline']);
    chmodSync(file, before);
    return checks
      .filter(({ check }) => check === 'files')
      .map(({ level, message, advice = '' }) => `${level}: ${message} ${advice}`.replaceAll(folder, '~').trimEnd());
  };
  const all = 'every user of the machine';
  const rows: readonly (readonly [string, number, readonly string[]])[] = [
    ['store.key', 0o600, ['ok: No other user can read the secrets, or write the files and folders.']],
    ['store.key', 0o644, [`problem: ~/store.key: ${all} can read it (mode 0644). chmod 600 ~/store.key`]],
    ['token-0', 0o640, ['warning: ~/token-0: its group can read it (mode 0640). chmod 600 ~/token-0']],
    ['token-0', 0o622, [`problem: ~/token-0: ${all} can write it (mode 0622). chmod 600 ~/token-0`]],
    ['poolgate.db', 0o644, [`warning: ~/poolgate.db: ${all} can read it (mode 0644). chmod 600 ~/poolgate.db`]],
    ['poolgate.db', 0o640, ['ok: No other user can read the secrets, or write the files and folders.']],
    ['config.yaml', 0o644, ['ok: No other user can read the secrets, or write the files and folders.']],
    ['config.yaml', 0o664, ['warning: ~/config.yaml: its group can write it (mode 0664). chmod go-w ~/config.yaml']],
    ['config.yaml', 0o646, [`problem: ~/config.yaml: ${all} can write it (mode 0646). chmod go-w ~/config.yaml`]],
    ['.', 0o777, [`problem: ~: ${all} can replace files in this folder. chmod o-w ~`]],
    ['.', 0o1777, ['ok: No other user can read the secrets, or write the files and folders.']],
  ];
  for (const [name, mode, expected] of rows) assert.deepEqual(await faultsOf(name, mode), expected, `${name} ${mode.toString(8)}`);
});

test('a missing key of a store that exists is a warning', async (context) => {
  const { path, folder } = await withStore(context);
  rmSync(join(folder, 'store.key'));
  assert.match(
    (await doctor(path, ['--offline'])).of('files').join(),
    /^warning: \S+store\.key: the key of the store is missing, and the store exists\.$/,
  );
});

test("the listener's certificate is checked for its end, and its key for who may read it", async (context) => {
  for (const [days, level, said] of [
    [-1, 'problem', 'has expired'],
    [5, 'warning', 'is valid for 4 more days'],
    [30, 'ok', 'is valid for 29 more days'],
  ] as const) {
    const { cert, key } = selfSigned({ host: 'localhost', from: new Date(0), until: new Date(Date.now() + days * 86_400_000) });
    const path = fileFor(context, { rest: '' });
    writeFileSync(join(dirname(path), 'own.pem'), cert);
    writeFileSync(join(dirname(path), 'own.key'), key, { mode: 0o644 });
    chmodSync(join(dirname(path), 'own.key'), 0o644);
    writeFileSync(
      path,
      readFileSync(path, 'utf8').replace('listen: { port: 0 }', 'listen: { port: 0, tls: { cert: own.pem, key: own.key } }'),
    );
    const report = await doctor(path, ['--offline']);
    assert.deepEqual(report.of('certificate'), [`${level}: The certificate of listen.tls ${said}.`]);
    assert.match(report.of('files').join('\n'), /^problem: .*own\.key: every user of the machine can read it/m);
  }
});
