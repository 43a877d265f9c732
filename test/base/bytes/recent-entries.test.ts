// A cache of the most recently used entries keeps within its size.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RecentEntries } from '../../../proxy/base/bytes/recent-entries.ts';

test('the entry that was used longest ago is dropped for another', () => {
  const recent = new RecentEntries<number>(2);
  recent.set('a', 1).set('b', 2);
  assert.equal(recent.get('a'), 1);
  recent.set('c', 3).set('c', 4);
  assert.deepEqual(
    ['a', 'b', 'c'].map((name) => recent.get(name)),
    [1, undefined, 4],
  );
  assert.equal(recent.size, 2);
});
