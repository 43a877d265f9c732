// The store of a large installation. The database fills it itself, so five million requests take a minute or two.
import { usagePoolHours } from '../../../store/schema/tables.ts';
import { SqliteConnection } from '../../../store/sqlite/sqlite-connection.ts';
import { openStore } from '../../../store/store.ts';

export interface LargeSize {
  readonly accounts: number;
  readonly pools: number;
  readonly keys: number;
  readonly models: number;
  readonly requests: number;
  readonly days: number;
}

export const LARGE: LargeSize = { accounts: 1_000, pools: 50, keys: 10_000, models: 40, requests: 5_000_000, days: 28 };

/** The number of models of a Pool. */
export const MODELS_OF_POOL = 4;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const CHUNK_ROWS = 250_000;

/** A tenth of the requests have one key, the others any key, so a filter by a key has to find few rows or to page through many. */
const rowsFrom = ({ accounts, pools, keys, models, requests, days }: LargeSize, now: number, first: number): string => `
  WITH RECURSIVE numbers (n) AS (SELECT ${first} UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ${Math.min(first + CHUNK_ROWS, requests)}),
  chosen AS MATERIALIZED (
    SELECT n, ${now - days * DAY_MS} + CAST(n * ${(days * DAY_MS) / requests} AS INTEGER) AS at,
      CASE WHEN abs(random()) % 10 = 0 THEN 7 ELSE abs(random()) % ${keys} END AS key,
      abs(random()) % ${Math.floor(accounts / pools)} AS place, abs(random()) % ${MODELS_OF_POOL} AS model, abs(random()) % 10000 AS luck,
      500 + abs(random()) % 20000 AS took
    FROM numbers
  ),
  made AS MATERIALIZED (
    SELECT *, key % ${pools} AS pool,
      CASE WHEN luck < 250 THEN 429 WHEN luck < 320 THEN 503 WHEN luck < 350 THEN 400 WHEN luck < 380 THEN 499 WHEN n % 700001 = 3 THEN 418 ELSE 200 END AS status
    FROM chosen
  )
  INSERT INTO requests SELECT
    printf('req_%012x%04x', at, n % 65536) || lower(hex(randomblob(8))), at, 'v1', 'public', '/v1/responses', 'POST', status, (status / 100) || 'xx', 'pool-' || pool,
    'Pool ' || pool, 'Account ' || (place * ${pools} + pool), 'agent', NULL, 0, NULL, 'key-' || key, 'model-' || ((pool + model) % ${models}), NULL,
    CASE status WHEN 429 THEN 'rate_limit_exceeded' WHEN 503 THEN 'upstream_error' WHEN 400 THEN 'invalid_request_error' WHEN 418 THEN 'rare_code' END,
    luck % 50 = 7, took, NULL, 'medium', 4000 + luck, luck, 300, 0, 'auto', 'full', 'catalog', NULL,
    CASE status WHEN 503 THEN 'status' END, NULL, NULL, '{"reason":"headroom","others":{"less_preferred":19}}',
    CASE status WHEN 200 THEN 'completed' WHEN 499 THEN 'client_gone' ELSE 'refused' END, NULL
  FROM made`;

const FAILED = "CASE WHEN outcome IN ('completed', 'client_gone') THEN 0 ELSE 1 END";

const SUMS = usagePoolHours.columns
  .filter((name) => !usagePoolHours.key.includes(name))
  .map((name) => `sum(${name})`)
  .join(', ');

/** The tables that grow with the requests, as the gateway would have written them. */
const DERIVED: readonly string[] = [
  `INSERT INTO attempts SELECT id, 0, at, account, api, NULL, 'first', status, error_class, duration_ms, NULL FROM requests WHERE retries > 0`,
  `INSERT INTO usage SELECT key_id, pool, at - at % ${DAY_MS}, count(*), 0, sum(input_tokens), sum(cached_input_tokens), sum(output_tokens),
    sum(input_tokens) * 1000, 0, 0 FROM requests GROUP BY 1, 2, 3 ORDER BY 3`,
  `INSERT INTO usage_hours SELECT at - at % ${HOUR_MS}, pool, account, model, count(*), sum(${FAILED}), 0, sum(input_tokens),
    sum(cached_input_tokens), sum(output_tokens), sum(input_tokens) * 1000, sum(duration_ms), count(*), sum(duration_ms) / 10
    FROM requests GROUP BY 1, 2, 3, 4`,
  `INSERT INTO usage_days SELECT hour - hour % ${DAY_MS}, pool, account, model, ${SUMS} FROM usage_hours GROUP BY 1, 2, 3, 4`,
  `INSERT INTO usage_pool_hours SELECT hour, pool, ${SUMS} FROM usage_hours GROUP BY 1, 2`,
  `WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < 20000)
   INSERT INTO audit SELECT lower(hex(randomblob(16))), (SELECT max(at) FROM requests) - n * 60000, 'file', 'key.change', 'key-' || (n % 500),
    'pool-' || (n % 50), '[]' FROM numbers`,
];

/** @param say reports the progress */
export async function fillStore(path: string, size: LargeSize, now: number, say: (line: string) => void): Promise<void> {
  await (await openStore(`sqlite:${path}`, { clock: () => now })).close();
  const database = await SqliteConnection.open(path);
  // Nothing has to survive a crash, and indexes are made after the rows.
  await database.script('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -500000; PRAGMA temp_store = MEMORY');
  const indexes = await database.query("SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL", []);
  for (const { name } of indexes) await database.script(`DROP INDEX ${String(name)}`);
  for (let first = 0; first < size.requests; first += CHUNK_ROWS) {
    await database.run(rowsFrom(size, now, first), []);
    say(`${Math.min(first + CHUNK_ROWS, size.requests)} of ${size.requests} requests`);
  }
  for (const sql of DERIVED) await database.run(sql, []);
  say('the sums are made');
  for (const { name, sql } of indexes) {
    const began = performance.now();
    await database.script(String(sql));
    say(`index ${String(name)}: ${Math.round(performance.now() - began)} ms`);
  }
  await database.script('PRAGMA journal_mode = WAL');
  await database.close();
}
