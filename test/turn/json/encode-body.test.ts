// The bytes of an attempt's body.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { turnBytes } from '../../../proxy/turn/json/encode-body.ts';
import type { Turn } from '../../../proxy/turn/turn.ts';

const turn = { bodyBytes: 0, key: { id: 'key' }, large: undefined } as unknown as Turn;

test('the body of a stream keeps no memory but its own', () => {
  const body = { stream: true, input: 'text with an é' };
  const bytes = turnBytes(body, turn) as Buffer;
  assert.equal(bytes.toString(), JSON.stringify(body));
  assert.equal(bytes.buffer.byteLength, bytes.length);
});
