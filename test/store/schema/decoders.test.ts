// Values in the forms of the drivers: that of SQLite uses numbers for everything, that of PostgreSQL uses text for BIGINT, and booleans.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ColumnType, decode } from '../../../store/schema/decoders.ts';
import { accountState, requests, usage } from '../../../store/schema/tables.ts';
import { accountRow, requestRow, usageRow } from '../samples.ts';

const cases: readonly (readonly [type: ColumnType, stored: unknown, value: unknown])[] = [
  ['text', '', ''],
  ['text', '12', '12'],
  ['text', null, null],
  ['integer', 7, 7],
  ['integer', '7', 7],
  ['integer', '-7', -7],
  ['integer', '0', 0],
  ['integer', 7n, 7],
  ['integer', '1790000000000', 1_790_000_000_000],
  ['integer', String(Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER],
  ['integer', 12.75, 12],
  ['integer', '9007199254740993', Number.MAX_SAFE_INTEGER],
  ['integer', -9007199254740993n, -Number.MAX_SAFE_INTEGER],
  ['integer', '18446744073709551616', Number.MAX_SAFE_INTEGER],
  ['integer', null, null],
  ['boolean', 0, false],
  ['boolean', 1, true],
  ['boolean', 0n, false],
  ['boolean', '1', true],
  ['boolean', '0', false],
  ['boolean', 't', true],
  ['boolean', 'f', false],
  ['boolean', 'false', false],
  ['boolean', true, true],
  ['boolean', false, false],
  ['json', '{"a":1}', { a: 1 }],
  ['json', '[]', []],
  ['json', { a: 1 }, { a: 1 }],
  ['json', 'null', null],
  ['json', null, null],
];

for (const [type, stored, value] of cases) {
  test(`${type}: ${typeof stored} ${String(stored)} is decoded`, () => assert.deepEqual(decode(type, stored, 'requests.at'), value));
}

const wrong: readonly (readonly [type: ColumnType, stored: unknown])[] = [
  ['text', 7],
  ['text', undefined],
  ['integer', ''],
  ['integer', '7x'],
  ['integer', '0x10'],
  ['integer', Number.NaN],
  ['integer', Number.POSITIVE_INFINITY],
  ['integer', true],
  ['integer', undefined],
  ['boolean', 2],
  ['boolean', 'yes'],
  ['json', '{"a":'],
  ['json', 7],
];

for (const [type, stored] of wrong) {
  test(`${type}: ${typeof stored} ${String(stored)} is refused with the column, without the value`, () => {
    assert.throws(() => decode(type, stored, 'requests.at'), {
      code: 'corrupt',
      message: `the store has a value in requests.at that is not ${type}`,
    });
  });
}

/** The row in the form of a driver with integers as text, booleans, and parsed JSON. */
const asText = (row: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(row).map(([column, value]) => [column, typeof value === 'number' ? String(value) : value]));

test('whole rows are the same from every driver', () => {
  assert.deepEqual(requests.decode(asText(requestRow({ tokens_estimated: true }))), requestRow({ tokens_estimated: true }));
  assert.deepEqual(accountState.decode(asText(accountRow({ cooldown_until: 9 }))), accountRow({ cooldown_until: 9 }));
  assert.deepEqual(usage.decode(asText(usageRow())), usageRow());
});

test('every accessor reads the column that it is named after', () => {
  for (const [table, row] of [
    [requests, requestRow({ code: 'x', reason_class: 'y', error_class: 'z', upstream_error_param: 'p' })],
    [accountState, accountRow()],
    [usage, usageRow()],
  ] as const) {
    for (const { column, of } of table.fields) assert.equal(of(row as never), row[column as keyof typeof row], `${table.name}.${column}`);
  }
});
