// How clients reach the program: its start-up line with TLS and with a socket in the file system, and a socket that a crash has left.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { folderFor } from '../config/files.ts';
import { KEY } from '../support/gateway.ts';
import { selfSigned } from '../support/network/certificate.ts';
import { type Program, startProgram } from '../support/program/program.ts';

/** The status of a turn at a socket of the file system. */
async function ask(path: string): Promise<number | undefined> {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
  const turn = request({ socketPath: path, path: '/v1/responses', method: 'POST', headers });
  turn.end(JSON.stringify({ model: 'model-a', input: 'hello', stream: true }));
  const [response] = await once(turn, 'response');
  response.resume();
  return response.statusCode;
}

/** Starts a program whose start-up line has no address. */
async function startProgramAt(context: TestContext, path: string): Promise<Program> {
  const program = await startProgram({
    config: (draft) => {
      draft.listen = { port: false, unix: { path } };
    },
  });
  context.after(() => program[Symbol.asyncDispose]());
  return program;
}

test('the start-up line has the scheme of a listener with TLS', async (context) => {
  const folder = folderFor(context);
  const day = 86_400_000;
  const pair = selfSigned({ host: 'localhost', from: new Date(Date.now() - day), until: new Date(Date.now() + day) });
  const tls = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
  writeFileSync(tls.cert, pair.cert);
  writeFileSync(tls.key, pair.key);
  await using program = await startProgram({
    config: (draft) => {
      draft.listen.tls = tls;
    },
  });
  assert.match(program.url, /^https:/);
  assert.equal((await program.poolgate('health')).code, 0);
});

test('a socket takes the place of the port, in the start-up line and for the commands', async (context) => {
  const path = join(folderFor(context), 'alone.sock');
  const started = await startProgramAt(context, path);
  assert.equal(await ask(path), 200);
  assert.match(started.written, new RegExp(`^poolgate serves ${path}, admin http`, 'm'));
  assert.equal((await started.poolgate('health')).code, 0);
  const { code, err } = await started.poolgate('client', 'openai');
  assert.equal(code, 1);
  assert.match(err, new RegExp(path));
  assert.match((await started.poolgate('doctor', '--offline', '--json')).out, /A gateway runs/);
});

test('a socket that a killed gateway left is replaced; one at which another process listens is not', async (context) => {
  const folder = folderFor(context);
  const path = join(folder, 'left.sock');
  const killed = await startProgramAt(context, path);
  await killed.kill();
  assert.ok(existsSync(path));
  await killed.run();
  assert.equal(await ask(path), 200);
  const other = join(folder, 'taken.sock');
  const server = createServer().listen(other);
  context.after(() => server.close());
  await assert.rejects(startProgramAt(context, other), /EADDRINUSE/);
  assert.ok(existsSync(other));
});

test('a file that is not a socket is left alone, and the start ends', async (context) => {
  const path = join(folderFor(context), 'notes.txt');
  writeFileSync(path, 'kept');
  await assert.rejects(startProgramAt(context, path), /cannot listen: \S+notes\.txt exists and is not a socket/);
  assert.equal(readFileSync(path, 'utf8'), 'kept');
});

test('the message of a socket whose folder cannot be created names what is in its place', async (context) => {
  const file = join(folderFor(context), 'file');
  writeFileSync(file, '');
  await assert.rejects(startProgramAt(context, join(file, 'run', 'one.sock')), /cannot listen: EEXIST: .* mkdir '.*file'/);
});
