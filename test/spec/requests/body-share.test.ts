// The memory for bodies under pressure: the key that holds the most bytes loses a body to a key that holds fewer (Q4, Q38).
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { type Draft, KEY, startGateway, type TestGateway } from '../../support/gateway.ts';
import { frameOf, NATIVE_SOCKET, typesOf } from '../../support/native-frames.ts';
import { headOf, RawClient } from '../../support/network/raw.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { until } from '../../support/until.ts';
import { connect } from '../../support/websocket.ts';

const PATH = '/backend-api/agent/responses';
const BODY = 100_000;
const MOST = 8;
const nameOf = (i: number): string => `other-${i}`;
const bearer = (secret: string): Record<string, string> => ({ authorization: `Bearer ${secret}` });

const started = (): Promise<TestGateway> =>
  startGateway({
    upstream: { accounts: ['north'], manners: { streamedUnstoredLists: false, knownMembers: false } },
    config: (draft: Draft) => {
      draft.limits = { bodies_in_memory_bytes: MOST * BODY };
      for (let i = 0; i < 3; i++) draft.keys.push({ id: nameOf(i), pool: 'team', secret_sha256: [hash('sha256', nameOf(i), 'hex')] });
    },
  });

const held = (gate: TestGateway, least: number): Promise<unknown> =>
  until('bodies that fill the memory', () => gate.bodyBytes >= least || undefined);

/** Starts bodies that grow by one byte at a time. */
async function trickling(gate: TestGateway, secret = KEY): Promise<readonly RawClient[]> {
  const clients: RawClient[] = [];
  for (let i = 0; i < MOST; i++) {
    const client = await RawClient.connect(gate.url);
    client.write(headOf('POST', PATH, { ...bearer(secret), 'content-type': 'application/json', 'content-length': BODY }));
    // One of the bodies is larger than the others.
    client.write(Buffer.alloc(i === 3 ? BODY - 2_000 : BODY - 4_000, ' '));
    clients.push(client);
  }
  await held(gate, MOST * (BODY - 4_000));
  for (const client of clients) client.write(' ');
  return clients;
}

const close = (clients: readonly RawClient[]): void => {
  for (const client of clients) client.close();
};

test('[Q38] bodies of one key that trickle do not keep another key out: the largest of them is refused with 503', async () => {
  await using gate = await started();
  const clients = await trickling(gate);
  const body = turnBody('hello', { stream: false, padding: 'x'.repeat(60_000) });
  assert.equal((await gate.send(PATH, { body, headers: bearer(nameOf(0)) })).status, 200);
  assert.equal(gate.count('bodies_displaced'), 1);
  const { status, json, headers } = (await clients[3]?.answer()) ?? assert.fail('no client');
  assert.deepEqual([status, json.error.code], [503, 'server_is_overloaded']);
  assert.ok(headers['retry-after']);
  const others = clients.filter((_, i) => i !== 3);
  assert.deepEqual(
    others.filter(({ over, pending }) => over || pending !== '').map((client) => clients.indexOf(client)),
    [],
    'no other body is refused',
  );
  assert.equal(gate.count('bodies_guard_refused'), 0);
  close(clients);
  await until('nothing is held', () => gate.bodyBytes === 0 || undefined);
});

test('[Q38] a key does not displace its own bodies, nor those of keys that hold less than it would', async () => {
  await using gate = await started();
  const clients = await trickling(gate);
  assert.equal((await gate.send(PATH, { body: turnBody('x'.repeat(60_000), { stream: false }) })).status, 503);
  const small = await RawClient.connect(gate.url);
  small.write(headOf('POST', PATH, { ...bearer(nameOf(0)), 'content-type': 'application/json', 'content-length': BODY }));
  small.write(Buffer.alloc(40_000, ' '));
  await until('room for the small body', () => gate.count('bodies_displaced') === 1 || undefined);
  assert.equal((await gate.send(PATH, { body: turnBody('x'.repeat(90_000), { stream: false }) })).status, 503);
  assert.deepEqual([gate.count('bodies_displaced'), small.over, small.pending], [1, false, '']);
  close([...clients, small]);
});

test('[Q38] a frame that trickles gives way to a body of another key, and to a frame', async () => {
  await using gate = await started();
  const frames: RawClient[] = [];
  for (let i = 0; i < MOST; i++) {
    const client = await RawClient.connect(gate.url);
    client.write(
      headOf('GET', NATIVE_SOCKET, {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      }),
    );
    assert.equal((await client.answer()).status, 101);
    const head = Buffer.alloc(14);
    head.set([0x81, 0xff]);
    head.writeBigUInt64BE(BigInt(BODY), 2);
    client.write(Buffer.concat([head, Buffer.alloc(BODY - 1_000, ' ')]));
    frames.push(client);
  }
  await held(gate, MOST * (BODY - 1_000));
  const body = turnBody('hello', { stream: false, padding: 'x'.repeat(60_000) });
  assert.equal((await gate.send(PATH, { body, headers: bearer(nameOf(0)) })).status, 200);
  using socket = await connect(gate, NATIVE_SOCKET, { headers: bearer(nameOf(1)) });
  assert.equal(typesOf(await socket.turn(frameOf('x'.repeat(90_000)))).at(-1), 'response.completed');
  assert.equal(gate.count('bodies_guard_refused'), 0);
  const closed = frames.filter(({ pending }) => pending !== '');
  assert.deepEqual(
    closed.map(({ pending }) => Buffer.from(pending, 'latin1').readUInt16BE(2)),
    closed.map(() => 1013),
  );
  assert.ok(closed.length >= 1 && closed.length <= 2);
  assert.equal(gate.count('bodies_displaced'), closed.length);
  close(frames);
  await until('nothing is held', () => gate.bodyBytes === 0 || undefined);
});

test('[Q38] keys that fill the memory together leave room for a key that holds less than each of them', async () => {
  await using gate = await started();
  const clients = [...(await trickling(gate)), ...(await trickling(gate, nameOf(0)))];
  for (let i = 0; i < 4; i++) {
    const body = turnBody('hello', { stream: false, padding: 'x'.repeat(90_000) });
    assert.equal((await gate.send(PATH, { body, headers: bearer(nameOf(1)) })).status, 200);
  }
  close(clients);
});
