// What a provider states with a refusal: its error, the reset of the quota and the wait; and texts that are no such statement (Q3, Q6, Q8).
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Failure, inBandFailure, statusFailure } from '../../../proxy/turn/errors/failure.ts';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';

const NOW = 1_700_000_000_000;
const SECONDS = NOW / 1000;

const ofStatus = (status: number, body: Json | Buffer = '', headers: Readonly<Record<string, string>> = {}): Failure =>
  statusFailure(status, headers, Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body)), NOW);

const coded = (code: string, more: JsonObject = {}): Json => ({ error: { message: 'No.', code, ...more } });

describe('[Q3] the error of a refusal', () => {
  const NONE = { code: null, type: null, param: null, message: null };
  const ERROR_CASES: readonly (readonly [
    what: string,
    body: Json | Buffer,
    error: Partial<typeof NONE> | Readonly<Record<string, string>>,
  ])[] = [
    [
      'has the four members of `error`',
      { error: { code: 'c', type: 't', param: 'p', message: 'm' } },
      { code: 'c', type: 't', param: 'p', message: 'm' },
    ],
    ['may be inside `response`', { response: { error: { code: 'c', message: 'm' } } }, { code: 'c', message: 'm' }],
    ['may be the object itself', { code: 'c', message: 'm' }, { code: 'c', message: 'm' }],
    ['may have its message in `detail`', { detail: 'm' }, { message: 'm' }],
    ['takes members of another type as absent', { error: { code: 7, type: ['t'], param: {}, message: null } }, {}],
    ['takes empty members as absent', { error: { code: '', message: '' } }, {}],
    ['is empty where `error` is a string', { error: 'm' }, {}],
    ['is empty where the body is a list', [1], {}],
    ['is empty where the body is no JSON', Buffer.from('<html>busy</html>'), {}],
    ['is empty where there is no body', Buffer.alloc(0), {}],
  ];
  for (const [what, body, error] of ERROR_CASES) {
    test(what, () => assert.deepEqual(ofStatus(400, body).error, { ...NONE, ...error }));
  }
});

describe('[Q8] the reset of a quota refusal', () => {
  const RESET_CASES: readonly (readonly [what: string, members: JsonObject, resetsAt: number | undefined])[] = [
    ['is the stated time', { resets_at: SECONDS + 60 }, SECONDS + 60],
    ['is the stated wait', { resets_in_seconds: 60 }, SECONDS + 60],
    ['is unknown where none is stated', {}, undefined],
    ['is unknown where it is a text', { resets_at: String(SECONDS + 60) }, undefined],
    ['is unknown where it is in milliseconds', { resets_at: NOW + 60_000 }, undefined],
  ];
  for (const [what, members, resetsAt] of RESET_CASES) {
    test(what, () => {
      assert.equal(ofStatus(429, coded('usage_limit_reached', members)).resetsAt, resetsAt);
      assert.equal(
        inBandFailure({ type: 'response.failed', response: { error: { code: 'usage_limit_reached', ...members } } }, NOW).resetsAt,
        resetsAt,
      );
    });
  }
});

describe('[Q6] Retry-After', () => {
  const RETRY_CASES: readonly (readonly [value: string | undefined, ms: number | undefined])[] = [
    [undefined, undefined],
    ['7', 7_000],
    ['0', 0],
    [String(31 * 86_400), 31 * 86_400_000],
    [String(31 * 86_400 + 1), undefined],
    ['2.5', 2_500],
    ['0.5', 500],
    ['1.1', 1_100],
    ['0.0001', 1],
    ...['.5', '2.', '1.2.3', '2,5', '-3'].map((value) => [value, undefined] as const),
    ...['1e3', '1e21', '1e300', '0x10', 'Infinity', 'NaN', '', '9'.repeat(24)].map((value) => [value, undefined] as const),
    [new Date(NOW + 9_000).toUTCString(), 9_000],
    [new Date(NOW - 9_000).toUTCString(), 0],
    [new Date(NOW + 32 * 86_400_000).toUTCString(), undefined],
    ['Fri, 31 Dec 9999 23:59:59 GMT', undefined],
    ['Fri, soon GMT', undefined],
    ['2040-01-01', undefined],
    ['soon', undefined],
  ];
  for (const [value, ms] of RETRY_CASES) {
    test(`${value} is ${ms} ms`, () => {
      assert.equal(ofStatus(503, '', value === undefined ? {} : { 'retry-after': value }).retryAfterMs, ms);
    });
  }
});
