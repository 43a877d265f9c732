// The number of metric cells of turns is bounded, whatever names occur.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OTHER, TurnMetrics } from '../../proxy/admin/metrics/turn-metrics.ts';
import { DURATION_BUCKETS, Durations } from '../../proxy/base/time/durations.ts';
import type { RequestRow } from '../../store/schema/logged-rows.ts';

const row = (fields: Partial<RequestRow>): RequestRow =>
  ({
    family: 'v1',
    surface: 'messages',
    status: 200,
    code: null,
    duration_ms: 5,
    key_id: 'ci',
    input_tokens: 2,
    output_tokens: 1,
    ...fields,
  }) as RequestRow;

const ATTEMPT = {
  request_id: 'r',
  ordinal: 0,
  at: 0,
  account: 'North',
  api: 'agent' as const,
  adapted: null,
  cause: 'first',
  status: 200,
  error_class: null,
  duration_ms: 1,
  upstream_error_param: null,
};

test('names beyond the limit count as other', () => {
  const metrics = new TurnMetrics();
  const facts = { modelKnown: true, costNanos: 1 };
  for (let i = 0; i < 2_100; i++) metrics.record(row({ model: `model-${i}`, code: `code-${i}`, key_id: `key-${i}` }), [ATTEMPT], facts);
  const { turns } = metrics.families.get('v1')?.get('messages') ?? assert.fail('no family');
  for (const cells of [turns, metrics.models, metrics.costs]) assert.equal(cells.size, 2_001);
  assert.equal(metrics.models.get(OTHER)?.input, 200, '100 turns of 2 tokens');
  assert.equal(metrics.costs.get(OTHER), 100);
  assert.equal(turns.get(OTHER)?.[2], 100);
  assert.equal(metrics.accounts.get('North')?.attempts.get('answered'), 2_100);
});

test('a model that its Pool does not have is not a label', () => {
  const metrics = new TurnMetrics();
  metrics.record(row({ model: 'invented' }), [ATTEMPT], { modelKnown: false, costNanos: 0 });
  assert.deepEqual([...metrics.models.keys()], [OTHER]);
});

test('a duration is counted in the first bucket that holds it, the longest above all bounds', () => {
  const durations = new Durations();
  for (const ms of [0, 5, 6, 600_000, 600_001]) durations.add(ms);
  const last = DURATION_BUCKETS.length;
  assert.deepEqual([durations.counts[0], durations.counts[1], durations.counts[last - 1], durations.counts[last]], [2, 1, 1, 1]);
  assert.equal(durations.sumMs, 1_200_012);
});
