// The order in which pins are passed to the store.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PinWriter } from '../../../proxy/sessions/pins/pin-writer.ts';

test('of several pins of one name the last one is written last, however many wait', () => {
  const passed: string[] = [];
  const writer = new PinWriter({
    store: { put: ({ account }) => void passed.push(account), putNow: () => assert.fail('no response is pinned') },
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

test('[Q10] pins of responses are passed on within 40 ms, together and without delay, before the others', () => {
  const timers: { readonly ms: number; readonly run: () => void }[] = [];
  const passed: string[] = [];
  const writer = new PinWriter({
    store: {
      put: ({ account }) => void passed.push(account),
      putNow: (rows) => void passed.push(rows.map(({ account }) => account).join()),
    },
    after: (ms, run) => {
      timers.push({ ms, run });
      return () => undefined;
    },
    digest: (text) => `A${text}`,
  });
  writer.put({ text: 'session', account: 'soft', expires_at: 1, isSoft: true });
  writer.putAnchor({ text: 'second', account: 'north', expires_at: 1 });
  writer.putAnchor({ text: 'first', account: 'south', expires_at: 1 });
  timers.find(({ ms }) => ms === 40)?.run();
  assert.deepEqual(passed, ['south,north'], 'in the order of their digests');
  writer.putAnchor({ text: 'third', account: 'east', expires_at: 1 });
  assert.equal(timers.filter(({ ms }) => ms === 40).length, 2);
  writer.flush();
  assert.deepEqual(passed, ['south,north', 'east', 'soft']);
});
