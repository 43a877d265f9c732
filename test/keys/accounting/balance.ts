// Compares every usage report of the gateway with the expected usage while no turn runs.
import assert from 'node:assert/strict';
import { type Entry, sumOf, sumsBy } from './expected-usage.ts';
import { KEYS, type KeyName, secretOf } from './stage.ts';
import type { Turns } from './turns.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Checks the request log, the store, `/v1/usage` with its limits and the metrics, and that nothing is in flight. */
export async function assertBalanced(turns: Turns): Promise<void> {
  await assertLogged(turns);
  await assertStored(turns);
  assertAtRest(turns);
  await assertMeasured(turns);
}

async function assertLogged(turns: Turns): Promise<void> {
  const rows = await turns.rows();
  assert.deepEqual(
    rows
      .map((row) => [row.key_id, row.model, row.input_tokens, row.cached_input_tokens, row.output_tokens, row.tokens_estimated])
      .sort(byText),
    turns.entries.map(({ key, model, input, cached, output, estimated }) => [key, model, input, cached, output, estimated]).sort(byText),
    'the request log',
  );
}

/** Checks the reports that survive the process: the store, and `/v1/usage` with its limits. */
export async function assertStored(turns: Turns): Promise<void> {
  const { stage, entries } = turns;
  const rows = (await stage.gate.usageRows()).map(({ key_id, pool, day, ...sums }) => [`${key_id} ${pool} ${day}`, sums] as const);
  const expected = sumsBy(entries, ({ key, pool, day }) => `${key} ${pool} ${day}`);
  assert.deepEqual(Object.fromEntries(rows.sort(byText)), expected, 'the store');
  for (const key of Object.keys(KEYS) as KeyName[]) await assertTold(turns, key);
}

/** The limits of a key in `GET /v1/usage`. */
export interface ToldLimit {
  readonly limit_type: 'requests' | 'tokens' | 'usd' | 'concurrent';
  readonly limit_window: 'minute' | 'day' | 'week' | 'now';
  readonly current_value: number;
}

async function assertTold({ stage, entries }: Turns, key: KeyName): Promise<void> {
  const { pool } = KEYS[key];
  const { json } = await stage.gate.send('/v1/usage', { headers: { authorization: `Bearer ${secretOf(key)}` } });
  const { object: _, limits, pool: ofPool, ...totals } = json;
  const own = entries.filter((entry) => entry.key === key);
  assert.deepEqual(totals, shown(own), `/v1/usage of ${key}`);
  assert.deepEqual(ofPool, shown(entries.filter((entry) => entry.pool === pool)), `/v1/usage: the Pool of ${key}`);
  assert.deepEqual(
    limits.map(currentOf),
    limits.map((limit: ToldLimit) => ({ ...currentOf(limit), current_value: usedOf(own, limit, stage.clock.now()) })),
    key,
  );
}

const currentOf = ({ limit_type, limit_window, current_value }: ToldLimit): ToldLimit => ({ limit_type, limit_window, current_value });

/** The amount that counts against a limit while nothing is reserved; turns of unknown usage still count with their reservations (Q19). */
export function usedOf(own: readonly Entry[], { limit_type, limit_window }: Omit<ToldLimit, 'current_value'>, now: number): number {
  const today = now - (now % DAY_MS);
  const sum = sumOf(
    own.filter(({ begins, at, day }) => {
      // In a limit of a minute, requests count from their start, tokens from their end.
      if (limit_window === 'minute') return (limit_type === 'requests' ? begins : at) > now - 60_000;
      return limit_window === 'day' ? day === today : limit_window === 'week' && day > today - 7 * DAY_MS;
    }),
  );
  if (limit_type === 'requests') return sum.requests;
  return limit_type === 'usd' ? (sum.cost_nanos + sum.held_nanos) / 1e9 : sum.input_tokens + sum.output_tokens + sum.held_tokens;
}

function shown(entries: readonly Entry[]): Readonly<Record<string, number>> {
  const { requests, input_tokens, cached_input_tokens, output_tokens, cost_nanos } = sumOf(entries);
  return {
    request_count: requests,
    input_tokens,
    cached_input_tokens,
    output_tokens,
    total_tokens: input_tokens + output_tokens,
    total_cost_usd: cost_nanos / 1e9,
  };
}

function assertAtRest({ stage: { gate } }: Turns): void {
  for (const { account, inFlight } of gate.accounts()) assert.equal(inFlight, 0, account);
  for (const name of ['stream', 'websocket', 'compact', 'image', 'audio', 'file', 'control'] as const) {
    const { running, waiting } = gate.admission(name);
    assert.deepEqual([name, running, waiting], [name, 0, 0]);
  }
}

/** Checks the metrics of this process, which start at zero. */
async function assertMeasured({ stage, entries, attempts }: Turns): Promise<void> {
  const page = await stage.gate.metrics();
  for (const [model, { input_tokens, cached_input_tokens, output_tokens }] of Object.entries(sumsBy(entries, ({ label }) => label))) {
    const of = (kind: string): number => sampled(page, 'tokens_total', { model, kind });
    assert.deepEqual([model, of('input'), of('cached_input'), of('output')], [model, input_tokens, cached_input_tokens, output_tokens]);
  }
  for (const [key, { cost_nanos }] of Object.entries(sumsBy(entries, (entry) => entry.key))) {
    assert.equal(sampled(page, 'cost_usd_total', { key }), cost_nanos / 1e9, `cost of ${key}`);
  }
  assert.equal(sampled(page, 'account_attempts_total', {}), attempts, 'attempts');
}

/** The sum of the samples that have these labels. */
export function sampled(page: string, name: string, labels: Readonly<Record<string, string>>): number {
  const samples = page.split('\n').filter((line) => line.startsWith(`poolgate_${name}{`));
  const wanted = samples.filter((line) => Object.entries(labels).every(([label, value]) => line.includes(`${label}="${value}"`)));
  return wanted.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}

const byText = (a: unknown, b: unknown): number => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);
