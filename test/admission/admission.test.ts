// Admission: the slots of a class, its queue, and how a wait ends (Q4, Q7).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Admission, type Slot, type SlotRequest } from '../../proxy/admission/admission.ts';
import { Counters } from '../../proxy/base/process/metrics.ts';
import type { AdmissionConfig } from '../../proxy/config/config.ts';
import type { Refusal } from '../../proxy/turn/errors/refusal.ts';
import type { AdmissionClass } from '../../proxy/turn/settings.ts';
import { ManualClock, settled } from '../support/clocks/manual-clock.ts';
import { KEY } from '../support/turns/turn.ts';

function world(given: Partial<AdmissionConfig> = {}) {
  const clock = new ManualClock();
  const counters = new Counters();
  const admission = new Admission(clock, counters);
  const configure = (fields: Partial<AdmissionConfig>): void => {
    const limits = { running: 2, waiting: 2, wait_ms: 10_000, ...given, ...fields };
    admission.configure({ stream: limits, compact: limits } as Record<AdmissionClass, AdmissionConfig>);
  };
  configure({});
  const requestOf = (fields: Partial<SlotRequest> = {}): SlotRequest => ({
    class: 'stream',
    key: KEY,
    onGone: () => () => undefined,
    ...fields,
  });
  return {
    configure,
    clock,
    counters,
    admission,
    requestOf,
    /** Takes a slot that must be free at once. */
    acquire: (fields?: Partial<SlotRequest>): Slot => {
      const slot = admission.acquire(requestOf(fields));
      assert.ok(!(slot instanceof Promise), 'there is a slot');
      return slot;
    },
    queue: (fields?: Partial<SlotRequest>): Promise<Slot | undefined> => {
      const slot = admission.acquire(requestOf(fields));
      assert.ok(slot instanceof Promise, 'there is no slot');
      return slot;
    },
  };
}

test('a class runs turns up to its limit, and another class has its own limit', () => {
  const { acquire, admission } = world();
  acquire();
  acquire();
  acquire({ class: 'compact' });
  assert.deepEqual(admission.status(), { stream: { running: 2, waiting: 0 }, compact: { running: 1, waiting: 0 } });
});

test('waiting turns are served in the order of arrival, and a new turn does not overtake them', async () => {
  const { acquire, queue } = world({ waiting: 3 });
  const running = [acquire(), acquire()];
  const order: string[] = [];
  const waiting = ['first', 'second', 'third'].map(async (name) => {
    const slot = await queue();
    order.push(name);
    return slot;
  });
  running[0]?.release();
  await settled();
  assert.deepEqual(order, ['first']);
  running[1]?.release();
  (await waiting[0])?.release();
  await Promise.all(waiting);
  assert.deepEqual(order, ['first', 'second', 'third']);
});

test('a turn is refused at once when the queue is full, with Retry-After', () => {
  const { acquire, queue, admission, requestOf, counters } = world({ waiting: 1 });
  acquire();
  acquire();
  void queue();
  assert.throws(
    () => admission.acquire(requestOf()),
    ({ status, code, headers }: Refusal) => status === 503 && code === 'server_is_overloaded' && headers['retry-after'] === '10',
  );
  assert.deepEqual([counters.values.admission_full, counters.values.admission_waits], [1, 1]);
});

test('a turn that reached its deadline is refused, and leaves the queue', async () => {
  const { acquire, queue, clock, admission, counters } = world();
  acquire();
  acquire();
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

test('a client that closes the connection makes room in the queue, and takes no slot', async () => {
  const { acquire, queue, admission } = world();
  const running = [acquire(), acquire()];
  let leave = (): void => undefined;
  const waiting = queue({
    onGone: (aborted) => {
      leave = aborted;
      return () => undefined;
    },
  });
  leave();
  assert.equal(await waiting, undefined);
  running[0]?.release();
  assert.deepEqual(admission.status().stream, { running: 1, waiting: 0 });
});

test('a turn whose connection closed before the wait does not wait', async () => {
  const { acquire, queue, admission } = world();
  acquire();
  acquire();
  const gone = (aborted: () => void): (() => void) => {
    aborted();
    return () => undefined;
  };
  assert.equal(await queue({ onGone: gone }), undefined);
  assert.equal(admission.status().stream?.waiting, 0);
});

test('a slot that is released twice is given back once', () => {
  const { acquire, admission } = world();
  const slot = acquire();
  acquire();
  slot.release();
  slot.release();
  assert.equal(admission.status().stream?.running, 1);
});

test('a higher limit after a reload serves waiting turns, and a lower one ends no running turn', async () => {
  const { acquire, queue, configure, admission } = world();
  acquire();
  acquire();
  const waiting = [queue(), queue()];
  configure({ running: 4 });
  assert.ok((await Promise.all(waiting)).every((slot) => slot));
  configure({ running: 1 });
  assert.equal(admission.status().stream?.running, 4);
});

test('the wait for a slot counts toward the turn’s deadline', async () => {
  const { acquire, queue, clock } = world();
  const begun = clock.now();
  const running = [acquire(), acquire()];
  const waiting = queue();
  await clock.advance(4_000);
  running[0]?.release();
  assert.equal((await waiting)?.deadline, begun + 10_000);
});
