// Admission: slots of a class, first come first served, and what becomes of those who wait (Q4, Q7).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Admission, type Arriving, type Slot } from '../../proxy/admission/admission.ts';
import type { AdmissionConfig } from '../../proxy/config/config.ts';
import { Counters } from '../../proxy/metrics.ts';
import type { Refusal } from '../../proxy/turn/refusal.ts';
import type { AdmissionClass } from '../../proxy/turn/settings.ts';
import { HandClock, settled } from '../models/support.ts';

function world(given: Partial<AdmissionConfig> = {}) {
  const clock = new HandClock();
  const counters = new Counters();
  const admission = new Admission(clock, counters);
  const configure = (fields: Partial<AdmissionConfig>): void => {
    const limits = { running: 2, waiting: 2, wait_ms: 10_000, ...given, ...fields };
    admission.configure({ stream: limits, compact: limits } as Record<AdmissionClass, AdmissionConfig>);
  };
  configure({});
  const arriving = (fields: Partial<Arriving> = {}): Arriving => ({ class: 'stream', onGone: () => () => undefined, ...fields });
  return {
    configure,
    clock,
    counters,
    admission,
    arriving,
    /** A slot at once. */
    enter: (fields?: Partial<Arriving>): Slot => {
      const slot = admission.enter(arriving(fields));
      assert.ok(!(slot instanceof Promise), 'there is a slot');
      return slot;
    },
    queue: (fields?: Partial<Arriving>): Promise<Slot | undefined> => {
      const slot = admission.enter(arriving(fields));
      assert.ok(slot instanceof Promise, 'there is no slot');
      return slot;
    },
  };
}

test('a class runs as many turns as it may, and another class its own', () => {
  const { enter, admission } = world();
  enter();
  enter();
  enter({ class: 'compact' });
  assert.deepEqual(admission.status(), { stream: { running: 2, waiting: 0 }, compact: { running: 1, waiting: 0 } });
});

test('who waits is served in the order of arrival, and nobody overtakes', async () => {
  const { enter, queue } = world({ waiting: 3 });
  const running = [enter(), enter()];
  const order: string[] = [];
  const waiting = ['first', 'second', 'third'].map(async (name) => {
    const slot = await queue();
    order.push(name);
    return slot;
  });
  running[0]?.leave();
  await settled();
  assert.deepEqual(order, ['first']);
  running[1]?.leave();
  (await waiting[0])?.leave();
  await Promise.all(waiting);
  assert.deepEqual(order, ['first', 'second', 'third']);
});

test('past the bound of its queue a turn is refused at once, with a time to come back', () => {
  const { enter, queue, admission, arriving, counters } = world({ waiting: 1 });
  enter();
  enter();
  void queue();
  assert.throws(
    () => admission.enter(arriving()),
    ({ status, code, headers }: Refusal) => status === 503 && code === 'server_is_overloaded' && headers['retry-after'] === '10',
  );
  assert.deepEqual([counters.values.admission_full, counters.values.admission_waits], [1, 1]);
});

test('who has waited long enough is refused, and leaves the queue', async () => {
  const { enter, queue, clock, admission, counters } = world();
  enter();
  enter();
  const waiting = assert.rejects(
    queue(),
    ({ code, headers }: Refusal) => code === 'server_is_overloaded' && headers['retry-after'] === '10',
  );
  await clock.advance(9_999);
  assert.equal(admission.status().stream?.waiting, 1);
  await clock.advance(1);
  await waiting;
  assert.deepEqual([admission.status().stream?.waiting, counters.values.admission_timeouts, clock.pending], [0, 1, 0]);
});

test('a client that leaves makes room in the queue, and takes no slot', async () => {
  const { enter, queue, admission } = world();
  const running = [enter(), enter()];
  let leave = (): void => undefined;
  const waiting = queue({
    onGone: (aborted) => {
      leave = aborted;
      return () => undefined;
    },
  });
  leave();
  assert.equal(await waiting, undefined);
  running[0]?.leave();
  assert.deepEqual(admission.status().stream, { running: 1, waiting: 0 });
});

test('a client that was gone before it began to wait does not wait', async () => {
  const { enter, queue, admission } = world();
  enter();
  enter();
  const gone = (aborted: () => void): (() => void) => {
    aborted();
    return () => undefined;
  };
  assert.equal(await queue({ onGone: gone }), undefined);
  assert.equal(admission.status().stream?.waiting, 0);
});

test('a slot is given back once, whoever says so twice', () => {
  const { enter, admission } = world();
  const slot = enter();
  enter();
  slot.leave();
  slot.leave();
  assert.equal(admission.status().stream?.running, 1);
});

test('more room after a reload serves those who wait, and less of it ends nobody', async () => {
  const { enter, queue, configure, admission } = world();
  enter();
  enter();
  const waiting = [queue(), queue()];
  configure({ running: 4 });
  assert.ok((await Promise.all(waiting)).every((slot) => slot));
  configure({ running: 1 });
  assert.equal(admission.status().stream?.running, 4);
});

test('the time that a slot took is part of the turn’s patience', async () => {
  const { enter, queue, clock } = world();
  const begun = clock.now();
  const running = [enter(), enter()];
  const waiting = queue();
  await clock.advance(4_000);
  running[0]?.leave();
  assert.equal((await waiting)?.deadline, begun + 10_000);
});
