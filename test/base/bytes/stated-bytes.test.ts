// The reads of a body of stated length are copied once, except for the first ones, and the statement alone takes no memory.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { StatedBytes } from '../../../proxy/base/bytes/stated-bytes.ts';

const READ_BYTES = 60_000;
const READS = 40;
const STATED = READS * READ_BYTES;

const readsOf = (count: number): Buffer<ArrayBuffer>[] =>
  Array.from({ length: count }, (_, i) => Buffer.allocUnsafeSlow(READ_BYTES).fill(i + 1));

suite('[Q38] a body of stated length', () => {
  test('comes out in order at once and in parts, and no read keeps its memory after the first quarter', () => {
    for (const bytes of [undefined, 100_000]) {
      const reads = readsOf(READS);
      const whole = Buffer.concat(reads);
      const stated = new StatedBytes(STATED);
      const held = reads.reduce((sum, read) => sum + stated.addRead(read), 0);
      assert.ok(held < 1.1 * STATED);
      assert.deepEqual([stated.length, stated.uncopied], [STATED, STATED / 4]);
      assert.deepEqual(new Set(reads.slice(READS / 4).map(({ length }) => length)), new Set([0]));
      const parts = stated.takeInParts(bytes ?? Number.POSITIVE_INFINITY);
      let pauses = 0;
      let part = parts.next();
      for (; !part.done; part = parts.next()) pauses += 1;
      assert.ok(part.value.equals(whole));
      assert.equal(part.value.buffer.byteLength, STATED);
      assert.equal(pauses, bytes === undefined ? 0 : STATED / 4 / 120_000);
      assert.deepEqual([stated.length, stated.take().length], [0, 0]);
    }
  });

  test('gets no buffer for what is only stated', (context) => {
    const { mock } = context.mock.method(Buffer, 'allocUnsafeSlow');
    const stated = new StatedBytes(100 * STATED);
    for (const read of readsOf(READS)) stated.addRead(read);
    const most = Math.max(...mock.calls.map(({ arguments: [size] }) => size));
    assert.ok(most < STATED, `${most} bytes`);
    assert.equal(stated.uncopied, STATED);
  });

  test('in one read is not copied', () => {
    const [read] = readsOf(1);
    const stated = new StatedBytes(READ_BYTES);
    stated.addRead(read as Buffer<ArrayBuffer>);
    assert.equal(stated.take(), read);
  });

  test('that is dropped frees its memory', () => {
    const stated = new StatedBytes(STATED);
    const reads = readsOf(READS);
    for (const read of reads) stated.addRead(read);
    stated.clear();
    assert.deepEqual([stated.length, stated.uncopied, stated.take().length], [0, 0, 0]);
  });
});
