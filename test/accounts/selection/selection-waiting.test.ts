// Turns that wait because every account is at its max_concurrent (Q7).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AccountLease } from '../../../proxy/accounts/selection/lease.ts';
import type { Refusal } from '../../../proxy/turn/errors/refusal.ts';
import { account } from '../../models/support.ts';
import { settled } from '../../support/clocks/manual-clock.ts';
import { failure } from '../health/support.ts';
import { type SelectionWorld, selectionOf, type TurnOptions } from './support.ts';

const NONE: ReadonlySet<string> = new Set();

/** Two accounts that take one turn each and have one each. */
async function full(options: SelectionWorld = {}) {
  const world = await selectionOf({
    accounts: ['north', 'south'],
    caps: { north: 1, south: 1 },
    pool: { strategy: 'fill_first' },
    ...options,
  });
  const leases = [world.take(), world.take()] as const;
  const wait = (turn: TurnOptions = {}, tried = NONE): Promise<AccountLease | undefined> => {
    const waiting = world.selection.choose(world.demand(turn), tried);
    assert.ok(waiting instanceof Promise, 'it waits');
    return waiting;
  };
  return { ...world, leases, wait };
}

test('turns wait in order for the first account below its maximum', async () => {
  const { leases, wait, admission, counters } = await full();
  const waiting = [wait(), wait()];
  assert.equal(admission.status().stream?.waiting, 2);
  leases[1].end('completed');
  assert.equal((await waiting[0])?.account.id, 'south');
  leases[0].end('completed');
  assert.equal((await waiting[1])?.account.id, 'north');
  assert.deepEqual([admission.status().stream?.waiting, counters.values.account_waits], [0, 2]);
});

test('waits for an account are measured apart from waits for a slot, and only those that ended with an account', async () => {
  const { leases, wait, admission, clock } = await full();
  const [served, late] = [wait(), assert.rejects(wait())];
  await clock.advance(3_000);
  leases[0].end('completed');
  await served;
  await clock.advance(7_000);
  await late;
  const measured = (waitedFor: 'slot' | 'account') => {
    const stream = new Map(admission.waits(waitedFor)).get('stream');
    return [stream?.counts.reduce((sum, count) => sum + count, 0), stream?.sumMs];
  };
  assert.deepEqual(
    [measured('account'), measured('slot')],
    [
      [1, 3_000],
      [0, 0],
    ],
  );
});

test('a turn is not delayed by an earlier one that cannot use the free account', async () => {
  const { leases, wait } = await full();
  const pinned = wait({ hard: 'north' });
  const other = wait();
  leases[1].end('completed');
  assert.equal((await other)?.account.id, 'south');
  leases[0].end('completed');
  assert.equal((await pinned)?.account.id, 'north');
});

test('a turn waits at most wait_ms of its class and is then server_is_overloaded', async () => {
  const { wait, clock, counters } = await full();
  const late = assert.rejects(wait(), ({ status, code }: Refusal) => status === 503 && code === 'server_is_overloaded');
  await clock.advance(10_000);
  await late;
  assert.deepEqual([counters.values.admission_timeouts, clock.pending], [1, 0]);
});

test('the queue for accounts counts in the limit of the class', async () => {
  const { wait, selection, demand } = await full({ admission: { waiting: 1 } });
  void wait();
  assert.throws(
    () => selection.choose(demand(), NONE),
    ({ code }: Refusal) => code === 'server_is_overloaded',
  );
});

test('a turn whose client left takes no account', async () => {
  const { leases, wait, selection } = await full();
  let leave = (): void => undefined;
  const waiting = wait({
    onGone: (aborted) => {
      leave = aborted;
      return () => undefined;
    },
  });
  leave();
  assert.equal(await waiting, undefined);
  leases[0].end('completed');
  assert.equal(selection.candidates.inFlight('north'), 0);
});

test('the end of a cooldown serves waiting turns', async () => {
  const { take, leases, wait, clock } = await full({ accounts: ['north', 'south'] });
  leases[1].end(failure('connect'));
  const waiting = wait();
  await clock.advance(10_000);
  const lease = await waiting;
  assert.deepEqual([lease?.account.id, lease?.isProbe], ['south', true]);
  assert.throws(() => take());
});

test('recovered quota serves waiting turns', async () => {
  const { leases, wait, quota } = await full();
  quota.set('south', { left: 0 });
  leases[1].end('completed');
  const waiting = wait();
  quota.set('south', { left: 0.5 });
  assert.equal((await waiting)?.account.id, 'south');
});

test('a waiting turn is refused as soon as its last account becomes unavailable', async () => {
  const { leases, wait } = await full();
  const refused = [wait(), wait()].map((waiting) => assert.rejects(waiting, ({ code }: Refusal) => code === 'no_eligible_account'));
  leases[0].end(failure('connect'));
  leases[1].end(failure('connect'));
  await Promise.all(refused);
});

test('a turn that fails over waits for untried accounts only', async () => {
  const { leases, wait } = await full();
  const waiting = wait({}, new Set(['north']));
  leases[0].end('completed');
  let served = false;
  void waiting.then(() => (served = true));
  await settled();
  assert.equal(served, false);
  leases[1].end('completed');
  assert.equal((await waiting)?.account.id, 'south');
});

test('keys take turns at an account, by their weights, and Pools count before keys', async () => {
  const { leases, wait } = await full({ keyWeights: { heavy: 2 } });
  const order: string[] = [];
  let free: AccountLease | undefined = leases[0];
  const queue = (key: string): void =>
    void wait({ key }).then((lease) => {
      order.push(key);
      free = lease;
    });
  for (let i = 0; i < 12; i++) queue('loud');
  for (let i = 0; i < 12; i++) queue('heavy');
  for (let i = 0; i < 9; i++) {
    free?.end('completed');
    await settled();
  }
  assert.deepEqual([order.filter((key) => key === 'heavy').length, order.filter((key) => key === 'loud').length], [6, 3]);
  queue('quiet');
  free?.end('completed');
  await settled();
  assert.equal(order.at(-1), 'quiet');
});

test('a key whose turns must wait for another account keeps its place', async () => {
  const { leases, wait } = await full();
  const pinned = [wait({ key: 'loud', hard: 'north' }), wait({ key: 'loud', hard: 'north' })];
  const other = wait({ key: 'quiet' });
  leases[1].end('completed');
  assert.equal((await other)?.account.id, 'south');
  const again = wait({ key: 'quiet' });
  leases[0].end('completed');
  (await pinned[0])?.end('completed');
  (await again)?.end('completed');
  assert.equal((await pinned[1])?.account.id, 'north');
});

test('a turn that waits for an account is displaced by a key that has fewer waiting', async () => {
  const { wait, admission, counters } = await full({ admission: { waiting: 3 } });
  const loud = ['first', 'second', 'third'].map((name) => wait({ key: 'loud' }).catch(({ code }: Refusal) => [name, code]));
  void wait({ key: 'quiet' });
  assert.deepEqual(await Promise.race(loud), ['third', 'server_is_overloaded']);
  assert.deepEqual([admission.status().stream?.waiting, counters.values.admission_displaced], [3, 1]);
});

test('an account that may take more after a reload serves waiting turns', async () => {
  const { wait, selection } = await full();
  const waiting = wait();
  selection.configure(['north', 'south'].map((id) => account(id, { max_concurrent: 2 })));
  assert.equal((await waiting)?.account.id, 'north');
});
