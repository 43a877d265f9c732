// The memory of the reads of a large body is free as soon as they are copied, without a garbage collection (Q38).
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { BodyMemory } from '../../../../proxy/base/bytes/body-memory.ts';
import { SLAB_BYTES } from '../../../../proxy/base/bytes/slabs.ts';
import { Counters } from '../../../../proxy/base/process/metrics.ts';
import { type BodyOptions, readBody } from '../../../../proxy/clients/http/bodies/request-body.ts';

const options = {
  limits: {
    request_body_bytes: 1e8,
    compressed_body_bytes: 1e8,
    expansion_ratio: 1e6,
    bodies_in_memory_bytes: 1e9,
    body_small_pieces: 1e6,
  },
  timeouts: { client_body_ms: 60_000, client_body_idle_ms: 60_000 },
  share: new BodyMemory().of('ci'),
  counters: new Counters(),
  begin: () => undefined,
} as unknown as BodyOptions;

interface Read {
  readonly body: Buffer;
  readonly reads: readonly Buffer[];
}

async function readWith(sent: Buffer, headers: Record<string, string>): Promise<Read> {
  const { promise, resolve, reject } = Promise.withResolvers<Read>();
  const server = createServer((request: IncomingMessage, response) => {
    const reads: Buffer[] = [];
    readBody(request, options).then((body) => {
      response.end();
      resolve({ body, reads });
    }, reject);
    // Another listener must not make it flow before its reader listens.
    request.once('resume', () => request.on('data', (read: Buffer) => reads.push(read)));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const { port } = server.address() as AddressInfo;
    const sending = send({ host: '127.0.0.1', port, method: 'POST', headers: { connection: 'close', ...headers } });
    sending.on('response', (response) => response.resume()).end(sent);
    return await promise;
  } finally {
    server.close();
  }
}

const BODY = Buffer.from(Array.from({ length: 600_000 }, (_, i) => String(i)).join(','));

for (const [framing, headers] of [
  ['of a stated length', { 'content-length': String(BODY.length) }],
  ['in chunks', { 'transfer-encoding': 'chunked' }],
] as const) {
  test(`[Q38] a large body ${framing} is read whole, and keeps no read after its first bytes`, async () => {
    const { body, reads } = await readWith(BODY, headers);
    assert.ok(body.equals(BODY));
    const kept = reads.filter(({ length }) => length > 4_096);
    assert.ok(kept.reduce((sum, { length }) => sum + length, 0) < 2 * SLAB_BYTES, `${kept.length} reads`);
    assert.ok(reads.length > kept.length);
  });
}

test('a large compressed body is read whole', async () => {
  const sent = gzipSync(BODY);
  assert.ok(gunzipSync(sent).equals(BODY));
  const { body } = await readWith(sent, { 'content-encoding': 'gzip', 'content-length': String(sent.length) });
  assert.ok(body.equals(BODY));
});
