// `usage` against a running gateway, and its sums over a restart.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileAt, folderFor } from '../../config/files.ts';
import { type Draft, startGateway, type TestGateway } from '../../support/gateway.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { poolgate } from '../run.ts';

const priced = (draft: Draft): void => {
  draft.pools[0].models = { 'model-a': { prices: { input: 1000, cached_input: 100, output: 10000 } } };
};

const turn = (gate: TestGateway) => gate.send('/backend-api/agent/responses', { body: turnBody('hello') });

test('usage sums by key, and by account and model with errors and times', async (context) => {
  await using gate = await startGateway({ config: priced });
  await turn(gate);
  gate.upstream.next('north', 'refuse 503');
  await turn(gate);
  await gate.send('/v1/nothing');
  const path = fileAt(context, gate);
  const rows = await gate.rows();
  const input = rows.reduce((sum, row) => sum + (row.input_tokens ?? 0), 0);
  const byKey = await poolgate(['usage', '--config', path]);
  assert.equal(byKey.code, 0, byKey.err);
  assert.match(byKey.out, /^since \d{4}-\d\d-\d\dT00:00:00\.000Z\nKEY +REQUESTS +FAILED +INPUT +CACHED +OUTPUT +UNKNOWN +USD +FIRST MS\n/);
  assert.match(byKey.out, new RegExp(`^ci +2 +- +${input} `, 'm'));
  const byAccount = await poolgate(['usage', '--by', 'account', '--by', 'model', '--since', '1h', '--json', '--config', path]);
  const { rows: sums, total } = JSON.parse(byAccount.out);
  assert.deepEqual(
    sums.map((row: Draft) => [row.account, row.model, row.request_count, row.failed_count]),
    [
      ['', '', 1, 1],
      ['NORTH', 'model-a', 1, 0],
      ['SOUTH', 'model-a', 1, 0],
    ],
  );
  assert.equal(total.request_count, 3);
  assert.equal(total.input_tokens, input);
  assert.ok(total.cost_usd > 0 && sums[1].first_event_ms >= 0 && sums[1].duration_ms >= sums[1].first_event_ms);
  const days = await poolgate(['usage', '--by', 'day', '--key', 'ci', '--csv', '--config', path]);
  assert.match(days.out, /^day,request_count,failed_count,input_tokens,.*\r\n\d{4}-\d\d-\d\d,2,,\d+,/);
  const none = await poolgate(['usage', '--by', 'model', '--model', 'other', '--config', path]);
  assert.match(none.out, /^no request since /);
  const mistyped = await poolgate(['usage', '--pool', 'taem', '--config', path]);
  assert.deepEqual([mistyped.code, mistyped.err], [0, "the gateway has no Pool 'taem'; did you mean 'team'?\n"]);
});

test('usage lists what cost or used most first', async (context) => {
  await using gate = await startGateway();
  await turn(gate);
  for (let i = 0; i < 2; i++) await gate.send('/v1/responses', { body: { model: 'model-b', input: 'hello' } });
  const path = fileAt(context, gate);
  const { out } = await poolgate(['usage', '--by', 'model', '--config', path]);
  assert.deepEqual(
    [...out.matchAll(/^(model-\w|all) /gm)].map(([, model]) => model),
    ['model-b', 'model-a', 'all'],
  );
});

test('usage of a tier with a cap counts once, in the row of its key', async (context) => {
  await using gate = await startGateway({
    config: (draft) => {
      priced(draft);
      draft.pools[0].assignments = [{ account: 'north' }, { account: 'south', tier: 1 }];
      draft.pools[0].overflow = { usd_per_day: 100, tiers: { 1: { usd_per_month: 100 } } };
    },
  });
  gate.upstream.next('north', 'refuse 429 usage_limit_reached resets 600');
  await turn(gate);
  const [row] = await gate.rows();
  assert.equal(row?.tier, 1);
  const { out } = await poolgate(['usage', '--json', '--config', fileAt(context, gate)]);
  const { rows, total } = JSON.parse(out);
  assert.deepEqual(
    rows.map(({ key, request_count, input_tokens }: Draft) => [key, request_count, input_tokens]),
    [['ci', 1, row?.input_tokens]],
  );
  assert.deepEqual([total.request_count, total.cost_usd], [1, rows[0].cost_usd]);
});

test('usage of models and accounts is the same after a restart', async (context) => {
  const folder = folderFor(context);
  const gate = await startGateway({
    store: `sqlite:${join(folder, 'store.db')}`,
    config: (draft) => {
      draft.store_key = { file: join(folder, 'key') };
    },
  });
  await turn(gate);
  const sums = async (of: TestGateway) => (await (await fetch(`${of.adminUrl}/api/usage?by=account&by=model`)).json()) as Draft;
  const before = await sums(gate);
  assert.equal(before.rows.length, 1);
  const next = await gate.restarted();
  assert.deepEqual((await sums(next)).rows, before.rows);
  await next.close();
});

test('what cannot be summed is a usage error', async (context) => {
  await using gate = await startGateway();
  const path = fileAt(context, gate);
  for (const [args, message] of [
    [['--by', 'key', '--by', 'model'], /^sums of keys are kept by Pool and day: key goes with pool and day only\n$/],
    [['--by', 'colour'], /^by takes one of key, pool, model, account, day, hour\n$/],
    [['--since', 'never'], /^since takes a time such as 30m, 24h, 7d or 2027-01-01T00:00:00Z\n$/],
  ] as const) {
    const { code, err } = await poolgate(['usage', ...args, '--config', path]);
    assert.equal(code, 2);
    assert.match(err, message);
  }
  const both = await poolgate(['usage', '--json', '--csv', '--config', path]);
  assert.equal(both.code, 2);
});
