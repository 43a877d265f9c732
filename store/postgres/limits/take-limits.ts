// The function of the database by which programs up to schema version 12 reserve against the limits of a key, one turn in a round trip.

/**
 * Returns no record where the turn is granted, a record `lost` where the node's lease has expired, and else the use of the key. It holds
 * the lock of the key until its transaction ends: the sums, which a later statement reads, have what the holder before it wrote.
 */
export const TAKE_LIMITS = `
  CREATE FUNCTION take_limits(
    turn_grant TEXT, turn_key TEXT, turn_node BIGINT, turn_at BIGINT, turn_slot BIGINT, turn_tokens BIGINT, turn_nanos BIGINT,
    slots_after BIGINT, today BIGINT, week BIGINT, most_running BIGINT, most_minute_requests BIGINT, most_day_requests BIGINT,
    most_minute_tokens BIGINT, most_day_tokens BIGINT, most_week_tokens BIGINT, most_day_nanos BIGINT, most_week_nanos BIGINT
  ) RETURNS TABLE (part TEXT, at BIGINT, requests BIGINT, tokens BIGINT, cost_nanos BIGINT) LANGUAGE plpgsql AS $$
  #variable_conflict use_column
  DECLARE
    used RECORD;
  BEGIN
    PERFORM pg_advisory_xact_lock(110012, hashtext(turn_key));
    IF NOT EXISTS (SELECT FROM nodes WHERE token = turn_node AND expires_at > turn_at) THEN
      RETURN QUERY SELECT 'lost', 0::BIGINT, 0::BIGINT, 0::BIGINT, 0::BIGINT;
      RETURN;
    END IF;
    SELECT running.requests AS running, running.tokens AS held_tokens, running.nanos AS held_nanos,
      minute.requests AS minute_requests, minute.tokens AS minute_tokens,
      days.day_requests, days.day_tokens, days.day_nanos, days.week_tokens, days.week_nanos
    INTO used
    FROM
      (SELECT count(*) AS requests, coalesce(sum(tokens), 0) AS tokens, coalesce(sum(cost_nanos), 0) AS nanos
        FROM key_grants WHERE key_id = turn_key AND node IN (SELECT token FROM nodes WHERE expires_at > turn_at)) AS running,
      (SELECT coalesce(sum(requests), 0) AS requests, coalesce(sum(tokens), 0) AS tokens FROM (
        SELECT requests, tokens FROM key_slots WHERE key_id = turn_key AND slot > slots_after
        UNION ALL SELECT 1, 0 FROM key_grants WHERE key_id = turn_key AND slot > slots_after) AS slots) AS minute,
      (SELECT coalesce(sum(requests) FILTER (WHERE day >= today), 0) AS day_requests,
        coalesce(sum(input_tokens + output_tokens + held_tokens) FILTER (WHERE day >= today), 0) AS day_tokens,
        coalesce(sum(cost_nanos + held_nanos) FILTER (WHERE day >= today), 0) AS day_nanos,
        coalesce(sum(input_tokens + output_tokens + held_tokens), 0) AS week_tokens,
        coalesce(sum(cost_nanos + held_nanos), 0) AS week_nanos
        FROM usage WHERE key_id = turn_key AND day >= week) AS days;
    -- A bound that is null is no bound: the comparison with it is not true.
    IF used.running + 1 > most_running
      OR used.minute_requests + 1 > most_minute_requests
      OR used.day_requests + used.running + 1 > most_day_requests
      OR used.minute_tokens + used.held_tokens + turn_tokens > most_minute_tokens
      OR used.day_tokens + used.held_tokens + turn_tokens > most_day_tokens
      OR used.week_tokens + used.held_tokens + turn_tokens > most_week_tokens
      OR used.day_nanos + used.held_nanos + turn_nanos > most_day_nanos
      OR used.week_nanos + used.held_nanos + turn_nanos > most_week_nanos
    THEN
      RETURN QUERY
        SELECT 'running', 0::BIGINT, used.running, used.held_tokens::BIGINT, used.held_nanos::BIGINT
        UNION ALL
        SELECT 'minute', slot, sum(requests)::BIGINT, sum(tokens)::BIGINT, 0::BIGINT FROM (
          SELECT slot, requests, tokens FROM key_slots WHERE key_id = turn_key AND slot > slots_after
          UNION ALL SELECT slot, 1, 0 FROM key_grants WHERE key_id = turn_key AND slot > slots_after) AS slots GROUP BY slot
        UNION ALL
        SELECT 'day', day, sum(requests)::BIGINT, sum(input_tokens + output_tokens + held_tokens)::BIGINT,
          sum(cost_nanos + held_nanos)::BIGINT
        FROM usage WHERE key_id = turn_key AND day >= week GROUP BY day
        ORDER BY 2;
      RETURN;
    END IF;
    INSERT INTO key_grants (grant_id, key_id, node, at, slot, tokens, cost_nanos)
    VALUES (turn_grant, turn_key, turn_node, turn_at, turn_slot, turn_tokens, turn_nanos)
    ON CONFLICT DO NOTHING;
  END $$`;
