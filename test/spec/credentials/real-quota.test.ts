// Quota in the forms of real agent backends: windows by length, other families, credits, and the other members of a usage read (RB24,
// RB25).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { ManualClock } from '../../support/clocks/manual-clock.ts';
import { type Reply, startGateway, type TestGateway } from '../../support/gateway.ts';
import { call, withOperator } from '../../support/mcp.ts';
import { replyEvents, replyJson, turnBody } from '../../support/rehearsal-replies.ts';
import { until } from '../../support/until.ts';

const NATIVE = '/backend-api/agent/responses';
const USAGE = '/backend-api/meter/usage';
const WEEK_MINUTES = 10_080;

interface World extends AsyncDisposable {
  readonly gate: TestGateway;
  readonly clock: ManualClock;
  readonly turn: () => Promise<Reply>;
  /** The accounts that got turns since the last call. */
  readonly asked: () => readonly string[];
  /** Gives this answer to the next usage read of north. */
  readonly read: (answer: JsonObject) => Promise<void>;
}

/** North is preferred as long as it is allowed. */
async function world(): Promise<World> {
  const clock = new ManualClock();
  const gate = await startGateway({
    clock,
    upstream: { accounts: ['north', 'south'], clock },
    config: (draft) => {
      draft.pools[0].strategy = 'fill_first';
      withOperator(draft);
    },
  });
  gate.upstream.clear();
  return {
    gate,
    clock,
    turn: () => gate.send(NATIVE, { body: turnBody('hi') }),
    asked: () => {
      const accounts = gate.upstream.turns().map(({ account }) => account);
      gate.upstream.clear();
      return accounts;
    },
    read: async (answer) => {
      gate.upstream.nextOn('north', USAGE, replyJson(answer));
      const begun = clock.now();
      await clock.advance(5 * 60_000);
      await until('the usage read', () => (gate.quota('north').windows.some(({ stated_at }) => stated_at > begun) ? true : undefined));
    },
    [Symbol.asyncDispose]: () => gate.close(),
  };
}

/** Sends a turn that is answered with these headers. */
const answered = (headers: Readonly<Record<string, string>>) =>
  replyEvents(
    [
      { type: 'response.created', sequence_number: 0, response: { id: 'resp_1', status: 'in_progress', output: [] } },
      { type: 'response.completed', sequence_number: 1, response: { id: 'resp_1', status: 'completed', output: [], usage: null } },
    ],
    { headers },
  );

const ABSENT_SECOND = {
  'x-agent-secondary-used-percent': '0',
  'x-agent-secondary-window-minutes': '0',
  'x-agent-secondary-reset-at': '',
};

/** The first slot has a window of a week; there is no second window. */
const week = (used: string, clock: ManualClock): Record<string, string> => ({
  'x-agent-plan-type': 'free',
  'x-agent-active-limit': 'agent',
  'x-agent-primary-used-percent': used,
  'x-agent-primary-window-minutes': String(WEEK_MINUTES),
  'x-agent-primary-reset-at': String(Math.floor(clock.now() / 1000) + 3_600),
  'x-agent-primary-reset-after-seconds': '3600',
  'x-agent-primary-over-secondary-limit-percent': '0',
  ...ABSENT_SECOND,
});

const windowsOf = (gate: TestGateway): readonly (readonly [number, number])[] =>
  gate.quota('north').windows.map(({ seconds, used_percent }) => [seconds, used_percent]);

test('[RB24] a week in the first slot is a week, and an absent second window of 0, 0 and an empty reset is none', async () => {
  await using here = await world();
  const { gate, clock, turn, asked } = here;
  await clock.advance(61_000);
  gate.upstream.next('north', answered(week('37.5', clock)));
  await turn();
  await clock.advance(61_000);
  gate.upstream.next('north', answered(week('38', clock)));
  await turn();
  assert.deepEqual(windowsOf(gate), [[WEEK_MINUTES * 60, 38]]);
  await turn();
  assert.deepEqual(asked(), ['north', 'north', 'north']);
});

test('[RB24] a full week in the first slot takes the account out until its reset', async () => {
  await using here = await world();
  const { gate, clock, turn, asked } = here;
  gate.upstream.next('north', answered(week('100', clock)));
  for (let turns = 0; turns < 2; turns++) await turn();
  assert.deepEqual(asked(), ['north', 'south']);
  assert.equal(gate.quota('north').status, 'exhausted');
});

test('[RB24] a family that meters one model takes no account out, and is no quota of the account', async () => {
  await using here = await world();
  const { gate, clock, turn, asked } = here;
  const family = {
    'x-agent-bengal-limit-name': 'Bengal-Only',
    'x-agent-bengal-primary-used-percent': '100',
    'x-agent-bengal-primary-window-minutes': '77',
    'x-agent-bengal-primary-reset-at': String(Math.floor(clock.now() / 1000) + 3_600),
  };
  const before = windowsOf(gate);
  gate.upstream.next('north', answered(family));
  await turn();
  assert.deepEqual(windowsOf(gate), before);
  gate.upstream.next('north', answered({ ...week('12', clock), ...family }));
  await turn();
  await turn();
  assert.deepEqual(asked(), ['north', 'north', 'north']);
  const shown = await shownToOperators(gate);
  assert.doesNotMatch(shown, /bengal|\b4620\b/i);
});

test('[RB24] headers about credits change nothing while the windows have room', async () => {
  await using here = await world();
  const { gate, clock, turn, asked } = here;
  for (const credits of [
    { 'has-credits': 'False', unlimited: 'False', balance: '0' },
    { 'has-credits': 'true', unlimited: 'true', balance: '' },
  ]) {
    const headers = Object.fromEntries(Object.entries(credits).map(([name, value]) => [`x-agent-credits-${name}`, value]));
    gate.upstream.next('north', answered({ ...week('12', clock), ...headers }));
    await turn();
  }
  await turn();
  assert.deepEqual(asked(), ['north', 'north', 'north']);
  assert.equal(gate.quota('north').status, 'available');
});

const OWNER = 'owner-of-the-account@example.com';

/** The answer to a usage read, with all members that real ones have. */
const usage = (limit: JsonObject, more: JsonObject = {}): JsonObject => ({
  user_id: 'user-4711',
  account_id: 'user-4711',
  email: OWNER,
  plan_type: 'a_plan_of_next_year',
  rate_limit: {
    allowed: true,
    limit_reached: false,
    primary_window: { used_percent: 3, limit_window_seconds: 18_000, reset_after_seconds: 3_600 },
    secondary_window: null,
    ...limit,
  },
  additional_rate_limits: [
    {
      limit_name: 'Bengal-Only',
      metered_feature: 'bengal',
      rate_limit: {
        allowed: false,
        limit_reached: true,
        primary_window: { used_percent: 100, limit_window_seconds: 4_620, reset_after_seconds: 60 },
      },
    },
  ],
  credits: { has_credits: false, unlimited: false, balance: '0' },
  spend_control: { reached: false },
  rate_limit_reached_type: null,
  ...more,
});

test('[RB25] secondary_window: null, a balance of text, an unknown plan and limits of single models: the windows count, and nothing else', async () => {
  await using here = await world();
  const { gate, clock, turn, asked, read } = here;
  await clock.advance(61_000);
  await read(usage({}));
  await read(usage({ primary_window: { used_percent: 4, limit_window_seconds: 18_000, reset_after_seconds: 3_600 } }));
  assert.deepEqual([windowsOf(gate), gate.quota('north').status], [[[18_000, 4]], 'available']);
  await turn();
  assert.deepEqual(asked(), ['north']);
});

test('[RB25] allowed: false is believed over windows with room, and allowed: true ends it', async () => {
  await using here = await world();
  const { gate, turn, asked, read } = here;
  await read(usage({ allowed: false }));
  assert.equal(gate.quota('north').status, 'exhausted');
  await turn();
  assert.deepEqual(asked(), ['south']);
  await read(usage({}));
  assert.equal(gate.quota('north').status, 'available');
  await turn();
  assert.deepEqual(asked(), ['north']);
});

test('[RB25] the owner of an account is in no log, row, metric, status, answer of /mcp, and no answer to a client', async () => {
  await using here = await world();
  const { gate, turn, read } = here;
  await read(usage({}));
  await turn();
  const clients = await Promise.all(
    ['/api/agent/usage', '/meter/usage', USAGE, '/v1/usage'].map(async (path) => (await gate.send(path)).text),
  );
  const all = [await shownToOperators(gate), ...gate.logged, ...clients].join('\n');
  assert.match(all, /18000/, 'the windows are shown');
  for (const secret of [OWNER, 'user-4711', 'a_plan_of_next_year', 'Bengal']) assert.ok(!all.includes(secret), secret);
});

/** Everything that operators can see, and the rows of the log. */
async function shownToOperators(gate: TestGateway): Promise<string> {
  const [status, metrics] = await Promise.all(['/api/status', '/metrics'].map(async (path) => (await fetch(gate.adminUrl + path)).text()));
  const tools = await Promise.all(
    ['list_accounts', 'service_status', 'list_requests', 'list_audit', 'list_pools'].map((name) => call(gate, name)),
  );
  const rows = [await gate.rows(), await gate.usageRows()];
  return [status, metrics, JSON.stringify([tools, rows])].join('\n');
}
