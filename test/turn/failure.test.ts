// Classification of failed attempts: cause, row class, whether another account is tried, resets and waits (Q5, Q6, ER4).
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { errorClassOf } from '../../proxy/turn/error-class.ts';
import {
  type CarrierFailure,
  carrierFailure,
  type Failure,
  type FailureCause,
  inBandFailure,
  isRetryable,
  loggedCode,
  statusFailure,
  unsentFailure,
} from '../../proxy/turn/failure.ts';
import type { Json, JsonObject } from '../../proxy/turn/json.ts';
import type { UpstreamErrorClass } from '../../proxy/turn/turn.ts';

const NOW = 1_700_000_000_000;
const SECONDS = NOW / 1000;

const ofStatus = (status: number, body: Json | Buffer = '', headers: Readonly<Record<string, string>> = {}): Failure =>
  statusFailure(status, headers, Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body)), NOW);

type Verdict = readonly [cause: FailureCause, errorClass: UpstreamErrorClass | undefined, retried: 'retried' | 'final'];

const verdictOf = (failure: Failure): Verdict => [failure.cause, errorClassOf(failure), isRetryable(failure) ? 'retried' : 'final'];

const coded = (code: string, more: JsonObject = {}): Json => ({ error: { message: 'No.', code, ...more } });

describe('[Q5] [Q6] [ER4] a refusal by status', () => {
  const STATUS_CASES: readonly (readonly [status: number, body: Json, ...Verdict])[] = [
    [401, coded('invalid_api_key'), 'credential', 'upstream_status', 'retried'],
    [401, coded('usage_limit_reached'), 'credential', 'upstream_status', 'retried'],
    [403, coded('forbidden'), 'credential', 'upstream_status', 'retried'],
    [407, '', 'credential', 'upstream_status', 'retried'],
    [402, coded('payment_required'), 'credential', 'upstream_status', 'retried'],
    [402, coded('insufficient_quota'), 'quota', 'upstream_rate_limited', 'retried'],
    [402, coded('x', { resets_in_seconds: 60 }), 'quota', 'upstream_rate_limited', 'retried'],
    [429, '', 'rate', 'upstream_rate_limited', 'retried'],
    [429, coded('rate_limit_exceeded'), 'rate', 'upstream_rate_limited', 'retried'],
    [429, coded('usage_limit_reached'), 'quota', 'upstream_rate_limited', 'retried'],
    [429, coded('usage_not_included'), 'quota', 'upstream_rate_limited', 'retried'],
    [429, coded('billing_hard_limit_reached'), 'quota', 'upstream_rate_limited', 'retried'],
    [429, { error: { type: 'usage_limit_reached', message: 'No.' } }, 'quota', 'upstream_rate_limited', 'retried'],
    [429, coded('x', { resets_at: SECONDS + 60 }), 'quota', 'upstream_rate_limited', 'retried'],
    [429, { resets_in_seconds: 60 }, 'quota', 'upstream_rate_limited', 'retried'],
    [500, '', 'server', 'upstream_status', 'retried'],
    [503, coded('usage_limit_reached'), 'server', 'upstream_status', 'retried'],
    [529, '', 'server', 'upstream_status', 'retried'],
    [400, '', 'request', 'upstream_status', 'final'],
    [400, coded('invalid_value'), 'request', 'upstream_status', 'final'],
    [400, coded('model_not_found'), 'model', 'upstream_status', 'retried'],
    [404, coded('model_not_supported'), 'model', 'upstream_status', 'retried'],
    [400, coded('invalid_value', { param: 'model' }), 'model', 'upstream_status', 'retried'],
    [404, coded('not_found', { param: 'input' }), 'request', 'upstream_status', 'final'],
    [422, coded('model_not_found', { param: 'model' }), 'request', 'upstream_status', 'final'],
    [409, '', 'request', 'upstream_status', 'final'],
    [418, '', 'request', 'upstream_status', 'final'],
    [301, '', 'malformed', 'upstream_malformed', 'final'],
    [304, '', 'malformed', 'upstream_malformed', 'final'],
  ];
  for (const [status, body, ...expected] of STATUS_CASES) {
    test(`${status} ${JSON.stringify(body)} is ${expected.join(', ')}`, () =>
      assert.deepEqual(verdictOf(ofStatus(status, body)), expected));
  }

  test('keeps the provider’s answer for native clients', () => {
    const body = Buffer.from('{"error":{}}');
    const headers = { 'content-type': 'application/json' };
    assert.deepEqual(statusFailure(400, headers, body, NOW).answer, { headers, body });
  });
});

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
    ...['0.5', '-3', '1e3', '1e21', '1e300', '0x10', 'Infinity', 'NaN', '', '9'.repeat(24)].map((value) => [value, undefined] as const),
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

describe('[Q3] [Q6] [ER4] a refusal inside a 200', () => {
  const CODE_CASES: readonly (readonly [error: JsonObject, ...Verdict])[] = [
    [{ code: 'usage_limit_reached' }, 'quota', 'upstream_rate_limited', 'retried'],
    [{ type: 'insufficient_quota' }, 'quota', 'upstream_rate_limited', 'retried'],
    [{ code: 'rate_limit_exceeded' }, 'rate', 'upstream_rate_limited', 'retried'],
    [{ code: 'too_many_requests' }, 'rate', 'upstream_rate_limited', 'retried'],
    [{ code: 'model_not_found' }, 'model', 'upstream_refusal', 'retried'],
    [{ code: 'server_error' }, 'server', 'upstream_refusal', 'retried'],
    [{ code: 'server_is_overloaded' }, 'server', 'upstream_refusal', 'retried'],
    [{ code: 'a_code_of_tomorrow' }, 'server', 'upstream_refusal', 'retried'],
    [{}, 'server', 'upstream_refusal', 'retried'],
    [{ code: 'context_length_exceeded' }, 'request', undefined, 'final'],
    [{ code: 'invalid_prompt' }, 'request', undefined, 'final'],
    [{ code: 'unsupported_value' }, 'request', undefined, 'final'],
    [{ code: 'a_code_of_tomorrow', type: 'invalid_request_error' }, 'request', undefined, 'final'],
  ];
  for (const [error, ...expected] of CODE_CASES) {
    test(`${JSON.stringify(error)} is ${expected.join(', ')}`, () => {
      for (const data of [
        { type: 'error', error },
        { type: 'response.failed', response: { status: 'failed', error } },
        { error, status: 'failed' },
      ]) {
        const failure = inBandFailure(data, NOW);
        assert.deepEqual(verdictOf(failure), expected);
        assert.deepEqual([failure.status, failure.retryAfterMs, failure.answer], [200, undefined, undefined]);
      }
    });
  }

  test('may be an event that is itself the error: its type is the event’s and no error type', () => {
    const { error, cause } = inBandFailure({ type: 'error', code: 'rate_limit_exceeded', message: 'm', param: null }, NOW);
    assert.deepEqual([cause, error], ['rate', { code: 'rate_limit_exceeded', type: null, param: null, message: 'm' }]);
  });
});

describe('[Q6] [ER4] an attempt without a whole answer', () => {
  const CARRIER_CASES: readonly (readonly [CarrierFailure, ...Verdict])[] = [
    ['connect', 'connect', 'upstream_connect', 'retried'],
    ['connect_timeout', 'connect', 'upstream_timeout', 'retried'],
    ['network', 'network', 'upstream_network', 'retried'],
    ['first_byte', 'timeout', 'upstream_timeout', 'final'],
    ['idle', 'network', 'upstream_timeout', 'retried'],
    ['malformed', 'malformed', 'upstream_malformed', 'final'],
    ['too_large', 'malformed', 'upstream_malformed', 'final'],
  ];
  for (const [failure, ...expected] of CARRIER_CASES) {
    test(`${failure} is ${expected.join(', ')}`, () => {
      assert.deepEqual(verdictOf(carrierFailure(failure)), expected);
      assert.equal(carrierFailure(failure).status, undefined);
    });
  }

  test('was not sent: a refused credential blames the account, a token endpoint without an answer does not', () => {
    assert.deepEqual(verdictOf(unsentFailure('refused')), ['credential', 'upstream_status', 'retried']);
    assert.deepEqual(verdictOf(unsentFailure('failed')), ['connect', 'upstream_connect', 'retried']);
    assert.deepEqual([unsentFailure('refused').status, unsentFailure('failed').status], [401, undefined]);
  });
});

describe('[S4] the code in rows', () => {
  for (const [code, logged] of [
    ['usage_limit_reached', 'usage_limit_reached'],
    ['invalid_encrypted_content', 'invalid_encrypted_content'],
    ['model_not_found', 'model_not_found'],
    ['a secret of the prompt', 'upstream_error'],
    ['constructor', 'upstream_error'],
    ['', 'upstream_error'],
    [null, 'upstream_error'],
  ] as const) {
    test(`of ${JSON.stringify(code)} is ${logged}`, () => assert.equal(loggedCode(code), logged));
  }
});
