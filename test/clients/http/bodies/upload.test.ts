// An upload is refused as timed out only if its client is silent, and not if the account is slow to read it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request as requestTo } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite, type TestContext, test } from 'node:test';
import { Counters } from '../../../../proxy/base/process/metrics.ts';
import { openUpload } from '../../../../proxy/clients/http/bodies/upload.ts';

/** On a busy machine this process, which is also the client, pauses for less. */
const IDLE_MS = 700;

/** Starts an upload whose client sends `bytes` of a body of `length`; resolves with its refusal, or with `waits`. */
async function refusalOf(context: TestContext, bytes: number, length: number): Promise<unknown> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = requestTo({ port, host: '127.0.0.1', method: 'POST', headers: { 'content-length': length } }).on('error', () => undefined);
  context.after(() => {
    client.destroy();
    server.close();
  });
  client.write(Buffer.alloc(bytes));
  const [request] = (await once(server, 'request')) as [IncomingMessage];
  const { refused, detach } = openUpload(request, { bytes: length, idleMs: IDLE_MS, smallPieces: 1 }, new Counters());
  context.after(detach);
  const waits = new Promise((resolve) => setTimeout(() => resolve('waits'), 2 * IDLE_MS));
  return Promise.race([waits, refused.catch((thrown: { readonly code: string }) => thrown.code)]);
}

suite('a client that has sent all of its bytes', { concurrency: true }, () => {
  for (const size of [0, 40_000, 90_000, 120_000, 400_000]) {
    test(`${size} bytes: it has no timeout, however long the account reads none of them`, async (context) => {
      assert.equal(await refusalOf(context, size, size), 'waits');
    });
  }
});

test('a client that stops before its body ends is refused, unless the account has left no room for more', async (context) => {
  assert.equal(await refusalOf(context, 40_000, 50_000), 'request_timeout');
  assert.equal(await refusalOf(context, 70_000, 400_000), 'waits');
});
