// Small texts share blocks of 8 KiB, large ones have memory of their own.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lastingBytes } from '../../../proxy/base/bytes/lasting-bytes.ts';

test('texts that share blocks keep their bytes, and no more memory than a block', () => {
  const texts = Array.from({ length: 200 }, (_, i) => `text ${i} with an é: ${'x'.repeat(i * 7)}`);
  const bytes = texts.map(lastingBytes);
  for (const [i, buffer] of bytes.entries()) assert.equal(buffer.toString(), texts[i]);
  assert.ok(bytes.every(({ buffer }) => buffer.byteLength === 8_192));
  assert.ok(new Set(bytes.map(({ buffer }) => buffer)).size < 30);
});

test('a large text has memory of its own', () => {
  const bytes = lastingBytes('é'.repeat(1_025));
  assert.deepEqual([bytes.length, bytes.buffer.byteLength], [2_050, 2_050]);
});
