// The /metrics route: names, help texts, labels, values, and that dashboard and alert rules use metrics that exist.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'yaml';
import { COUNTERS } from '../../proxy/base/process/metrics.ts';
import { carrierFailure } from '../../proxy/turn/errors/failure.ts';
import { ManualClock } from '../support/clocks/manual-clock.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { freshDatabase } from '../support/postgres/postgres.ts';
import { turnBody } from '../support/rehearsal-replies.ts';

const ROUTE = '/backend-api/agent/responses';

async function scrape(gate: TestGateway): Promise<string> {
  const response = await fetch(`${gate.adminUrl}/metrics`);
  assert.equal(response.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  return response.text();
}

/** The type of each metric that has a help text, by its name without `poolgate_`. */
function typesOf(text: string): ReadonlyMap<string, string> {
  const found = text.matchAll(/^# HELP poolgate_(\w+) \S.*\n# TYPE poolgate_\1 (\w+)$/gm);
  return new Map([...found].map(([, name = '', type = '']) => [name, type]));
}

/** Metrics with labels: their names, types and labels are what dashboards depend on. */
const LABELLED: Readonly<Record<string, readonly [type: string, ...labels: readonly string[]]>> = {
  account_attempts_total: ['counter', 'account', 'api', 'outcome'],
  adapted_total: ['counter', 'account', 'name'],
  usage_estimated_total: ['counter', 'account'],
  account_cooldown_seconds: ['gauge', 'account'],
  account_in_flight: ['gauge', 'account'],
  account_in_flight_limit: ['gauge', 'account'],
  account_models_cooling: ['gauge', 'account'],
  account_quota_exhausted: ['gauge', 'account'],
  account_quota_reset_time_seconds: ['gauge', 'account', 'window'],
  account_quota_used_ratio: ['gauge', 'account', 'window'],
  account_model_list_failed: ['gauge', 'account', 'cause'],
  account_state: ['gauge', 'account', 'state'],
  pool_accounts_available: ['gauge', 'pool'],
  rate_remaining_ratio: ['gauge', 'account', 'kind'],
  models_unlisted: ['gauge', 'pool'],
  build_info: ['gauge', 'version', 'node'],
  capsules_total: ['counter', 'result'],
  class_running: ['gauge', 'class'],
  class_running_limit: ['gauge', 'class'],
  class_wait_seconds: ['histogram', 'class'],
  account_wait_seconds: ['histogram', 'class'],
  class_waiting: ['gauge', 'class'],
  class_waiting_limit: ['gauge', 'class'],
  cost_usd_total: ['counter', 'key'],
  event_loop_lag_seconds: ['gauge', 'quantile'],
  failovers_total: ['counter', 'cause'],
  overflow_turns_total: ['counter', 'pool', 'tier', 'reason'],
  overflow_cost_usd_total: ['counter', 'pool', 'tier'],
  overflow_refused_total: ['counter', 'pool', 'reason'],
  overflow_left_usd: ['gauge', 'pool', 'tier', 'window'],
  model_fallback_total: ['counter', 'pool', 'from', 'to'],
  retry_budget_left: ['gauge', 'pool'],
  tokens_total: ['counter', 'model', 'kind'],
  turn_duration_seconds: ['histogram', 'family', 'surface'],
  turn_first_event_seconds: ['histogram', 'family', 'surface'],
  turns_ended_total: ['counter', 'family', 'surface', 'status', 'code'],
};

/** The metrics that exist only with PostgreSQL. */
const LABELLED_OF_NODES: typeof LABELLED = {
  node_config_differs: ['gauge', 'node'],
  node_up: ['gauge', 'node'],
};

const PLAIN: Readonly<Record<string, 'counter' | 'gauge'>> = {
  body_bytes_held: 'gauge',
  dense_json_bytes_held: 'gauge',
  certificate_expiry_time_seconds: 'gauge',
  config_last_reload_successful: 'gauge',
  guard_event_loop_delay_seconds: 'gauge',
  guard_memory_ratio: 'gauge',
  guard_refusing: 'gauge',
  ready: 'gauge',
  store_writable: 'gauge',
  store_in_use: 'gauge',
  reply_bytes_held: 'gauge',
  sessions_owned: 'gauge',
  start_time_seconds: 'gauge',
  store_rows_dropped_total: 'counter',
  store_rows_queued: 'gauge',
  store_rows_rejected_total: 'counter',
  store_rows_written_total: 'counter',
  upload_bytes_held: 'gauge',
  upload_bytes_held_max: 'gauge',
  websocket_bytes_held: 'gauge',
  websocket_history_bytes: 'gauge',
  websockets_open: 'gauge',
};

test('every metric has its help, type and labels, and every line can be read', async () => {
  await using gate = await startGateway({
    config: (draft) => {
      draft.pools[0].models = { 'model-a': { prices: { input: 1, cached_input: 0.1, output: 10 } } };
    },
  });
  assert.match(await scrape(gate), /^poolgate_turns_total 0$/m);
  gate.upstream.next('north', 'refuse 503');
  await gate.send(ROUTE, { body: turnBody('hello') });
  const text = await scrape(gate);
  const types = typesOf(text);
  for (const name of Object.keys(COUNTERS)) assert.equal(types.get(`${name}_total`), 'counter', name);
  const expected = new Map([
    ...Object.keys(COUNTERS).map((name) => [`${name}_total`, 'counter'] as const),
    ...Object.entries(PLAIN),
    ...Object.entries(LABELLED).map(([name, [type]]) => [name, type] as const),
  ]);
  assert.deepEqual(new Map([...types].toSorted()), new Map([...expected].toSorted()));
  for (const line of text.trimEnd().split('\n')) {
    assert.doesNotMatch(line, /^# HELP .*(Of these|the begin of)/, 'a text that needs another one');
    assert.match(line, /^(?:# (?:HELP|TYPE) poolgate_\w+ .+|poolgate_\w+(?:\{(?:\w+="[^"\\\n]*",?)+\})? \d+(?:\.\d+)?(?:e[+-]\d+)?)$/);
    const [, name = '', labels = ''] = /^poolgate_(\w+)\{(.*)\}/.exec(line) ?? [];
    if (name === '') continue;
    const metric = LABELLED[name] ?? LABELLED[name.replace(/_(?:bucket|sum|count)$/, '')] ?? assert.fail(`${name} has no labels`);
    const names = [...labels.matchAll(/(\w+)="/g)].map(([, label = '']) => label).filter((label) => label !== 'le');
    assert.deepEqual(names, metric.slice(1), line);
  }
});

test('[AM68] a turn counts by family, surface, status and code, its attempts by account, its tokens by model, its cost by key', async () => {
  await using gate = await startGateway({
    // The retry budget counts ten seconds.
    clock: new ManualClock(),
    config: (draft) => {
      draft.pools[0].models = { 'model-a': { prices: { input: 1000, cached_input: 100, output: 10000 } } };
    },
  });
  gate.upstream.next('north', 'refuse 503');
  const reply = await gate.send(ROUTE, { body: turnBody('hello') });
  const row = await gate.row(reply);
  await gate.send('/v1/nothing');
  const text = await scrape(gate);
  const value = (sample: string): number => {
    const line = text.split('\n').find((one) => one.startsWith(`poolgate_${sample} `)) ?? assert.fail(`no ${sample}\n${text}`);
    return Number(line.slice(line.lastIndexOf(' ') + 1));
  };
  assert.equal(value(`turns_ended_total{family="${row?.family}",surface="native",status="2xx",code=""}`), 1);
  assert.match(text, /^poolgate_turns_ended_total\{family="\w+",surface="public",status="4xx",code="unknown_endpoint"\} 1$/m);
  assert.equal(value('account_attempts_total{account="north",api="agent",outcome="upstream_status"}'), 1);
  assert.equal(value('account_attempts_total{account="south",api="agent",outcome="answered"}'), 1);
  assert.equal(value('failovers_total{cause="server"}'), 1);
  assert.equal(value('retry_budget_left{pool="team"}'), 9);
  assert.equal(value('tokens_total{model="model-a",kind="input"}'), row?.input_tokens);
  assert.equal(value('tokens_total{model="model-a",kind="output"}'), row?.output_tokens);
  assert.ok(value('cost_usd_total{key="ci"}') > 0);
  for (const name of ['turn_duration_seconds', 'turn_first_event_seconds']) {
    assert.equal(value(`${name}_count{family="${row?.family}",surface="native"}`), 1);
    assert.equal(value(`${name}_bucket{family="${row?.family}",surface="native",le="600"}`), 1);
    assert.equal(value(`${name}_bucket{family="${row?.family}",surface="native",le="+Inf"}`), 1);
  }
  assert.match(text, /^poolgate_build_info\{version="[^"]+",node="v24[^"]*"\} 1$/m);
  assert.equal(value('account_quota_exhausted{account="north"}'), 0);
  assert.equal(value('account_in_flight_limit{account="north"}'), 32);
});

test('the state and the cooldown of an account are gauges', async () => {
  await using gate = await startGateway();
  for (let i = 0; i < 3; i++) gate.fail('north', 'model-a', carrierFailure('connect'));
  await gate.reconfigure((draft) => {
    draft.accounts[1].paused = true;
  });
  const text = await scrape(gate);
  assert.match(text, /^poolgate_account_state\{account="north",state="failing"\} 1$/m);
  assert.match(text, /^poolgate_account_state\{account="north",state="active"\} 0$/m);
  assert.match(text, /^poolgate_account_state\{account="south",state="paused"\} 1$/m);
  assert.match(text, /^poolgate_account_cooldown_seconds\{account="north"\} (?:10|9(?:\.\d+)?)$/m);
  assert.match(text, /^poolgate_pool_accounts_available\{pool="team"\} 0$/m);
});

test('no text of a client becomes a label', async () => {
  await using gate = await startGateway();
  for (const model of ['a-model-that-nobody-has', 'x"} 1\n']) await gate.send(ROUTE, { body: { ...turnBody('hello'), model } });
  await gate.send('/v1/a-path-of-the-client');
  const text = await scrape(gate);
  for (const word of ['nobody-has', 'x\\"', 'a-path']) assert.ok(!text.includes(word), word);
});

const deployed = (name: string): string => readFileSync(new URL(`../../deploy/${name}`, import.meta.url), 'utf8');

/** The metrics that an expression reads, without the suffixes of a histogram. */
const namesIn = (expression: string): readonly string[] => [...expression.matchAll(/poolgate_(\w+)/g)].map(([, name = '']) => name);

test('every query of the dashboard and of the alert rules reads a metric that exists, by labels that it has', async () => {
  await using gate = await startGateway();
  await using node = await startGateway({ store: await freshDatabase() });
  const types = new Map([...typesOf(await scrape(gate)), ...typesOf(await scrape(node))]);
  const dashboard = JSON.parse(deployed('grafana.json'));
  const panels: readonly { title: string; targets?: readonly { expr: string; legendFormat: string }[] }[] = dashboard.panels;
  const shown = panels.flatMap(({ targets = [] }) => targets);
  const variables: readonly { query: string }[] = dashboard.templating.list;
  const rules: readonly { alert: string; expr: string; annotations: { summary: string } }[] = parse(deployed('alerts.yaml')).groups.flatMap(
    ({ rules: own }: { rules: unknown[] }) => own,
  );
  assert.ok(shown.length > 20 && rules.length > 10);
  const queries = [
    ...shown.map(({ expr, legendFormat }) => ({ expr, words: legendFormat })),
    ...rules.map(({ expr, annotations }) => ({ expr, words: annotations.summary })),
    ...variables.filter(({ query }) => query.includes('poolgate')).map(({ query }) => ({ expr: query, words: '' })),
  ];
  for (const { expr, words } of queries) {
    const names = namesIn(expr);
    // Prometheus itself adds `up` to every job.
    assert.ok(names.length > 0 || expr.includes('up{job="poolgate"}'), expr);
    const labels = new Set(['instance', 'job', 'le']);
    for (const name of names) {
      const base = types.has(name) ? name : name.replace(/_(?:bucket|sum|count)$/, '');
      assert.ok(types.has(base), `${name} in ${expr}`);
      assert.equal(base === name, types.get(base) !== 'histogram', expr);
      for (const label of (LABELLED[base] ?? LABELLED_OF_NODES[base])?.slice(1) ?? []) labels.add(label);
    }
    const used = [...expr.matchAll(/\{([^}]*)\}/g)].flatMap(([, inner = '']) => [...inner.matchAll(/(\w+)=/g)].map(([, label]) => label));
    const grouped = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, inner = '']) => inner.split(', '));
    const worded = [...words.matchAll(/\{\{ ?(?:\$labels\.)?(\w+) ?\}\}/g)].map(([, label]) => label);
    for (const label of [...used, ...grouped, ...worded]) assert.ok(labels.has(label ?? ''), `${label} in ${expr}`);
  }
});

const promtool = spawnSync('promtool', ['--version']).error === undefined;

test('promtool reports no problem', { skip: !promtool && 'promtool is not installed' }, async () => {
  await using gate = await startGateway();
  await gate.send(ROUTE, { body: turnBody('hello') });
  const checked = spawnSync('promtool', ['check', 'metrics'], { input: await scrape(gate), encoding: 'utf8' });
  assert.deepEqual([checked.status, checked.stderr], [0, '']);
  const rules = spawnSync('promtool', ['check', 'rules'], { input: deployed('alerts.yaml'), encoding: 'utf8' });
  assert.equal(rules.status, 0, rules.stdout + rules.stderr);
});
