// Pins: what is remembered, for how long, and what is written of it.
import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { KeyedDigest } from '../../proxy/encryption/digest.ts';
import { PinBook } from '../../proxy/sessions/pin-book.ts';
import { openStore, type PinRow, type Store } from '../../store/store.ts';
import { folder } from '../store/adapters.ts';

const HOUR = 3_600_000;
const digest = new KeyedDigest(Buffer.alloc(32, 7));

class Bench {
  now = 1_000_000;
  readonly written: PinRow[] = [];
  looks = 0;
  /** What waits for its time. */
  readonly waiting: { readonly ms: number; readonly run: () => void }[] = [];
  readonly store: Store;

  constructor(store: Store) {
    this.store = store;
  }

  static async open(test: TestContext, url = 'sqlite::memory:'): Promise<Bench> {
    const clock = { now: () => 0 };
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

  book(remembered?: number): PinBook {
    const { pins } = this.store;
    const store: Store['pins'] = {
      put: (row) => {
        this.written.push(row);
        pins.put(row);
      },
      load: (limit) => pins.load(limit),
      find: (name) => {
        this.looks++;
        return pins.find(name);
      },
    };
    const clock = { now: () => this.now, after: (ms: number, run: () => void) => this.after(ms, run) };
    return new PinBook({ store, digest, clock, ...(remembered === undefined ? {} : { remembered }) });
  }
}

suite('pins', () => {
  test('are found by kind, Pool, key and value until 24 hours have passed', async (context) => {
    const bench = await Bench.open(context);
    const book = bench.book();
    await book.load();
    const name = book.name('header', 'team', 'ci', 'thread-1');
    book.learn(name, 'north');
    assert.equal((await book.find(name))?.account, 'north');
    for (const other of [
      book.name('response', 'team', 'ci', 'thread-1'),
      book.name('header', 'other', 'ci', 'thread-1'),
      book.name('header', 'team', 'cd', 'thread-1'),
      book.name('header', 'team', 'ci', 'thread-2'),
    ]) {
      assert.equal(await book.find(other), undefined);
      assert.notEqual(other.text, name.text);
    }
    bench.now += 24 * HOUR - 1;
    assert.equal((await book.find(name))?.account, 'north');
    bench.now += 1;
    assert.equal(await book.find(name), undefined);
  });

  test('are written when the account changes or half the time is over, not with every turn', async (context) => {
    const bench = await Bench.open(context);
    const book = bench.book();
    const name = book.name('header', 'team', 'ci', 'thread-1');
    for (let turn = 0; turn < 50; turn++) book.learn(name, 'north');
    bench.now += 11 * HOUR;
    book.learn(name, 'north');
    assert.equal(bench.written.length, 1);
    bench.now += 2 * HOUR;
    book.learn(name, 'north');
    assert.deepEqual(
      bench.written.map(({ expires_at }) => expires_at),
      [1_000_000 + 24 * HOUR, bench.now + 24 * HOUR],
    );
    book.learn(name, 'south');
    assert.equal(bench.written.at(-1)?.account, 'south');
    assert.equal((await book.find(name))?.account, 'south');
  });

  test('[S4] never hold the value in a row, nor a long one in memory', async (context) => {
    const bench = await Bench.open(context);
    const book = bench.book();
    book.learn(book.name('header', 'team', 'ci', 'a-secret-thread'), 'north');
    assert(!JSON.stringify(bench.written).includes('secret'));
    assert.match(bench.written[0]?.hash ?? '', /^[\w-]{43}$/);
    const long = book.name('turn_state', 'team', '', 'a-secret-thread'.repeat(1_000));
    assert(long.text.length < 300 && !long.text.includes('secret'));
    assert.notEqual(long.text, book.name('turn_state', 'team', '', 'a-secret-thread'.repeat(1_001)).text);
  });

  test('survive a restart, in memory at once', async (context) => {
    const url = `sqlite:${await folder(context)}/pins.db`;
    const before = await Bench.open(context, url);
    const old = before.book();
    old.learn(old.name('response', 'team', '', 'resp_1'), 'north');
    old.flush();
    await before.store.close();
    const after = await Bench.open(context, url);
    const book = after.book();
    await book.load();
    const found = book.find(book.name('response', 'team', '', 'resp_1'));
    assert(!(found instanceof Promise));
    assert.equal(found?.account, 'north');
    assert.equal(await book.find(book.name('response', 'team', '', 'resp_2')), undefined);
    assert.equal(after.looks, 0, 'memory holds all there is');
  });

  test('that memory had to forget are looked up in the store, and only then is it asked', async (context) => {
    const bench = await Bench.open(context);
    const book = bench.book(10);
    await book.load();
    const name = (n: number) => book.name('response', 'team', '', `resp_${n}`);
    assert.equal(book.find(name(0)), undefined);
    for (let n = 0; n < 25; n++) book.learn(name(n), n % 2 ? 'north' : 'south');
    book.flush();
    await bench.store.flush();
    const first = book.find(name(0));
    assert(first instanceof Promise);
    assert.equal((await first)?.account, 'south');
    assert(!(book.find(name(0)) instanceof Promise), 'it is in memory again');
    assert.equal(await book.find(name(99)), undefined);
    const small = bench.book(10);
    await small.load();
    assert.equal((await small.find(name(3)))?.account, 'north');
    assert.equal(bench.looks, 3);
  });

  test('that come with every turn are written some seconds late, in order, and all of them', async (context) => {
    const bench = await Bench.open(context);
    const book = bench.book();
    const learn = (from: number, to: number): void => {
      for (let n = from; n < to; n++) book.learn(book.name('response', 'team', '', `resp_${n}`), 'north');
    };
    learn(0, 1_000);
    assert.deepEqual([bench.written.length, bench.waiting.length], [0, 1]);
    bench.waiting.pop()?.run();
    while (bench.written.length < 1_000) await new Promise(setImmediate);
    const hashes = bench.written.map(({ hash }) => hash);
    assert.deepEqual(hashes, hashes.toSorted());
    // More than may wait go at once, and what comes meanwhile goes behind them.
    learn(1_000, 22_000);
    bench.waiting.pop()?.run();
    while (bench.written.length < 22_000) await new Promise(setImmediate);
    learn(22_000, 22_500);
    bench.waiting.pop()?.run();
    // What comes while others are on their way may belong in front of them.
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
    learn(22_500, 23_000);
    bench.waiting.pop()?.run();
    while (bench.written.length < 23_000) await new Promise(setImmediate);
    learn(23_000, 23_010);
    book.flush();
    assert.equal(new Set(bench.written.map(({ hash }) => hash)).size, 23_010);
  });

  test('of a store that fails nothing is known, and no turn fails for it', async () => {
    const broken = { put: () => undefined, load: () => Promise.reject(new Error('disk')), find: () => Promise.reject(new Error('disk')) };
    const book = new PinBook({ store: broken, digest, clock: { now: () => 1, after: () => () => undefined } });
    await book.load();
    const name = book.name('header', 'team', 'ci', 'thread-1');
    assert.equal(await book.find(name), undefined);
    book.learn(name, 'north');
    assert.equal((await book.find(name))?.account, 'north');
  });
});
