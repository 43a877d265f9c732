// The frames of a detached turn count against the memory that they use (Q38).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryGuard } from '../../../proxy/base/bytes/memory-guard.ts';
import { TurnLog } from '../../../proxy/clients/websocket/turn-log.ts';

const MOST = 1_000_000;

function logged(frame: () => string | Buffer): { readonly frames: number; readonly held: number } {
  const replies = new MemoryGuard();
  let frames = 0;
  let isOver = false;
  let held = 0;
  const log = new TurnLog({ maxBytes: MOST, replies, maxReplies: 10 * MOST }, () => {
    isOver = true;
  });
  for (; !isOver; frames++) {
    held = replies.held;
    log.add('keepalive', frame());
  }
  assert.equal(replies.held, 0);
  return { frames, held };
}

for (const [name, frame] of [
  ['text', () => '{}'],
  ['bytes', () => Buffer.allocUnsafeSlow(2)],
] as const) {
  test(`[Q38] small frames of ${name} count as objects`, () => {
    const { frames, held } = logged(frame);
    assert.ok(frames > 4_000 && frames < 6_000, `${frames} frames`);
    assert.ok(held <= MOST);
  });
}

test('[Q38] a frame that is a small part of a read does not keep the read', () => {
  const frames: Buffer[] = [];
  const log = new TurnLog({ maxBytes: MOST, replies: new MemoryGuard(), maxReplies: 10 * MOST }, () => undefined);
  const read = Buffer.alloc(65_536);
  for (let i = 0; i < 10; i++) log.add('keepalive', read.subarray(i, i + 2));
  for (const frame of log.framesAfter(0)) if (typeof frame !== 'string') frames.push(frame);
  assert.equal(frames.length, 10);
  assert.ok(frames.every(({ buffer }) => buffer !== read.buffer));
  assert.ok(log.bytes < 10 * 256);
});

test('[Q38] a frame that is a buffer of its own is kept without a copy, and counts whole', () => {
  const log = new TurnLog({ maxBytes: MOST, replies: new MemoryGuard(), maxReplies: 10 * MOST }, () => undefined);
  const frame = Buffer.allocUnsafeSlow(100_000);
  log.add('response.completed', frame);
  assert.equal(log.framesAfter(0)[0], frame);
  assert.ok(log.bytes >= 100_000);
});
