// Each query of a page uses an index on both engines: none reads a table of millions of rows completely.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import type { Driver, Value } from '../../store/driver.ts';
import type { HourFilter, RequestFilter, UsageFilter } from '../../store/schema/filters.ts';
import type { Reader } from '../../store/schema/query.ts';
import { SqliteConnection } from '../../store/sqlite/sqlite-connection.ts';
import { openStore } from '../../store/store.ts';
import { repositories } from '../../store/verbs/repositories.ts';
import { searchRequests } from '../../store/verbs/request-search.ts';
import { hourSums } from '../../store/verbs/sums/hour-groups.ts';
import { usageSums } from '../../store/verbs/sums/usage-groups.ts';
import { Writer } from '../../store/writing/writer.ts';
import { freshDatabase, postgres } from '../support/postgres/postgres.ts';

interface Statement {
  readonly sql: string;
  readonly values: readonly Value[];
}

/** The statements that a query makes of its filter. */
async function statementsOf(ask: (reader: Reader) => Promise<unknown>): Promise<readonly Statement[]> {
  const made: Statement[] = [];
  await ask({
    query: async (sql, values) => {
      made.push({ sql, values });
      return [];
    },
  });
  return made;
}

const DAY = 86_400_000;
/** A time in the middle of a day, so the sums consist of hours and days. */
const SINCE = 20_000 * DAY + 13 * 3_600_000;
const PLACE = { at: SINCE, id: 'req_1' };

const REQUESTS: readonly (readonly [RequestFilter, index: string])[] = [
  [{}, 'requests_newest'],
  [{ before: PLACE }, 'requests_newest'],
  [{ until: SINCE }, 'requests_newest'],
  [{ ended_since: SINCE }, 'requests_newest'],
  [{ status_class: '2xx', since: SINCE }, 'requests_newest'],
  [{ pools: ['a'] }, 'requests_newest_of_pool'],
  [{ pools: ['a', 'b'], before: PLACE }, 'requests_newest_of_pool'],
  [{ key_id: 'a' }, 'requests_of_key'],
  [{ key_id: 'a', before: PLACE, pools: ['a', 'b'], status: 429 }, 'requests_of_key'],
  [{ account: 'a', until: SINCE }, 'requests_of_account'],
  [{ account: 'a', status_class: '5xx' }, 'requests_of_account'],
  [{ model: 'a', since: SINCE }, 'requests_of_model'],
  [{ code: 'a' }, 'requests_of_code'],
  [{ code: 'a', account: 'a', before: PLACE }, 'requests_of_code'],
  [{ status: 429 }, 'requests_failed'],
  [{ status_class: '5xx', before: PLACE }, 'requests_failed'],
];

const HOURS: readonly (readonly [HourFilter, indexes: readonly string[]])[] = [
  [{ by: [], since: SINCE }, ['usage_pool_hours']],
  [{ by: ['hour'], since: SINCE }, ['usage_pool_hours']],
  [{ by: ['hour'], since: SINCE, pools: ['a', 'b'] }, ['usage_pool_hours']],
  [{ by: ['account'], since: SINCE }, ['usage_days', 'usage_hours']],
  [{ by: ['model'], since: SINCE, until: SINCE + 3 * DAY }, ['usage_days', 'usage_hours']],
  [{ by: ['hour'], since: SINCE, accounts: ['a', 'b'] }, ['usage_hours_of_account']],
  [{ by: ['hour'], since: SINCE, model: 'a' }, ['usage_hours_of_model']],
];

const USAGE: readonly UsageFilter[] = [
  { by: ['key_id'], since: SINCE },
  { by: ['day'], since: SINCE, key_ids: ['a'] },
  { by: ['key_id', 'day'], since: SINCE, pools: ['a'] },
];

/** The plan of a statement, as the engine describes it. */
type Explain = (statement: Statement) => Promise<string>;

interface Engine {
  readonly explain: Explain;
  close(): Promise<void>;
}

async function sqlite(): Promise<Engine> {
  const folder = await mkdtemp(join(tmpdir(), 'poolgate-plans-'));
  const path = join(folder, 'poolgate.db');
  await (await openStore(`sqlite:${path}`, { clock: () => SINCE })).close();
  const connection = await SqliteConnection.open(path);
  return {
    async explain({ sql, values }) {
      const steps = await connection.query(`EXPLAIN QUERY PLAN ${sql}`, values);
      return steps.map(({ detail }) => String(detail)).join('\n');
    },
    async close() {
      await connection.close();
      await rm(folder, { recursive: true });
    },
  };
}

/** The planner compares costs, so it needs many rows of many values, and their statistics. */
const FILL = [
  `INSERT INTO requests (id, at, family, surface, endpoint, method, status, status_class, pool, account, key_id, model, code, retries, duration_ms,
    tokens_estimated, outcome)
  SELECT 'req_' || n, ${SINCE} - 30000 + n, 'v1', 'public', '/v1/responses', 'POST', CASE WHEN n % 97 = 0 THEN 429 ELSE 200 END,
    CASE WHEN n % 97 = 0 THEN '4xx' ELSE '2xx' END, 'pool-' || n % 50, 'account-' || n % 1000, 'key-' || n % 5000, 'model-' || n % 400,
    CASE WHEN n % 97 = 0 THEN 'code-' || n % 30 END, 0, 1, 0, 'completed'
  FROM generate_series(1, 60000) AS n`,
  'ANALYZE requests',
];

async function onPostgres(): Promise<Engine> {
  const url = await freshDatabase();
  await (await openStore(url, { clock: () => SINCE })).close();
  const server = await postgres();
  for (const sql of FILL) await server.query(url, sql);
  // The planner reads a small table completely, whatever indexes there are.
  const planning = `${url}${encodeURIComponent(' -c enable_seqscan=off')}`;
  return {
    async explain({ sql, values }) {
      const literal = (value: Value | undefined): string => (typeof value === 'string' ? `'${value}'` : String(value));
      const bound = sql.replaceAll(/\$(\d+)/g, (_, number: string) => literal(values[Number(number) - 1]));
      return (await server.query(planning, `EXPLAIN ${bound}`)).map((line) => String(line['QUERY PLAN'])).join('\n');
    },
    close: async () => undefined,
  };
}

for (const [name, open] of [
  ['sqlite', sqlite],
  ['postgres', onPostgres],
] as const) {
  suite(`questions of pages on ${name}`, () => {
    let engine: Engine;
    const explain: Explain = (statement) => engine.explain(statement);

    before(async () => {
      engine = await open();
    });
    after(() => engine.close());

    test('about requests read the index of their narrowest filter', async () => {
      for (const [filter, index] of REQUESTS) {
        for (const statement of await statementsOf((reader) => searchRequests(reader, filter))) {
          const plan = await explain(statement);
          assert.match(plan, new RegExp(`${index}\\b`), `${JSON.stringify(filter)}: ${plan}`);
          assertIndexed(plan, filter);
        }
      }
    });

    test('about sums read the key of a roll-up, or the hours of one account or model', async () => {
      for (const [filter, indexes] of HOURS) {
        for (const statement of await statementsOf((reader) => hourSums(reader, filter))) {
          const plan = await explain(statement);
          for (const index of indexes) assert.match(plan, new RegExp(index), `${JSON.stringify(filter)}: ${plan}`);
          assertIndexed(plan, filter);
        }
      }
      for (const filter of USAGE) {
        for (const statement of await statementsOf((reader) => usageSums(reader, filter))) assertIndexed(await explain(statement), filter);
      }
    });

    test('about one turn and about the audit read the newest rows first', async () => {
      for (const ask of [
        (reader: Reader) => storeOn(reader).audit.list({ target: 'a', since: SINCE, before: PLACE }),
        (reader: Reader) => storeOn(reader).attempts.of({ id: 'req_1' } as never),
        (reader: Reader) => searchRequests(reader, { id: 'req_1', pools: ['a', 'b'] }),
      ]) {
        for (const statement of await statementsOf(ask)) assertIndexed(await explain(statement), statement.sql);
      }
    });
  });
}

/** Asserts that no table is read completely. SQLite calls a walk along an index a scan, too. */
function assertIndexed(plan: string, of: unknown): void {
  const wholes = plan.split('\n').filter((step) => /^SCAN (?!.*USING (?:COVERING )?INDEX|looked|parts?|hours)/.test(step));
  assert.deepEqual(wholes, [], `${JSON.stringify(of)}: ${plan}`);
  assert.doesNotMatch(plan, /Seq Scan/, `${JSON.stringify(of)}: ${plan}`);
}

const storeOn = (reader: Reader) => {
  const driver = { browse: reader.query, query: reader.query, now: () => SINCE } as unknown as Driver;
  const writer = new Writer(async () => undefined, {
    queueRows: 1,
    batchRows: 1,
    flushMs: 1,
    retryMs: [1, 1],
    notice: () => undefined,
  } as never);
  return repositories({ driver, writer, pinWriter: writer, writerId: 'test', clock: () => SINCE });
};
