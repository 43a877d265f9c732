// SQLite stores the rows of a batch as common and differing values; in every combination they are read back unchanged.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requests, usage } from '../../../store/schema/tables.ts';
import { insertionOf } from '../../../store/sqlite/sqlite-insertion.ts';
import { openStore, type RequestRow } from '../../../store/store.ts';
import { requestRow, usageRow } from '../samples.ts';

const clock = () => 5_000;

test('values that rows have in common are bound once, others are in the text', () => {
  const { sql, values } = insertionOf(requests, [
    requestRow({ id: 'a', status: 200, code: null, why: null, payload_compression: null }),
    requestRow({ id: 'b', status: 429, code: 'rate_limit_exceeded', why: null, payload_compression: null }),
  ]);
  assert.equal(values[0], '[["a",200,null],["b",429,"rate_limit_exceeded"]]');
  assert.equal(values.length, 1 + requests.columns.length - 3);
  assert.equal(sql.match(/value ->> \d/g)?.join(), 'value ->> 0,value ->> 1,value ->> 2');
  assert.equal(values.filter((value) => value === 0).length, 2, 'retries, and false as SQLite has it');
});

test('a table that adds has the same statement for rows that differ in the same columns', () => {
  const [one, other] = [1, 2].map((day) => insertionOf(usage, [usageRow({ day }), usageRow({ day: day + 10 })]).sql);
  assert.equal(one, other);
});

test('a value that is not plain data is a bad row, alone or among others', () => {
  const bad = { ...requestRow(), duration_ms: 1n } as unknown as RequestRow;
  for (const rows of [[bad], [bad, bad], [requestRow(), bad]]) {
    assert.throws(() => insertionOf(requests, rows), { code: 'bad_row' });
  }
});

/** The values of each field, which the rows of a batch have in turn: in one row, in all rows, and mixed. */
const VALUES: { readonly [Field in keyof RequestRow]?: readonly RequestRow[Field][] } = {
  pool: ['team', null, ''],
  model: ['модель-🙂', 'it\'s\n"quoted"', '{"a":1}', '12', null],
  at: [0, 1_790_000_000_000, Number.MAX_SAFE_INTEGER],
  input_tokens: [0, null, 2 ** 31, -1],
  tokens_estimated: [true, false],
  why: [null, { reason: 'headroom', others: {} }, { reason: 'headroom', others: { cooling: 1 } }],
  payload_compression: [{ saved_percent: 12.5 }, null],
};

for (const [field, values] of Object.entries(VALUES)) {
  test(`${field} comes back as it was, whether its rows agree or not`, async () => {
    const store = await openStore('sqlite::memory:', { clock });
    const batches = [...values.map((value) => [value, value]), values, ...values.map((value) => [value])];
    for (const [n, batch] of batches.entries()) {
      const rows = batch.map((value, i) => requestRow({ id: `${n}_${i}`, [field]: value }));
      for (const row of rows) store.requests.append(row);
      await store.flush();
      for (const row of rows) assert.deepEqual(await store.requests.list({ id: row.id }), [row]);
    }
    const { rejected, dropped } = store.stats();
    assert.deepEqual([rejected, dropped], [0, 0]);
    await store.close();
  });
}

test('more forms of batches than statements are kept', async () => {
  const store = await openStore('sqlite::memory:', { clock });
  const fields = ['status', 'duration_ms', 'input_tokens', 'output_tokens', 'retries', 'cached_input_tokens', 'at'] as const;
  const forms = 2 ** fields.length;
  for (let form = 0; form < forms; form++) {
    const differing = Object.fromEntries(fields.map((field, bit) => [field, (form >> bit) & 1]));
    store.requests.append(requestRow({ ...Object.fromEntries(fields.map((field) => [field, 0])), id: `${form}_one` }));
    store.requests.append(requestRow({ ...differing, id: `${form}_other` }));
    await store.flush();
  }
  assert.equal((await store.requests.list({ limit: 1_000 })).length, 2 * forms);
  await store.close();
});
