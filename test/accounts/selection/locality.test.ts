// Prompt-cache locality: a key keeps its account while that account is not over its bound (F8.3, Q11).
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RouteKind } from '../../../proxy/turn/kinds.ts';
import { failure } from '../health/support.ts';
import { selectionOf, type TurnOptions, tally, times } from './support.ts';

const ACCOUNTS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
const keyed = (key: string): TurnOptions => ({ body: { prompt_cache_key: key } });

describe('[F8.3] a prompt-cache key', () => {
  test('leads its turns to one account, and different keys to different ones', async () => {
    const { where } = await selectionOf({ accounts: ACCOUNTS });
    for (const key of ['k1', 'k2', 'k3']) assert.equal(new Set(times(20, () => where(keyed(key)))).size, 1);
    for (const count of Object.values(tally(times(800, (i) => where(keyed(`key-${i}`))))))
      assert.ok(count > 60 && count < 145, String(count));
  });

  test('belongs to the API key that sent it', async () => {
    const { where } = await selectionOf({ accounts: ACCOUNTS });
    const seen = new Set(times(30, (i) => where({ key: `key-${i}`, ...keyed('same') })));
    assert.ok(seen.size > 4);
  });

  test('moves only where its own account goes, and comes back with it', async () => {
    const { where, attempt, health } = await selectionOf({ accounts: ACCOUNTS });
    const keys = times(200, (i) => `key-${i}`);
    const before = keys.map((key) => where(keyed(key)));
    attempt('c', failure('connect'));
    const during = keys.map((key) => where(keyed(key)));
    for (const [i, place] of before.entries()) if (place !== 'c') assert.equal(during[i], place);
    assert.ok(!during.includes('c'));
    assert.ok(new Set(during.filter((_, i) => before[i] === 'c')).size > 3, 'those of one account spread over the others');
    health.reset('c');
    assert.deepEqual(
      keys.map((key) => where(keyed(key))),
      before,
    );
  });

  test('passes to the next account in its order where its own is over 1.25 times the mean in flight', async () => {
    const { take } = await selectionOf({ accounts: ['a', 'b'] });
    const leases = times(12, () => take(keyed('hot')));
    const { [leases[0]?.account.id as string]: own = 0, ...others } = tally(leases.map(({ account }) => account.id));
    assert.deepEqual([own, Object.values(others)], [8, [4]], 'the eighth is the last under 1.25 × 12 / 2');
  });

  test('is shared out by weight', async () => {
    const { where } = await selectionOf({ accounts: ['a', 'b'], weights: { a: 3 } });
    const { a = 0 } = tally(times(2_000, (i) => where(keyed(`key-${i}`))));
    assert.ok(a > 1_400 && a < 1_600, String(a));
  });

  test('keeps to the cohort, and to accounts that were not tried', async () => {
    const { where } = await selectionOf({ accounts: ACCOUNTS, candidates: { preferred: ['a', 'b'], overflow: ['c', 'd'] } });
    assert.deepEqual(Object.keys(tally(times(50, (i) => where(keyed(`key-${i}`))))), ['a', 'b']);
    const own = where(keyed('key-1'));
    assert.notEqual(where(keyed('key-1'), new Set([own])), own);
    assert.ok(['c', 'd'].includes(where(keyed('key-1'), new Set(['a', 'b']))));
  });

  test('costs the same however long it is', async () => {
    const { where } = await selectionOf({ accounts: ACCOUNTS });
    const [long, other] = [`${'x'.repeat(1_000_000)}1`, `${'x'.repeat(1_000_000)}2`];
    assert.equal(where(keyed(long)), where(keyed(long)));
    assert.equal(typeof where(keyed(other)), 'string');
  });
});

describe('[F8.3] locality has no say', () => {
  const reasonOf = async (turn: TurnOptions, pool = {}): Promise<string | undefined> => {
    const { demand, selection } = await selectionOf({ accounts: ACCOUNTS, pool: { strategy: 'fill_first', ...pool } });
    const one = demand({ ...keyed('k'), ...turn });
    selection.choose(one, new Set());
    return one.turn.why?.reason;
  };

  for (const kind of ['responses', 'chat', 'public-responses'] as RouteKind[]) {
    test(`but on a POST of ${kind}`, async () => assert.equal(await reasonOf({ kind }), 'locality'));
  }

  for (const kind of ['compact', 'image', 'public-image', 'file-create', 'transcribe', 'pool-usage', 'forward'] as RouteKind[]) {
    test(`on ${kind}`, async () => assert.equal(await reasonOf({ kind }), 'fill_first'));
  }

  test('on a websocket, and on a turn of one that goes over HTTP', async () => {
    assert.equal(await reasonOf({ method: 'WS', client: 'websocket' }), 'fill_first');
    assert.equal(await reasonOf({ method: 'POST', client: 'websocket' }), 'fill_first');
  });

  test('in a Pool without it, and for a turn without a key of text', async () => {
    assert.equal(await reasonOf({}, { prompt_cache_locality: false }), 'fill_first');
    for (const prompt_cache_key of [undefined, '', 7, null]) assert.equal(await reasonOf({ body: { prompt_cache_key } }), 'fill_first');
  });
});
