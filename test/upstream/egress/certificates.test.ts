// Accounts whose hosts have certificates of a private authority, demand a client certificate, or also speak HTTP/2, with and without
// proxies.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect as dial } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { createServer, type PeerCertificate, type TlsOptions } from 'node:tls';
import { type Draft, type Reply, startGateway, type TestGateway } from '../../support/gateway.ts';
import { frameOf, NATIVE_SOCKET, typesOf } from '../../support/native-frames.ts';
import { selfSigned } from '../../support/network/certificate.ts';
import { httpProxy, socksProxy } from '../../support/network/proxies.ts';
import { connect } from '../../support/websocket.ts';

const DAY_MS = 86_400_000;
const dates = { from: new Date(Date.now() - DAY_MS), until: new Date(Date.now() + DAY_MS) };
/** A name that no resolver knows; only the proxies of these tests have its address. */
const NAME = 'provider.test';
const provider = selfSigned({ host: NAME, ...dates });
const local = selfSigned({ host: 'localhost', ...dates });
const client = selfSigned({ host: 'gateway.test', ...dates });

let folder: string;
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'poolgate-certificates-'));
  for (const [name, { cert, key }] of Object.entries({ provider, local, client })) {
    writeFileSync(join(folder, `${name}.pem`), cert);
    writeFileSync(join(folder, `${name}.key`), key);
  }
});
after(() => rmSync(folder, { recursive: true }));

const pem = (name: string): string => join(folder, `${name}.pem`);

interface Front {
  readonly port: number;
  /** The client certificates of its connections in order; an empty object if none was sent. */
  readonly shown: readonly PeerCertificate[];
  /** The protocol of each connection; false if the client named none. */
  readonly protocols: readonly (string | false | null)[];
  readonly failures: readonly string[];
}

/** Starts a TLS server in front of an account of the tests. */
async function front(context: TestContext, target: string, options: TlsOptions): Promise<Front> {
  const shown: PeerCertificate[] = [];
  const protocols: (string | false | null)[] = [];
  const failures: string[] = [];
  const server = createServer({ ALPNProtocols: ['h2', 'http/1.1'], ...options }, (socket) => {
    protocols.push(socket.alpnProtocol);
    shown.push(socket.getPeerCertificate());
    const inner = dial(Number(new URL(target).port), '127.0.0.1');
    socket.pipe(inner).pipe(socket);
    for (const one of [socket, inner]) one.on('error', () => undefined);
    socket.once('close', () => inner.destroy());
    inner.once('close', () => socket.destroy());
    context.after(() => socket.destroy());
  });
  server.on('tlsClientError', ({ message }) => failures.push(message));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(() => server.close());
  return { port: (server.address() as AddressInfo).port, shown, protocols, failures };
}

async function staged(
  context: TestContext,
  host: string,
  options: TlsOptions,
  edit: (account: Draft, front: Front) => void,
): Promise<{ readonly gate: TestGateway; readonly front: Front }> {
  // The gateway needs the address of the front, and the front needs that of the account, so the account starts first.
  const gate = await startGateway({ upstream: { accounts: ['north'] } });
  context.after(() => gate.close());
  const placed = await front(context, gate.upstream.urlOf('north'), options);
  await gate.reconfigure((draft) => {
    draft.accounts[0].base_url = `https://${host}:${placed.port}`;
    draft.timeouts.upstream_connect_ms = 2_000;
    edit(draft.accounts[0], placed);
  });
  gate.heal();
  gate.upstream.clear();
  return { gate, front: placed };
}

const turn = (gate: TestGateway): Promise<Reply> =>
  gate.send('/v1/responses', { body: { model: 'model-a', input: 'hello', stream: true } });

async function everyCarrier(gate: TestGateway): Promise<void> {
  const answered = await turn(gate);
  assert.match(answered.text, /response\.completed/);
  const image = await gate.send('/backend-api/agent/images/generations', { body: { model: 'gpt-image-1', prompt: 'a tree' } });
  assert.equal(image.status, 200, image.text);
  const socket = await connect(gate, NATIVE_SOCKET);
  assert.equal(typesOf(await socket.turn(frameOf('hello'))).at(-1), 'response.completed');
  assert.equal(gate.upstream.upgrades('north').length, 1);
  socket.close();
}

test('[RB42] the authority of an account is trusted on every carrier, and a host that prefers HTTP/2 gets HTTP/1.1', async (context) => {
  const { gate, front: placed } = await staged(context, 'localhost', local, (account) => {
    account.tls = { ca: pem('local') };
  });
  await everyCarrier(gate);
  assert.ok(placed.protocols.includes('http/1.1') && !placed.protocols.includes('h2'), placed.protocols.join());
});

test('without the authority nothing is sent', async (context) => {
  const { gate, front: placed } = await staged(context, 'localhost', local, () => undefined);
  assert.equal((await turn(gate)).status, 502);
  assert.deepEqual(gate.upstream.requests('north'), []);
  assert.deepEqual(placed.shown, []);
});

test('a client certificate is shown on every carrier to an account that demands one', async (context) => {
  const demand = { ...local, requestCert: true, rejectUnauthorized: true, ca: client.cert };
  const { gate, front: placed } = await staged(context, 'localhost', demand, (account) => {
    account.tls = { ca: pem('local'), cert: pem('client'), key: join(folder, 'client.key') };
  });
  await everyCarrier(gate);
  assert.ok(placed.shown.length >= 3);
  for (const { subject } of placed.shown) assert.ok(subject);
});

for (const [scheme, start] of [
  ['http', httpProxy],
  ['socks5', socksProxy],
] as const) {
  test(`a proxy of ${scheme} resolves the name of the account: this machine does not know it`, async (context) => {
    const { gate } = await staged(context, '127.0.0.1', provider, () => undefined);
    await using proxy = await start({ names: { [NAME]: '127.0.0.1' } });
    await gate.reconfigure((draft) => {
      const [north] = draft.accounts;
      north.base_url = north.base_url.replace('127.0.0.1', NAME);
      north.proxy = { url: `${scheme}://127.0.0.1:${proxy.port}` };
      north.tls = { ca: pem('provider') };
    });
    gate.heal();
    await everyCarrier(gate);
    assert.ok(proxy.opened.length >= 3);
    for (const opened of proxy.opened) assert.match(opened, new RegExp(`^${NAME}:\\d+$`));
  });
}

test('the connection to an https proxy is encrypted, and shows no client certificate', async (context) => {
  const { gate, front: placed } = await staged(
    context,
    '127.0.0.1',
    { ...provider, requestCert: true, rejectUnauthorized: false },
    () => undefined,
  );
  await using proxy = await httpProxy({ names: { [NAME]: '127.0.0.1' }, tls: local });
  writeFileSync(join(folder, 'both.pem'), provider.cert + local.cert);
  await gate.reconfigure((draft) => {
    const [north] = draft.accounts;
    north.base_url = north.base_url.replace('127.0.0.1', NAME);
    north.proxy = { url: `https://localhost:${proxy.port}` };
    north.tls = { ca: join(folder, 'both.pem'), cert: pem('client'), key: join(folder, 'client.key') };
  });
  gate.heal();
  await everyCarrier(gate);
  assert.ok(proxy.opened.length >= 3);
  assert.ok(placed.shown.every(({ subject }) => subject !== undefined));
});

test('a changed certificate file takes effect with a reload, on new connections', async (context) => {
  const path = join(folder, 'rotating.pem');
  writeFileSync(path, client.cert);
  const { gate } = await staged(context, 'localhost', local, (account) => {
    account.tls = { ca: path };
  });
  assert.equal((await turn(gate)).status, 502);
  writeFileSync(path, local.cert);
  await gate.reconfigure(() => undefined);
  gate.heal();
  assert.match((await turn(gate)).text, /response\.completed/);
});
