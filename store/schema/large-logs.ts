// Step 4, for logs of millions of rows: an index for each filter of the request log, and roll-ups of the sums of hours.
import { DAY_MS } from './limit-rows.ts';

const SUMS = [
  'requests',
  'failed',
  'unknown',
  'input_tokens',
  'cached_input_tokens',
  'output_tokens',
  'cost_nanos',
  'duration_ms',
  'first_events',
  'first_event_ms',
];

const columns = SUMS.map((name) => `${name} BIGINT NOT NULL`).join(', ');
const sums = SUMS.map((name) => `sum(${name})`).join(', ');

/**
 * Indexes without the id, which halves their size: rows of one millisecond are sorted when they are read. An index has only the rows that its
 * searches find: a refused turn has no account, and often no model.
 */
const indexes = `
  CREATE INDEX requests_of_key ON requests (key_id, at);
  CREATE INDEX requests_of_account ON requests (account, at) WHERE account IS NOT NULL;
  CREATE INDEX requests_of_model ON requests (model, at) WHERE model IS NOT NULL;
  CREATE INDEX requests_of_code ON requests (code, at) WHERE code IS NOT NULL;
  CREATE INDEX requests_failed ON requests (status_class, at) WHERE status >= 400;
  CREATE INDEX usage_hours_of_account ON usage_hours (account, hour);
  CREATE INDEX usage_hours_of_model ON usage_hours (model, hour);
`;

const rollUps = `
  CREATE TABLE usage_days (
    day BIGINT NOT NULL, pool TEXT NOT NULL, account TEXT NOT NULL, model TEXT NOT NULL, ${columns}, PRIMARY KEY (day, pool, account, model)
  );
  INSERT INTO usage_days SELECT hour - hour % ${DAY_MS}, pool, account, model, ${sums} FROM usage_hours GROUP BY 1, 2, 3, 4;
  CREATE TABLE usage_pool_hours (hour BIGINT NOT NULL, pool TEXT NOT NULL, ${columns}, PRIMARY KEY (hour, pool));
  INSERT INTO usage_pool_hours SELECT hour, pool, ${sums} FROM usage_hours GROUP BY 1, 2;
`;

export const LARGE_LOGS = indexes + rollUps;
