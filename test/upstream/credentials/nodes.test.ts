// Refresh tokens if nodes die or pause: a token without an answer is not sent again, and a late node does not overwrite a newer login.
import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import type { Clock } from '../../../proxy/base/time/clock.ts';
import { ExclusiveWork } from '../../../proxy/nodes/exclusive-work.ts';
import type { TokenExchange } from '../../../proxy/upstream/credentials/token-endpoint.ts';
import { ACCESS, Bench, REFRESH } from './bench.ts';

const HOUR = 3_600_000;

/** The clock of a paused process: no timer runs, so its leases expire. */
const paused = (clock: Clock): Clock => ({ now: () => clock.now(), wallTime: () => clock.now(), after: () => () => undefined });

/** A node with the credentials of the bench. */
function node(bench: Bench, owner: string, parts: { readonly exchange?: TokenExchange; readonly clock?: Clock } = {}) {
  const { exchange, clock = bench.clock } = parts;
  const exclusive = new ExclusiveWork({ leases: bench.store.leases, clock, owner });
  return bench.start({ lock: { exclusive, shared: true }, ...(exchange ? { exchange } : {}) });
}

/** A node whose provider has answered; it does not continue until the test releases it. */
async function stuck(bench: Bench) {
  const answered = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const real = bench.exchange();
  const process = await node(bench, 'stuck', {
    clock: paused(bench.clock),
    exchange: async (request) => {
      const answer = await real(request);
      answered.resolve();
      await goOn.promise;
      return answer;
    },
  });
  const renewal = process.unauthorized();
  await answered.promise;
  return { process, renewal, goOn: goOn.resolve };
}

/** The result of work that may wait for another node: the clock advances, slowly enough for the disk. */
async function settled<Result>(bench: Bench, work: Promise<Result>): Promise<Result> {
  let over = false;
  void work.finally(() => {
    over = true;
  });
  while (!over) {
    await setTimeout(5);
    if (!over) await bench.clock.advance(20);
  }
  return work;
}

suite('[Q34] of a node that the provider has answered and that stored nothing', () => {
  /** @param later the time that passes, so the lease of the first node expires, even if the clock is set back */
  const opened = async (context: TestContext, later = 11_000) => {
    const bench = await Bench.open(context);
    const first = await stuck(bench);
    const second = await node(bench, 'second');
    await bench.clock.advance(later);
    return { bench, first, second };
  };

  test('the refresh token is not sent again, and the account must log in once the node counts as dead', async (context) => {
    const { bench, second } = await opened(context);
    assert.equal(await settled(bench, second.unauthorized()), 'failed', 'the node may be paused');
    assert.deepEqual(second.refused, []);
    await bench.clock.advance(120_000);
    assert.equal(await settled(bench, second.unauthorized()), 'refused');
    assert.deepEqual([second.refused, bench.refreshes], [['north'], 1]);
  });

  test('an exchange that a clock wrote which was set back since counts as one of a dead node, and not as open for an hour', async (context) => {
    const { bench, first, second } = await opened(context, -HOUR);
    assert.equal(await settled(bench, second.unauthorized()), 'refused');
    assert.deepEqual([second.refused, bench.refreshes], [['north'], 1], 'the token is not sent again');
    first.goOn();
    assert.equal(await first.renewal, 'renewed');
    assert.equal(await second.credentials.adopt('north'), true);
    assert.ok(await bench.admits(await second.bearer()), 'the answer that was missing is used');
  });

  test('the tokens are still stored when it continues, and every node uses them', async (context) => {
    const { bench, first, second } = await opened(context);
    assert.equal(await settled(bench, second.unauthorized()), 'failed');
    first.goOn();
    assert.equal(await first.renewal, 'renewed');
    assert.equal(await second.credentials.adopt('north'), true);
    assert.equal(await second.bearer(), await first.process.bearer());
    assert(await bench.admits(await second.bearer()));
    assert.equal(bench.refreshes, 1);
  });

  test('a login that was imported since the exchange began is not overwritten by it', async (context) => {
    const { bench, first, second } = await opened(context);
    bench.upstream.loginOf('north').renew('rt-anew');
    await bench.write({ tokens: { access_token: 'at-anew', refresh_token: 'rt-anew' } });
    await second.reload();
    assert.equal(await second.bearer(), 'at-anew');
    first.goOn();
    assert.equal(await first.renewal, 'renewed');
    assert.equal(await first.process.bearer(), 'at-anew');
    assert.equal((await bench.store.credentials.find('north'))?.exchange_token, null);
  });

  test('an operator may have the token sent again', async (context) => {
    const { bench, second } = await opened(context);
    await bench.clock.advance(120_000);
    assert.equal(await settled(bench, second.unauthorized()), 'refused');
    assert.equal(await second.credentials.relogin('north'), 'unchanged');
    await settled(bench, second.unauthorized());
    assert.equal(bench.refreshes, 2);
  });
});

test('[Q34] an exchange that failed can be repeated by the next node', async (context) => {
  const bench = await Bench.open(context);
  const first = await node(bench, 'first', { exchange: async () => ({ kind: 'failed', status: 503 }) });
  const second = await node(bench, 'second');
  assert.equal(await first.unauthorized(), 'failed');
  assert.equal(await second.unauthorized(), 'renewed');
  assert.equal(bench.refreshes, 1);
});

test('[Q34] a refresh token that one node saw refused is not sent by another one', async (context) => {
  const bench = await Bench.open(context);
  const [first, second] = [await node(bench, 'first'), await node(bench, 'second')];
  bench.upstream.loginOf('north').revoke();
  assert.equal(await first.unauthorized(), 'refused');
  assert.equal(await second.unauthorized(), 'failed');
  await bench.clock.advance(121_000);
  assert.equal(await second.unauthorized(), 'refused');
  assert.equal(bench.refreshes, 1);
});

suite('[Q9, Q34] an account without any login', () => {
  /** A process that has no login, and whose leases the store does not grant. */
  const opened = async (context: TestContext, file: unknown) => {
    const bench = await Bench.open(context, { file });
    const { leases } = bench.store;
    const acquire = leases.acquire.bind(leases);
    const refuses = context.mock.method(leases, 'acquire', () => Promise.reject(new Error('no connection')));
    return { bench, grants: () => refuses.mock.mockImplementation(acquire), lonely: await node(bench, 'lonely') };
  };

  test('needs one, also if no lease for its refresh is granted; a login that another node stores is used', async (context) => {
    const { bench, grants, lonely } = await opened(context, {});
    await assert.rejects(lonely.bearer(), { why: 'failed' });
    assert.deepEqual([lonely.withoutLogin, lonely.refused], [['north'], []], 'it is not recorded as refused for other nodes');
    grants();
    await bench.write({ tokens: { access_token: ACCESS, refresh_token: REFRESH } });
    await node(bench, 'other');
    assert.equal(await lonely.credentials.adopt('north'), true);
    assert.deepEqual(lonely.withoutLogin, []);
    assert.equal(await lonely.bearer(), ACCESS);
  });

  test('may have one in its file that could not be imported: the next turn tries it', async (context) => {
    const { bench, grants, lonely } = await opened(context, { tokens: { access_token: ACCESS, refresh_token: REFRESH } });
    await assert.rejects(lonely.bearer(), { why: 'failed' });
    assert.deepEqual(lonely.withoutLogin, []);
    grants();
    await bench.clock.advance(5_000);
    assert.equal(await lonely.bearer(), ACCESS);
  });
});

test('[Q34] two nodes that start with one file import it once, and neither restores an earlier login at the other', async (context) => {
  const bench = await Bench.open(context);
  const [first, second] = await settled(bench, Promise.all([node(bench, 'first'), node(bench, 'second')]));
  assert.equal([...first.imported, ...second.imported].length, 1);
  assert.equal(await first.unauthorized(), 'renewed');
  assert.equal(await second.unauthorized(ACCESS), 'renewed');
  assert.equal(bench.refreshes, 1);
  await second.reload();
  assert(await bench.admits(await second.bearer()));
});
