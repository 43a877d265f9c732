// How clients reach the gateway: with TLS whose files change, at a socket in the file system, and from which addresses.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect as dial } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type TLSSocket, connect as tlsConnect } from 'node:tls';
import { WebSocket } from 'ws';
import { type Draft, KEY, startGateway, type TestGateway } from '../support/gateway.ts';
import { frameOf, NATIVE_SOCKET } from '../support/native-frames.ts';
import { type SelfSigned, selfSigned } from '../support/network/certificate.ts';
import { startProgram } from '../support/program/program.ts';
import { PATIENCE_MS, until } from '../support/until.ts';
import { connect, UpgradeRefusal } from '../support/websocket.ts';

const DAY_MS = 86_400_000;
const certificate = (days = 10): SelfSigned =>
  selfSigned({ host: 'localhost', from: new Date(Date.now() - DAY_MS), until: new Date(Date.now() + days * DAY_MS) });
const TURN = { model: 'model-a', input: 'hello', stream: true };

let folder: string;
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'poolgate-ingress-'));
});
after(() => rmSync(folder, { recursive: true }));

interface Answer {
  readonly status: number;
  readonly text: string;
}

async function answerOf(request: ReturnType<typeof httpRequest>, body?: unknown): Promise<Answer> {
  const responded = once(request, 'response');
  request.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = (await responded) as [IncomingMessage];
  return { status: response.statusCode ?? 0, text: Buffer.concat(await response.toArray()).toString() };
}

const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };

describe('listen.tls', () => {
  const paths = (name: string) => ({ cert: join(folder, `${name}.pem`), key: join(folder, `${name}.key`) });
  const write = (name: string, { cert, key }: SelfSigned): void => {
    writeFileSync(paths(name).cert, cert);
    writeFileSync(paths(name).key, key);
  };
  const secured =
    (name: string) =>
    (draft: Draft): void => {
      draft.listen.tls = paths(name);
    };
  const portOf = (gate: TestGateway): number => Number(new URL(gate.url).port);
  const handshake = async (port: number, options: object = {}): Promise<TLSSocket> => {
    const socket = tlsConnect({ port, host: '127.0.0.1', servername: 'localhost', rejectUnauthorized: false, ...options });
    await once(socket, 'secureConnect');
    return socket;
  };

  test('turns, streams and websockets over TLS 1.2 and 1.3, and no older version', async () => {
    const pair = certificate();
    write('versions', pair);
    await using gate = await startGateway({ config: secured('versions') });
    const port = portOf(gate);
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const options = { port, host: '127.0.0.1', servername: 'localhost', ca: pair.cert, minVersion: version, maxVersion: version };
      const { status, text } = await answerOf(httpsRequest({ ...options, path: '/v1/responses', method: 'POST', headers }), TURN);
      assert.equal(status, 200);
      assert.match(text, /response\.completed/);
      const socket = new WebSocket(`wss://127.0.0.1:${port}${NATIVE_SOCKET}`, { headers, ...options, path: undefined } as object);
      await once(socket, 'open');
      socket.send(JSON.stringify({ type: 'response.create', ...frameOf('hello') }));
      const types: string[] = [];
      for await (const [data] of on(socket)) {
        types.push(JSON.parse(String(data)).type);
        if (types.at(-1) === 'response.completed') break;
      }
      socket.terminate();
    }
    await assert.rejects(handshake(port, { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }));
    assert.ok(gate.count('tls_handshakes_failed') > 0);
  });

  test('plain HTTP and a silent connection get nothing, and the gateway stops at once', async () => {
    write('plain', certificate());
    await using gate = await startGateway({ config: secured('plain') });
    const plain = dial(portOf(gate), '127.0.0.1');
    plain.write('GET /v1/models HTTP/1.1\r\nhost: a\r\n\r\n');
    await once(plain, 'close');
    await until('the counter', () => gate.count('tls_handshakes_failed') > 0 || undefined);
    const silent = dial(portOf(gate), '127.0.0.1');
    await once(silent, 'connect');
    const closed = once(silent, 'close');
    await gate.stop();
    await closed;
  });

  test('replaced files take effect for new connections, and open ones stay', async () => {
    const [first, second] = [certificate(10), certificate(20)];
    write('served', first);
    const program = await startProgram({ here: true, config: secured('served') });
    try {
      const port = Number(new URL(program.url).port);
      const open = await handshake(port);
      assert.equal(open.getPeerX509Certificate()?.toString(), first.cert);
      const requests = program.lines('config_read').length;
      // Between the two writes the certificate and the key do not belong together, and the former pair stays in use.
      writeFileSync(join(folder, 'next.key'), second.key);
      renameSync(join(folder, 'next.key'), paths('served').key);
      await program.line('reload_refused');
      const meanwhile = await handshake(port);
      assert.equal(meanwhile.getPeerX509Certificate()?.toString(), first.cert);
      writeFileSync(join(folder, 'next.pem'), second.cert);
      renameSync(join(folder, 'next.pem'), paths('served').cert);
      await program.line('config_read', requests);
      const renewed = await handshake(port);
      assert.equal(renewed.getPeerX509Certificate()?.toString(), second.cert);
      open.write(`GET /v1/models HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${KEY}\r\n\r\n`);
      const [answer] = await once(open, 'data');
      assert.match(String(answer), /^HTTP\/1\.1 200 /);
      for (const socket of [open, meanwhile, renewed]) socket.destroy();
      const metrics = await fetch(`http://127.0.0.1:${program.draft.admin.port}/metrics`).then((response) => response.text());
      const [, expiry] = /^poolgate_certificate_expiry_time_seconds\{listener="listen"\} (\S+)$/m.exec(metrics) ?? [];
      assert.ok(Math.abs(Number(expiry) - (Date.now() + 20 * DAY_MS) / 1_000) < 3_600, expiry);
      assert.equal((await program.poolgate('health')).code, 0);
    } finally {
      await program[Symbol.asyncDispose]();
    }
  });
});

describe('listen.unix', () => {
  const at = (name: string): string => join(folder, `${name}.sock`);
  const ask = (path: string, options: object = {}): Promise<Answer> =>
    answerOf(httpRequest({ socketPath: path, path: '/v1/responses', method: 'POST', headers, ...options }), TURN);

  test('serves the same routes beside the port, to those who may write to it', async () => {
    const path = at('beside');
    await using gate = await startGateway({
      config: (draft) => {
        draft.listen.unix = { path, mode: '0600' };
        draft.keys[0].allow_from = ['127.0.0.0/8', 'unix'];
      },
    });
    assert.equal(statSync(path).mode & 0o777, 0o600);
    const { status, text } = await ask(path);
    assert.equal(status, 200);
    assert.match(text, /response\.completed/);
    assert.equal((await gate.send('/v1/responses', { body: TURN })).status, 200);
    const socket = new WebSocket(`ws+unix:${path}:${NATIVE_SOCKET}`, { headers });
    await once(socket, 'open');
    socket.terminate();
    await gate.stop();
    assert.ok(!existsSync(path));
  });

  test('takes the place of the port, in a folder that it creates', async () => {
    const path = at('run/alone');
    await using gate = await startGateway({
      config: (draft) => {
        draft.listen = { port: false, unix: { path } };
      },
    });
    assert.equal((await ask(path)).status, 200);
    await gate.stop();
    assert.ok(!existsSync(path));
  });

  test('ends the start if nothing can be created in its folder', {
    timeout: PATIENCE_MS,
    skip: existsSync('/proc/self') ? false : 'needs /proc',
  }, async () => {
    const config = (draft: Draft): void => {
      draft.listen = { port: false, unix: { path: '/proc/run/alone.sock' } };
    };
    await assert.rejects(startGateway({ config }), { code: 'ENOENT' });
  });
});

describe('keys with allow_from', () => {
  const only =
    (networks: readonly string[], proxies: readonly string[] = []) =>
    (draft: Draft): void => {
      draft.keys[0].allow_from = networks;
      draft.listen.trusted_proxies = proxies;
    };

  test('a matching secret from another address is refused with 401 on each surface, and an unknown one learns nothing', async () => {
    await using gate = await startGateway({ config: only(['10.0.0.0/8']) });
    for (const [path, body] of [
      ['/v1/responses', TURN],
      ['/v1/chat/completions', { model: 'model-a', messages: [{ role: 'user', content: 'hello' }] }],
      ['/backend-api/agent/responses', frameOf('hello')],
    ] as const) {
      const { status, json, headers: answered } = await gate.send(path, { body });
      assert.equal(status, 401);
      assert.deepEqual(json.error, {
        message: 'This API key may not be used from this address.',
        type: 'invalid_request_error',
        code: 'ip_not_authorized',
        param: null,
      });
      assert.equal(answered.get('www-authenticate'), 'Bearer');
    }
    const message = await gate.send('/v1/messages', {
      body: { model: 'model-a', max_tokens: 5, messages: [{ role: 'user', content: 'a' }] },
    });
    assert.deepEqual([message.status, message.json.error.type], [401, 'authentication_error']);
    const unknown = await gate.send('/v1/responses', { body: TURN, headers: { authorization: 'Bearer other' } });
    assert.equal(unknown.json.error.code, 'invalid_api_key');
    await assert.rejects(connect(gate, NATIVE_SOCKET), (thrown) => thrown instanceof UpgradeRefusal && thrown.status === 401);
    assert.deepEqual(gate.upstream.turns(), []);
  });

  test('the address is what the trusted proxy says, and only a trusted one is believed', async () => {
    await using gate = await startGateway({ config: only(['203.0.113.0/24'], ['127.0.0.0/8']) });
    const from = async (forwarded?: string): Promise<number> => {
      const own: Record<string, string> = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
      return (await gate.send('/v1/responses', { body: TURN, headers: own })).status;
    };
    assert.equal(await from('203.0.113.9'), 200);
    assert.equal(await from('198.51.100.1, 203.0.113.9, 127.0.0.5'), 200);
    assert.equal(await from('203.0.113.9, 198.51.100.1'), 401);
    assert.equal(await from('unknown'), 401);
    assert.equal(await from(), 401);
    await gate.reconfigure((draft) => {
      draft.listen.trusted_proxies = [];
    });
    assert.equal(await from('203.0.113.9'), 401);
    for (const { headers: sent } of gate.upstream.turns()) assert.equal(sent['x-forwarded-for'], undefined);
  });

  test('an open websocket whose address is no longer permitted ends', async () => {
    await using gate = await startGateway();
    const socket = await connect(gate, NATIVE_SOCKET);
    await socket.turn(frameOf('hello'));
    await gate.reconfigure(only(['10.0.0.0/8']));
    assert.equal((await socket.closed).code, 1008);
  });
});

describe('log.client_address', () => {
  const rowsOf = (gate: TestGateway) => gate.rows();

  test('rows have no address by default', async () => {
    await using gate = await startGateway();
    await gate.send('/v1/responses', { body: TURN });
    assert.deepEqual(
      (await rowsOf(gate)).map(({ client_address }) => client_address),
      [null],
    );
  });

  test('rows have the address behind the proxies, also of refused requests and of frames', async () => {
    await using gate = await startGateway({
      config: (draft) => {
        draft.log = { client_address: true };
        draft.listen.trusted_proxies = ['127.0.0.1'];
      },
    });
    const forwarded = { 'x-forwarded-for': '203.0.113.9' };
    await gate.send('/v1/responses', { body: TURN, headers: forwarded });
    await gate.send('/v1/responses', { body: TURN, headers: { ...forwarded, authorization: 'Bearer other' } });
    await gate.send('/v1/responses', { body: TURN });
    const socket = await connect(gate, NATIVE_SOCKET, { headers: forwarded });
    await socket.turn(frameOf('hello'));
    const rows = await rowsOf(gate);
    assert.deepEqual(rows.map(({ client_address }) => client_address).sort(), ['127.0.0.1', '203.0.113.9', '203.0.113.9', '203.0.113.9']);
    assert.ok(!gate.logged.join('').includes('203.0.113.9'));
  });
});

/** The messages of a websocket, one after another. */
async function* on(socket: WebSocket): AsyncGenerator<unknown[]> {
  const messages: unknown[][] = [];
  let wake = (): void => undefined;
  socket.on('message', (...message: unknown[]) => {
    messages.push(message);
    wake();
  });
  for (;;) {
    const next = messages.shift();
    if (next) yield next;
    else
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
  }
}
