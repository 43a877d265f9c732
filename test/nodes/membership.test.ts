// The membership of a node: it joins, renews its lease, detects that it lost the lease, and never shares its name with another process.
import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { Log } from '../../proxy/base/process/log.ts';
import { Counters } from '../../proxy/base/process/metrics.ts';
import { Membership, type MembershipListener } from '../../proxy/nodes/membership.ts';
import { openStore, type Store, StoreError } from '../../store/store.ts';
import { ManualClock, settled } from '../support/clocks/manual-clock.ts';
import { until } from '../support/until.ts';

class World {
  readonly clock: ManualClock;
  readonly store: Store;
  readonly logged: string[] = [];
  readonly counters = new Counters();
  digest = 'digest';
  /** Whether the store cannot be reached. */
  isGone = false;
  /** Answers to renewals are delayed until this promise resolves. */
  renewals: Promise<void> | undefined;

  constructor(clock: ManualClock, store: Store) {
    this.clock = clock;
    this.store = store;
  }

  static async open(context: TestContext): Promise<World> {
    const clock = new ManualClock();
    const store = await openStore('sqlite::memory:', { clock: () => clock.now() });
    context.after(() => store.close());
    return new World(clock, store);
  }

  node(id = 'a', { clock = this.clock }: { readonly clock?: ManualClock } = {}): Membership {
    const reached = <Result>(act: () => Promise<Result>): Promise<Result> =>
      this.isGone ? Promise.reject(new StoreError('unreachable', 'gone')) : act();
    const { nodes } = this.store;
    return new Membership({
      nodes: {
        join: (...args) => reached(() => nodes.join(...args)),
        renew: async (...args) => {
          const until = await reached(() => nodes.renew(...args));
          await this.renewals;
          return until;
        },
        leave: (...args) => reached(() => nodes.leave(...args)),
        list: () => reached(() => nodes.list()),
        known: () => reached(() => nodes.known()),
      },
      clock,
      log: new Log('info', (line) => void this.logged.push(line)),
      counters: this.counters,
      self: () => ({ id, version: '1.2.3', config_digest: this.digest, started_at: 0 }),
    });
  }

  /** Moves the clock in steps of a second, and lets the store answer in between. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 1_000) {
      await this.clock.advance(Math.min(left, 1_000));
      for (let i = 0; i < 20; i++) await this.store.nodes.list().then(settled);
    }
  }

  /** Moves the clock like a pause of the process: no timer runs. */
  skip(ms: number): void {
    this.clock.skip(ms);
  }

  get events(): readonly string[] {
    return this.logged.map((line) => JSON.parse(line).event);
  }
}

const heard = (node: Membership): string[] => {
  const events: string[] = [];
  const listener: MembershipListener = {
    renewed: () => void events.push('renewed'),
    joined: () => void events.push('joined'),
    reached: (reachable) => void events.push(reachable ? 'reached' : 'unreachable'),
  };
  node.listen(listener);
  return events;
};

suite('[Q34] a node', () => {
  test('joins with its address, version and digest, renews its lease, and leaves', async (context) => {
    const world = await World.open(context);
    const node = world.node();
    await node.start('http://a:4002');
    const row = { id: 'a', token: node.token, address: 'http://a:4002', version: '1.2.3', config_digest: 'digest', started_at: 0 };
    assert.deepEqual(await world.store.nodes.list(), [{ ...row, expires_at: world.clock.now() + 30_000 }]);
    world.digest = 'another';
    await world.pass(60_000);
    assert.equal(node.standing(), 'member');
    const [renewed] = await world.store.nodes.list();
    assert.deepEqual([renewed?.token, renewed?.config_digest], [row.token, 'another']);
    assert.deepEqual(node.nodes, [{ ...renewed, slots: 0, leases: 0 }]);
    await node.stop();
    assert.deepEqual(await world.store.nodes.known(), []);
  });

  test('that stops as the store comes back frees its name', async (context) => {
    const world = await World.open(context);
    const node = world.node();
    await node.start(null);
    world.isGone = true;
    const stopped = node.stop();
    await world.clock.advance(500);
    world.isGone = false;
    await world.clock.advance(500);
    await stopped;
    assert.deepEqual(await world.store.nodes.known(), []);
  });

  test('that stops with the store gone waits two seconds, and no longer', async (context) => {
    const world = await World.open(context);
    const node = world.node();
    await node.start(null);
    world.isGone = true;
    const stopped = node.stop();
    await world.clock.advance(2_000);
    await stopped;
    await world.clock.advance(1_000);
    assert.equal(world.clock.pending, 0, 'it does not try for ever');
  });

  test('whose renewal is on its way as it stops does not have its name again afterwards', async (context) => {
    const world = await World.open(context);
    const node = world.node();
    await node.start(null);
    const { token } = node;
    const late = Promise.withResolvers<void>();
    world.renewals = late.promise;
    await world.pass(6_000);
    // Its lease is lost; the answer to its renewal makes it join again.
    world.skip(30_000);
    const lost = node.lost(token as number);
    const stopped = node.stop();
    late.resolve();
    await Promise.all([lost, stopped]);
    assert.deepEqual(await world.store.nodes.known(), []);
  });

  test('sees the other nodes, and for a day those that died', async (context) => {
    const world = await World.open(context);
    const [a, b] = [world.node('a'), world.node('b')];
    await a.start(null);
    await b.start(null);
    await world.pass(6_000);
    assert.deepEqual(
      a.nodes.map(({ id }) => id),
      ['a', 'b'],
    );
    await b.stop();
    await world.pass(6_000);
    assert.deepEqual(
      a.nodes.map(({ id }) => id),
      ['a'],
    );
    await a.stop();
  });

  test('that was paused past its lease is unsure until the store has answered, then has a new lease', async (context) => {
    const world = await World.open(context);
    const node = world.node();
    await node.start(null);
    const events = heard(node);
    const before = node.token;
    world.skip(29_999);
    assert.equal(node.standing(), 'member');
    world.skip(1);
    assert.equal(node.standing(), 'unsure');
    // The lease is new before the list of nodes has been read.
    await until('the new lease and the list of nodes', () => (node.standing() === 'member' && events.length > 1 ? true : undefined));
    assert.notEqual(node.token, before);
    assert.deepEqual(events, ['joined', 'renewed']);
    assert.equal(world.counters.values.node_leases_lost, 1);
    assert.ok(world.events.includes('node_lease_lost'));
    await node.stop();
  });

  test('whose store reports that its lease is lost joins again, once for many reports', async (context) => {
    const world = await World.open(context);
    const node = world.node();
    await node.start(null);
    const token = node.token as number;
    world.skip(30_000);
    await Promise.all([node.lost(token), node.lost(token), node.lost(token)]);
    assert.notEqual(node.token, token);
    await node.lost(token);
    assert.equal(world.counters.values.node_leases_lost, 1);
    await node.stop();
  });

  test('whose renewal reports the loss after it has joined again keeps the new lease', async (context) => {
    const world = await World.open(context);
    const node = world.node();
    await node.start(null);
    const token = node.token as number;
    const late = Promise.withResolvers<void>();
    world.renewals = late.promise;
    world.skip(30_000);
    assert.equal(node.standing(), 'unsure');
    await node.lost(token);
    const joined = node.token;
    late.resolve();
    world.renewals = undefined;
    await world.pass(6_000);
    assert.deepEqual([node.standing(), node.token], ['member', joined]);
    assert.ok(!world.events.includes('node_name_taken'), String(world.events));
    assert.equal(world.counters.values.node_leases_lost, 1);
    await node.stop();
  });

  test('whose store is gone continues under its lease, is cut off when that ends, and has a new lease when the store is back', async (context) => {
    const world = await World.open(context);
    const node = world.node();
    await node.start(null);
    const events = heard(node);
    const { token } = node;
    world.isGone = true;
    await world.pass(29_000);
    assert.equal(node.standing(), 'member');
    await world.pass(60_000);
    assert.deepEqual([node.standing(), node.token], ['cut_off', token]);
    world.isGone = false;
    await world.pass(2_000);
    await until('the node to be back', () => events.includes('reached') || undefined);
    assert.equal(node.standing(), 'member');
    assert.notEqual(node.token, token);
    assert.deepEqual(
      events.filter((event) => event !== 'renewed'),
      ['unreachable', 'joined', 'reached'],
    );
    await node.stop();
  });

  test('that was cut off before it was paused asks the store again before it continues', async (context) => {
    const world = await World.open(context);
    const node = world.node();
    await node.start(null);
    world.isGone = true;
    await world.pass(40_000);
    assert.equal(node.standing(), 'cut_off');
    world.skip(60_000);
    assert.equal(node.standing(), 'unsure');
    await until('the answer', () => (node.standing() === 'cut_off' ? true : undefined));
    world.isGone = false;
    await node.stop();
  });

  test('does not start while another process has its name and renews it', async (context) => {
    const world = await World.open(context);
    const first = world.node();
    await first.start('http://first:4002');
    const second = world.node().start('http://second:4002');
    const refused = assert.rejects(second, {
      name: 'NodeNameTaken',
      message:
        'a node named a is running already at http://first:4002 (poolgate 1.2.3, since 1970-01-01T00:00:00.000Z): ' +
        'give this process another node.id',
    });
    await world.pass(8_000);
    await refused;
    assert.ok(world.events.includes('node_name_in_use'));
    assert.equal(first.standing(), 'member');
    await first.stop();
  });

  test('takes over the name of a process that died, when its lease has expired', async (context) => {
    const world = await World.open(context);
    const died = await world.store.nodes.join({ id: 'a', address: null, version: '1', config_digest: '', started_at: 0 }, 30_000);
    assert.ok('joined' in died);
    const node = world.node();
    const starting = node.start(null);
    await world.pass(29_000);
    assert.equal(node.token, undefined);
    await world.pass(2_000);
    await starting;
    assert.ok(Number(node.token) > died.joined.token);
    await node.stop();
  });

  test('whose name another process took while it was paused has no lease, and takes it back when it is free', async (context) => {
    const world = await World.open(context);
    const node = world.node();
    await node.start(null);
    world.skip(30_000);
    const other = await world.store.nodes.join({ id: 'a', address: null, version: '1', config_digest: '', started_at: 0 }, 30_000);
    assert.ok('joined' in other);
    await node.lost(node.token as number);
    assert.deepEqual([node.token, node.standing()], [undefined, 'unsure']);
    assert.ok(world.events.includes('node_name_taken'));
    await world.store.nodes.leave(other.joined.token);
    await world.pass(3_000);
    assert.equal(node.standing(), 'member');
    await node.stop();
  });
});
