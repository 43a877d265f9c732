// The limits of keys over three nodes, at their sockets: all nodes together grant as much as one node would.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../support/clocks/manual-clock.ts';
import { type Draft, type Reply, startGateway, type TestGateway } from '../../support/gateway.ts';
import { freshDatabase } from '../../support/postgres/postgres.ts';
import { replyEvents, turnBody } from '../../support/rehearsal-replies.ts';
import { until } from '../../support/until.ts';
import { PausableClock } from '../pausable-clock.ts';
import { threeNodes } from '../three-nodes.ts';

const NATIVE = '/backend-api/agent/responses';
const turn = (gate: TestGateway): Promise<Reply> => gate.send(NATIVE, { body: turnBody('hi') });

const limited =
  (limits: Readonly<Record<string, number>>) =>
  (draft: Draft): void => {
    draft.keys[0].limits = limits;
  };

/** A reply whose provider states this usage. */
const spending = (input_tokens: number, output_tokens: number) =>
  replyEvents([
    {
      type: 'response.completed',
      sequence_number: 0,
      response: { id: 'resp_1', object: 'response', status: 'completed', output: [], usage: { input_tokens, output_tokens } },
    },
  ]);

/** Sends turns one after the other, each to the next node. */
async function inTurn(nodes: readonly TestGateway[], count: number): Promise<readonly Reply[]> {
  const replies: Reply[] = [];
  for (let i = 0; i < count; i++) replies.push(await turn(nodes[i % nodes.length] as TestGateway));
  return replies;
}

const statuses = (replies: readonly Reply[]): Readonly<Record<number, number>> =>
  Object.fromEntries([...Map.groupBy(replies, ({ status }) => status)].map(([status, all]) => [status, all.length]));

/** The key's limits in `GET /v1/usage`. */
const usageAt = async (gate: TestGateway) => (await gate.send('/v1/usage')).json;

test('[Q34] with requests_per_minute of 60, of 600 turns over three nodes, 60 of them at once, 60 run', async () => {
  const clock = new ManualClock();
  await using nodes = await threeNodes({
    clock,
    upstream: { accounts: ['north'], strict: false, clock },
    config: limited({ requests_per_minute: 60 }),
  });
  const replies: Reply[] = [];
  // On a busy machine, of all turns at once some would wait longer for the database than a turn may.
  while (replies.length < 600) {
    replies.push(...(await Promise.all(Array.from({ length: 60 }, (_, i) => turn(nodes.all[i % 3] as TestGateway)))));
  }
  assert.deepEqual(statuses(replies), { 200: 60, 429: 540 });
  assert.equal(nodes.all[0].upstream.turns().length, 60);
  const refused = replies.filter(({ status }) => status === 429);
  assert.ok(refused.every(({ json }) => json.error.code === 'rate_limit_exceeded' && json.error.type === 'rate_limit_error'));
  assert.deepEqual(new Set(refused.map(({ headers }) => headers.get('retry-after'))), new Set(['60']));
});

test('[Q20] [Q34] a key’s usage has no reservation of a turn that has ended at this node', async () => {
  await using gate = await startGateway({
    store: await freshDatabase(),
    upstream: { accounts: ['north'], strict: false },
    config: limited({ concurrent: 1, tokens_per_day: 1_000_000 }),
  });
  for (let i = 1; i <= 8; i++) {
    gate.upstream.next('north', spending(10, 20));
    assert.equal((await turn(gate)).status, 200);
    const { limits, total_tokens } = await usageAt(gate);
    assert.deepEqual([total_tokens, ...limits.map((limit: { current_value: number }) => limit.current_value)], [30 * i, 30 * i, 0]);
  }
});

test('[Q34] tokens of a day are counted over all nodes, and the refusal is final and the same at each of them', async () => {
  const clock = new ManualClock();
  await using nodes = await threeNodes({
    clock,
    upstream: { accounts: ['north'], strict: false, clock },
    config: limited({ tokens_per_day: 9_000 }),
  });
  nodes.all[0].upstream.next('north', spending(1_000, 1_500), spending(1_000, 1_500), spending(1_000, 1_500));
  assert.deepEqual(statuses(await inTurn(nodes.all, 3)), { 200: 3 });
  const [limit] = await until('the settlements', async () => {
    const { limits } = await usageAt(nodes.all[0]);
    return limits[0].current_value === 7_500 ? limits : undefined;
  });
  assert.equal(limit.remaining_value, 1_500);
  const resets_at = (Math.floor(clock.now() / 86_400_000) + 1) * 86_400;
  for (const gate of nodes.all) {
    const { status, headers, json } = await turn(gate);
    assert.deepEqual(
      [status, json.error.code, json.error.type, json.error.resets_at, headers.get('x-should-retry'), headers.get('retry-after')],
      [429, 'rate_limit_exceeded', 'usage_limit_reached', resets_at, 'false', null],
    );
    assert.match(json.error.message, /^The limit of this API key is reached: 9000 tokens per day \(tokens_per_day\)\. It resets at /);
    assert.deepEqual((await usageAt(gate)).limits, [
      { limit_type: 'tokens', limit_window: 'day', max_value: 9_000, current_value: 7_500, remaining_value: 1_500, reset_at: resets_at },
    ]);
  }
});

test('[Q34] concurrent turns are counted over all nodes; a slot is free as soon as its turn ends at any node', async () => {
  await using nodes = await threeNodes({ config: limited({ concurrent: 2 }) });
  const [a, b, c] = nodes.all;
  a.upstream.always('north', 'stall before headers');
  const running = [turn(a), turn(b)];
  await a.upstream.stalled('north', 2);
  const refused = await turn(c);
  assert.deepEqual([refused.status, refused.headers.get('retry-after'), refused.json.error.code], [429, '1', 'rate_limit_exceeded']);
  assert.deepEqual((await usageAt(c)).limits[0].current_value, 2);
  a.upstream.always('north', 'steady');
  a.upstream.release();
  for (const reply of running) assert.equal((await reply).status, 200);
  await until('both places', async () => ((await usageAt(c)).limits[0].current_value === 0 ? true : undefined));
  assert.equal((await turn(c)).status, 200);
});

test('[Q34] a client that sends one turn after the other to one node is never refused because of its own last turn', async () => {
  await using nodes = await threeNodes({ config: limited({ concurrent: 1 }) });
  assert.deepEqual(statuses(await inTurn([nodes.all[0]], 40)), { 200: 40 });
});

test('[Q34] the unused part of a turn’s reservation is free for other turns', async () => {
  await using nodes = await threeNodes({ config: limited({ tokens_per_minute: 6_000 }) });
  const [a, b] = nodes.all;
  a.upstream.next('north', 'stall before headers', spending(10, 10));
  const running = turn(a);
  await a.upstream.stalled('north');
  assert.equal((await usageAt(b)).limits[0].current_value, 2_049);
  a.upstream.release();
  await running;
  await until('the settlement', async () => ((await usageAt(b)).limits[0].current_value < 2_049 ? true : undefined));
});

test('[Q34] a turn that can never fit is refused without asking the store', async () => {
  await using nodes = await threeNodes({ config: limited({ tokens_per_minute: 1_000 }) });
  const { status, json } = await turn(nodes.all[1]);
  assert.deepEqual([status, json.error.type], [429, 'usage_limit_reached']);
  assert.match(json.error.message, /never fits the limit/);
});

test('[Q34] a node that was paused past its lease joins again before it reserves, and the reservations of its turns count again', async () => {
  const clocks = [new PausableClock(), new PausableClock(), new PausableClock()];
  await using nodes = await threeNodes({ clocks, config: limited({ concurrent: 2 }) });
  const [a, b] = nodes.all;
  a.upstream.always('north', 'stall before headers');
  const running = turn(a);
  await a.upstream.stalled('north');
  clocks[0]?.pause();
  // Its clock stays behind until the other nodes have detected the loss, because a paused process reads no feed, and by the feed this node
  // would join again.
  for (const clock of clocks.slice(1)) clock.setAhead(31_000);
  await until('the place to be free', async () => ((await usageAt(b)).limits[0].current_value === 0 ? true : undefined));
  clocks[0]?.setAhead(31_000);
  const second = turn(a);
  await a.upstream.stalled('north', 2);
  clocks[0]?.resume();
  assert.equal(a.count('node_leases_lost'), 1);
  assert.equal((await usageAt(b)).limits[0].current_value, 2);
  assert.equal((await turn(b)).status, 429);
  a.upstream.always('north', 'steady');
  a.upstream.release();
  for (const reply of [running, second]) assert.equal((await reply).status, 200);
  await until('both settlements', async () => ((await usageAt(b)).limits[0].current_value === 0 ? true : undefined));
  assert.deepEqual(
    (await b.usageRows()).map(({ requests }) => requests),
    [2],
  );
});

test('[Q34] usage of all nodes is in the store once, with and without limits', async () => {
  await using nodes = await threeNodes({
    config: (draft) => {
      limited({ requests_per_day: 100, tokens_per_week: 1e6, usd_per_day: 100, concurrent: 50 })(draft);
      draft.pools[0].models = { 'model-a': { prices: { input: 1, cached_input: 0.1, output: 10 } } };
    },
  });
  const [a] = nodes.all;
  for (let i = 0; i < 30; i++) a.upstream.next('north', spending(100, 20));
  const replies = await Promise.all(Array.from({ length: 30 }, (_, i) => turn(nodes.all[i % 3] as TestGateway)));
  assert.deepEqual(statuses(replies), { 200: 30 });
  const limits = await until('all settlements', async () => {
    const found = (await usageAt(a)).limits;
    return found.at(-1).current_value === 0 ? found : undefined;
  });
  assert.deepEqual(
    limits.map(({ limit_type, current_value }: { limit_type: string; current_value: number }) => [limit_type, current_value]),
    [
      ['requests', 30],
      ['tokens', 3_600],
      ['usd', 0.009],
      ['concurrent', 0],
    ],
  );
});

test('[Q34] a limit that a reload adds counts the usage of its day so far, of all nodes', async () => {
  await using nodes = await threeNodes();
  const [a, b] = nodes.all;
  assert.deepEqual(statuses(await inTurn(nodes.all, 3)), { 200: 3 });
  for (const gate of nodes.all) await gate.flush();
  for (const gate of nodes.all) await gate.reconfigure(limited({ requests_per_day: 4, tokens_per_week: 1e6 }));
  assert.equal((await turn(a)).status, 200);
  const { status, json } = await turn(b);
  assert.deepEqual([status, json.error.type], [429, 'usage_limit_reached']);
});

test('[Q19] [Q34] limits that a reload gives a key count its turns that run at the node, and not twice when they end', async () => {
  await using gate = await startGateway({ store: await freshDatabase(), upstream: { accounts: ['north'], strict: false } });
  gate.upstream.next('north', 'stall before headers');
  const running = turn(gate);
  await gate.upstream.stalled('north');
  const current = async (): Promise<unknown> => (await usageAt(gate)).limits[0].current_value;
  for (const limits of [{ requests_per_day: 1 }, { concurrent: 1 }]) {
    await gate.reconfigure(limited(limits));
    const { status, json } = await turn(gate);
    assert.deepEqual([status, json.error?.code, await current()], [429, 'rate_limit_exceeded', 1]);
  }
  gate.upstream.release();
  assert.equal((await running).status, 200);
  assert.deepEqual([(await turn(gate)).status, await current()], [200, 0]);
  assert.equal(gate.upstream.turns().length, 2);
});
