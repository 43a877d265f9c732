// After large bodies, memory is returned once the gateway has rested, and not while turns run (Q38).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryRelease } from '../../proxy/admission/memory-release.ts';
import { BodyMemory } from '../../proxy/base/bytes/body-memory.ts';
import { ManualClock } from '../support/clocks/manual-clock.ts';
import { startGateway } from '../support/gateway.ts';
import { turnBody } from '../support/rehearsal-replies.ts';

function parts() {
  const clock = new ManualClock();
  const seen = { collections: 0, isResting: true };
  const release = new MemoryRelease({
    clock,
    isResting: () => seen.isResting,
    collect: () => {
      seen.collections += 1;
    },
  });
  return { clock, seen, release };
}

test('[Q38] memory is returned when the gateway rests at two looks after each other', async () => {
  const { clock, seen, release } = parts();
  await clock.advance(100_000);
  assert.equal(seen.collections, 0, 'without large bodies');
  release.grown();
  seen.isResting = false;
  await clock.advance(100_000);
  seen.isResting = true;
  await clock.advance(10_000);
  seen.isResting = false;
  await clock.advance(10_000);
  assert.equal(seen.collections, 0, 'while turns run');
  seen.isResting = true;
  await clock.advance(10_000);
  release.grown();
  await clock.advance(10_000);
  assert.equal(seen.collections, 0, 'with large bodies in between');
  await clock.advance(10_000);
  assert.equal(seen.collections, 1);
  await clock.advance(100_000);
  assert.equal(seen.collections, 1);
  release.grown();
  release.stop();
  await clock.advance(100_000);
  assert.equal(seen.collections, 1);
});

test('[Q38] a gateway that had a body of 17 MiB collects once when it rests, and counts it', async () => {
  const clock = new ManualClock();
  await using gate = await startGateway({ clock, upstream: { accounts: ['north'], clock } });
  const { status } = await gate.send('/backend-api/agent/responses', { body: turnBody('x'.repeat(17 * 2 ** 20)) });
  assert.equal(status, 200);
  await clock.advance(10_000);
  assert.equal(gate.count('memory_returned'), 0);
  await clock.advance(100_000);
  assert.equal(gate.count('memory_returned'), 1);
});

test('[Q38] bodies and dense JSON of 16 MiB and more are large', () => {
  let large = 0;
  const memory = new BodyMemory(() => {
    large += 1;
  });
  const body = memory.of('a').body();
  assert.ok(body.take(16_777_215, 1e9));
  assert.equal(large, 0);
  assert.ok(body.take(1, 1e9));
  assert.equal(large, 1);
  assert.ok(
    memory
      .of('b')
      .json()
      .count(16_777_215 + 8, 1, 1e9),
  );
  assert.equal(large, 1);
  assert.ok(memory.of('c').json().count(9, 1, 1e9));
  assert.equal(large, 2);
});
