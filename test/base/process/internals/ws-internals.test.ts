// Each undocumented behaviour on which ws-internals.ts relies: a test fails if an update changes it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { type ClientOptions, WebSocket, WebSocketServer } from 'ws';
import { connectionUnder, dropArrivals, joinParts, unmaskByWords } from '../../../../proxy/base/process/internals/ws-internals.ts';
import { inUse } from '../../../support/program/memory-in-use.ts';

/** A client, and the websocket of the server that accepted it. */
async function connected(context: TestContext, options: ClientOptions = {}): Promise<{ client: WebSocket; accepted: WebSocket }> {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  context.after(() => server.close());
  await once(server, 'listening');
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`, options);
  const [[accepted]] = (await Promise.all([once(server, 'connection'), once(client, 'open')])) as [[WebSocket], unknown];
  return { client, accepted };
}

describe('dropArrivals', () => {
  test('a websocket that closes gets no more of a message, and its connection ends after the close frame', async (context) => {
    const { client, accepted } = await connected(context);
    const connection = connectionUnder(accepted) ?? assert.fail('no connection');
    accepted.on('message', () => assert.fail('a message arrived'));
    client.send('the first part', { fin: false });
    await once(connection, 'data');
    accepted.close(1013);
    dropArrivals(accepted, connection);
    const read = Buffer.allocUnsafeSlow(65_536);
    connection.emit('data', read);
    assert.equal(read.length, 0, 'the memory of a dropped read waits for a garbage collection');
    client.send('the last part', { fin: true });
    const [[code]] = await Promise.all([once(client, 'close'), once(accepted, 'close')]);
    assert.equal(code, 1013);
  });
});

describe('joinParts', () => {
  test('[Q38] fragments of one byte between pongs do not keep the reads that they came in', async (context) => {
    const { client, accepted } = await connected(context);
    joinParts(accepted);
    const before = inUse();
    const pongs = Buffer.alloc(125);
    const parts = 200;
    for (let i = 0; i < parts; i++) {
      client.send('a', { fin: false });
      for (let pong = 0; pong < 400; pong++) client.pong(pongs);
      const pong = once(client, 'pong');
      client.ping();
      await pong;
    }
    const grown = inUse() - before;
    assert.ok(grown < 2_000_000, `${grown} bytes are held for ${parts}`);
    const message = once(accepted, 'message');
    client.send('b', { fin: true });
    assert.equal(String((await message)[0]), `${'a'.repeat(parts)}b`);
    client.terminate();
  });

  test('frames and fragments of any size, in reads of any size, come out whole', async (context) => {
    const { client, accepted } = await connected(context);
    joinParts(accepted);
    const sizes = [0, 1, 2, 100, 65_535, 65_536, 300_000, 3, 1_000_000, 0, 5];
    for (const fragmented of [false, true]) {
      for (const size of sizes) {
        const whole = Array.from({ length: size }, (_, i) => String.fromCharCode(97 + (i % 26))).join('');
        const message = once(accepted, 'message');
        if (!fragmented) client.send(whole);
        else {
          for (let at = 0; at < size; at += 1 + ((at * 7) % 5_000))
            client.send(whole.slice(at, at + 1 + ((at * 7) % 5_000)), { fin: false });
          client.send('', { fin: true });
        }
        assert.equal(String((await message)[0]), whole);
      }
    }
    client.terminate();
  });
});

describe('unmaskByWords', () => {
  test('frames of any size are unmasked, also those that come in parts and those without a mask', async (context) => {
    for (const options of [{}, { generateMask: (mask: Buffer) => void mask.fill(0) }]) {
      const { client, accepted } = await connected(context, options);
      joinParts(accepted);
      unmaskByWords(accepted);
      const texts = [0, 1, 2, 3, 4, 5, 125, 126, 65_535, 65_536, 65_537, 300_000].map((length) =>
        'abcdefg'.repeat(length).slice(0, length),
      );
      const messages: string[] = [];
      accepted.on('message', (data: Buffer) => messages.push(data.toString()));
      // The first frames come in one read.
      for (const text of texts) client.send(text);
      client.ping('12345');
      await once(client, 'pong').then(([data]) => assert.equal(String(data), '12345'));
      assert.deepEqual(messages, texts);
      client.terminate();
    }
  });
});

describe('connectionUnder', () => {
  test('is the connection of an open websocket, on both sides', async (context) => {
    const { client, accepted } = await connected(context);
    assert.equal(connectionUnder(client)?.localPort, connectionUnder(accepted)?.remotePort);
    assert.ok((connectionUnder(accepted)?.bytesRead ?? 0) > 0);
    client.terminate();
  });
});
