// The headers that the Connection header of a client removes from a request, and the cost of finding them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientHeaders } from '../../../proxy/turn/wire/headers.ts';

test('headers that Connection names are not forwarded', () => {
  const headers = { connection: 'X-One , x-two,keep-alive', 'x-one': '1', 'x-two': '2', 'x-three': '3' };
  assert.deepEqual(clientHeaders(headers), { connection: headers.connection, 'x-three': '3' });
});

test('headers are the same object where Connection names none', () => {
  for (const connection of [undefined, 'close', 'Keep-Alive', 'upgrade']) {
    const headers = { 'x-one': '1', ...(connection === undefined ? {} : { connection }) };
    assert.equal(clientHeaders(headers), headers);
  }
});

test('the cost is linear: each header is read a fixed number of times, and no list is searched for its name', () => {
  const readsOf = (count: number): number => {
    const names = Array.from({ length: count }, (_, i) => `x-${i}`);
    const headers = { connection: names.join(','), ...Object.fromEntries(names.map((name) => [name, '1'])) };
    let reads = 0;
    const counted = new Proxy(headers, {
      get: (target, name) => {
        reads += 1;
        return target[name as keyof typeof target];
      },
    });
    clientHeaders(counted);
    return reads;
  };
  // biome-ignore lint/suspicious/noExplicitAny: the methods differ in their types, and are only counted here
  const lists: any = Array.prototype;
  const methods = ['includes', 'indexOf', 'some', 'find'];
  const originals = methods.map((name) => lists[name]);
  let searches = 0;
  for (const name of methods) lists[name] = () => (searches += 1);
  try {
    assert.equal(readsOf(2_000) - readsOf(1_000), 1_000);
  } finally {
    for (const [i, name] of methods.entries()) lists[name] = originals[i];
  }
  assert.equal(searches, 0);
});
