// The order in which pins are passed to the store.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PinWriter } from '../../proxy/sessions/pin-writer.ts';

test('of several pins of one name the last one is written last, however many wait', () => {
  const passed: string[] = [];
  const writer = new PinWriter({
    store: { put: ({ account }) => void passed.push(account) },
    after: () => () => undefined,
    digest: (text) => `A${text}`,
  });
  writer.put({ text: 'session', account: 'first', expires_at: 1 });
  for (let i = 0; i < 700; i++) writer.put({ text: `other ${i}`, account: 'other', expires_at: 1 });
  writer.put({ text: 'session', account: 'second', expires_at: 2 });
  writer.flush();
  assert.deepEqual(
    passed.filter((account) => account !== 'other'),
    ['first', 'second'],
  );
  assert.equal(passed.length, 702);
});
