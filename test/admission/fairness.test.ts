// Fairness between keys and between Pools that wait for a slot of their class, with a manual clock.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Admission, type Slot } from '../../proxy/admission/admission.ts';
import type { Tenant } from '../../proxy/admission/waiting-room.ts';
import { Counters } from '../../proxy/base/process/metrics.ts';
import type { AdmissionConfig } from '../../proxy/config/config.ts';
import type { Refusal } from '../../proxy/turn/errors/refusal.ts';
import type { AdmissionClass } from '../../proxy/turn/settings.ts';
import { ManualClock } from '../support/clocks/manual-clock.ts';

const TURN_MS = 100;

function world(given: Partial<AdmissionConfig> = {}) {
  const clock = new ManualClock();
  const counters = new Counters();
  const admission = new Admission(clock, counters);
  const limits = { running: 1, waiting: 10_000, wait_ms: 600_000, ...given };
  admission.configure({ stream: limits } as Record<AdmissionClass, AdmissionConfig>);
  const order: string[] = [];
  const key = (id: string, fields: Partial<Tenant> = {}): Tenant => ({ id, pool: 'team', weight: 1, ...fields });
  /** Waits for a slot, then runs for TURN_MS; resolves with the time that the turn waited for its slot. */
  const turn = async (tenant: Tenant, onGone: (left: () => void) => () => void = () => () => undefined): Promise<number | undefined> => {
    const begun = clock.now();
    const entering = admission.acquire({ class: 'stream', key: tenant, onGone });
    const slot: Slot | undefined = entering instanceof Promise ? await entering : entering;
    if (!slot) return undefined;
    order.push(tenant.id);
    clock.after(TURN_MS, () => slot.release());
    return clock.now() - begun;
  };
  return { clock, counters, admission, order, key, turn };
}

/** Starts a turn of a key every `every` milliseconds; resolves with the time to the end of each turn. */
async function offer({ clock, turn }: ReturnType<typeof world>, tenant: Tenant, every: number, until: number): Promise<readonly number[]> {
  const times: Promise<number>[] = [];
  const start = clock.now();
  const next = (): void => {
    if (clock.now() - start >= until) return;
    times.push(turn(tenant).then((waited = 0) => waited + TURN_MS));
    clock.after(every, next);
  };
  next();
  await clock.advance(until + 1);
  return Promise.all(times.slice(0, -1));
}

for (const running of [1, 4]) {
  test(`with another key at 50 times its load a quiet key's answer takes at most twice its time without, ${running} at once`, async () => {
    const every = 997;
    const alone = world({ running });
    const quietAlone = await offer(alone, alone.key('quiet'), every, 100 * every);
    const both = world({ running });
    const loud = both.key('loud');
    void offer(both, loud, every / 50, 100 * every).catch(() => undefined);
    await both.clock.advance(5 * TURN_MS);
    const quiet = await offer(both, both.key('quiet'), every, 90 * every);
    assert.ok(quiet.length >= 80 && (both.admission.status().stream?.waiting ?? 0) > 10, 'the loud key waits all the time');
    assert.ok(Math.max(...quiet) <= 2 * Math.max(...quietAlone), `${Math.max(...quiet)} against ${Math.max(...quietAlone)} ms`);
  });
}

test('each turn of a quiet key’s burst waits at most twice as long as without the waiting turns of a loud key', async () => {
  const burst = async (loud: number): Promise<readonly (number | undefined)[]> => {
    const { turn, key, clock } = world();
    for (let i = 0; i <= loud; i++) void turn(key('loud'));
    // One turn of the key with many turns runs in both cases.
    await clock.advance(loud > 0 ? 10.5 * TURN_MS : TURN_MS / 2);
    const waits = Array.from({ length: 10 }, () => turn(key('quiet')));
    await clock.advance(40 * TURN_MS);
    return Promise.all(waits);
  };
  const alone = await burst(0);
  const beside = await burst(500);
  for (const [at, wait = Infinity] of beside.entries()) assert.ok(wait <= 2 * (alone[at] ?? 0), `turn ${at}: ${wait} and ${alone[at]} ms`);
});

test('the keys of a Pool share its slots by their weights', async () => {
  const { clock, turn, key, order } = world();
  for (let i = 0; i < 200; i++) {
    void turn(key('heavy', { weight: 4 }));
    void turn(key('light', { weight: 1 }));
  }
  await clock.advance(100 * TURN_MS);
  assert.equal(Math.round(order.filter((id) => id === 'heavy').length / order.length / 0.01), 80);
});

test('Pools share alike, whatever the number and the weights of their keys', async () => {
  const { clock, turn, key, order } = world();
  for (let i = 0; i < 100; i++) {
    for (const id of ['a1', 'a2', 'a3', 'a4']) void turn(key(id, { pool: 'a', weight: 10 }));
    void turn(key('b1', { pool: 'b', weight: 0.1 }));
  }
  await clock.advance(100 * TURN_MS);
  const served = order.slice(1, 101);
  assert.equal(served.filter((id) => id === 'b1').length, 50);
  assert.equal(served.filter((id) => id === 'a3').length, 13);
});

test('a key’s own turns keep their order', async () => {
  const { clock, turn, key } = world();
  const ended: number[] = [];
  for (let i = 0; i < 20; i++) {
    void turn(key('one')).then(() => ended.push(i));
    void turn(key('other'));
  }
  await clock.advance(50 * TURN_MS);
  assert.deepEqual(
    ended,
    Array.from({ length: 20 }, (_, i) => i),
  );
});

test('turns that leave or wait too long do not delay the others', async () => {
  const { clock, turn, key, order } = world({ wait_ms: 250 });
  void turn(key('first'));
  const leaving: (() => void)[] = [];
  const gone = Array.from({ length: 10 }, () =>
    turn(key('gone'), (left) => {
      leaving.push(left);
      return () => undefined;
    }),
  );
  const late = Array.from({ length: 10 }, () => turn(key('late')).catch(({ code }: Refusal) => code));
  for (const leave of leaving) leave();
  assert.deepEqual(new Set(await Promise.all(gone)), new Set([undefined]));
  await clock.advance(250);
  assert.deepEqual(order, ['first', 'late', 'late']);
  assert.deepEqual(new Set((await Promise.all(late)).slice(2)), new Set(['server_is_overloaded']));
  // Eight refused turns do not reduce the later share.
  for (const id of ['late', 'late', 'late', 'other', 'other', 'other']) turn(key(id)).catch(() => undefined);
  await clock.advance(1_000);
  assert.deepEqual(order.slice(3), ['other', 'late']);
});

test('in a full queue a turn of another key takes the place of the newest turn of the key with most', async () => {
  const { turn, key, clock, admission, counters, order } = world({ waiting: 4 });
  void turn(key('loud'));
  const loud = Array.from({ length: 4 }, () => turn(key('loud')).catch(({ code, headers }: Refusal) => [code, headers['retry-after']]));
  const quiet = turn(key('quiet'));
  assert.deepEqual(await loud[3], ['server_is_overloaded', undefined]);
  assert.deepEqual([admission.status().stream?.waiting, counters.values.admission_displaced, counters.values.admission_full], [4, 1, 0]);
  await assert.rejects(turn(key('loud')), ({ code }: Refusal) => code === 'server_is_overloaded');
  await clock.advance(10 * TURN_MS);
  await Promise.all([quiet, ...loud.slice(0, 3)]);
  assert.deepEqual(order, ['loud', 'loud', 'quiet', 'loud', 'loud']);
});

test('no turn is displaced for a key that would then have as many waiting', async () => {
  const { turn, key, counters } = world({ waiting: 2 });
  void turn(key('one'));
  void turn(key('one'));
  void turn(key('other'));
  for (const id of ['one', 'other', 'third']) {
    await assert.rejects(turn(key(id)), ({ code }: Refusal) => code === 'server_is_overloaded');
  }
  assert.deepEqual([counters.values.admission_displaced, counters.values.admission_full], [0, 3]);
});

test('weights count in a full queue, and Pools count before keys', async () => {
  const { turn, key, counters, admission } = world({ waiting: 6 });
  void turn(key('a1', { pool: 'a' }));
  const heavy = Array.from({ length: 4 }, () => turn(key('a1', { pool: 'a', weight: 8 })).catch(() => 'heavy'));
  const light = Array.from({ length: 2 }, () => turn(key('a2', { pool: 'a', weight: 1 })).catch(() => 'light'));
  void turn(key('b1', { pool: 'b' }));
  assert.equal(await Promise.race([light[1], heavy[3]]), 'light');
  assert.equal(counters.values.admission_displaced, 1);
  assert.equal(admission.status().stream?.waiting, 6);
});
