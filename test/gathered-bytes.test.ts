// Bytes that come one by one take no more memory than their bytes, wherever a body or an event is collected.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { GatheredBytes } from '../proxy/gathered-bytes.ts';
import { startGateway } from './support/gateway.ts';
import { headOf, RawClient } from './support/raw.ts';
import { until } from './support/until.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Bytes in use, after garbage was collected. */
function inUse(): number {
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const BYTES = 200_000;
/** The object around a byte takes some 200. */
const MOST_GROWTH = 32 * BYTES;

suite('gathered bytes', () => {
  test('come out in order, whatever the sizes of their chunks', () => {
    const gathered = new GatheredBytes();
    const chunks = Array.from({ length: 2_000 }, (_, i) => Buffer.alloc(i % 700 === 0 ? 5_000 : i % 3, i % 251));
    for (const chunk of chunks) gathered.add(chunk);
    assert.equal(gathered.length, Buffer.concat(chunks).length);
    assert.ok(gathered.take().equals(Buffer.concat(chunks)));
    assert.equal(gathered.length, 0);
    assert.equal(gathered.take().length, 0);
  });

  test('that came as one chunk are not copied', () => {
    const gathered = new GatheredBytes();
    const chunk = Buffer.from('a');
    gathered.add(chunk);
    assert.equal(gathered.take(), chunk);
  });

  test('of single bytes use a small multiple of their number in memory', () => {
    const before = inUse();
    const gathered = new GatheredBytes();
    for (let i = 0; i < BYTES; i++) gathered.add(Buffer.from([i % 256]));
    const grown = inUse() - before;
    assert.ok(grown < MOST_GROWTH, `${grown} bytes for ${BYTES}`);
    assert.equal(gathered.take().length, BYTES);
  });

  test('of a request body in chunks of one byte use no more memory either', async () => {
    await using gate = await startGateway();
    using client = await RawClient.connect(gate.url);
    const type = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
    client.write(headOf('POST', '/backend-api/agent/responses', type));
    const before = inUse();
    client.write(`1\r\n{\r\n${'1\r\n \r\n'.repeat(BYTES - 1)}`);
    const held = async (): Promise<true | undefined> => {
      const metrics = await (await fetch(`${gate.adminUrl}/metrics`)).text();
      return metrics.includes(`\npoolgate_body_bytes_held ${BYTES}\n`) || undefined;
    };
    await until('the whole body', held);
    const grown = inUse() - before;
    assert.ok(grown < MOST_GROWTH, `${grown} bytes for ${BYTES}`);
    client.write('0\r\n\r\n');
    assert.equal((await client.answer()).status, 400);
  });
});
