// Work that one node at a time does: which node does it, which nodes wait for its result, and what follows if the node with the lease dies
// or pauses.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Clock, LATE } from '../../proxy/base/time/clock.ts';
import { ExclusiveWork } from '../../proxy/nodes/exclusive-work.ts';
import { openStore, type Store } from '../../store/store.ts';
import { folder } from '../store/adapters.ts';
import { ManualClock } from '../support/clocks/manual-clock.ts';

const LEASE_MS = 10_000;

async function bench(context: TestContext) {
  const clock = new ManualClock();
  const store: Store = await openStore(`sqlite:${await folder(context)}/poolgate.db`, { clock: () => clock.now() });
  context.after(() => store.close());
  let asking = 0;
  const counted =
    <Args extends readonly unknown[], Result>(ask: (...args: Args) => Promise<Result>) =>
    (...args: Args): Promise<Result> => {
      asking += 1;
      return ask(...args).finally(() => {
        asking -= 1;
      });
    };
  const { acquire, renew, release } = store.leases;
  const leases = { acquire: counted(acquire), renew: counted(renew), release: counted(release) };
  /** Resolves when no node waits for the store. */
  const idle = async (): Promise<void> => {
    do await new Promise(setImmediate);
    while (asking > 0);
    await new Promise(setImmediate);
  };
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 1_000) {
      await idle();
      await clock.advance(1_000);
    }
    await idle();
  };
  const node = (owner: string, own: Clock = clock): ExclusiveWork => new ExclusiveWork({ leases, clock: own, owner });
  /** A node that no longer does anything. */
  const dead = (owner: string): ExclusiveWork =>
    node(owner, { now: () => clock.now(), wallTime: () => clock.now(), after: () => () => undefined });
  return { clock, store, node, dead, idle, pass };
}

const nothing = async (): Promise<undefined> => undefined;
const task = <Result>(work: () => Promise<Result>, found: () => Promise<Result | undefined> = nothing) => ({
  name: 'catalog/north',
  waitMs: 60_000,
  found,
  work,
});

test('[Q34] a node that waits gets the result of the node that works, as soon as the feed has it', async (context) => {
  const { node, idle } = await bench(context);
  const [one, other] = [node('one'), node('other')];
  const { promise: done, resolve: finish } = Promise.withResolvers<string>();
  let stored: string | undefined;
  const working = one.run(task(() => done));
  await idle();
  const waiting = other.run(
    task(
      () => assert.fail('it works too'),
      async () => stored,
    ),
  );
  await idle();
  stored = 'result';
  other.announce('catalog/north');
  assert.equal(await waiting, 'result');
  finish('own');
  assert.equal(await working, 'own');
});

test('[Q34] without the feed it asks again every second, and takes over the work where the other one gave up', async (context) => {
  const { node, idle, pass } = await bench(context);
  const { promise: answer, reject: fail } = Promise.withResolvers<string>();
  const failing = assert.rejects(node('one').run(task(() => answer)), /no answer/);
  await idle();
  const waiting = node('other').run(task(async () => 'mine'));
  await idle();
  fail(new Error('no answer'));
  await failing;
  await pass(1_000);
  assert.equal(await waiting, 'mine');
});

test('[Q34] the work of a node that died is taken over when its lease has expired', async (context) => {
  const { node, dead, idle, pass } = await bench(context);
  void dead('one').run(task(() => new Promise<string>(() => undefined)));
  await idle();
  const waiting = node('other').run(task(async () => 'taken over'));
  await pass(LEASE_MS);
  assert.equal(await waiting, 'taken over');
});

test('[Q34] a node that keeps working keeps its lease, and a wait for it is bounded', async (context) => {
  const { node, idle, pass } = await bench(context);
  const { promise: done, resolve: finish } = Promise.withResolvers<string>();
  const working = node('one').run(task(() => done));
  await idle();
  const waiting = node('other').run(task(() => assert.fail('it works too')));
  await pass(61_000);
  assert.equal(await waiting, LATE);
  finish('done');
  assert.equal(await working, 'done');
});

test('[Q34] a node that was paused past its lease finds out before it writes', async (context) => {
  const { clock, store, node, dead } = await bench(context);
  const held = await dead('one').acquire('catalog/north');
  assert(typeof held === 'object');
  assert.equal(held.isLost, false);
  await clock.advance(LEASE_MS);
  assert.equal(held.isLost, true);
  const row = { account: 'north', entries: '[]', etag: null, read_at: 1 };
  assert.equal(await store.catalog.putUnder(held.lease, { ...row, read_at: 3 }), false);
  const next = await node('other').acquire('catalog/north');
  assert(typeof next === 'object');
  assert.equal(await store.catalog.putUnder(next.lease, { ...row, read_at: 2 }), true);
  assert.equal(await store.catalog.putUnder(held.lease, { ...row, read_at: 3 }), false);
  assert.equal((await store.catalog.find('north'))?.read_at, 2);
  await next.release();
});

test('[Q34] where the store does not answer the work is done without a lease', async () => {
  const clock = new ManualClock();
  const gone = { acquire: () => Promise.reject(new Error('gone')), renew: nothing, release: async () => undefined };
  const one = new ExclusiveWork({ leases: gone, clock, owner: 'one' });
  assert.equal(await one.run({ ...task(nothing), work: async (held) => held ?? 'alone' }), 'alone');
  const silent = { ...gone, acquire: () => new Promise<never>(() => undefined) };
  const waiting = new ExclusiveWork({ leases: silent, clock, owner: 'one' }).acquire('x');
  await clock.advance(2_000);
  assert.equal(await waiting, 'unknown');
});
