// The quota of one account while evidence arrives and gets old.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AccountQuota } from '../../../proxy/accounts/quota/account-quota.ts';
import { FRESH_MS } from '../../../proxy/accounts/quota/quota-evidence.ts';
import type { QuotaSource, QuotaStatement, QuotaWindow } from '../../../proxy/turn/provider/quota-statement.ts';

const NOW = 1_700_000_000_000;
const HOUR = 3_600_000;
const MINUTE = 60_000;
const FIVE_HOURS = 18_000;
const WEEK = 604_800;

const window = (used: number, resetsIn: number | null = HOUR, seconds = FIVE_HOURS): QuotaWindow => ({
  seconds,
  used,
  resetsAt: resetsIn === null ? undefined : (NOW + resetsIn) / 1000,
});

const statement = (windows: readonly QuotaWindow[], source: QuotaSource = 'headers', reached: boolean | null = false): QuotaStatement => ({
  source,
  windows,
  reached: reached ?? undefined,
});

const quotaOf = (...statements: readonly QuotaStatement[]): AccountQuota => {
  const quota = new AccountQuota();
  for (const statement of statements) quota.record(statement, NOW);
  return quota;
};

describe('evidence and its age', () => {
  test('without evidence the account is eligible', () => {
    assert.deepEqual(quotaOf().stateAt(NOW), { exhausted: undefined, reserved: undefined, remaining: undefined, nextReset: undefined });
  });

  test('the tightest window gives what remains, and the first reset is the next one', () => {
    const quota = quotaOf(statement([window(12.5), window(80, 48 * HOUR, WEEK)]));
    assert.deepEqual(quota.stateAt(NOW), { exhausted: undefined, reserved: undefined, remaining: 0.2, nextReset: NOW + HOUR });
  });

  test('evidence older than fifteen minutes is unknown', () => {
    const quota = quotaOf(statement([window(40)]));
    assert.equal(quota.stateAt(NOW + FRESH_MS - 1).remaining, 0.6);
    assert.equal(quota.stateAt(NOW + FRESH_MS).remaining, undefined);
    assert.equal(quota.stateAt(NOW + FRESH_MS).nextReset, undefined);
  });

  test('a repeated statement is fresh again, also where it had become stale', () => {
    const quota = quotaOf(statement([window(40, 5 * HOUR)]));
    quota.record(statement([window(40, 5 * HOUR)]), NOW + 10 * MINUTE);
    assert.equal(quota.stateAt(NOW + 20 * MINUTE).remaining, 0.6);
    assert.equal(quota.stateAt(NOW + 30 * MINUTE).remaining, undefined);
    quota.record(statement([window(40, 5 * HOUR)]), NOW + 31 * MINUTE);
    assert.equal(quota.stateAt(NOW + 31 * MINUTE).remaining, 0.6);
  });

  test('the windows of a repeated statement have its time, and those that were stored before keep theirs', () => {
    const quota = quotaOf(statement([window(40, 5 * HOUR)]));
    const stored = quota.toStored();
    for (const minute of [1, 2]) quota.record(statement([window(40, 5 * HOUR)]), NOW + minute * MINUTE);
    assert.deepEqual(
      [stored, quota.toStored()].map(({ windows }) => windows.map(({ at }) => at)),
      [[NOW], [NOW + 2 * MINUTE]],
    );
  });

  test('a window is ignored after its reset', () => {
    const quota = quotaOf(statement([window(90, MINUTE), window(20, HOUR, WEEK)]));
    assert.equal(quota.stateAt(NOW + MINUTE).remaining, 0.8);
  });

  test('a window that is no longer reported is gone a minute later', () => {
    const quota = quotaOf(statement([window(100, 48 * HOUR, WEEK)]));
    quota.record(statement([window(5)]), NOW + 30_000);
    assert.ok(quota.stateAt(NOW + 30_000).exhausted);
    quota.record(statement([window(5)]), NOW + 2 * MINUTE);
    assert.equal(quota.stateAt(NOW + 2 * MINUTE).exhausted, undefined);
  });

  test('of two slots with one length the fuller one is used', () => {
    const quota = quotaOf(statement([window(10), window(70), window(30)]));
    assert.deepEqual(
      quota.windows.map(({ used }) => used),
      [70],
    );
  });

  test('windows of different lengths are all kept', () => {
    const quota = quotaOf(statement([window(10, HOUR, 3600), window(20), window(30, HOUR, WEEK)]));
    assert.deepEqual(
      quota.windows.map(({ seconds }) => seconds),
      [3600, FIVE_HOURS, WEEK],
    );
  });
});

describe('the trust in a source', () => {
  const usedAfter = (first: QuotaSource, second: QuotaSource, later: number): number | undefined => {
    const quota = quotaOf(statement([window(10)], first));
    quota.record(statement([window(50)], second), NOW + later);
    return quota.windows[0]?.used;
  };

  for (const [first, second] of [
    ['event', 'headers'],
    ['event', 'read'],
    ['headers', 'read'],
  ] as const) {
    test(`within a minute ${first} takes precedence over ${second}, in either order`, () => {
      assert.equal(usedAfter(first, second, MINUTE - 1), 10);
      assert.equal(usedAfter(second, first, 0), 50);
    });
    test(`${second} replaces ${first} a minute later`, () => assert.equal(usedAfter(first, second, MINUTE), 50));
  }

  test('of one source the newer statement is used', () => assert.equal(usedAfter('headers', 'headers', 1), 50));
});

describe('an exhausted account', () => {
  test('a full window exhausts the account until its reset, also by stale evidence', () => {
    const quota = quotaOf(statement([window(100, 3 * HOUR), window(30, 48 * HOUR, WEEK)]));
    assert.deepEqual(quota.stateAt(NOW).exhausted, { until: NOW + 3 * HOUR });
    assert.equal(quota.stateAt(NOW).remaining, 0);
    assert.deepEqual(quota.stateAt(NOW + 2 * HOUR).exhausted, { until: NOW + 3 * HOUR });
    assert.equal(quota.stateAt(NOW + 3 * HOUR).exhausted, undefined);
  });

  test('of two full windows the later reset is used', () => {
    const quota = quotaOf(statement([window(100, HOUR), window(100, 48 * HOUR, WEEK)]));
    assert.deepEqual(quota.stateAt(NOW).exhausted, { until: NOW + 48 * HOUR });
  });

  test('a full window without a reset exhausts the account while the evidence is fresh', () => {
    const quota = quotaOf(statement([window(100, null)]));
    assert.deepEqual(quota.stateAt(NOW + FRESH_MS - 1).exhausted, { until: undefined });
    assert.equal(quota.stateAt(NOW + FRESH_MS).exhausted, undefined);
  });

  test('a refusal with a reset exhausts the account until the reset', () => {
    const quota = quotaOf();
    quota.recordRefusal((NOW + HOUR) / 1000, NOW);
    assert.deepEqual(quota.stateAt(NOW + HOUR - 1).exhausted, { until: NOW + HOUR });
    assert.equal(quota.stateAt(NOW + HOUR).exhausted, undefined);
  });

  test('a refusal without a reset exhausts nothing, because health cools the account down', () => {
    const quota = quotaOf(statement([window(40)]));
    quota.recordRefusal(undefined, NOW);
    assert.equal(quota.stateAt(NOW).exhausted, undefined);
  });

  test('a reply of an overlapping turn does not end the exhaustion, a later one does', () => {
    const quota = quotaOf();
    quota.recordRefusal((NOW + HOUR) / 1000, NOW);
    quota.record(statement([window(99)]), NOW + 1000);
    assert.ok(quota.stateAt(NOW + 1000).exhausted);
    quota.record(statement([window(2)]), NOW + MINUTE);
    assert.equal(quota.stateAt(NOW + MINUTE).exhausted, undefined);
    assert.equal(quota.stateAt(NOW + MINUTE).remaining, 0.98);
  });

  test('the headers of a later refusal do not end the exhaustion', () => {
    const quota = quotaOf();
    quota.recordRefusal((NOW + HOUR) / 1000, NOW);
    quota.record(statement([window(40)], 'headers', null), NOW + 5 * MINUTE);
    assert.ok(quota.stateAt(NOW + 5 * MINUTE).exhausted);
  });

  test('limit_reached holds until the reset of a nearly full window, else while the evidence is fresh', () => {
    const nearly = quotaOf(statement([window(99), window(10, 48 * HOUR, WEEK)], 'read', true));
    assert.deepEqual(nearly.stateAt(NOW).exhausted, { until: NOW + HOUR });
    const other = quotaOf(statement([window(10)], 'read', true));
    assert.deepEqual(other.stateAt(NOW).exhausted, { until: undefined });
    assert.equal(other.stateAt(NOW + FRESH_MS).exhausted, undefined);
  });
});

describe('the reserve of the owner', () => {
  const reserving = (percent: number, ...windows: readonly QuotaWindow[]): AccountQuota => {
    const quota = quotaOf(statement(windows));
    quota.configure(percent);
    return quota;
  };

  test('the account is reserved from 100 less the reserve until the window resets', () => {
    assert.equal(reserving(20, window(79)).stateAt(NOW).reserved, undefined);
    assert.deepEqual(reserving(20, window(80)).stateAt(NOW).reserved, { until: NOW + HOUR });
    assert.equal(reserving(20, window(80)).stateAt(NOW).exhausted, undefined);
    assert.deepEqual(reserving(20, window(80)).stateAt(NOW + 30 * MINUTE).reserved, { until: NOW + HOUR });
    assert.equal(reserving(20, window(80)).stateAt(NOW + HOUR).reserved, undefined);
  });

  test('what remains does not include the reserve', () => {
    assert.equal(reserving(20, window(50)).stateAt(NOW).remaining, 0.3);
    assert.equal(reserving(20, window(90)).stateAt(NOW).remaining, 0);
  });

  test('an exhausted account is eligible again after the reset of its reserved window', () => {
    const quota = reserving(20, window(100, HOUR), window(85, 48 * HOUR, WEEK));
    assert.deepEqual(quota.stateAt(NOW).exhausted, { until: NOW + 48 * HOUR });
  });

  test('without a reserve an account at 99.9 percent is eligible', () =>
    assert.equal(reserving(0, window(99.9)).stateAt(NOW).reserved, undefined));
});
