// Pins: which are in memory and for how long, which are written, and when the store is read.
import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { Counters } from '../../../proxy/base/process/metrics.ts';
import { KeyedDigest } from '../../../proxy/encryption/digest.ts';
import { PinCache, type PinStore } from '../../../proxy/sessions/pins/pin-cache.ts';
import { openStore, type PinRow, type Store } from '../../../store/store.ts';
import { folder } from '../../store/adapters.ts';

const HOUR = 3_600_000;
const digest = new KeyedDigest(Buffer.alloc(32, 7));

class Bench {
  now = 1_000_000;
  readonly written: PinRow[] = [];
  /** The number of lookups of pins in the store. */
  reads = 0;
  /** The timers that were set. */
  readonly waiting: { readonly ms: number; readonly run: () => void }[] = [];
  readonly counters = new Counters();
  readonly store: Store;

  constructor(store: Store) {
    this.store = store;
  }

  static async open(test: TestContext, url = 'sqlite::memory:'): Promise<Bench> {
    const clock = { now: () => 0, wallTime: () => 0 };
    const store = await openStore(url, { clock: () => clock.now() });
    test.after(() => store.close());
    const bench = new Bench(store);
    clock.now = () => bench.now;
    return bench;
  }

  after(ms: number, run: () => void): () => void {
    this.waiting.push({ ms, run });
    return () => undefined;
  }

  cache(capacity = 50_000): PinCache {
    const { pins } = this.store;
    const store: PinStore = {
      put: (row) => {
        this.written.push(row);
        pins.put(row);
      },
      putNow: (rows) => {
        this.written.push(...rows);
        pins.putNow(rows);
      },
      load: (limit) => pins.load(limit),
      find: (name) => {
        this.reads++;
        return pins.find(name);
      },
    };
    const clock = { now: () => this.now, wallTime: () => this.now, after: (ms: number, run: () => void) => this.after(ms, run) };
    return new PinCache({ store, digest, clock, counters: this.counters, capacity });
  }
}

suite('pins', () => {
  test('are found by kind, Pool, key and value until 24 hours have passed', async (context) => {
    const bench = await Bench.open(context);
    const cache = bench.cache();
    await cache.load();
    const name = cache.name('header', 'team', 'ci', 'thread-1');
    cache.learn(name, 'north');
    assert.equal((await cache.find(name))?.account, 'north');
    for (const other of [
      cache.name('response', 'team', 'ci', 'thread-1'),
      cache.name('header', 'other', 'ci', 'thread-1'),
      cache.name('header', 'team', 'cd', 'thread-1'),
      cache.name('header', 'team', 'ci', 'thread-2'),
    ]) {
      assert.equal(await cache.find(other), undefined);
      assert.notEqual(other.text, name.text);
    }
    bench.now += 24 * HOUR - 1;
    assert.equal((await cache.find(name))?.account, 'north');
    bench.now += 1;
    assert.equal(await cache.find(name), undefined);
  });

  test('are written when the account changes or half the time is over, not with every turn', async (context) => {
    const bench = await Bench.open(context);
    const cache = bench.cache();
    const name = cache.name('header', 'team', 'ci', 'thread-1');
    for (let turn = 0; turn < 50; turn++) cache.learn(name, 'north');
    bench.now += 11 * HOUR;
    cache.learn(name, 'north');
    assert.equal(bench.written.length, 1);
    bench.now += 2 * HOUR;
    cache.learn(name, 'north');
    assert.deepEqual(
      bench.written.map(({ expires_at }) => expires_at),
      [1_000_000 + 24 * HOUR, bench.now + 24 * HOUR],
    );
    cache.learn(name, 'south');
    assert.equal(bench.written.at(-1)?.account, 'south');
    assert.equal((await cache.find(name))?.account, 'south');
  });

  test('[S4] never hold the value in a row, nor a long one in memory', async (context) => {
    const bench = await Bench.open(context);
    const cache = bench.cache();
    cache.learn(cache.name('header', 'team', 'ci', 'a-secret-thread'), 'north');
    assert(!JSON.stringify(bench.written).includes('secret'));
    assert.match(bench.written[0]?.hash ?? '', /^[\w-]{16}$/);
    const long = cache.name('turn_state', 'team', '', 'a-secret-thread'.repeat(1_000));
    assert(long.text.length < 300 && !long.text.includes('secret'));
    assert.notEqual(long.text, cache.name('turn_state', 'team', '', 'a-secret-thread'.repeat(1_001)).text);
  });

  test('of a live websocket are only in memory: written at its end, dropped when another one follows', async (context) => {
    const bench = await Bench.open(context);
    const cache = bench.cache();
    const [first, second] = ['resp_1', 'resp_2'].map((id) => cache.name('response', 'team', '', id));
    assert(first && second);
    const pin = cache.remember(first, 'north');
    cache.flush();
    assert.deepEqual([await cache.find(first), bench.reads], [{ account: 'north', expires_at: 1_000_000 + 24 * HOUR }, 0]);
    assert.deepEqual(bench.written, []);
    const next = cache.remember(second, 'north');
    pin.followed();
    assert.deepEqual([cache.peek(first), cache.peek(second)?.account], [undefined, 'north']);
    // An account may give two responses the same id.
    const alike = cache.remember(second, 'south');
    next.followed();
    assert.equal(cache.peek(second)?.account, 'south');
    alike.ended();
    cache.flush();
    const written = bench.written.map(({ account, expires_at }) => [account, expires_at]);
    assert.deepEqual(written, [['south', 1_000_000 + 24 * HOUR]]);
  });

  test('survive a restart, in memory at once', async (context) => {
    const url = `sqlite:${await folder(context)}/pins.db`;
    const before = await Bench.open(context, url);
    const old = before.cache();
    old.learn(old.name('response', 'team', '', 'resp_1'), 'north');
    old.flush();
    await before.store.close();
    const after = await Bench.open(context, url);
    const cache = after.cache();
    await cache.load();
    const found = cache.find(cache.name('response', 'team', '', 'resp_1'));
    assert(!(found instanceof Promise));
    assert.equal(found?.account, 'north');
    assert.equal(await cache.find(cache.name('response', 'team', '', 'resp_2')), undefined);
    assert.equal(after.reads, 1, 'only the unknown one was looked up');
  });

  test('[Q10] hold for a day at most, though the clock was set back an hour before a restart', async (context) => {
    const url = `sqlite:${await folder(context)}/pins.db`;
    const before = await Bench.open(context, url);
    before.now += HOUR;
    const old = before.cache();
    old.learn(old.name('response', 'team', '', 'resp_1'), 'north');
    old.flush();
    await before.store.close();
    const after = await Bench.open(context, url);
    const cache = after.cache();
    await cache.load();
    const found = await cache.find(cache.name('response', 'team', '', 'resp_1'));
    assert.deepEqual(found, { account: 'north', expires_at: after.now + 24 * HOUR });
  });

  test('that are not in memory are looked up in the store', async (context) => {
    const bench = await Bench.open(context);
    const cache = bench.cache(10);
    await cache.load();
    const name = (n: number) => cache.name('response', 'team', '', `resp_${n}`);
    assert.equal(await cache.find(name(0)), undefined);
    for (let n = 0; n < 25; n++) cache.learn(name(n), n % 2 ? 'north' : 'south');
    cache.flush();
    await bench.store.flush();
    const first = cache.find(name(0));
    assert(first instanceof Promise);
    assert.equal((await first)?.account, 'south');
    assert(!(cache.find(name(0)) instanceof Promise), 'it is in memory again');
    assert.equal(await cache.find(name(99)), undefined);
    const small = bench.cache(10);
    await small.load();
    assert.equal((await small.find(name(3)))?.account, 'north');
    assert.equal(bench.reads, 4);
  });

  test('that come with every turn are written within a second, in the order of their digests, and all of them', async (context) => {
    const bench = await Bench.open(context);
    const cache = bench.cache();
    const learn = (from: number, to: number): void => {
      for (let n = from; n < to; n++) cache.learn(cache.name('turn_state', 'team', '', `state_${n}`), 'north');
    };
    learn(0, 1_000);
    assert.deepEqual([bench.written.length, bench.waiting.map(({ ms }) => ms)], [0, [1_000]]);
    bench.waiting.pop()?.run();
    while (bench.written.length < 1_000) await new Promise(setImmediate);
    const hashes = bench.written.map(({ hash }) => hash);
    assert.deepEqual(hashes, hashes.toSorted());
    // If more pins wait than may wait, they are written at once, and later ones after them.
    learn(1_000, 22_000);
    bench.waiting.pop()?.run();
    while (bench.written.length < 22_000) await new Promise(setImmediate);
    learn(22_000, 22_500);
    bench.waiting.pop()?.run();
    // Digests of later pins may precede those that are being written.
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
    learn(22_500, 23_000);
    bench.waiting.pop()?.run();
    while (bench.written.length < 23_000) await new Promise(setImmediate);
    learn(23_000, 23_010);
    cache.flush();
    assert.equal(new Set(bench.written.map(({ hash }) => hash)).size, 23_010);
  });

  test('of a store that fails are unknown, and no turn fails because of it', async () => {
    const broken = {
      put: () => undefined,
      putNow: () => undefined,
      load: () => Promise.reject(new Error('disk')),
      find: () => Promise.reject(new Error('disk')),
    };
    const cache = new PinCache({
      store: broken,
      digest,
      clock: { now: () => 1, wallTime: () => 1, after: () => () => undefined },
      counters: new Counters(),
      capacity: 10,
    });
    await cache.load();
    const name = cache.name('header', 'team', 'ci', 'thread-1');
    assert.equal(await cache.find(name), undefined);
    cache.learn(name, 'north');
    assert.equal((await cache.find(name))?.account, 'north');
  });

  test('of a process are found by another one that started earlier and has loaded all pins of that time', async (context) => {
    const url = `sqlite:${await folder(context)}/pins.db`;
    const [making, asking] = [await Bench.open(context, url), await Bench.open(context, url)];
    const [first, second] = [making.cache(), asking.cache()];
    await Promise.all([first.load(), second.load()]);
    const response = first.name('response', 'team', '', 'resp_1');
    assert.equal(await second.find(response), undefined);
    first.learn(response, 'north');
    making.waiting.pop()?.run();
    while (making.written.length === 0) await new Promise(setImmediate);
    await making.store.flush();
    assert.equal((await second.find(response))?.account, 'north', 'an unknown response is looked up again at once');
    assert.equal(asking.reads, 2);
    assert(!(second.find(response) instanceof Promise));
    assert.equal(asking.reads, 2);
  });

  test('of a session that is not in the store cost one read, and are looked up again after five seconds', async (context) => {
    const bench = await Bench.open(context);
    const cache = bench.cache();
    const session = cache.name('header', 'team', 'ci', 'thread-1');
    const [one, other] = [cache.find(session), cache.find(session)];
    assert.equal(one, other, 'turns at the same time share the read');
    assert.equal(await one, undefined);
    assert.equal(cache.find(session), undefined);
    bench.now += 4_999;
    assert.equal(cache.find(session), undefined);
    assert.equal(bench.reads, 1);
    bench.now += 1;
    assert(cache.find(session) instanceof Promise);
    cache.learn(session, 'north');
    assert.equal((await cache.find(session))?.account, 'north', 'known as soon as a turn was answered');
    assert.equal(bench.reads, 2);
  });

  test('that a turn sets while the store is read take precedence over the answer', async (context) => {
    const bench = await Bench.open(context);
    const cache = bench.cache();
    const session = cache.name('header', 'team', 'ci', 'thread-1');
    bench.cache().learn(session, 'south');
    await bench.store.flush();
    const reading = cache.find(session);
    cache.learn(session, 'north');
    assert.equal((await reading)?.account, 'north');
  });

  test('are stored without delay while the process drains, so that an overlapping restart loses none', async (context) => {
    const url = `sqlite:${await folder(context)}/pins.db`;
    const [ending, starting] = [await Bench.open(context, url), await Bench.open(context, url)];
    const [old, next] = [ending.cache(), starting.cache()];
    await next.load();
    const name = (n: number) => old.name('response', 'team', '', `resp_${n}`);
    old.learn(name(0), 'north');
    old.drain();
    old.learn(name(1), 'south');
    while (ending.written.length < 2) await new Promise(setImmediate);
    await ending.store.flush();
    assert.deepEqual([(await next.find(name(0)))?.account, (await next.find(name(1)))?.account], ['north', 'south']);
    old.learn(name(2), 'north');
    old.flush();
    await ending.store.close();
    assert.equal((await next.find(name(2)))?.account, 'north');
  });
});
