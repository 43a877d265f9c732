// The search of the request log on both engines finds, page by page, what a scan of all rows finds, and reports how far it came.
import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { openStore, type RequestFilter, type RequestRow, type Store } from '../../store/store.ts';
import { adapters } from './adapters.ts';
import { requestRow } from './samples.ts';

const ROWS = 1_500;

/** A row; several rows share a millisecond, and the rows have few different names. */
const ROW = (n: number): RequestRow => {
  const status = [200, 200, 200, 429, 503, 499][n % 6] ?? 200;
  return requestRow({
    id: `req_${String(n).padStart(6, '0')}`,
    at: 1_000 + Math.floor(n / 7),
    status,
    status_class: `${Math.floor(status / 100)}xx`,
    code: status === 429 ? 'rate_limit_exceeded' : status === 503 ? 'upstream_error' : null,
    pool: ['a', 'b', 'c'][n % 3] ?? null,
    key_id: `key-${n % 5}`,
    account: n % 11 === 0 ? null : `Account ${n % 4}`,
    model: `model-${n % 2}`,
    retries: n % 9 === 0 ? 1 : 0,
    duration_ms: n % 50,
  });
};

async function filled(context: TestContext, url: string): Promise<{ readonly store: Store; readonly all: readonly RequestRow[] }> {
  const store = await openStore(url, { clock: () => 5_000 });
  context.after(() => store.close());
  const all = Array.from({ length: ROWS }, (_, n) => ROW(n));
  for (const row of all) store.requests.append(row);
  await store.flush();
  return { store, all: all.toReversed() };
}

const FILTERS: readonly RequestFilter[] = [
  {},
  { key_id: 'key-3' },
  { key_id: 'key-3', status: 429 },
  { account: 'Account 1', code: 'upstream_error', model: 'model-1' },
  { status_class: '5xx' },
  { status: 499, since: 1_050, until: 1_180 },
  { status_class: '2xx', min_retries: 1 },
  { pools: ['a', 'c'] },
  { pools: ['a', 'c'], min_duration_ms: 40 },
  { pools: ['b'], key_id: 'key-0' },
  { pools: [] },
  { ended_since: 1_210 },
  { code: 'nothing' },
];

const fits = (filter: RequestFilter) => (row: RequestRow) =>
  (['key_id', 'account', 'code', 'model', 'status', 'status_class'] as const).every(
    (name) => filter[name] === undefined || row[name] === filter[name],
  ) &&
  (filter.pools?.includes(row.pool ?? '') ?? true) &&
  row.at >= (filter.since ?? 0) &&
  row.at < (filter.until ?? Number.POSITIVE_INFINITY) &&
  row.retries >= (filter.min_retries ?? 0) &&
  row.duration_ms >= (filter.min_duration_ms ?? 0) &&
  row.at + row.duration_ms >= (filter.ended_since ?? 0);

const ids = (rows: readonly RequestRow[]): readonly string[] => rows.map(({ id }) => id);

for (const { name, fresh } of adapters) {
  suite(`a search of requests on ${name}`, () => {
    test('finds what fits, newest first, and on its pages each row once', async (context) => {
      const { store, all } = await filled(context, await fresh(context));
      for (const filter of FILTERS) {
        const expected = ids(all.filter(fits(filter)));
        assert.deepEqual(ids(await store.requests.list({ ...filter, limit: 1_000 })), expected.slice(0, 1_000), JSON.stringify(filter));
        const paged: RequestRow[] = [];
        for (;;) {
          const before = paged.at(-1);
          const rows = await store.requests.list({ ...filter, limit: 300, before });
          paged.push(...rows);
          if (rows.length < 300) break;
        }
        assert.deepEqual(ids(paged), expected, JSON.stringify(filter));
      }
    });

    test('ends with its time, says how far it came, and goes on there', async (context) => {
      const { store, all } = await filled(context, await fresh(context));
      const nothing = await store.requests.search({ status: 200, model: 'nothing' }, 0);
      assert.deepEqual(nothing, { rows: [], reached: undefined }, 'its index has no row: the search is at its end');
      const rare: RequestFilter = { min_retries: 1, status: 503, account: 'Account 2', limit: 1_000 };
      const filters: readonly RequestFilter[] = [
        rare,
        { min_retries: 1, min_duration_ms: 45 },
        { status_class: '2xx', min_duration_ms: 49 },
      ];
      for (const filter of filters) {
        const found: RequestRow[] = [];
        let answers = 0;
        for (let before: RequestFilter['before']; ; ) {
          const { rows, reached } = await store.requests.search({ ...filter, before }, 0);
          found.push(...rows);
          answers += 1;
          if (!reached) break;
          before = reached;
        }
        assert.deepEqual(ids(found), ids(all.filter(fits(filter))));
        // Each answer reads 500 rows of its index.
        if (filter !== rare) assert.equal(answers, ROWS / 500 + 1);
      }
      const full = await store.requests.search({ min_retries: 1, limit: 3 }, 0);
      assert.equal(full.rows.length, 3);
      assert.equal(full.reached, undefined, 'a page that is full ends with its last row');
      const none = await store.requests.search({ min_retries: 7 }, 0);
      assert.deepEqual(none.rows, []);
      assert.ok(none.reached && none.reached.at > 1_000, 'not all rows were looked at');
    });
  });
}
