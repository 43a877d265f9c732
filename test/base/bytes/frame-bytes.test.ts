// Frames of a server: each form of a length, text and bytes, and one or several frames in one piece. Masked frames of a client.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientFrame, frameBytes } from '../../../proxy/base/bytes/frame-bytes.ts';
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

/** The payload of a masked text frame, unmasked by bytes. */
function payloadOf(frame: Buffer): Buffer {
  assert.deepEqual([frame[0], (frame[1] as number) & 0x80], [0x81, 0x80]);
  const short = (frame[1] as number) & 0x7f;
  const [head, length] = short === 126 ? [4, frame.readUInt16BE(2)] : short === 127 ? [10, Number(frame.readBigUInt64BE(2))] : [2, short];
  const mask = frame.subarray(head, head + 4);
  const payload = frame.subarray(head + 4);
  assert.equal(payload.length, length);
  return Buffer.from(payload.map((byte, i) => byte ^ (mask[i & 3] as number)));
}

test('a client masks payloads of every length, at every place in memory', () => {
  for (const length of [0, 1, 2, 3, 4, 5, 123, 125, 126, 127, 128, 65_535, 65_536, 65_537]) {
    // Moves the place of the next buffer in Node's pool.
    Buffer.from('xyz'.slice(length % 3));
    const payload = Buffer.alloc(length, 'grüße 🎈');
    assert.ok(payloadOf(clientFrame(payload)).equals(payload), `${length} bytes`);
  }
});

test('frames of a client have masks of their own, and their payload stays as it is', () => {
  const payload = Buffer.from('{"type":"response.create"}');
  const masks = new Set(Array.from({ length: 2_000 }, () => clientFrame(payload).toString('hex', 2, 6)));
  assert.ok(masks.size > 1_990, `${masks.size} masks`);
  assert.equal(payload.toString(), '{"type":"response.create"}');
});
