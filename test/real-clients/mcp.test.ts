// The client of the official MCP SDK with /mcp, in both eras of the protocol, and the questions that an assistant must be able to answer
// with only the tool list.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { ManualClock } from '../support/clocks/manual-clock.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { tokenOf, withOperator } from '../support/mcp.ts';

type Mode = 'legacy' | 'auto';

async function connected(gate: TestGateway, mode: Mode = 'auto', token = tokenOf('ops')): Promise<Client & AsyncDisposable> {
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
  const transport = new StreamableHTTPClientTransport(new URL(`${gate.url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  });
  await client.connect(transport);
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}

/** What a tool answers; the SDK checks it against the tool's output schema. */
// biome-ignore lint/suspicious/noExplicitAny: assertions look where they expect something
async function ask(client: Client, name: string, args: Record<string, unknown> = {}): Promise<any> {
  const result = await client.callTool({ name, arguments: args });
  assert.notEqual(result.isError, true, JSON.stringify(result.content));
  return result.structuredContent;
}

for (const [mode, revision] of [
  ['legacy', '2025-11-25'],
  ['auto', '2026-07-28'],
] as const) {
  test(`the SDK connects, lists and calls every tool in the era ${mode}, and each answer fits its output schema`, async () => {
    await using gate = await startGateway({ config: withOperator });
    await gate.send('/v1/responses', { body: { model: 'model-a', input: 'hello' } });
    await using client = await connected(gate, mode);
    assert.equal(client.getNegotiatedProtocolVersion(), revision);
    assert.match(client.getInstructions() ?? '', /Begin with service_status/);
    const { tools } = await client.listTools();
    assert.equal(tools.length, 9);
    for (const { name, outputSchema } of tools) {
      assert.ok(outputSchema, name);
      await ask(client, name);
    }
    assert.equal((await ask(client, 'explain_selection', { key: 'ci', model: 'model-a' })).now[0].chosen, 'north');
    const invalid = await client.callTool({ name: 'list_keys', arguments: { nope: 1 } });
    assert.equal(invalid.isError, true);
    await assert.rejects(client.callTool({ name: 'nope', arguments: {} }), /nope/);
  });
}

test('the SDK reports a token that is refused', async () => {
  await using gate = await startGateway({ config: withOperator });
  await assert.rejects(connected(gate, 'legacy', 'wrong'));
  await assert.rejects(connected(gate, 'auto', 'wrong'));
});

test('answers "why was my last turn slow": the last turn of a key, then its attempts', async () => {
  const clock = new ManualClock();
  await using gate = await startGateway({ config: withOperator, clock, upstream: { clock, strict: false } });
  await gate.send('/v1/responses', { body: { model: 'model-a', input: 'a quick one' } });
  await clock.advance(60_000);
  gate.upstream.next('north', 'refuse 503');
  await gate.send('/v1/responses', { body: { model: 'model-a', input: 'the last one' } });
  await using client = await connected(gate);

  const [last] = (await ask(client, 'list_requests', { key: 'ci', limit: 1 })).requests;
  assert.deepEqual([last.retries, last.account, last.status], [1, 'SOUTH', 200]);
  assert.equal(typeof last.duration_ms, 'number');
  const { logged, now } = await ask(client, 'explain_selection', { request_id: last.id });
  assert.equal(logged.request.id, last.id);
  assert.deepEqual(
    logged.attempts.map(({ account, status, error_class }: Record<string, unknown>) => [account, status, error_class]),
    [
      ['NORTH', 503, 'upstream_status'],
      ['SOUTH', 200, null],
    ],
  );
  for (const { duration_ms, began_after_ms } of logged.attempts) assert.ok(duration_ms >= 0 && began_after_ms >= 0);
  assert.deepEqual(logged.request.why.others, { tried: 1 });
  assert.deepEqual([now[0].key, now[0].model], ['ci', 'model-a'], 'and what the same turn would get now');
});

test('answers "which account is out of quota, and until when"', async () => {
  const clock = new ManualClock();
  await using gate = await startGateway({ config: withOperator, clock, upstream: { clock, strict: false } });
  gate.upstream.next('north', 'refuse 429 usage_limit_reached resets 3600');
  await gate.send('/v1/responses', { body: { model: 'model-a', input: 'hello' } });
  await using client = await connected(gate);

  const { accounts } = await ask(client, 'list_accounts', { state: 'out_of_quota' });
  assert.deepEqual(
    accounts.map(({ id }: { id: string }) => id),
    ['north'],
  );
  const until = new Date(accounts[0].until).getTime();
  assert.ok(Math.abs(until - (clock.now() + 3_600_000)) < 2_000, accounts[0].until);
  const { attention } = await ask(client, 'service_status');
  assert.deepEqual(attention, [`account north is out of quota until ${accounts[0].until}`]);
  const [turn] = (await ask(client, 'explain_selection', { key: 'ci', model: 'model-a' })).now;
  assert.equal(turn.chosen, 'south');
  assert.match(turn.accounts[0].why, /^its quota is exhausted, for \d+ s$/);
});

test('answers "what did key ci cost this week", day by day', async () => {
  const clock = new ManualClock();
  await using gate = await startGateway({
    clock,
    upstream: { clock, strict: false },
    config: (draft) => {
      withOperator(draft);
      draft.pools[0].models = { 'model-a': { prices: { input: 2, cached_input: 1, output: 10 } } };
    },
  });
  gate.stopOwnCalls();
  await gate.send('/v1/responses', { body: { model: 'model-a', input: 'hello' } });
  await clock.advance(86_400_000);
  await gate.send('/v1/responses', { body: { model: 'model-a', input: 'hello' } });
  await using client = await connected(gate);

  const rows = await gate.rows();
  const cost = rows
    .filter(({ key_id }) => key_id === 'ci')
    .reduce((sum, { input_tokens, output_tokens }) => sum + ((input_tokens ?? 0) * 2 + (output_tokens ?? 0) * 10) / 1e6, 0);
  const { total, usage } = await ask(client, 'usage_summary', { key: 'ci', days: 7, by: ['day'] });
  assert.ok(cost > 0);
  assert.ok(Math.abs(total.cost_usd - cost) < 1e-9, `${total.cost_usd} is ${cost}`);
  assert.equal(total.request_count, 2);
  assert.deepEqual(
    usage.map(({ request_count }: { request_count: number }) => request_count),
    [1, 1],
  );
  assert.ok(usage[0].day > usage[1].day, 'the newest day first');
  const own = (await gate.send('/v1/usage')).json;
  assert.ok(Math.abs(own.total_cost_usd - total.cost_usd) < 1e-9, 'the same as the key sees itself');
});
