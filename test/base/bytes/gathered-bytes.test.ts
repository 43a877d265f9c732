// Bytes that arrive one by one take no more memory than one piece, wherever a body or an event is collected.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { GatheredBytes, OBJECT_BYTES } from '../../../proxy/base/bytes/gathered-bytes.ts';
import { SLAB_BYTES, Slabs } from '../../../proxy/base/bytes/slabs.ts';
import { startGateway } from '../../support/gateway.ts';
import { headOf, RawClient } from '../../support/network/raw.ts';
import { inUse } from '../../support/program/memory-in-use.ts';
import { until } from '../../support/until.ts';

const BYTES = 200_000;
/** Small pieces are read in rounds with pauses, which are long on a busy machine. */
const PATIENCE_MS = 120_000;
const PAUSE_MS = 50;
/** The object around a single byte takes about 200 bytes. */
const MOST_GROWTH = 4 * BYTES;
/** The limit for a request, because its parser and its connection have buffers too. */
const MOST_GROWTH_OF_REQUEST = 16 * BYTES;
/** Makes each piece a separate buffer, like a chunk of a request. */
const own = (bytes: number): Buffer<ArrayBuffer> => Buffer.allocUnsafeSlow(bytes).fill('a');

interface Gathered {
  readonly gathered: GatheredBytes;
  /** The bytes by which memory grew. */
  readonly grown: number;
}

function filled(chunkAt: (i: number) => Buffer, count: number): GatheredBytes {
  const gathered = new GatheredBytes();
  for (let i = 0; i < count; i++) gathered.add(chunkAt(i));
  return gathered;
}

function gather(chunkAt: (i: number) => Buffer, count: number): Gathered {
  const before = inUse();
  const gathered = filled(chunkAt, count);
  return { gathered, grown: inUse() - before };
}

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

  test('[Q38] are joined in parts in the same order, and the memory of what is joined is free', () => {
    const gathered = new GatheredBytes();
    const chunks = Array.from({ length: 40 }, (_, i) => own(5_000 + i).fill(i));
    for (const chunk of chunks) gathered.add(chunk);
    const parts = gathered.takeInParts(50_000);
    let pauses = 0;
    let part = parts.next();
    for (; !part.done; part = parts.next()) pauses++;
    assert.ok(part.value.equals(Buffer.concat(chunks)));
    assert.equal(pauses, 4);
    assert.deepEqual([gathered.length, gathered.held], [0, 0]);
  });

  test('[Q38] of a large body are in slabs, which are given back as soon as they are joined', () => {
    const slabs = new Slabs();
    const reads = Array.from({ length: 40 }, (_, i) => own(60_000).fill(i));
    const whole = Buffer.concat(reads);
    const gathered = new GatheredBytes(slabs);
    for (const read of reads) gathered.addRead(read);
    // The first ones are kept as they are, and the memory of the others is free.
    assert.deepEqual([...new Set(reads.slice(0, 5).map(({ length }) => length))], [60_000]);
    assert.deepEqual([...new Set(reads.slice(5).map(({ length }) => length))], [0]);
    assert.ok(gathered.held < whole.length + 100 * OBJECT_BYTES);
    const parts = gathered.takeInParts(SLAB_BYTES);
    const kept: number[] = [];
    let part = parts.next();
    for (; !part.done; part = parts.next()) kept.push(slabs.kept);
    assert.ok(part.value.equals(whole));
    // A slab is given back with its last byte. The bytes after the first 300,000 need nine slabs, of which the last one is not full.
    assert.deepEqual(kept, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert.equal(slabs.kept, 9);
  });

  test('[Q38] of a large body with chunks of all sizes come out in order, and each slab is given back once', () => {
    const sizes = [300_000, 1, 70_000, 4_096, 500_000, 3, 65_536, 262_144, 100_000, 0, 262_143, 5_000, 900_000, 17];
    for (const end of ['take', 'takeInParts', 'clear'] as const) {
      const slabs = new Slabs();
      const chunks = sizes.map((size, i) => own(size).fill(i));
      const gathered = new GatheredBytes(slabs);
      for (const chunk of chunks) gathered.add(chunk);
      const given: unknown = end === 'takeInParts' ? gathered.takeInParts(Number.POSITIVE_INFINITY).next().value : gathered[end]();
      if (end !== 'clear') assert.ok((given as Buffer).equals(Buffer.concat(chunks)), end);
      const { kept } = slabs;
      assert.ok(kept > 0);
      assert.equal(new Set(Array.from({ length: kept }, () => slabs.take())).size, kept);
    }
  });

  test('that are dropped leave nothing', () => {
    const gathered = new GatheredBytes();
    for (let i = 0; i < 3; i++) gathered.add(own(6_000));
    gathered.clear();
    assert.deepEqual([gathered.length, gathered.held, gathered.take().length], [0, 0, 0]);
    gathered.add(own(2));
    assert.equal(gathered.take().length, 2);
  });

  test('that came as one chunk are not copied', () => {
    const gathered = new GatheredBytes();
    const chunk = own(1);
    gathered.add(chunk);
    assert.equal(gathered.take(), chunk);
  });

  test('of single bytes use a small multiple of their number in memory', () => {
    const { gathered, grown } = gather(() => own(1), BYTES);
    assert.ok(grown < MOST_GROWTH, `${grown} bytes for ${BYTES}`);
    assert.ok(gathered.held >= BYTES && gathered.held < MOST_GROWTH, `${gathered.held} counted for ${BYTES}`);
    assert.equal(gathered.take().length, BYTES);
  });

  test('[Q38] of single bytes use no more memory where large chunks come between them', () => {
    const sizes = 255 + 1_024;
    const { gathered, grown } = gather((i) => own(i % 256 === 255 ? 1_024 : 1), Math.floor((256 * BYTES) / sizes));
    assert.ok(grown < MOST_GROWTH, `${grown} bytes for ${gathered.length}`);
  });

  test('[Q38] of chunks just large enough to be kept count the objects around them', () => {
    // Larger bytes would be copied into slabs.
    const before = inUse();
    const all = Array.from({ length: 20 }, () => filled((i) => own(i % 2 === 0 ? 1 : 4_096), 120));
    const grown = inUse() - before;
    const length = all.reduce((sum, one) => sum + one.length, 0);
    assert.ok(grown < 2 * length, `${grown} bytes for ${length}`);
    for (const { held, length: own } of all) assert.ok(held > own + 60 * OBJECT_BYTES);
  });

  test('[Q38] of small parts of large buffers do not keep the buffers', () => {
    const { gathered, grown } = gather((i) => own(65_536).subarray(0, i % 2 === 0 ? 100 : 5_000), 400);
    assert.ok(grown < 2 * gathered.length, `${grown} bytes for ${gathered.length}`);
  });

  test('of a request body in chunks of one byte use no more memory either', async () => {
    await using gate = await startGateway({
      config: (draft) => {
        draft.limits.body_small_pieces = BYTES;
      },
    });
    using client = await RawClient.connect(gate.url);
    const type = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
    client.write(headOf('POST', '/backend-api/agent/responses', type));
    const before = inUse();
    client.write(`1\r\n{\r\n${'1\r\n \r\n'.repeat(BYTES - 1)}`);
    await until('the whole body', () => gate.bodyBytes >= BYTES || undefined, PATIENCE_MS, PAUSE_MS);
    const grown = inUse() - before;
    assert.ok(grown < MOST_GROWTH_OF_REQUEST, `${grown} bytes for ${BYTES}`);
    client.write('0\r\n\r\n');
    assert.equal((await client.answer()).status, 400);
  });
});
