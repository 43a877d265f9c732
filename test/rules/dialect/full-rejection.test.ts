// How a provider's final refusal is classified and answered, by mode, surface and status.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Refusal } from '../../../proxy/turn/errors/refusal.ts';
import type { SafeFields } from '../../../proxy/turn/turn.ts';
import { fullRejection } from '../../../rules/dialect/full-rejection.ts';
import { phase, type TurnOptions, turnOf } from '../../support/turns/turn.ts';
import { AUTO_FULL, AUTO_LITE, FULL, LITE } from './case.ts';

function refused(status: number, options: TurnOptions): { refusal: Refusal | undefined; noted: Partial<SafeFields> } {
  const turn = turnOf(options);
  const refusal = phase(fullRejection, 'refused')({ status, code: 'secret_code', param: 'secret.param' }, undefined, turn);
  return { refusal, noted: turn.noted };
}

const full: TurnOptions = { model: { mode: FULL } };

for (const [status, shown] of [
  [400, 400],
  [404, 404],
  [409, 409],
  [413, 413],
  [422, 422],
  [408, 400],
  [405, 400],
  [451, 400],
  [499, 400],
] as const) {
  test(`[F2.13] under explicit Full a ${status} becomes ${shown}, with our own message`, () => {
    const { refusal, noted } = refused(status, full);
    assert.deepEqual(refusal?.error, {
      message: 'The provider rejected this request.',
      type: 'invalid_request_error',
      code: 'full_upstream_rejection',
      param: null,
    });
    assert.equal(refusal?.status, shown);
    assert.deepEqual(noted, { error_class: 'full_upstream_rejection' });
  });
}

for (const status of [401, 402, 403, 407]) {
  test(`[Q3] under explicit Full a ${status} blames the account: 502 upstream_error, and the row keeps the class`, () => {
    const { refusal, noted } = refused(status, full);
    assert.deepEqual([refusal?.code, refusal?.status], ['upstream_error', 502]);
    assert.deepEqual(noted, { error_class: 'full_upstream_rejection' });
  });
}

test('[F2.13] a 429 is upstream_rate_limited and a 5xx upstream_status in every mode, answered as in any other', () => {
  for (const mode of [FULL, AUTO_FULL, AUTO_LITE, LITE]) {
    assert.deepEqual(refused(429, { model: { mode } }), { refusal: undefined, noted: { error_class: 'upstream_rate_limited' } });
    for (const status of [500, 502, 503, 529]) {
      assert.deepEqual(refused(status, { model: { mode } }), { refusal: undefined, noted: { error_class: 'upstream_status' } });
    }
  }
});

test('[F2.13] auto and Lite have no mode-specific error', () => {
  for (const mode of [AUTO_FULL, AUTO_LITE, LITE]) {
    assert.deepEqual(refused(422, { model: { mode } }), { refusal: undefined, noted: { error_class: 'upstream_status' } });
  }
});

test('[Q33] compact is not covered, and neither is a websocket turn', () => {
  for (const options of [
    { ...full, kind: 'compact' },
    { ...full, client: 'websocket' },
  ] as const) {
    assert.deepEqual(refused(400, options), { refusal: undefined, noted: { error_class: 'upstream_status' } });
  }
});

test('[F2.13] /v1/responses and Chat are covered like native turns', () => {
  for (const kind of ['public-responses', 'chat'] as const)
    assert.equal(refused(400, { ...full, kind }).refusal?.code, 'full_upstream_rejection');
});
