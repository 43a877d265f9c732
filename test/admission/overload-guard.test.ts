// When the overload guard refuses turns, when it accepts them again, and what it counts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OverloadGuard } from '../../proxy/admission/overload-guard.ts';
import { NodeLoad } from '../../proxy/admission/process-load.ts';
import { Counters } from '../../proxy/base/process/metrics.ts';
import { HandLoad } from '../support/program/hand-load.ts';

function world(limits = { event_loop_ms: 200, memory_percent: 80 }) {
  const load = new HandLoad();
  const counters = new Counters();
  const state = { running: 1, now: 0 };
  const guard = new OverloadGuard({ load, counters, limits: () => limits, running: () => state.running });
  return {
    load,
    counters,
    guard,
    state,
    limits,
    /** Whether turns are refused after the next sample. */
    refuses: (fields: Partial<HandLoad>): boolean => {
      Object.assign(load, fields);
      state.now += 500;
      return guard.refusal(state.now) !== undefined;
    },
  };
}

test('an event loop that is late in two samples refuses turns until its delay is below half of the limit', () => {
  const { refuses, counters, guard } = world();
  assert.deepEqual(
    [0, 300, 199, 200, 200, 150, 100, 99, 300, 250, 260].map((delay) => refuses({ delay })),
    [false, false, false, false, true, true, true, false, false, true, true],
  );
  assert.deepEqual([counters.values.guard_event_loop_refused, counters.values.guard_memory_refused], [5, 0]);
  assert.deepEqual(guard.status(), { refusing: 'event_loop', event_loop_ms: 250, memory_percent: 0 });
});

test('after a clock was set back no sample is kept longer than usual', () => {
  const { refuses, state } = world();
  assert.equal(refuses({ memory: 90 }), true);
  state.now -= 3_600_000;
  assert.equal(refuses({ memory: 10 }), false);
  state.now -= 3_600_000;
  assert.equal(refuses({ memory: 90 }), true);
});

test('one long step of the event loop causes no refusal', () => {
  const { refuses } = world();
  assert.deepEqual(
    [0, 5_000, 0, 5_000, 10].map((delay) => refuses({ delay })),
    [false, false, false, false, false],
  );
});

test('when memory is short, turns are refused until five percent of the limit are free again', () => {
  const { refuses, counters } = world();
  assert.deepEqual(
    [79, 80, 77, 76, 75.9, 79].map((memory) => refuses({ memory })),
    [false, true, true, true, false, false],
  );
  assert.deepEqual([counters.values.guard_event_loop_refused, counters.values.guard_memory_refused], [0, 3]);
});

test('a refusal is a 503 whose Retry-After differs from turn to turn', () => {
  const { refuses, guard, state } = world();
  refuses({ memory: 90 });
  const refusals = Array.from({ length: 5 }, () => guard.refusal(state.now));
  assert.deepEqual(new Set(refusals.map((refusal) => `${refusal?.status} ${refusal?.code}`)), new Set(['503 server_is_overloaded']));
  assert.deepEqual(new Set(refusals.map((refusal) => refusal?.headers['retry-after'])), new Set(['1', '2', '3', '4', '5']));
});

test('no turn is refused while none runs', () => {
  const { refuses, state, counters } = world();
  state.running = 0;
  assert.equal(refuses({ memory: 99 }), false);
  state.running = 1;
  assert.equal(refuses({}), true);
  assert.equal(counters.values.guard_memory_refused, 1);
});

test('the load is read at most twice a second, and a limit of 0 is not read at all', () => {
  const { guard, load, limits } = world();
  for (let now = 0; now < 10_000; now += 10) guard.refusal(now);
  assert.deepEqual([load.reads.eventLoop, load.reads.memory], [20, 20]);
  limits.event_loop_ms = 0;
  for (let now = 10_000; now < 20_000; now += 10) guard.refusal(now);
  assert.deepEqual([load.reads.eventLoop, load.reads.memory], [20, 40]);
});

test('a limit that is turned off by a reload refuses no more', () => {
  const { refuses, limits } = world();
  refuses({ delay: 1_000 });
  assert.equal(refuses({}), true);
  limits.event_loop_ms = 0;
  assert.equal(refuses({}), false);
});

test('the load of this process can be read', () => {
  const load = new NodeLoad();
  assert.equal(load.eventLoopMs(), 0);
  assert.ok(load.memoryPercent() > 0 && load.memoryPercent() < 100);
  load.stop();
});
