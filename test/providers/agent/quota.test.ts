// Quota statements in each of their three forms, and numbers that cannot be correct.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { quotaFromEvent, quotaFromHeaders, quotaFromUsageRead } from '../../../proxy/providers/agent/agent-quota.ts';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';

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
    const parsed = quotaFromHeaders(
      headers({
        'x-agent-secondary-used-percent': '3',
        'x-agent-secondary-window-minutes': '10080',
        'x-agent-secondary-reset-at': String(SECONDS + 86_400),
      }),
      'agent',
      200,
      NOW,
    );
    assert.deepEqual(parsed, {
      source: 'headers',
      windows: [
        { seconds: 18_000, used: 12.5, resetsAt: SECONDS + 600 },
        { seconds: 604_800, used: 3, resetsAt: SECONDS + 86_400 },
      ],
      reached: false,
    });
  });

  test('headers with another wire word are ignored', () => {
    assert.equal(quotaFromHeaders(headers({}), 'codex', 200, NOW), undefined);
  });

  test('a refusal does not state that turns are accepted', () => {
    assert.equal(quotaFromHeaders(headers({}), 'agent', 429, NOW)?.reached, undefined);
  });

  for (const [what, fields] of Object.entries<Record<string, string>>({
    'a share that is no number': { 'x-agent-primary-used-percent': 'much' },
    'a share that came twice': { 'x-agent-primary-used-percent': '12, 13' },
    'a negative share': { 'x-agent-primary-used-percent': '-1' },
    'an absurd share': { 'x-agent-primary-used-percent': '100000' },
    'an exponent': { 'x-agent-primary-used-percent': '1e2' },
    'an empty share': { 'x-agent-primary-used-percent': '' },
    'a length of zero': { 'x-agent-primary-window-minutes': '0' },
    'a length that is no number': { 'x-agent-primary-window-minutes': 'NaN' },
    'an absurd length': { 'x-agent-primary-window-minutes': '99999999' },
  })) {
    test(`a slot with ${what} is ignored`, () => assert.equal(quotaFromHeaders(headers(fields), 'agent', 200, NOW), undefined));
  }

  for (const [what, value] of Object.entries({
    'in milliseconds': String(NOW + 600_000),
    'longer ahead than its window is long': String(SECONDS + 5 * 3600 + 3601),
    'long past': String(SECONDS - 18_001),
    'that is a date': '2027-01-01',
  })) {
    test(`a reset ${what} is left out of its window`, () => {
      const parsed = quotaFromHeaders(headers({ 'x-agent-primary-reset-at': value }), 'agent', 200, NOW);
      assert.deepEqual(parsed?.windows, [{ seconds: 18_000, used: 12.5, resetsAt: undefined }]);
    });
  }

  test('a percentage slightly over 100 is 100', () => {
    assert.equal(quotaFromHeaders(headers({ 'x-agent-primary-used-percent': '104' }), 'agent', 200, NOW)?.windows[0]?.used, 100);
  });
});

describe('the rate_limits event', () => {
  const window = { used_percent: 30, window_minutes: 300, reset_at: SECONDS + 60 };

  test('a window is identified by its length, not by its slot', () => {
    const data = { rate_limits: { primary: { used_percent: 8, window_minutes: 10_080 }, secondary: window } };
    assert.deepEqual(quotaFromEvent(data, NOW), {
      source: 'event',
      windows: [
        { seconds: 604_800, used: 8, resetsAt: undefined },
        { seconds: 18_000, used: 30, resetsAt: SECONDS + 60 },
      ],
      reached: false,
    });
  });

  test('a recorded event is parsed', () => {
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
    assert.deepEqual(quotaFromEvent(data, 1_795_160_000_000), {
      source: 'event',
      windows: [{ seconds: 18_000, used: 42, resetsAt: 1_795_163_048 }],
      reached: false,
    });
  });

  test('limit_reached is a statement without windows too', () => {
    assert.deepEqual(quotaFromEvent({ rate_limits: { limit_reached: true, primary: null } }, NOW), {
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
    test(`an event with ${what} is ignored`, () => assert.equal(quotaFromEvent(data, NOW), undefined));
  }
});

describe('the usage read', () => {
  test('its windows are in seconds, and its reset may be a wait', () => {
    const body = {
      plan_type: 'plus',
      rate_limit: {
        allowed: true,
        limit_reached: false,
        primary_window: { used_percent: 41, limit_window_seconds: 18_000, reset_after_seconds: 90, reset_at: 5 },
        secondary_window: null,
      },
    };
    assert.deepEqual(quotaFromUsageRead(body, NOW), {
      source: 'read',
      windows: [{ seconds: 18_000, used: 41, resetsAt: SECONDS + 90 }],
      reached: false,
    });
  });

  test('an account without windows is a statement', () => {
    const body = { rate_limit: { allowed: true, limit_reached: false, primary_window: null, secondary_window: null } };
    assert.deepEqual(quotaFromUsageRead(body, NOW), { source: 'read', windows: [], reached: false });
  });

  for (const [what, body] of Object.entries<unknown>({ nothing: undefined, 'a list': [], 'another shape': { usage: 1 }, text: 'no' })) {
    test(`a body with ${what} is ignored`, () => assert.equal(quotaFromUsageRead(body, NOW), undefined));
  }
});
