// What evidence of one account's quota amounts to, as time passes.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AccountQuota, FRESH_MS } from '../../../proxy/accounts/quota/account-quota.ts';
import type { Source, Statement } from '../../../proxy/accounts/quota/quota-statement.ts';
import type { QuotaWindow } from '../../../proxy/accounts/quota/quota-window.ts';

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

const says = (windows: readonly QuotaWindow[], source: Source = 'headers', reached: boolean | null = false): Statement => ({
  source,
  windows,
  reached: reached ?? undefined,
});

const quotaOf = (...statements: readonly Statement[]): AccountQuota => {
  const quota = new AccountQuota();
  for (const statement of statements) quota.hear(statement, NOW);
  return quota;
};

describe('evidence and its age', () => {
  test('of nothing nothing is known, and the account is eligible', () => {
    assert.deepEqual(quotaOf().judge(NOW), { exhausted: undefined, reserved: undefined, remaining: undefined, nextReset: undefined });
  });

  test('the tightest window says what remains, the first reset when something starts anew', () => {
    const quota = quotaOf(says([window(12.5), window(80, 48 * HOUR, WEEK)]));
    assert.deepEqual(quota.judge(NOW), { exhausted: undefined, reserved: undefined, remaining: 0.2, nextReset: NOW + HOUR });
  });

  test('evidence of fifteen minutes is unknown', () => {
    const quota = quotaOf(says([window(40)]));
    assert.equal(quota.judge(NOW + FRESH_MS - 1).remaining, 0.6);
    assert.equal(quota.judge(NOW + FRESH_MS).remaining, undefined);
    assert.equal(quota.judge(NOW + FRESH_MS).nextReset, undefined);
  });

  test('what is said again counts from then on, also where it had grown old', () => {
    const quota = quotaOf(says([window(40, 5 * HOUR)]));
    quota.hear(says([window(40, 5 * HOUR)]), NOW + 10 * MINUTE);
    assert.equal(quota.judge(NOW + 20 * MINUTE).remaining, 0.6);
    assert.equal(quota.judge(NOW + 30 * MINUTE).remaining, undefined);
    quota.hear(says([window(40, 5 * HOUR)]), NOW + 31 * MINUTE);
    assert.equal(quota.judge(NOW + 31 * MINUTE).remaining, 0.6);
  });

  test('a window says nothing once it has started anew', () => {
    const quota = quotaOf(says([window(90, MINUTE), window(20, HOUR, WEEK)]));
    assert.equal(quota.judge(NOW + MINUTE).remaining, 0.8);
  });

  test('a window that is not mentioned any more is gone, once it is more than one moment old', () => {
    const quota = quotaOf(says([window(100, 48 * HOUR, WEEK)]));
    quota.hear(says([window(5)]), NOW + 30_000);
    assert.ok(quota.judge(NOW + 30_000).exhausted);
    quota.hear(says([window(5)]), NOW + 2 * MINUTE);
    assert.equal(quota.judge(NOW + 2 * MINUTE).exhausted, undefined);
  });

  test('two slots of one length are one window: the fuller', () => {
    const quota = quotaOf(says([window(10), window(70), window(30)]));
    assert.deepEqual(
      quota.windows.map(({ used }) => used),
      [70],
    );
  });

  test('every distinct length is kept', () => {
    const quota = quotaOf(says([window(10, HOUR, 3600), window(20), window(30, HOUR, WEEK)]));
    assert.deepEqual(
      quota.windows.map(({ seconds }) => seconds),
      [3600, FIVE_HOURS, WEEK],
    );
  });
});

describe('trust', () => {
  const heard = (first: Source, second: Source, later: number): number | undefined => {
    const quota = quotaOf(says([window(10)], first));
    quota.hear(says([window(50)], second), NOW + later);
    return quota.windows[0]?.used;
  };

  for (const [first, second] of [
    ['event', 'headers'],
    ['event', 'read'],
    ['headers', 'read'],
  ] as const) {
    test(`in one moment ${first} is believed before ${second}, whichever comes first`, () => {
      assert.equal(heard(first, second, MINUTE - 1), 10);
      assert.equal(heard(second, first, 0), 50);
    });
    test(`${second} of a later moment replaces ${first}`, () => assert.equal(heard(first, second, MINUTE), 50));
  }

  test('of one source the newer word holds', () => assert.equal(heard('headers', 'headers', 1), 50));
});

describe('out of quota', () => {
  test('a full window exhausts until its reset, however old the word is, and not a moment longer', () => {
    const quota = quotaOf(says([window(100, 3 * HOUR), window(30, 48 * HOUR, WEEK)]));
    assert.deepEqual(quota.judge(NOW).exhausted, { until: NOW + 3 * HOUR });
    assert.equal(quota.judge(NOW).remaining, 0);
    assert.deepEqual(quota.judge(NOW + 2 * HOUR).exhausted, { until: NOW + 3 * HOUR });
    assert.equal(quota.judge(NOW + 3 * HOUR).exhausted, undefined);
  });

  test('of two full windows the later reset counts', () => {
    const quota = quotaOf(says([window(100, HOUR), window(100, 48 * HOUR, WEEK)]));
    assert.deepEqual(quota.judge(NOW).exhausted, { until: NOW + 48 * HOUR });
  });

  test('a full window without a reset exhausts for as long as the word is young', () => {
    const quota = quotaOf(says([window(100, null)]));
    assert.deepEqual(quota.judge(NOW + FRESH_MS - 1).exhausted, { until: undefined });
    assert.equal(quota.judge(NOW + FRESH_MS).exhausted, undefined);
  });

  test('a refusal with a reset exhausts until then', () => {
    const quota = quotaOf();
    quota.refuse((NOW + HOUR) / 1000, NOW);
    assert.deepEqual(quota.judge(NOW + HOUR - 1).exhausted, { until: NOW + HOUR });
    assert.equal(quota.judge(NOW + HOUR).exhausted, undefined);
  });

  test('a refusal without one says nothing for long: health waits a little then', () => {
    const quota = quotaOf(says([window(40)]));
    quota.refuse(undefined, NOW);
    assert.equal(quota.judge(NOW).exhausted, undefined);
  });

  test('an answer of a turn that overlapped does not open the account again, one of later does', () => {
    const quota = quotaOf();
    quota.refuse((NOW + HOUR) / 1000, NOW);
    quota.hear(says([window(99)]), NOW + 1000);
    assert.ok(quota.judge(NOW + 1000).exhausted);
    quota.hear(says([window(2)]), NOW + MINUTE);
    assert.equal(quota.judge(NOW + MINUTE).exhausted, undefined);
    assert.equal(quota.judge(NOW + MINUTE).remaining, 0.98);
  });

  test('the headers of a later refusal do not open it', () => {
    const quota = quotaOf();
    quota.refuse((NOW + HOUR) / 1000, NOW);
    quota.hear(says([window(40)], 'headers', null), NOW + 5 * MINUTE);
    assert.ok(quota.judge(NOW + 5 * MINUTE).exhausted);
  });

  test('limit_reached waits for the window that is nearly full, else as long as the word is young', () => {
    const nearly = quotaOf(says([window(99), window(10, 48 * HOUR, WEEK)], 'read', true));
    assert.deepEqual(nearly.judge(NOW).exhausted, { until: NOW + HOUR });
    const other = quotaOf(says([window(10)], 'read', true));
    assert.deepEqual(other.judge(NOW).exhausted, { until: undefined });
    assert.equal(other.judge(NOW + FRESH_MS).exhausted, undefined);
  });
});

describe('what is kept for the owner', () => {
  const reserving = (percent: number, ...windows: readonly QuotaWindow[]): AccountQuota => {
    const quota = quotaOf(says(windows));
    quota.configure(percent);
    return quota;
  };

  test('the account is out at 100 less the reserve, until that window starts anew', () => {
    assert.equal(reserving(20, window(79)).judge(NOW).reserved, undefined);
    assert.deepEqual(reserving(20, window(80)).judge(NOW).reserved, { until: NOW + HOUR });
    assert.equal(reserving(20, window(80)).judge(NOW).exhausted, undefined);
    assert.deepEqual(reserving(20, window(80)).judge(NOW + 30 * MINUTE).reserved, { until: NOW + HOUR });
    assert.equal(reserving(20, window(80)).judge(NOW + HOUR).reserved, undefined);
  });

  test('what remains is what others may use', () => {
    assert.equal(reserving(20, window(50)).judge(NOW).remaining, 0.3);
    assert.equal(reserving(20, window(90)).judge(NOW).remaining, 0);
  });

  test('an exhausted account comes back when its reserved window does', () => {
    const quota = reserving(20, window(100, HOUR), window(85, 48 * HOUR, WEEK));
    assert.deepEqual(quota.judge(NOW).exhausted, { until: NOW + 48 * HOUR });
  });

  test('without a reserve 99.9 percent is enough', () => assert.equal(reserving(0, window(99.9)).judge(NOW).reserved, undefined));
});
