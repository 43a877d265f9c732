// The answer of each tool of /mcp, with its filters and pages.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { unsentFailure } from '../../../proxy/turn/errors/failure.ts';
import { failure as quotaFailure } from '../../accounts/health/support.ts';
import { requestRow } from '../../store/samples.ts';
import { ManualClock } from '../../support/clocks/manual-clock.ts';
import { type Draft, startGateway, type TestGateway } from '../../support/gateway.ts';
import { call, failure, withOperator } from '../../support/mcp.ts';
import { modelEntry } from '../../support/rehearsal-replies.ts';

const HOUR = 3_600_000;

let gate: TestGateway;
let clock: ManualClock;
before(async () => {
  clock = new ManualClock();
  gate = await startGateway({
    clock,
    upstream: {
      clock,
      strict: false,
      accounts: [
        { id: 'north', models: [modelEntry({ slug: 'model-a' })] },
        { id: 'south', models: [modelEntry({ slug: 'model-a' }), modelEntry({ slug: 'model-b', use_responses_lite: true })] },
        { id: 'west', models: [modelEntry({ slug: 'model-a' })] },
      ],
    },
    config: (draft: Draft) => {
      withOperator(draft);
      draft.pools[0].models = { 'model-a': { context_window: 100_000, prices: { input: 1, cached_input: 0.5, output: 2 } } };
      draft.pools[0].serving_modes = { 'model-a': 'lite' };
      draft.pools[0].assignments[2].eligible = false;
      draft.keys[0].limits = { requests_per_day: 10, concurrent: 2 };
      draft.keys[0].reasoning_effort = { allow_up_to: 'high' };
      draft.keys.push({
        id: 'old',
        pool: 'team',
        secret_sha256: ['ab'.repeat(32)],
        expires_at: '2020-01-01T00:00:00Z',
        models: ['model-a'],
      });
    },
  });
  gate.stopOwnCalls();
});
after(() => gate.close());

const at = (ms: number): string => new Date(ms).toISOString();

test('service_status has the time, the Pools, what needs an operator, and how the newest requests ended', async () => {
  const status = await call(gate, 'service_status');
  assert.deepEqual([status.now, status.operator, status.ready], [at(clock.now()), 'ops', true]);
  assert.deepEqual(status.pools, [{ id: 'team', label: 'Team', accounts: 3, available_accounts: 2, routable_models: 2 }]);
  assert.deepEqual(status.accounts, { available: 3 });
  assert.deepEqual(status.attention, ['key old has expired']);
  const mcp = status.admission.find((row: { class: string }) => row.class === 'mcp');
  assert.deepEqual(mcp, { class: 'mcp', running: 1, max_running: 64, waiting: 0, max_waiting: 64 });
});

test('service_status names a Pool none of whose accounts takes turns first, with the time until the first one does', async () => {
  await using other = await startGateway({
    config: (draft) => {
      withOperator(draft);
      draft.pools[0].assignments = [{ account: 'north' }];
    },
  });
  other.upstream.next('north', 'refuse 429 usage_limit_reached resets 600');
  await other.send('/v1/responses', { body: { model: 'model-a', input: 'hello' } });
  const { attention, matters } = await call(other, 'service_status');
  const { until } = matters[1];
  assert.deepEqual(attention, [`no account of Pool team takes turns until ${until}`, `account north is out of quota until ${until}`]);
  assert.deepEqual([matters[0].about, matters[0].id, matters[0].state, matters[0].until], ['pool', 'team', 'no_account', until]);
  await other.reconfigure((draft) => {
    draft.pools[0].assignments.push({ account: 'south' });
  });
  assert.deepEqual((await call(other, 'service_status')).attention, [attention[1]]);
});

test('list_pools has the settings of a Pool and the numbers of its keys, accounts and models', async () => {
  const { pools, next_cursor } = await call(gate, 'list_pools', { id: 'team' });
  assert.equal(next_cursor, null);
  assert.deepEqual(pools, [
    {
      ...{ id: 'team', label: 'Team', relation: 'owned', strategy: 'fill_first', max_attempts: 3, allow_image_generation: true },
      ...{ request_compression_enabled: false, prompt_cache_locality: true, hide_account_quota: false },
      serving_modes: [{ model: 'model-a', mode: 'lite' }],
      tiers: [0],
      overflow: { on: ['quota', 'failing'], wait_ms: 0, reasoning: 'drop', caps: [] },
      ...{ accounts: 3, models: 2, routable_models: 2, keys: 2 },
    },
  ]);
});

test('list_keys has policies and the state of limits; an expired key is shown as such', async () => {
  await gate.send('/v1/responses', { body: { model: 'model-a', input: 'hello' } });
  const { keys } = await call(gate, 'list_keys', { id: 'ci' });
  const [key] = keys;
  assert.deepEqual([key.pool, key.status, key.expires_at, key.models], ['team', 'active', null, null]);
  assert.deepEqual(key.reasoning_effort, { mode: 'allow_up_to', effort: 'high' });
  const day = key.limits.find(({ window }: { window: string }) => window === 'day');
  assert.deepEqual([day.type, day.max, day.current, day.remaining], ['requests', 10, 1, 9]);
  assert.match(day.resets_at, /T00:00:00.000Z$/);
  const { keys: expired } = await call(gate, 'list_keys', { status: 'expired' });
  assert.deepEqual(
    expired.map(({ id, models, expires_at }: Record<string, unknown>) => [id, models, expires_at]),
    [['old', ['model-a'], '2020-01-01T00:00:00.000Z']],
  );
});

test('list_models has mode, window, prices and the accounts that list a model', async () => {
  const { models } = await call(gate, 'list_models', { account: 'north' });
  assert.deepEqual(models, [
    {
      ...{ pool: 'team', id: 'model-a', state: 'routable', configured_mode: 'lite', effective_mode: 'lite', mode_source: 'override' },
      ...{ context_window: 100_000, effective_context_window: 95_000, pricing_bucket: null },
      prices: { input: 1, cached_input: 0.5, output: 2 },
      accounts: ['north', 'south', 'west'],
      apis: ['agent'],
      sources: ['north', 'south', 'west'].map((account) => ({
        ...{ account, api: 'agent', tier: 0 },
        prices: { input: 1, cached_input: 0.5, output: 2 },
      })),
      fallback: [],
    },
  ]);
  const { models: other } = await call(gate, 'list_models', { id: 'model-b', state: 'routable', pool: 'team' });
  assert.deepEqual([other.length, other[0].configured_mode, other[0].effective_mode, other[0].prices], [1, 'auto', 'lite', null]);
});

test('[Q25] a row of list_requests has exactly these fields', async () => {
  const { requests } = await call(gate, 'list_requests', { key: 'ci', limit: 1 });
  assert.deepEqual(
    Object.keys(requests[0]).sort(),
    [
      ...[
        'id',
        'at',
        'family',
        'surface',
        'endpoint',
        'method',
        'status',
        'status_class',
        'pool',
        'account',
        'tier',
        'overflow',
        'model',
        'requested_model',
        'code',
        'retries',
        'duration_ms',
      ],
      ...['detached_ms', 'effort', 'api', 'adapted', 'tokens_estimated'],
      ...['input_tokens', 'cached_input_tokens', 'output_tokens', 'configured_mode', 'effective_mode', 'mode_source', 'reason_class'],
      ...['payload_compression', 'upstream_error_param', 'why'],
    ].sort(),
  );
  assert.deepEqual(requests[0].why, {
    reason: 'fill_first',
    others: { less_preferred: 1, not_a_source: 1 },
    left_soft_pin: null,
    left_affinity: null,
  });
});

describe('list_requests', () => {
  const long = (n: number) => requestRow({ id: `old_${n}`, at: clock.now() - 8 * 24 * HOUR - n, key_id: 'old' });
  before(() => gate.leave({ requests: [0, 1, 2].map(long) }));
  const ids = async (args: object) => (await call(gate, 'list_requests', args)).requests.map(({ id }: { id: string }) => id);

  test('goes back a week unless `since` is earlier, and states the beginning', async () => {
    const { requests, since } = await call(gate, 'list_requests', { key: 'old' });
    assert.deepEqual([requests, since], [[], at(clock.now() - 7 * 24 * HOUR)]);
    assert.deepEqual(await ids({ key: 'old', since: '30d' }), ['old_0', 'old_1', 'old_2']);
    assert.deepEqual(await ids({ key: 'old', since: at(clock.now() - 8 * 24 * HOUR - 1) }), ['old_0', 'old_1']);
    assert.deepEqual(await ids({ key: 'old', since: '30d', until: at(clock.now() - 8 * 24 * HOUR) }), ['old_1', 'old_2']);
  });

  test('finds a request by its id, however old it is', async () => {
    assert.deepEqual(await ids({ id: 'old_2' }), ['old_2']);
  });

  test('accepts an account by its id or by its label', async () => {
    assert.equal((await ids({ account: 'north' })).length, 1);
    assert.deepEqual(await ids({ account: 'NORTH' }), await ids({ account: 'north' }));
    assert.deepEqual(await ids({ account: 'south' }), []);
  });

  test('continues at its cursor, with the same filters', async () => {
    const args = { key: 'old', since: '30d', limit: 2 };
    const first = await call(gate, 'list_requests', args);
    const second = await call(gate, 'list_requests', { ...args, cursor: first.next_cursor });
    assert.deepEqual(
      [...first.requests, ...second.requests].map(({ id }: { id: string }) => id),
      ['old_0', 'old_1', 'old_2'],
    );
    assert.equal(second.next_cursor, null);
  });
});

test('list_accounts pages in configuration order and filters by state', async () => {
  const first = await call(gate, 'list_accounts', { limit: 2 });
  const second = await call(gate, 'list_accounts', { limit: 2, cursor: first.next_cursor });
  const names = ({ accounts }: { accounts: { id: string }[] }) => accounts.map(({ id }) => id);
  assert.deepEqual([names(first), names(second), second.next_cursor], [['north', 'south'], ['west'], null]);
  assert.deepEqual(second.accounts[0].pools, [{ pool: 'team', active: true, eligible: false, weight: 1, tier: 0 }]);
  assert.deepEqual((await call(gate, 'list_accounts', { state: 'reauth_required' })).accounts, []);
});

test('list_accounts by quota begins with what takes no turns and what is scarce, and ends with what is switched off', async () => {
  await using own = await startGateway({ upstream: { accounts: ['north', 'south', 'west', 'east'] }, config: withOperator });
  own.stopOwnCalls();
  for (const [id, used] of Object.entries({ north: 10, south: 70, west: 20, east: 20 })) {
    own.stateQuota(id, used);
  }
  const order = async () => (await call(own, 'list_accounts', { order: 'quota' })).accounts.map(({ id }: { id: string }) => id);
  assert.deepEqual(await order(), ['south', 'east', 'west', 'north']);
  own.fail('north', 'model-a', quotaFailure('quota', { retryAfterMs: 600_000 }));
  assert.deepEqual(await order(), ['north', 'south', 'east', 'west']);
  await own.reconfigure((draft) => {
    draft.accounts[1].visible = false;
  });
  assert.deepEqual(await order(), ['north', 'east', 'west', 'south']);
});

test('a paused account takes no turns: its state is paused', async () => {
  await gate.reconfigure((draft) => {
    draft.accounts[0].paused = true;
  });
  assert.deepEqual(
    (await call(gate, 'list_accounts', { state: 'paused' })).accounts.map(({ id }: { id: string }) => id),
    ['north'],
  );
  assert.equal((await call(gate, 'service_status')).accounts.paused, 1);
  await gate.reconfigure((draft) => {
    delete draft.accounts[0].paused;
  });
});

test('list_audit has changes of keys, modes and accounts, with values before and after', async () => {
  await gate.leave({
    audit: [
      {
        at: clock.now(),
        actor: 'file',
        action: 'account.change',
        target: 'north',
        pool: null,
        fields: [{ path: 'accounts[north].max_concurrent', from: 32, to: 8 }],
      },
      { at: clock.now(), actor: 'file', action: 'config.reload', target: 'abc', pool: null, fields: [] },
      {
        at: clock.now(),
        actor: 'file',
        action: 'key.change',
        target: 'ci',
        pool: 'team',
        fields: [{ path: 'keys[ci].pool', from: 'elsewhere', to: 'team' }],
      },
    ],
  });
  const { audit } = await call(gate, 'list_audit', { since: '1h' });
  assert.deepEqual(audit.map(({ action, target, fields }: Record<string, unknown>) => [action, target, fields]).sort(), [
    ['account.change', 'north', [{ path: 'accounts[north].max_concurrent', from: '32', to: '8' }]],
    ['key.change', 'ci', [{ path: 'keys[ci].pool', from: '(another Pool)', to: 'team' }]],
  ]);
  assert.equal(
    (await call(gate, 'list_audit', { action: 'key.change', id: audit[0].id })).audit.length,
    audit[0].action === 'key.change' ? 1 : 0,
  );
});

test('usage_summary sums by key, Pool and day, and names its days', async () => {
  const { from, to, total, usage } = await call(gate, 'usage_summary', { by: ['key', 'pool', 'day'], days: 1 });
  assert.deepEqual([from, to], [at(clock.now()).slice(0, 10), at(clock.now()).slice(0, 10)]);
  assert.deepEqual([usage.length, usage[0].key, usage[0].pool, usage[0].day], [1, 'ci', 'team', to]);
  const { key, pool, day, ...sums } = usage[0];
  assert.deepEqual([key, pool, day, sums], ['ci', 'team', to, total]);
  assert.equal(total.total_tokens, total.input_tokens + total.output_tokens);
  assert.deepEqual((await call(gate, 'usage_summary', { key: 'nobody' })).usage, []);
});

describe('explain_selection', () => {
  const explained = async (args: object) => (await call(gate, 'explain_selection', args)).now[0];

  test('names the account that a turn would go to, and the reason for each other one', async () => {
    const turn = await explained({ key: 'ci', model: 'model-a' });
    assert.deepEqual([turn.refused, turn.chosen, turn.tied, turn.reason], [null, 'north', [], 'fill_first']);
    assert.deepEqual(
      turn.accounts.map(({ account, chosen, takes }: Record<string, unknown>) => [account, chosen, takes]),
      [
        ['north', true, 'first'],
        ['south', false, 'first'],
        ['west', false, 'no'],
      ],
    );
    assert.match(turn.accounts[1].why, /; fill_first prefers north$/);
    assert.equal(turn.accounts[2].why, 'its assignment is not eligible');
  });

  test('follows the session that continuity_id names, and gives the reason where it cannot', async () => {
    gate.upstream.next('north', 'refuse 503');
    const turn = { body: { model: 'model-a', input: 'hello' }, headers: { 'session-id': 'session-1' } };
    assert.equal((await gate.row(await gate.send('/v1/responses', turn)))?.account, 'SOUTH');
    const there = await explained({ key: 'ci', model: 'model-a', continuity_id: 'session-1' });
    assert.deepEqual([there.chosen, there.reason, there.why], ['south', 'soft_pin', 'its session went there last']);
    assert.match(there.accounts[0].why, /; the session stays with south$/);
    assert.equal((await gate.row(await gate.send('/v1/responses', turn)))?.account, 'SOUTH', 'as the next turn of the session does');

    const unknown = await explained({ key: 'ci', model: 'model-a', continuity_id: 'session-2' });
    assert.equal(unknown.chosen, 'north');
    assert.match(unknown.why, /^its session is not known; fill_first scores it highest/);

    gate.upstream.next('south', 'refuse 429 retry 60');
    await gate.send('/v1/responses', turn);
    const left = await explained({ key: 'ci', model: 'model-a', continuity_id: 'session-1' });
    // That turn failed over to north, so its session moved there.
    assert.deepEqual([left.chosen, left.reason], ['north', 'soft_pin']);
    assert.match(left.accounts[1].why, /^it is in cooldown, for \d+ s$/);
    gate.heal();
  });

  test('shows the refusal of a turn that gets no account', async () => {
    const unknown = await explained({ key: 'ci', model: 'model-z' });
    assert.deepEqual([unknown.refused, unknown.chosen], ['400 invalid_model: no account of Pool team lists model-z', null]);
    assert.match((await explained({ key: 'old', model: 'model-a' })).refused, /^401 api_key_expired/);
    for (const account of ['north', 'south']) gate.fail(account, 'model-a', unsentFailure('refused'));
    const gone = await explained({ key: 'ci', model: 'model-a' });
    assert.match(gone.refused, /^503 no_eligible_account/);
    assert.equal(gone.accounts[0].why, 'it needs another credential');
    gate.heal();
  });

  test('explains every Pool of the operator without a key, and only the route without a model', async () => {
    const { now, logged } = await call(gate, 'explain_selection', { model: 'model-b' });
    assert.deepEqual([logged, now.length, now[0].key, now[0].chosen], [null, 1, null, 'south']);
    const [any] = (await call(gate, 'explain_selection', {})).now;
    assert.deepEqual([any.model, any.chosen, any.why], [null, null, 'name a model to see the choice']);
  });

  test('refuses questions that cannot be answered, and names a valid one', async () => {
    assert.match(await failure(gate, 'explain_selection', { request_id: 'a', key: 'ci' }), /name one or the other/);
    assert.match(await failure(gate, 'explain_selection', { model: 'model-a', continuity_id: 'x' }), /needs the key of the session/);
    assert.match(await failure(gate, 'explain_selection', { key: 'ci', endpoint: 'POST /v1/nothing' }), /the route table has no POST/);
    assert.match(await failure(gate, 'explain_selection', { key: 'ci', endpoint: '/v1/responses' }), /endpoint must match/);
  });

  test('gives the reason why each account was chosen, tried or not chosen for a logged request', async () => {
    gate.upstream.next('north', 'refuse 503');
    const { headers } = await gate.send('/v1/responses', { body: { model: 'model-a', input: 'hello' } });
    const { logged } = await call(gate, 'explain_selection', { request_id: headers.get('x-request-id') });
    assert.deepEqual(logged.accounts, [
      { account: 'SOUTH', outcome: 'chosen', why: 'the strategy fill_first of the Pool preferred it' },
      { account: 'NORTH', outcome: 'tried', why: 'it failed: upstream_status' },
      { account: 'WEST', outcome: 'not_chosen', why: 'does not serve the model' },
    ]);
    const why = { reason: 'soft_pin', others: { cooldown: 1, less_preferred: 1 } };
    await gate.leave({ requests: [requestRow({ id: 'req_two', at: clock.now(), account: 'NORTH', why })] });
    const [chosen, ...others] = (await call(gate, 'explain_selection', { request_id: 'req_two' })).logged.accounts;
    assert.equal(chosen.why, 'its session went there last');
    assert.deepEqual(
      [...new Set(others.map(({ why: text }: { why: string }) => text))],
      ['one of: was in cooldown (1); available, but the chosen one is preferred (1)'],
    );
    gate.heal();
  });

  test('a request whose key was removed has only its log', async () => {
    await gate.leave({ requests: [requestRow({ id: 'req_gone', at: clock.now(), key_id: 'gone' })] });
    const { logged, now } = await call(gate, 'explain_selection', { request_id: 'req_gone' });
    assert.deepEqual([logged.request.id, now], ['req_gone', []]);
  });
});
