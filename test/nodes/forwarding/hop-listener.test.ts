// The internal listener: a request that another node signed is accepted once and within its time; everything else is refused (Q34).
import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { WebSocketServer } from 'ws';
import { Counters } from '../../../proxy/base/process/metrics.ts';
import { decodeClient, encodeClient, type ForwardedClient } from '../../../proxy/nodes/forwarded-client.ts';
import { type Hop, HopListener, type HopRefusal, hopPath } from '../../../proxy/nodes/hop-listener.ts';
import { HOP_HEADER, HopSignature } from '../../../proxy/nodes/hop-signature.ts';
import type { Limits, Timeouts } from '../../../proxy/turn/settings.ts';
import { KEY } from '../../support/gateway.ts';
import { headOf, RawClient } from '../../support/network/raw.ts';
import { startNodes } from '../../support/nodes/nodes.ts';
import { interrupted } from '../../support/stages/interrupted-turns.ts';
import { until } from '../../support/until.ts';

const CLIENT: ForwardedClient = {
  key: 'ci',
  pool: 'team',
  path: '/backend-api/agent/responses',
  query: '?client_version=1',
  headers: { 'x-agent-window-id': 'thread-1:0', 'user-agent': 'ünïcode' },
  turn_id: 't1',
};

const PATH = hopPath('a/1');
const UPGRADE = {
  authorization: undefined,
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

interface Stage {
  readonly url: string;
  readonly counters: Counters;
  /** The time of the listener in Unix milliseconds. */
  readonly time: { now: number };
  /** The requests that the listener accepted. */
  readonly hops: Hop[];
  /** Signs like another node, at the time of the listener. */
  sign(changes?: { secret?: string; path?: string; client?: string; at?: number }): Readonly<Record<string, string>>;
  /** The status of the answer to a request; 0 if the connection ends without one. */
  ask(method: string, path: string, headers: Readonly<Record<string, string | undefined>>): Promise<number>;
}

async function stageFor(context: TestContext, refusal?: HopRefusal): Promise<Stage> {
  const time = { now: 1_000_000_000 };
  const counters = new Counters();
  const hops: Hop[] = [];
  const listener = new HopListener({
    path: PATH,
    signature: new HopSignature('secret', () => time.now),
    counters,
    limits: { header_bytes: 4096, connections: 3 } as Limits,
    timeouts: { client_header_ms: 2_000 } as Timeouts,
    accept: (hop) => {
      if (refusal) return refusal;
      hops.push(hop);
      const server = new WebSocketServer({ noServer: true });
      server.on('headers', (lines) => lines.push(...Object.entries(hop.headers).map(([name, value]) => `${name}: ${value}`)));
      server.handleUpgrade(hop.request, hop.socket, hop.head, (ws) => ws.terminate());
      return undefined;
    },
  });
  const { port } = await listener.listen('127.0.0.1', 0);
  context.after(() => listener.close());
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    counters,
    time,
    hops,
    sign: ({ secret = 'secret', path = PATH, client = encodeClient(CLIENT), at = time.now } = {}) =>
      new HopSignature(secret, () => at).sign({ method: 'GET', path, client, node: 'b' }).headers,
    async ask(method, path, headers) {
      using raw = await RawClient.connect(url);
      raw.write(headOf(method, path, { ...UPGRADE, ...headers }));
      return (await raw.answer().catch(() => ({ status: 0 }))).status;
    },
  };
}

test('[Q34] a signed request is accepted with the client that it names, and the answer is signed too', async (context) => {
  const stage = await stageFor(context);
  const signer = new HopSignature('secret', () => stage.time.now);
  const { headers, answer } = signer.sign({ method: 'GET', path: PATH, client: encodeClient(CLIENT), node: 'b' });
  using raw = await RawClient.connect(stage.url);
  raw.write(headOf('GET', PATH, { ...UPGRADE, ...headers }));
  const { status, headers: answered } = await raw.answer();
  assert.deepEqual([status, answered[HOP_HEADER.signature]], [101, answer]);
  assert.deepEqual(
    stage.hops.map(({ client }) => client),
    [CLIENT],
  );
  assert.equal(stage.counters.values.hops_refused, 0);
});

suite('[Q34] the internal listener answers 401', () => {
  for (const name of Object.values(HOP_HEADER)) {
    test(`without ${name}, and where it was changed`, async (context) => {
      const stage = await stageFor(context);
      const signed = stage.sign();
      const value = signed[name] ?? '';
      const other = name === HOP_HEADER.time ? String(Number(value) + 1) : `${value.slice(0, -2)}${value.endsWith('xx') ? 'yy' : 'xx'}`;
      for (const changed of [undefined, '', other, `${value}x`])
        assert.equal(await stage.ask('GET', PATH, { ...signed, [name]: changed }), 401);
      assert.deepEqual([stage.hops.length, stage.counters.values.hops_refused], [0, 4]);
      assert.equal(await stage.ask('GET', PATH, signed), 101, 'as it was signed');
    });
  }

  test('for another method and another path than were signed', async (context) => {
    const stage = await stageFor(context);
    assert.equal(await stage.ask('POST', PATH, stage.sign()), 401);
    assert.equal(await stage.ask('GET', hopPath('a/2'), stage.sign()), 401);
    assert.equal(await stage.ask('GET', `${PATH}?x=1`, stage.sign()), 401);
  });

  test('for a signature with another secret', async (context) => {
    const stage = await stageFor(context);
    assert.equal(await stage.ask('GET', PATH, stage.sign({ secret: 'Secret' })), 401);
  });

  test('past 30 s, in both directions', async (context) => {
    const stage = await stageFor(context);
    for (const [apart, status] of [
      [-30_001, 401],
      [-30_000, 101],
      [30_000, 101],
      [30_001, 401],
      [Number.NaN, 401],
    ] as const)
      assert.equal(await stage.ask('GET', PATH, stage.sign({ at: stage.time.now + apart })), status, String(apart));
  });

  test('to a request that was accepted before, even after the remembered nonces were replaced', async (context) => {
    const stage = await stageFor(context);
    // The request arrives as late as it can be accepted, and is repeated as late as its time allows.
    const signed = stage.sign({ at: stage.time.now + 30_000 });
    assert.equal(await stage.ask('GET', PATH, signed), 101);
    for (let i = 0; i < 12; i++) {
      stage.time.now += 5_000;
      assert.equal(await stage.ask('GET', PATH, signed), 401);
      assert.equal(await stage.ask('GET', PATH, stage.sign()), 101);
    }
    assert.equal(stage.hops.length, 13);
  });

  test('to all other requests: with a Pool key, unsigned, of other protocols, or with an invalid client', async (context) => {
    const stage = await stageFor(context);
    assert.equal(await stage.ask('GET', PATH, { authorization: `Bearer ${KEY}` }), 401);
    assert.equal(await stage.ask('GET', '/backend-api/agent/responses', { authorization: `Bearer ${KEY}` }), 401);
    const plain = { connection: undefined, upgrade: undefined };
    for (const method of ['GET', 'POST', 'OPTIONS', 'DELETE'])
      assert.equal(await stage.ask(method, PATH, { ...stage.sign(), ...plain }), 401);
    assert.equal(await stage.ask('CONNECT', 'other:443', {}), 401);
    assert.equal(await stage.ask('GET', PATH, { ...stage.sign(), upgrade: 'h2c' }), 401);
    for (const client of ['bm9uZQ', encodeClient({ ...CLIENT, key: 1 as unknown as string }), Buffer.from('[]').toString('base64url')])
      assert.equal(await stage.ask('GET', PATH, stage.sign({ client })), 401);
    assert.equal(stage.hops.length, 0);
  });
});

test('[Q34] a node without a turn for the client answers 404, one that stops 503, and a former process at the address has another path', async (context) => {
  for (const refusal of [404, 503] as const) {
    const stage = await stageFor(context, refusal);
    assert.equal(await stage.ask('GET', PATH, stage.sign()), refusal);
  }
  const stage = await stageFor(context);
  const path = hopPath('a/2');
  assert.equal(await stage.ask('GET', path, stage.sign({ path })), 404);
  assert.equal(stage.counters.values.hops_refused, 0);
});

test('[Q34] the internal listener has limits of its own for headers and their time, and reads nothing but HTTP', async (context) => {
  const stage = await stageFor(context);
  assert.equal(await stage.ask('GET', PATH, { ...stage.sign(), 'x-more': 'x'.repeat(12_000) }), 400);
  using garbage = await RawClient.connect(stage.url);
  garbage.write('\u0016\u0003\u0001 no http\r\n\r\n');
  assert.equal((await garbage.answer()).status, 400);
  {
    using slow = await RawClient.connect(stage.url);
    slow.write(`GET ${PATH} HTTP/1.1\r\n`);
    assert.equal((await slow.answer()).status, 400);
    await slow.ended();
  }
});

test('[Q34] the internal listener accepts as many connections as the public one, and counts the others', async (context) => {
  const stage = await stageFor(context);
  const open = await Promise.all(Array.from({ length: 3 }, () => RawClient.connect(stage.url)));
  using more = await RawClient.connect(stage.url);
  await more.ended();
  assert.equal(stage.counters.values.hops_refused, 1);
  for (const raw of open) raw.close();
});

test('[Q34] a client is read back as it was written, and from no other text', () => {
  assert.deepEqual(decodeClient(encodeClient(CLIENT)), CLIENT);
  for (const text of ['', '!', Buffer.from('null').toString('base64url'), encodeClient({ ...CLIENT, headers: { a: undefined } }).slice(4)])
    assert.equal(decodeClient(text), undefined);
});

test('[Q34] a Pool key is refused on the internal listener of a node', async () => {
  await using nodes = await startNodes(['a']);
  const { a } = nodes;
  const socket = await interrupted(a, 4);
  const [{ address = '', owner = '' } = {}] = await nodes.owned();
  for (const path of ['/v1/responses', '/backend-api/agent/responses', '/healthz', hopPath(owner)]) {
    using raw = await RawClient.connect(address);
    raw.write(headOf('GET', path, { ...UPGRADE, authorization: `Bearer ${KEY}` }));
    assert.equal((await raw.answer()).status, 401);
  }
  socket.terminate();
  await until('the refusals', () => (a.count('hops_refused') === 4 ? true : undefined));
});
