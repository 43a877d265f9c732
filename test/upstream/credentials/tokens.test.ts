// How long stored tokens are valid by the clock of the process that reads them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDue, storedBy, type Tokens } from '../../../proxy/upstream/credentials/tokens.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOW = 1_700_000_000_000;

const tokens = (at: number, expiresAt: number | undefined): Tokens => ({
  access: 'access',
  refresh: 'refresh',
  id: undefined,
  account: undefined,
  at,
  expiresAt,
});

test('[Q9] tokens that were stored before the clock was set back an hour are refreshed in their time', () => {
  const read = storedBy(NOW, tokens(NOW + HOUR, NOW + 2 * HOUR));
  assert.deepEqual([read.at, read.expiresAt], [NOW, NOW + HOUR]);
  assert.equal(isDue(read, NOW + 54 * MINUTE), false);
  assert.equal(isDue(read, NOW + 55 * MINUTE), true);
});

test('[Q9] tokens that were stored earlier, or state no expiry, stay as they are', () => {
  const earlier = tokens(NOW - HOUR, NOW + HOUR);
  assert.equal(storedBy(NOW, earlier), earlier);
  assert.equal(storedBy(NOW, tokens(NOW + HOUR, undefined)).expiresAt, undefined);
});
