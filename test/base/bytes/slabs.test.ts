// Slabs are used again, and the memory of those that are too many is free at once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SLAB_BYTES, Slabs } from '../../../proxy/base/bytes/slabs.ts';

test('[Q38] 32 slabs are kept for the next bodies, and the memory of others is free', () => {
  const slabs = new Slabs();
  const taken = Array.from({ length: 40 }, () => slabs.take());
  for (const slab of taken) slabs.give(slab);
  assert.equal(slabs.kept, 32);
  assert.deepEqual([...new Set(taken.slice(0, 32).map(({ length }) => length))], [SLAB_BYTES]);
  assert.deepEqual([...new Set(taken.slice(32).map(({ length }) => length))], [0]);
  assert.ok(taken.includes(slabs.take()));
  assert.equal(slabs.kept, 31);
});
