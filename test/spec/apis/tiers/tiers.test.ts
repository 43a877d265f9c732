// Tiers of a Pool over the wire: which tier a turn goes to, when it leaves one, and where its conversation returns to (AA65 to AA68, AA72).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failure } from '../../../accounts/health/support.ts';
import { ShiftedClock } from '../../../support/clocks/shifted-clock.ts';
import { type Draft, type GatewayOptions, type Reply, startGateway, type TestGateway } from '../../../support/gateway.ts';
import { turnBody } from '../../../support/rehearsal-replies.ts';
import { outputOf, user } from '../../../support/stages/continuity.ts';
import { until } from '../../../support/until.ts';
import { connect } from '../../../support/websocket.ts';

const NATIVE = '/backend-api/agent/responses';
const BOTH = ['north', 'south'] as const;

/** North is in tier 0, south in tier 1. */
const tiered = (overflow: Readonly<Record<string, unknown>> = {}, more: (draft: Draft) => void = () => undefined): GatewayOptions => ({
  upstream: { accounts: [...BOTH], strict: false },
  config: (draft) => {
    draft.pools[0].assignments = [{ account: 'north' }, { account: 'south', tier: 1 }];
    draft.pools[0].overflow = overflow;
    more(draft);
  },
});

const turn = (gate: TestGateway, changes: Readonly<Record<string, unknown>> = {}, headers: Record<string, string> = {}): Promise<Reply> =>
  gate.send(NATIVE, { body: turnBody('hi', changes as never), headers });
const asked = (gate: TestGateway): readonly string[] => gate.upstream.turns().map(({ account }) => account);
const outOfQuota = (gate: TestGateway, account: string): void =>
  gate.fail(account, 'model-a', failure('quota', { retryAfterMs: 3_600_000 }));

test('[AA65] a turn goes to the lowest tier that has an account for it, whatever the strategy prefers', async () => {
  await using gate = await startGateway(
    tiered({}, (draft) => {
      draft.pools[0].strategy = 'least_loaded';
      draft.pools[0].assignments[1].weight = 1000;
    }),
  );
  gate.upstream.next('north', 'stall before headers');
  const first = turn(gate);
  await gate.upstream.stalled('north');
  assert.equal((await turn(gate)).status, 200);
  gate.upstream.release();
  await first;
  assert.deepEqual(asked(gate), ['north', 'north']);
  const rows = await gate.rows();
  assert.deepEqual(
    rows.map(({ tier, overflow }) => [tier, overflow]),
    [
      [0, null],
      [0, null],
    ],
  );
});

test('[AA65] a paused account and a model that the lower tier has not make a higher tier the base', async () => {
  await using gate = await startGateway(
    tiered({}, (draft) => {
      draft.accounts[0].paused = true;
    }),
  );
  assert.equal((await turn(gate)).status, 200);
  assert.deepEqual(asked(gate), ['south']);
  const [row] = await gate.rows();
  assert.deepEqual([row?.tier, row?.overflow], [1, null], 'its base tier: nothing overflowed');
});

test('[AA66] [AA72] a turn leaves a tier whose accounts are out of quota or failing, and its row says why', async () => {
  await using gate = await startGateway(tiered());
  outOfQuota(gate, 'north');
  const first = await turn(gate);
  assert.equal(first.status, 200);
  gate.heal();
  gate.fail('north', 'model-a', failure('credential'));
  const second = await turn(gate);
  gate.heal();
  const third = await turn(gate);
  assert.deepEqual(asked(gate), ['south', 'south', 'north']);
  const rows = await Promise.all([first, second, third].map((reply) => gate.row(reply)));
  assert.deepEqual(
    rows.map((row) => [row?.account, row?.tier, row?.overflow, row?.why?.others]),
    [
      ['SOUTH', 1, 'quota', { out_of_quota: 1 }],
      ['SOUTH', 1, 'failing', { reauth_required: 1 }],
      ['NORTH', 0, null, { less_preferred: 1 }],
    ],
  );
  const metrics = await gate.metrics();
  assert.match(metrics, /poolgate_overflow_turns_total\{pool="team",tier="1",reason="quota"\} 1\n/);
  assert.match(metrics, /poolgate_overflow_turns_total\{pool="team",tier="1",reason="failing"\} 1\n/);
});

test('[AA72] the first use of a tier leaves one log line and one audit row', async () => {
  await using gate = await startGateway(tiered());
  outOfQuota(gate, 'north');
  for (let i = 0; i < 3; i++) assert.equal((await turn(gate)).status, 200);
  const rows = await until('the audit row', async () => {
    const found = await gate.audit('overflow.used');
    return found.length > 0 ? found : undefined;
  });
  assert.deepEqual(
    rows.map(({ actor, target, pool, fields }) => ({ actor, target, pool, fields })),
    [{ actor: 'gateway', target: 'team', pool: 'team', fields: [{ path: 'pools[team].assignments[].tier', from: null, to: 1 }] }],
  );
  assert.equal(gate.logged.filter((line) => line.includes('overflow_used')).length, 1);
});

test('[AA66] a state that `on` does not list refuses as without tiers', async () => {
  await using gate = await startGateway(tiered({ on: ['failing'] }));
  outOfQuota(gate, 'north');
  const { status, json } = await turn(gate);
  assert.deepEqual([status, json.error.code], [429, 'usage_limit_reached']);
  assert.deepEqual(asked(gate), []);
});

test('[AA66] a full account is waited for where `full` is not listed', async () => {
  await using gate = await startGateway(
    tiered({}, (draft) => {
      draft.accounts[0].max_concurrent = 1;
    }),
  );
  gate.upstream.next('north', 'stall before headers');
  const first = turn(gate);
  await gate.upstream.stalled('north');
  const second = turn(gate);
  await until('the second turn to wait', () => (gate.admission('stream').waiting === 1 ? true : undefined));
  gate.upstream.release();
  assert.deepEqual([(await first).status, (await second).status], [200, 200]);
  assert.deepEqual(asked(gate), ['north', 'north']);
});

test('[AA66] with `full` a turn leaves a full tier at once, or after wait_ms', async () => {
  for (const wait_ms of [0, 50]) {
    await using gate = await startGateway(
      tiered({ on: ['full'], wait_ms }, (draft) => {
        draft.accounts[0].max_concurrent = 1;
      }),
    );
    gate.upstream.next('north', 'stall before headers');
    const first = turn(gate);
    // A failed assertion is reported, and not the end of this turn.
    first.catch(() => undefined);
    await gate.upstream.stalled('north');
    const second = await turn(gate);
    assert.equal(second.status, 200);
    assert.deepEqual(asked(gate), ['north', 'south']);
    assert.equal((await gate.row(second))?.overflow, 'full');
    assert.equal(gate.count('account_waits'), wait_ms === 0 ? 0 : 1);
    gate.upstream.release();
    assert.equal((await first).status, 200);
  }
});

test('[AA66] a turn leaves a full tier after wait_ms, also if that time passed while it looked at the accounts', async () => {
  const clock = new ShiftedClock();
  await using gate = await startGateway({
    ...tiered({ on: ['full'], wait_ms: 5 }, (draft) => {
      draft.accounts[0].max_concurrent = 1;
    }),
    clock,
  });
  gate.upstream.next('north', 'stall before headers');
  const first = turn(gate);
  first.catch(() => undefined);
  await gate.upstream.stalled('north');
  let ahead = 0;
  clock.now = () => {
    if (gate.admission('stream').waiting === 0) ahead += 10;
    return Date.now() + ahead;
  };
  const second = await turn(gate);
  assert.deepEqual([second.status, asked(gate)], [200, ['north', 'south']]);
  gate.upstream.release();
  assert.equal((await first).status, 200);
});

test('[AA66] a turn that waits for a full tier goes there where it is free before wait_ms is over', async () => {
  await using gate = await startGateway(
    tiered({ on: ['full'], wait_ms: 60_000 }, (draft) => {
      draft.accounts[0].max_concurrent = 1;
    }),
  );
  gate.upstream.next('north', 'stall before headers');
  const first = turn(gate);
  await gate.upstream.stalled('north');
  const second = turn(gate);
  await until('the second turn to wait', () => (gate.admission('stream').waiting === 1 ? true : undefined));
  gate.upstream.release();
  await Promise.all([first, second]);
  assert.deepEqual(asked(gate), ['north', 'north']);
});

test('[AA67] failover goes on to the higher tier after all accounts of the lower one, and max_attempts counts both', async () => {
  await using gate = await startGateway({
    upstream: { accounts: ['north', 'east', 'south', 'west'], strict: false },
    config: (draft) => {
      draft.pools[0].max_attempts = 3;
      draft.pools[0].assignments = [{ account: 'south', tier: 1 }, { account: 'west', tier: 1 }, { account: 'north' }, { account: 'east' }];
    },
  });
  for (const account of ['north', 'east']) gate.upstream.next(account, 'refuse 500');
  const reply = await turn(gate);
  assert.equal(reply.status, 200);
  assert.deepEqual(asked(gate), ['north', 'east', 'south']);
  const row = await gate.row(reply);
  assert.deepEqual([row?.tier, row?.overflow, row?.retries], [1, 'failing', 2]);
  for (const account of ['north', 'east', 'south']) gate.upstream.next(account, 'refuse 500');
  assert.equal((await turn(gate)).status, 500, 'the third attempt is the last one');
  assert.equal(asked(gate).length, 6);
});

test('[AA67] failover stays in its tier where `failing` is not listed', async () => {
  await using gate = await startGateway(tiered({ on: ['quota'] }));
  gate.upstream.next('north', 'refuse 500');
  assert.equal((await turn(gate)).status, 500);
  assert.deepEqual(asked(gate), ['north']);
});

test('[AA67] a quota that the turn itself finds spent counts as quota, over HTTP and in a stream', async () => {
  for (const fault of ['refuse 429 usage_limit_reached', 'refuse inside usage_limit_reached'] as const) {
    await using gate = await startGateway(tiered({ on: ['quota'] }));
    gate.upstream.next('north', fault);
    const reply = await turn(gate);
    assert.equal(reply.status, 200, fault);
    assert.deepEqual(asked(gate), ['north', 'south']);
    assert.equal((await gate.row(reply))?.overflow, 'quota');
  }
});

test('[AA68] a conversation that overflowed stays while its input ends in tool outputs, and returns with the next user message', async () => {
  for (const headers of [{ 'session-id': 'one' }, {}] as Record<string, string>[]) {
    await using gate = await startGateway(tiered());
    const said = user('list the files');
    const call = { type: 'function_call', name: 'ls', call_id: 'call_1', arguments: '{}' };
    const output = { type: 'function_call_output', call_id: 'call_1', output: 'a.txt' };
    const answer = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'a.txt' }] };
    const send = (...input: readonly unknown[]): Promise<Reply> => turn(gate, { input, reasoning: {}, include: [] }, headers);
    outOfQuota(gate, 'north');
    assert.equal((await send(said)).status, 200);
    gate.heal();
    assert.equal((await send(said, call, output)).status, 200);
    assert.deepEqual(asked(gate), ['south', 'south'], 'the tool loop goes on where it began');
    const back = await send(said, call, output, answer, user('thanks'));
    assert.deepEqual(asked(gate), ['south', 'south', 'north']);
    assert.equal((await gate.row(back))?.tier, 0);
  }
});

test('[AA68] overflow does not move the home of a conversation', async () => {
  await using gate = await startGateway({
    upstream: { accounts: ['north', 'east', 'south'], strict: false },
    config: (draft) => {
      draft.pools[0].strategy = 'rotation';
      draft.pools[0].assignments = [{ account: 'north' }, { account: 'east' }, { account: 'south', tier: 1 }];
    },
  });
  const send = (): Promise<Reply> => turn(gate, { prompt_cache_key: 'k' });
  await send();
  const [home] = asked(gate);
  for (const id of ['north', 'east']) outOfQuota(gate, id);
  const away = await send();
  assert.equal((await gate.row(away))?.why?.left_affinity, 'out_of_quota');
  gate.heal();
  const again = await send();
  assert.deepEqual(asked(gate), [home, 'south', home]);
  assert.equal((await gate.row(again))?.why?.reason, 'locality');
});

test('[AA67] [AA68] with `reasoning: keep` a conversation stays in the tier of its ciphertext', async () => {
  await using gate = await startGateway(tiered({ reasoning: 'keep' }));
  outOfQuota(gate, 'north');
  const first = await turn(gate);
  const made = outputOf(first);
  gate.heal();
  const stays = await turn(gate, { input: [user('hi'), ...made, user('go on')] });
  assert.equal(stays.status, 200);
  assert.deepEqual(asked(gate), ['south', 'south']);
  // Ciphertext of the base tier does not leave that tier either.
  const fresh = await turn(gate);
  const own = outputOf(fresh);
  outOfQuota(gate, 'north');
  const refused = await turn(gate, { input: [user('hi'), ...own, user('go on')] });
  assert.deepEqual([refused.status, refused.json.error.code], [429, 'usage_limit_reached']);
  assert.deepEqual(asked(gate), ['south', 'south', 'north']);
});

test('[AA71] keys with `overflow: false` stay in base tiers', async () => {
  await using gate = await startGateway(
    tiered({}, (draft) => {
      draft.keys[0].overflow = false;
    }),
  );
  outOfQuota(gate, 'north');
  const { status, json } = await turn(gate);
  assert.deepEqual([status, json.error.code], [429, 'usage_limit_reached']);
  assert.deepEqual(asked(gate), []);
  assert.match(await gate.metrics(), /poolgate_overflow_refused_total\{pool="team",reason="no_overflow"\} 1\n/);
});

test('[AA66] [AA67] a websocket turn overflows too, and its anchor binds the next frame to the higher tier', async () => {
  await using gate = await startGateway(tiered());
  outOfQuota(gate, 'north');
  using client = await connect(gate);
  const first = await client.turn(turnBody('hi'));
  const id = (first[first.length - 1] as { response: { id: string } }).response.id;
  gate.heal();
  await client.turn(turnBody('go on', { previous_response_id: id }));
  assert.deepEqual(asked(gate), ['south', 'south']);
  const rows = await gate.rows();
  assert.deepEqual(
    rows.filter(({ method, status }) => method === 'WS' && status === 200).map(({ tier, overflow, why }) => [tier, overflow, why?.reason]),
    [
      [1, 'quota', 'fill_first'],
      [1, null, 'hard_pin'],
    ],
  );
});
