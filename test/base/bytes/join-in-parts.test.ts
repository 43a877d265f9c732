// The bytes of large bodies are joined in slices of the event loop, one body at a time, and keys take turns (Q38).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatheredBytes } from '../../../proxy/base/bytes/gathered-bytes.ts';
import { joinInParts } from '../../../proxy/base/bytes/join-in-parts.ts';

const BYTES = 1_000_000;

function gathered(): GatheredBytes {
  const bytes = new GatheredBytes();
  for (let i = 0; i < 10; i++) bytes.add(Buffer.alloc(BYTES / 10, `${i}`));
  return bytes;
}

const signal = new AbortController().signal;

test('[Q38] a body is joined in a later turn of the event loop', async () => {
  let [turns, isJoined] = [0, false];
  const count = (): void => {
    turns += 1;
    if (!isJoined) setImmediate(count);
  };
  setImmediate(count);
  const joined = await joinInParts(gathered(), 'ci', signal);
  isJoined = true;
  assert.ok(turns > 0);
  assert.ok(joined.equals(gathered().take()));
});

test('[Q38] bodies are joined one at a time, and keys take turns', async () => {
  const ended: string[] = [];
  const join = async (key: string): Promise<void> => {
    await joinInParts(gathered(), key, signal);
    ended.push(key);
  };
  await Promise.all(['many', 'many', 'many', 'one'].map(join));
  assert.deepEqual(ended, ['many', 'many', 'one', 'many']);
});

test('a body whose client has left is not joined', async () => {
  const left = new AbortController();
  const joining = joinInParts(gathered(), 'ci', left.signal);
  left.abort(new Error('left'));
  await assert.rejects(joining, { message: 'left' });
});
