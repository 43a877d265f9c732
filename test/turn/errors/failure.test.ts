// Classification of failed attempts: cause, row class, and whether another account is tried (Q5, Q6, ER4).
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { errorClassOf } from '../../../proxy/turn/errors/error-class.ts';
import {
  type CarrierFailure,
  carrierFailure,
  type Failure,
  type FailureCause,
  inBandFailure,
  isRetryable,
  statusFailure,
  unsentFailure,
} from '../../../proxy/turn/errors/failure.ts';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import type { UpstreamErrorClass } from '../../../proxy/turn/turn.ts';

const NOW = 1_700_000_000_000;
const SECONDS = NOW / 1000;

const ofStatus = (status: number, body: Json): Failure => statusFailure(status, {}, Buffer.from(JSON.stringify(body)), NOW);

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

  test('may be an event that is itself the error: its type is that of the event, not of the error', () => {
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

  test('that was not sent: a refused credential counts for the account, a token endpoint without an answer does not', () => {
    assert.deepEqual(verdictOf(unsentFailure('refused')), ['credential', 'upstream_status', 'retried']);
    assert.deepEqual(verdictOf(unsentFailure('failed')), ['connect', 'upstream_connect', 'retried']);
    assert.deepEqual([unsentFailure('refused').status, unsentFailure('failed').status], [401, undefined]);
  });
});
