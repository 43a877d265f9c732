// The identity of a row: equal only for rows with equal keys, in whatever order rows come.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pins, usage } from '../../../store/schema/tables.ts';
import type { UsageRow } from '../../../store/store.ts';
import { usageRow } from '../samples.ts';

test('rows of one key have one identity, and rows of other keys in between do not change it', () => {
  const keys: readonly Partial<UsageRow>[] = [{}, { key_id: 'other' }, { pool: 'other' }, { day: 7 }];
  const [first, ...others] = keys.map((key) => usage.identity(usageRow(key)));
  for (const other of others) assert.notEqual(other, first);
  for (const key of keys.toReversed()) usage.identity(usageRow(key));
  assert.deepEqual(
    [...keys, ...keys].map((key) => usage.identity(usageRow({ ...key, requests: 9 }))),
    [first, ...others, first, ...others],
  );
  assert.equal(usage.identity(usageRow({ requests: 1 })), usage.identity(usageRow({ requests: 2 })));
});

test('a key of several fields is not the key of their text in other fields', () => {
  assert.notEqual(usage.identity(usageRow({ key_id: 'a', pool: 'bc' })), usage.identity(usageRow({ key_id: 'ab', pool: 'c' })));
  const pin = { hash: 'h1', account: 'north', expires_at: 1 };
  assert.equal(pins.identity(pin), pins.identity({ ...pin, account: 'south' }));
});
