// ISO 8601 times: days that exist are taken, others are not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { msOfIso } from '../../../proxy/base/time/iso-time.ts';

test('a time on a day that exists is converted to its instant', () => {
  assert.equal(msOfIso('2027-01-01T00:00:00Z'), Date.UTC(2027, 0, 1));
  assert.equal(msOfIso('2028-02-29T23:30:00.250-02:00'), Date.UTC(2028, 2, 1, 1, 30, 0, 250));
  assert.equal(msOfIso('2000-02-29'), Date.UTC(2000, 1, 29));
});

for (const text of [
  '2027-02-29T00:00:00Z',
  '2027-02-30T00:00:00Z',
  '1900-02-29T00:00:00Z',
  '2027-04-31T12:00:00+02:00',
  '2027-00-10T00:00:00Z',
  '2027-13-01T00:00:00Z',
  '2027-01-00',
  '2027-01-32',
  '2027-01-01T25:00:00Z',
  '2027-01-01T00:60:00Z',
  '2027-01-01 00:00:00',
  '5',
  'May 2027',
  '',
]) {
  test(`'${text}' is not a time`, () => assert.ok(Number.isNaN(msOfIso(text))));
}
