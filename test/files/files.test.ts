// The files of Pools: the wait for the store has an end.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Files } from '../../proxy/files/files.ts';
import { Refusal } from '../../proxy/turn/errors/refusal.ts';
import type { FileRow, Store } from '../../store/store.ts';
import { ManualClock } from '../support/clocks/manual-clock.ts';

const ROW: FileRow = {
  pool: 'team',
  id: 'file_1',
  account: 'north',
  filename: 'notes.txt',
  bytes: 5,
  purpose: 'user_data',
  status: 'processed',
  created_at: 0,
  expires_at: null,
};

test('a file that the store does not write, as with a full disk, is refused after 10 s; later the store still has it', async () => {
  const clock = new ManualClock();
  const written = Promise.withResolvers<void>();
  const store = { save: () => written.promise, find: () => Promise.resolve(ROW), list: () => Promise.resolve([ROW]) };
  const files = new Files(store as unknown as Store['files'], clock);
  const saving = assert.rejects(files.save(ROW), (thrown) => thrown instanceof Refusal && thrown.code === 'server_is_overloaded');
  await clock.advance(10_000);
  await saving;
  written.resolve();
  assert.deepEqual(await files.find('team', 'file_1'), ROW);
});
