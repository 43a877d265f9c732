// The forecast of the time at which a window is used up, at its mean rate since it began.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { usedUpAt } from '../../proxy/mcp/quota-forecast.ts';

const HOUR_S = 3_600;
const BEGAN = Date.UTC(2026, 0, 1, 10);

const at = (hours: number, used_percent: number, resets_at: number | null = BEGAN / 1000 + 5 * HOUR_S) =>
  usedUpAt({ class: 'primary', seconds: 5 * HOUR_S, used_percent, resets_at, source: 'headers', stated_at: BEGAN + hours * HOUR_S * 1000 });

test('a window of 5 h of which 60 % is used after 2 h ends after 3 h 20 min', () => {
  assert.equal(at(2, 60), BEGAN + (10 / 3) * HOUR_S * 1000);
});

test('there is no forecast for a window that lasts until its reset, is used up, has just begun, or states no reset', () => {
  assert.equal(at(2, 40), undefined, 'it ends with its reset');
  assert.equal(at(2, 30), undefined);
  assert.equal(at(2, 100), undefined);
  assert.equal(at(0.1, 50), undefined, 'six minutes');
  assert.equal(at(2, 0.5), undefined);
  assert.equal(at(2, 60, null), undefined);
});
