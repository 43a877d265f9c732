// Values that are computed once for each object.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { oncePerObject } from '../../../proxy/base/process/once-per-object.ts';

test('the value of an object is made once, and equal objects have values of their own', () => {
  const made: string[] = [];
  const lengthOf = oncePerObject(({ text }: { readonly text: string }) => {
    made.push(text);
    return text.length;
  });
  const empty = { text: '' };
  assert.deepEqual([lengthOf(empty), lengthOf(empty), lengthOf({ text: '' }), lengthOf({ text: 'abc' })], [0, 0, 0, 3]);
  assert.deepEqual(made, ['', '', 'abc']);
});
