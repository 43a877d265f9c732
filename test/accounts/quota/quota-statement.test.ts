// What providers state of quota, in the three forms that they have for it.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { resetStated, statedByEvent, statedByHeaders, statedByRead } from '../../../proxy/accounts/quota/quota-statement.ts';
import type { JsonObject } from '../../../proxy/turn/json.ts';

const NOW = 1_700_000_000_000;
const SECONDS = NOW / 1000;

const headers = (fields: Readonly<Record<string, string>>): Record<string, string> => ({
  'x-agent-primary-used-percent': '12.5',
  'x-agent-primary-window-minutes': '300',
  'x-agent-primary-reset-at': String(SECONDS + 600),
  ...fields,
});

describe('the x-<agent>- headers of an answer', () => {
  test('a slot is a window of its length', () => {
    const statement = statedByHeaders(
      headers({
        'x-agent-secondary-used-percent': '3',
        'x-agent-secondary-window-minutes': '10080',
        'x-agent-secondary-reset-at': String(SECONDS + 86_400),
      }),
      'agent',
      200,
      NOW,
    );
    assert.deepEqual(statement, {
      source: 'headers',
      windows: [
        { seconds: 18_000, used: 12.5, resetsAt: SECONDS + 600 },
        { seconds: 604_800, used: 3, resetsAt: SECONDS + 86_400 },
      ],
      reached: false,
    });
  });

  test('under another wire word nothing is found', () => {
    assert.equal(statedByHeaders(headers({}), 'codex', 200, NOW), undefined);
  });

  test('a refusal does not say that turns are taken', () => {
    assert.equal(statedByHeaders(headers({}), 'agent', 429, NOW)?.reached, undefined);
  });

  for (const [what, fields] of Object.entries<Record<string, string>>({
    'a share that is no number': { 'x-agent-primary-used-percent': 'much' },
    'a share that came twice': { 'x-agent-primary-used-percent': '12, 13' },
    'a negative share': { 'x-agent-primary-used-percent': '-1' },
    'an absurd share': { 'x-agent-primary-used-percent': '100000' },
    'an exponent': { 'x-agent-primary-used-percent': '1e2' },
    'an empty share': { 'x-agent-primary-used-percent': '' },
    'a length of zero': { 'x-agent-primary-window-minutes': '0' },
    'a length of no sense': { 'x-agent-primary-window-minutes': 'NaN' },
    'a length of ages': { 'x-agent-primary-window-minutes': '99999999' },
  })) {
    test(`${what} is not believed`, () => assert.equal(statedByHeaders(headers(fields), 'agent', 200, NOW), undefined));
  }

  for (const [what, value] of Object.entries({
    'in milliseconds': String(NOW + 600_000),
    'longer ahead than its window is long': String(SECONDS + 5 * 3600 + 3601),
    'long past': String(SECONDS - 18_001),
    'that is a date': '2027-01-01',
  })) {
    test(`a reset ${what} is left out, and the rest believed`, () => {
      const statement = statedByHeaders(headers({ 'x-agent-primary-reset-at': value }), 'agent', 200, NOW);
      assert.deepEqual(statement?.windows, [{ seconds: 18_000, used: 12.5, resetsAt: undefined }]);
    });
  }

  test('a little over the end is the end', () => {
    assert.equal(statedByHeaders(headers({ 'x-agent-primary-used-percent': '104' }), 'agent', 200, NOW)?.windows[0]?.used, 100);
  });
});

describe('the rate_limits event', () => {
  const window = { used_percent: 30, window_minutes: 300, reset_at: SECONDS + 60 };

  test('its windows count by length, whatever slot they stand in', () => {
    const data = { rate_limits: { primary: { used_percent: 8, window_minutes: 10_080 }, secondary: window } };
    assert.deepEqual(statedByEvent(data, NOW), {
      source: 'event',
      windows: [
        { seconds: 604_800, used: 8, resetsAt: undefined },
        { seconds: 18_000, used: 30, resetsAt: SECONDS + 60 },
      ],
      reached: false,
    });
  });

  test('one as it was recorded', () => {
    const data: JsonObject = {
      type: 'agent.rate_limits',
      plan_type: 'plus',
      rate_limits: {
        allowed: true,
        limit_reached: false,
        primary: { used_percent: 42, window_minutes: 300, reset_at: 1_795_163_048 },
        secondary: null,
      },
      credits: { has_credits: false, unlimited: false, balance: null },
    };
    assert.deepEqual(statedByEvent(data, 1_795_160_000_000), {
      source: 'event',
      windows: [{ seconds: 18_000, used: 42, resetsAt: 1_795_163_048 }],
      reached: false,
    });
  });

  test('limit_reached speaks for itself, without windows too', () => {
    assert.deepEqual(statedByEvent({ rate_limits: { limit_reached: true, primary: null } }, NOW), {
      source: 'event',
      windows: [],
      reached: true,
    });
  });

  for (const [what, data] of Object.entries<JsonObject>({
    'no rate_limits': { type: 'agent.rate_limits' },
    'null rate_limits': { rate_limits: null },
    'a list': { rate_limits: [window] },
    'strings for numbers': { rate_limits: { primary: { used_percent: '30', window_minutes: '300' } } },
    'nothing in it': { rate_limits: {} },
  })) {
    test(`${what} says nothing`, () => assert.equal(statedByEvent(data, NOW), undefined));
  }
});

describe('the usage read', () => {
  test('its windows are in seconds, and its reset may be reckoned from now', () => {
    const body = {
      plan_type: 'plus',
      rate_limit: {
        allowed: true,
        limit_reached: false,
        primary_window: { used_percent: 41, limit_window_seconds: 18_000, reset_after_seconds: 90, reset_at: 5 },
        secondary_window: null,
      },
    };
    assert.deepEqual(statedByRead(body, NOW), {
      source: 'read',
      windows: [{ seconds: 18_000, used: 41, resetsAt: SECONDS + 90 }],
      reached: false,
    });
  });

  test('an account without windows is an answer', () => {
    const body = { rate_limit: { allowed: true, limit_reached: false, primary_window: null, secondary_window: null } };
    assert.deepEqual(statedByRead(body, NOW), { source: 'read', windows: [], reached: false });
  });

  for (const [what, body] of Object.entries<unknown>({ nothing: undefined, 'a list': [], 'another shape': { usage: 1 }, text: 'no' })) {
    test(`${what} is none`, () => assert.equal(statedByRead(body, NOW), undefined));
  }
});

test('a refusal may state a reset within a month, as a time or from now; of two that differ the one that is still to come', () => {
  const week = 7 * 86_400;
  assert.equal(resetStated({ at: SECONDS + week, after: undefined }, NOW), SECONDS + week);
  assert.equal(resetStated({ at: undefined, after: 60 }, NOW), SECONDS + 60);
  assert.equal(resetStated({ at: NOW + week, after: 60 }, NOW), SECONDS + 60);
  assert.equal(resetStated({ at: SECONDS - 60, after: 60 }, NOW), SECONDS + 60);
  assert.equal(resetStated({ at: NOW + week, after: undefined }, NOW), undefined);
  assert.equal(resetStated({ at: undefined, after: 1e9 }, NOW), undefined);
  assert.equal(resetStated({ at: undefined, after: undefined }, NOW), undefined);
});
