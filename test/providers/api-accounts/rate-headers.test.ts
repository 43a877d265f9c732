// Rate limits in the headers of API accounts, with each form of a reset, and headers that are not evidence (AA39).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rateLimits } from '../../../proxy/providers/api-accounts/rate-headers.ts';

const NOW = 1_700_000_000_000;

const headersOf = (remaining: string, reset: string | undefined, limit = '100'): Record<string, string> => ({
  'x-ratelimit-limit-requests': limit,
  'x-ratelimit-remaining-requests': remaining,
  ...(reset === undefined ? {} : { 'x-ratelimit-reset-requests': reset }),
});

for (const [reset, ms] of [
  ['6m0s', 360_000],
  ['1.57s', 1_570],
  ['20ms', 20],
  ['1h2m3s', 3_723_000],
  ['12', 12_000],
  ['59.5', 59_500],
  [String(NOW / 1000 + 30), 30_000],
  [String(NOW + 45_000), 45_000],
] as const) {
  test(`[AA39] a reset of ${reset} is ${ms} ms from now`, () => {
    assert.deepEqual(rateLimits(headersOf('25', reset), NOW), [{ kind: 'requests', left: 0.25, resetsAt: NOW + ms }]);
  });
}

for (const [what, headers] of [
  ['a negative remainder', headersOf('-1', '6m0s')],
  ['a negative limit', headersOf('1', '6m0s', '-5')],
  ['a limit of zero', headersOf('0', '6m0s', '0')],
  ['more left than there is', headersOf('101', '6m0s')],
  ['a reset of 0', headersOf('0', '0')],
  ['a reset of 0s', headersOf('0', '0s')],
  ['a past reset', headersOf('0', String(NOW / 1000 - 5))],
  ['a reset in words', headersOf('0', 'soon')],
  ['no limit', { 'x-ratelimit-remaining-requests': '0' }],
] as const) {
  test(`[AA39] ${what} is no evidence`, () => assert.equal(rateLimits(headers, NOW), undefined));
}

test('[AA39] requests and tokens are stated apart', () => {
  const headers = {
    ...headersOf('100', undefined),
    'x-ratelimit-limit-tokens': '200000',
    'x-ratelimit-remaining-tokens': '50000',
    'x-ratelimit-reset-tokens': '1s',
  };
  assert.deepEqual(rateLimits(headers, NOW), [
    { kind: 'requests', left: 1, resetsAt: undefined },
    { kind: 'tokens', left: 0.25, resetsAt: NOW + 1_000 },
  ]);
});
