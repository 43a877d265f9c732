// A request that asks for another protocol and gets HTTP is the last one on its connection, because Node's parser loses its position after
// it: a part of the next request would be dropped, and the rest would be read as another request.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { KEY, startGateway, type TestGateway } from '../../support/gateway.ts';
import { headOf, postOf, RawClient } from '../../support/network/raw.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';

const NATIVE = '/backend-api/agent/responses';

let gate: TestGateway;
before(async () => {
  gate = await startGateway({ upstream: { accounts: ['north'], manners: { streamedUnstoredLists: false } } });
});
after(() => gate.close());

for (const [what, bytes, status] of [
  ['h2c', headOf('GET', '/v1/models', { upgrade: 'h2c', connection: 'upgrade' }), 200],
  ['h2c, with a body', postOf(NATIVE, turnBody('one', { stream: false }), { upgrade: 'h2c', connection: 'upgrade' }), 200],
  ['a websocket, on a row that has none', headOf('GET', '/v1/models', { upgrade: 'websocket', connection: 'upgrade' }), 200],
  ['a websocket, by POST', postOf(NATIVE, turnBody('one', { stream: false }), { upgrade: 'websocket', connection: 'upgrade' }), 200],
  ['h2c, on no row', headOf('GET', '/nowhere', { upgrade: 'h2c', connection: 'upgrade' }), 404],
] as const) {
  test(`an upgrade to ${what}: one answer, the connection ends, and bytes after it are not read as a request`, async () => {
    // The body of the second request is itself a request.
    const smuggled = postOf(NATIVE, turnBody('smuggled'));
    const next = postOf(NATIVE, smuggled);
    for (const behind of [next, next.slice(0, -smuggled.length)]) {
      gate.upstream.clear();
      using client = await RawClient.connect(gate.url);
      client.write(bytes + behind);
      const answer = await client.answer();
      assert.deepEqual([answer.status, answer.headers.connection], [status, 'close']);
      client.write(smuggled);
      assert.equal(await client.ended(), '');
      assert.equal(gate.upstream.turns().filter(({ body }) => body.includes('smuggled')).length, 0);
    }
  });
}

const WEBSOCKET = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': 13,
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

for (const [whose, authorization, status] of [
  ['with a key', `Bearer ${KEY}`, 426],
  ['without one', undefined, 401],
] as const) {
  test(`an upgrade ${whose} after a request that is not answered yet gets its own answer, after that of the request`, async () => {
    gate.upstream.clear();
    gate.upstream.next('north', 'stall before headers');
    using client = await RawClient.connect(gate.url);
    client.write(postOf(NATIVE, turnBody('one', { stream: false })) + headOf('GET', NATIVE, { ...WEBSOCKET, authorization }));
    await gate.upstream.stalled('north');
    gate.upstream.release('north');
    const [first, second] = [await client.answer(), await client.answer()];
    assert.deepEqual([first.status, first.json?.object], [200, 'response']);
    assert.deepEqual([second.status, second.headers.upgrade], [status, status === 426 ? 'websocket' : undefined]);
    assert.equal(await client.ended(), '');
    assert.equal(gate.websockets, 0);
  });
}

test('an upgrade after an answered request becomes a websocket', async () => {
  using client = await RawClient.connect(gate.url);
  for (const path of ['/v1/models', '/nowhere', NATIVE]) {
    client.write(headOf('GET', path));
    await client.answer();
  }
  client.write(headOf('GET', NATIVE, WEBSOCKET));
  assert.equal((await client.answer()).status, 101);
});
