// Frames of a server: each form of a length, text and bytes, and one or several frames in one piece.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { frameBytes } from '../../../proxy/base/bytes/frame-bytes.ts';
import { readServerFrames } from '../../torture/client/frames.ts';

test('frames of every form of length are read as they were written', () => {
  const payloads = [0, 125, 126, 65_535, 65_536].map((length) => 'x'.repeat(length));
  const { frames, fault } = readServerFrames(frameBytes(payloads));
  assert.equal(fault, undefined);
  assert.deepEqual(
    frames.map(({ opcode, payload }) => [opcode, payload.toString()]),
    payloads.map((payload) => [1, payload]),
  );
});

test('a text is measured in bytes, and bytes stay as they are', () => {
  const { frames } = readServerFrames(frameBytes(['grüße 🎈', Buffer.from([0xff, 0x00])], 'binary'));
  assert.deepEqual(
    frames.map(({ opcode, payload }) => [opcode, payload]),
    [
      [2, Buffer.from('grüße 🎈')],
      [2, Buffer.from([0xff, 0x00])],
    ],
  );
});
