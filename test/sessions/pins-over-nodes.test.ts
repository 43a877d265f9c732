// Pins over nodes: they are stored at once, published when they move, and never hidden by a stale cache.
import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { Counters } from '../../proxy/base/process/metrics.ts';
import { KeyedDigest } from '../../proxy/encryption/digest.ts';
import { PinCache } from '../../proxy/sessions/pins/pin-cache.ts';
import { responseIdIn } from '../../proxy/turn/reply/event-bytes.ts';
import { ReplyEvent } from '../../proxy/turn/reply/reply-event.ts';
import { StoreError } from '../../store/errors.ts';
import { openStore, type PinRow, type Store } from '../../store/store.ts';
import { folder } from '../store/adapters.ts';
import { until } from '../support/until.ts';

const digest = new KeyedDigest(Buffer.alloc(32, 7));

/** Two nodes on one store; a node learns of moves at the other one when it is notified. */
async function bench(context: TestContext) {
  const clock = { now: () => 1_000, wallTime: () => 1_000, after: () => () => undefined };
  const url = `sqlite:${await folder(context)}/pins.db`;
  const stores: readonly [Store, Store] = [await openStore(url, { clock: clock.now }), await openStore(url, { clock: clock.now })];
  for (const store of stores) context.after(() => store.close());
  const [one, other] = stores.map(
    (store) => new PinCache({ store: store.pins, shared: store.pins, digest, clock, counters: new Counters(), capacity: 100 }),
  ) as [PinCache, PinCache];
  let cursor = await stores[1].changes.cursor();
  /** Notifies the other node, and returns the number of pins in the notification. */
  const tell = async (): Promise<number> => {
    const told = await stores[1].changes.since(cursor);
    cursor = told.cursor;
    other.forget(told.changes.map(({ key: [hash] }) => String(hash)));
    return told.changes.length;
  };
  return { one, other, tell };
}

suite('[Q34] a pin', () => {
  test('is stored when its write resolves, with all before it, and found by another node', async (context) => {
    const { one, other } = await bench(context);
    const state = one.name('turn_state', 'team', '', 'state');
    const response = one.name('response', 'team', '', 'resp_1');
    void one.learn(state, 'north');
    await one.learn(response, 'north');
    assert.deepEqual([(await other.find(state))?.account, (await other.find(response))?.account], ['north', 'north']);
  });

  test('that the store has already is not written again', async (context) => {
    const { one } = await bench(context);
    const response = one.name('response', 'team', '', 'resp_1');
    assert(one.learn(response, 'north') instanceof Promise);
    assert.equal(one.learn(response, 'north'), undefined);
  });

  test('of a response that its node is still writing is found by a look-up 100 or 500 ms later, and refused after that', async () => {
    const waits: number[] = [];
    const waiting: (() => void)[] = [];
    const after = (ms: number, run: () => void): (() => void) => {
      waits.push(ms);
      waiting.push(run);
      return () => undefined;
    };
    const rows: (PinRow | undefined)[] = [];
    const find = async (hash: string): Promise<PinRow | undefined> => {
      const row = rows.shift();
      return row && { ...row, hash };
    };
    const pins = { find, load: async () => [], put: () => undefined, putNow: () => undefined };
    const shared = { save: async () => undefined, move: async () => undefined };
    const counters = new Counters();
    const clock = { now: () => 1_000, after, wallTime: () => 1_000 };
    const cache = new PinCache({ store: pins, shared, digest, clock, counters, capacity: 100 });
    const row: PinRow = { hash: '', account: 'north', expires_at: 2_000 };
    const asked = async (id: string, ...answers: readonly (PinRow | undefined)[]): Promise<string | undefined> => {
      rows.push(...answers);
      const found = cache.find(cache.name('response', 'team', '', id));
      for (let i = 1; i < answers.length; i++) (await until('the next look-up', () => waiting.shift()))();
      return (await found)?.account;
    };
    assert.equal(await asked('resp_1', row), 'north');
    assert.deepEqual(waits, []);
    assert.equal(await asked('resp_2', undefined, row), 'north');
    assert.equal(await asked('resp_3', undefined, undefined, row), 'north');
    assert.equal(await asked('resp_4', undefined, undefined, undefined), undefined);
    assert.deepEqual(waits, [100, 100, 400, 100, 400]);
    assert.equal(counters.values.pins_looked_up_again, 5);
    assert.equal(await cache.find(cache.name('turn_state', 'team', '', 'state')), undefined);
    assert.equal(waits.length, 5, 'other pins are looked up once');
  });

  test('of a session that this node did not find is found as soon as another node has it', async (context) => {
    const { one, other } = await bench(context);
    const session = one.name('header', 'team', 'ci', 'thread-1');
    assert.equal(await other.find(session), undefined);
    await one.learn(session, 'north');
    assert.equal((await other.find(session))?.account, 'north');
  });

  test('of a session that another node moved, or began at the same time, is read again', async (context) => {
    const { one, other, tell } = await bench(context);
    const session = one.name('header', 'team', 'ci', 'thread-1');
    await Promise.all([other.learn(session, 'north'), one.find(session)]);
    await one.learn(session, 'south');
    assert.equal((await other.find(session))?.account, 'north', 'it was not told yet');
    assert.equal(await tell(), 1);
    assert.equal((await other.find(session))?.account, 'south');
    await one.learn(session, 'east');
    assert.equal(await tell(), 1);
    assert.equal((await other.find(session))?.account, 'east');
  });

  test('of a session that moved while a turn of it ran at another node stays where it moved', async (context) => {
    const { one, other, tell } = await bench(context);
    const session = one.name('header', 'team', 'ci', 'thread-1');
    await Promise.all([other.learn(session, 'north'), one.find(session)]);
    await one.learn(session, 'south');
    await tell();
    assert.equal(other.learn(session, 'north', 1_000), undefined, 'the turn began before the news');
    assert.equal((await other.find(session))?.account, 'south');
    await other.learn(session, 'north', 1_001);
    assert.equal((await other.find(session))?.account, 'north');
  });

  test('of a conversation is published only when it moved, and one of a response never', async (context) => {
    const { one, other, tell } = await bench(context);
    const cached = one.name('cache_key', 'team', 'ci', 'key');
    await one.learn(cached, 'north');
    await one.learn(one.name('response', 'team', '', 'resp_1'), 'north');
    assert.equal(await tell(), 0);
    assert.equal((await other.find(cached))?.account, 'north');
    await one.learn(cached, 'south');
    assert.equal(await tell(), 1);
    assert.equal((await other.find(cached))?.account, 'south');
  });

  test('that the store does not accept is counted as lost, and rejects nothing', async () => {
    const counters = new Counters();
    const full = (): Promise<void> => Promise.reject(new StoreError('full', 'too many rows wait to be written'));
    const store = { put: () => undefined, putNow: () => undefined, load: async () => [], find: async () => undefined };
    const clock = { now: () => 1_000, wallTime: () => 1_000, after: () => () => undefined };
    const pins = new PinCache({ store, shared: { save: full, move: full }, digest, clock, counters, capacity: 100 });
    const session = pins.name('header', 'team', 'ci', 'thread-1');
    await pins.learn(session, 'north');
    await pins.learn(pins.name('response', 'team', '', 'resp_1'), 'north');
    assert.equal(counters.values.pins_lost, 2);
    assert.equal(pins.peek(session)?.account, 'north', 'this node knows it');
  });
});

suite('[Q34] the id of a response', () => {
  const idIn = (data: string, prefix = 'event: response.created\ndata: '): string | undefined => {
    const event = new ReplyEvent();
    event.bytes = Buffer.from(`padding${prefix}${data}\n\n`);
    event.start = 'padding'.length;
    event.end = event.bytes.length;
    return responseIdIn(event);
  };

  test('is read from the head of its first event', () => {
    assert.equal(idIn('{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response"}}'), 'resp_1');
    assert.equal(idIn('{ "response" : { "id" : "resp_2" } }', ''), 'resp_2');
  });

  test('is read from the last event where it does not come first', () => {
    for (const data of [
      '{"type":"response.created","response":{"object":"response","id":"resp_1"}}',
      '{"type":"response.created","response":{"id":7}}',
      '{"type":"response.created","response":{"id":"resp_\\u0031"}}',
      `{"type":"response.created","note":"${'x'.repeat(600)}","response":{"id":"resp_1"}}`,
    ]) {
      assert.equal(idIn(data), undefined, data.slice(0, 80));
    }
  });
});
