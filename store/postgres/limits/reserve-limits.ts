// The function of the database that reserves against the limits of keys, for many turns in one round trip.
import { BOUNDS } from '../../schema/limit-bounds.ts';

const BOUND_COLUMNS = BOUNDS.map(({ name }) => `${name} BIGINT`).join(', ');

const ADDED = { request: '1', tokens: 'one.tokens[i]', nanos: 'one.nanos[i]' } as const;

/** Tests whether a bound is exceeded. A comparison with null is not true, so a null bound does not limit. */
const EXCEEDED = BOUNDS.map(
  ({ name, counts, adds }) => `${counts.map((sum) => `used.${sum}`).join(' + ')} + ${ADDED[adds]} > one.${name}`,
).join('\n          OR ');

/**
 *
 * `asked` is `{ at, slot, after, today, week, month, keys: [{ key, node, bounds of the key, grants, tokens, nanos }] }`, in which the last
 * three are lists of equal length, one item for each turn. Keys are locked until the transaction ends, in an order that all nodes keep.
 * Returns no record for a turn that is granted. `ordinal` counts the keys as they are given, from 1. A record `lost` means that the lease
 * of the key's node has expired; a record `refused` has the place of a refused turn in `at`, from 1; the records after it are the use of
 * its key.
 *
 */
export const RESERVE_LIMITS = `
  CREATE FUNCTION reserve_limits(asked JSONB)
  RETURNS TABLE (ordinal BIGINT, part TEXT, at BIGINT, requests BIGINT, tokens BIGINT, cost_nanos BIGINT) LANGUAGE plpgsql AS $$
  #variable_conflict use_column
  DECLARE
    asked_at CONSTANT BIGINT := asked->'at';
    slots_after CONSTANT BIGINT := asked->'after';
    today CONSTANT BIGINT := asked->'today';
    week CONSTANT BIGINT := asked->'week';
    month CONSTANT BIGINT := asked->'month';
    first_day BIGINT;
    granted BIGINT[];
    one RECORD;
    used RECORD;
  BEGIN
    FOR one IN
      SELECT * FROM ROWS FROM (jsonb_to_recordset(asked->'keys') AS (
        key TEXT, node BIGINT, grants TEXT[], tokens BIGINT[], nanos BIGINT[], ${BOUND_COLUMNS})) WITH ORDINALITY ORDER BY hashtext(key)
    LOOP
      -- The sums, which later statements read, have what the holder of the lock before this one wrote.
      PERFORM pg_advisory_xact_lock(110012, hashtext(one.key));
      IF NOT EXISTS (SELECT FROM nodes WHERE token = one.node AND expires_at > asked_at) THEN
        RETURN QUERY SELECT one.ordinality, 'lost', 0::BIGINT, 0::BIGINT, 0::BIGINT, 0::BIGINT;
        CONTINUE;
      END IF;
      -- Only a bound of a month needs more than seven days.
      first_day := CASE WHEN one.nanos_per_month IS NULL THEN week ELSE least(week, month) END;
      SELECT running.requests AS running, running.tokens AS held_tokens, running.nanos AS held_nanos,
        minute.requests AS minute_requests, minute.tokens AS minute_tokens,
        days.day_requests, days.day_tokens, days.day_nanos, days.week_tokens, days.week_nanos, days.month_nanos
      INTO used
      FROM
        (SELECT count(*) AS requests, coalesce(sum(tokens), 0) AS tokens, coalesce(sum(cost_nanos), 0) AS nanos
          FROM key_grants WHERE key_id = one.key AND node IN (SELECT token FROM nodes WHERE expires_at > asked_at)) AS running,
        (SELECT coalesce(sum(requests), 0) AS requests, coalesce(sum(tokens), 0) AS tokens FROM (
          SELECT requests, tokens FROM key_slots WHERE key_id = one.key AND slot > slots_after
          UNION ALL SELECT 1, 0 FROM key_grants WHERE key_id = one.key AND slot > slots_after) AS slots) AS minute,
        (SELECT coalesce(sum(requests) FILTER (WHERE day >= today), 0) AS day_requests,
          coalesce(sum(input_tokens + output_tokens + held_tokens) FILTER (WHERE day >= today), 0) AS day_tokens,
          coalesce(sum(cost_nanos + held_nanos) FILTER (WHERE day >= today), 0) AS day_nanos,
          coalesce(sum(input_tokens + output_tokens + held_tokens) FILTER (WHERE day >= week), 0) AS week_tokens,
          coalesce(sum(cost_nanos + held_nanos) FILTER (WHERE day >= week), 0) AS week_nanos,
          coalesce(sum(cost_nanos + held_nanos) FILTER (WHERE day >= month), 0) AS month_nanos
          FROM usage WHERE key_id = one.key AND day >= first_day) AS days;
      granted := '{}';
      FOR i IN 1 .. cardinality(one.grants) LOOP
        IF ${EXCEEDED}
        THEN
          RETURN QUERY SELECT one.ordinality, 'refused', i::BIGINT, 0::BIGINT, 0::BIGINT, 0::BIGINT;
        ELSE
          granted := granted || i::BIGINT;
          used.running := used.running + 1;
          used.minute_requests := used.minute_requests + 1;
          used.held_tokens := used.held_tokens + one.tokens[i];
          used.held_nanos := used.held_nanos + one.nanos[i];
        END IF;
      END LOOP;
      INSERT INTO key_grants (grant_id, key_id, node, at, slot, tokens, cost_nanos)
      SELECT one.grants[i], one.key, one.node, asked_at, (asked->'slot')::BIGINT, one.tokens[i], one.nanos[i] FROM unnest(granted) AS i
      ON CONFLICT DO NOTHING;
      IF cardinality(granted) < cardinality(one.grants) THEN
        RETURN QUERY
          SELECT one.ordinality, 'running', 0::BIGINT, used.running, used.held_tokens::BIGINT, used.held_nanos::BIGINT
          UNION ALL
          SELECT one.ordinality, 'minute', slot, sum(requests)::BIGINT, sum(tokens)::BIGINT, 0::BIGINT FROM (
            SELECT slot, requests, tokens FROM key_slots WHERE key_id = one.key AND slot > slots_after
            UNION ALL SELECT slot, 1, 0 FROM key_grants WHERE key_id = one.key AND slot > slots_after) AS slots GROUP BY slot
          UNION ALL
          SELECT one.ordinality, 'day', day, sum(requests)::BIGINT, sum(input_tokens + output_tokens + held_tokens)::BIGINT,
            sum(cost_nanos + held_nanos)::BIGINT
          FROM usage WHERE key_id = one.key AND day >= first_day GROUP BY day
          ORDER BY 3;
      END IF;
    END LOOP;
  END $$`;
