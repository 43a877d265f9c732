// Suggestions for mistyped words.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nearest } from '../../../proxy/config/schema/suggestion.ts';

const KNOWN = ['host', 'port', 'max_attempts', 'request_body_bytes', 'strategy', 'warn', 'id'];

for (const [typed, meant] of [
  ['prot', 'port'],
  ['hst', 'host'],
  ['max-attempts', 'max_attempts'],
  ['maxAttempts', 'max_attempts'],
  ['requst_body_byts', 'request_body_bytes'],
  ['STRATEGY', 'strategy'],
  ['warning', 'warn'],
  ['ids', 'id'],
  ['timeout', undefined],
  ['x', undefined],
] as const) {
  test(`${typed} is ${meant ? `corrected to ${meant}` : 'not corrected'}`, () => assert.equal(nearest(typed, KNOWN), meant));
}
