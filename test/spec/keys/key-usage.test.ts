// The usage of a key over real sockets: its totals, and the state of its limits (D5, S2, Q20).
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import type { Draft, Reply, TestGateway } from '../../support/gateway.ts';
import { replyEvents, turnBody } from '../../support/rehearsal-replies.ts';
import { type Clocked, startUsage } from '../../support/stages/clocked.ts';
import { until } from '../../support/until.ts';

const NATIVE = '/backend-api/agent/responses';
const DAY = 86_400_000;

/** A turn whose client leaves while its account is silent. */
async function leavingTurn(gate: TestGateway, text: string): Promise<void> {
  gate.upstream.next('north', 'stall before headers');
  const leaving = new AbortController();
  const answer = gate.fetch(NATIVE, { body: turnBody(text), signal: leaving.signal }).catch(() => undefined);
  await gate.upstream.stalled('north');
  leaving.abort();
  await answer;
}

/** The usage that a provider states at the end of a turn. */
const spending = (input: number, cached: number, output: number) =>
  replyEvents([
    { type: 'response.created', sequence_number: 0, response: { id: 'resp_1', status: 'in_progress', output: [] } },
    { type: 'response.output_text.delta', sequence_number: 1, delta: 'hi' },
    {
      type: 'response.completed',
      sequence_number: 2,
      response: {
        id: 'resp_1',
        status: 'completed',
        output: [],
        usage: { input_tokens: input, input_tokens_details: { cached_tokens: cached }, output_tokens: output },
      },
    },
  ]);

const silent = replyEvents([
  { type: 'response.output_text.delta', sequence_number: 0, delta: 'hi' },
  { type: 'response.completed', sequence_number: 1, response: { id: 'resp_1', status: 'completed', output: [], usage: null } },
]);

const OTHER = 'pg-other-key';

/** Adds a second key of the Pool, a key of another Pool, and prices. */
const keyed =
  (limits: Readonly<Record<string, number>> = {}, more: (draft: Draft) => void = () => undefined) =>
  (draft: Draft): void => {
    draft.keys[0].limits = limits;
    draft.keys.push({ id: 'other', pool: 'team', secret_sha256: [hash('sha256', OTHER, 'hex')] });
    draft.pools[0].models = { 'model-a': { prices: { input: 1.25, cached_input: 0.125, output: 10 } } };
    more(draft);
  };

const usageOf = async (gate: TestGateway, key?: string): Promise<JsonObject & { limits: readonly JsonObject[] }> =>
  (await gate.send('/v1/usage', key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } })).json;

const one = (gate: TestGateway, body: JsonObject = {}, headers: Record<string, string> = {}): Promise<Reply> =>
  gate.send(NATIVE, { body: turnBody('hello', body), headers });

const NOTHING = { request_count: 0, input_tokens: 0, cached_input_tokens: 0, output_tokens: 0, total_tokens: 0, total_cost_usd: 0 };

describe('[D5] a key’s usage', () => {
  const single = { accounts: ['north'], config: keyed() };

  test('is 0 at first', async () => {
    await using here = await startUsage(single);
    const reply = await here.gate.send('/v1/usage');
    assert.deepEqual([reply.status, reply.json], [200, { object: 'usage', ...NOTHING, limits: [], pool: NOTHING }]);
  });

  test('adds up the usage that the provider stated, with costs by the Pool’s prices, and shows the Pool’s usage too', async () => {
    await using here = await startUsage(single);
    const { gate } = here;
    gate.upstream.next('north', spending(1000, 500, 200), spending(10, 0, 5), spending(2_000_000, 0, 1_000_000));
    await one(gate);
    await gate.send('/v1/responses', { body: { model: 'model-a', input: 'hi' } });
    await one(gate, {}, { authorization: `Bearer ${OTHER}` });
    const own = {
      request_count: 2,
      input_tokens: 1010,
      cached_input_tokens: 500,
      output_tokens: 205,
      total_tokens: 1215,
      total_cost_usd: 0.00275,
    };
    const { pool, limits, ...key } = await usageOf(gate);
    assert.deepEqual(key, { object: 'usage', ...own });
    assert.deepEqual(limits, []);
    assert.deepEqual(pool, {
      request_count: 3,
      input_tokens: 2_001_010,
      cached_input_tokens: 500,
      output_tokens: 1_000_205,
      total_tokens: 3_001_215,
      total_cost_usd: 12.50275,
    });
    assert.equal((await usageOf(gate, OTHER)).total_tokens, 3_000_000);
  });

  test('counts dispatched turns, with any outcome, and no others', async () => {
    await using here = await startUsage(single);
    const { gate } = here;
    await one(gate, { model: 'unknown' });
    await gate.send(NATIVE, { body: '{' });
    await gate.send('/v1/embeddings', { body: {} });
    await gate.send('/v1/models');
    assert.deepEqual(await usageOf(gate), { object: 'usage', ...NOTHING, limits: [], pool: NOTHING });
    gate.upstream.next('north', 'refuse 400');
    await one(gate);
    assert.deepEqual((await usageOf(gate)).pool, { ...NOTHING, request_count: 1 });
  });

  test('[Q18] counts usage that the provider did not state as unknown, and that of a prewarm as zero', async () => {
    await using here = await startUsage(single);
    const { gate } = here;
    gate.upstream.next('north', silent, silent);
    await one(gate);
    await one(gate, { generate: false });
    const rows = await gate.rows();
    assert.deepEqual(
      rows.filter(({ endpoint }) => endpoint === NATIVE).map(({ input_tokens, output_tokens }) => [input_tokens, output_tokens]),
      [
        [null, null],
        [0, 0],
      ],
    );
    assert.deepEqual((await usageOf(gate)).pool, { ...NOTHING, request_count: 2 });
  });

  test('[Q18] settles a reply that broke off with an estimate: the prompt and the visible output', async () => {
    await using here = await startUsage(single);
    const { gate } = here;
    gate.upstream.next('north', [
      {
        ...replyEvents([
          { type: 'response.output_text.delta', sequence_number: 0, delta: 'Grüße "an" alle\n' },
          { type: 'response.function_call_arguments.delta', sequence_number: 1, delta: '{"a":1}' },
          { type: 'response.output_text.done', sequence_number: 2, text: 'not again' },
        ]),
      },
      { kind: 'cut', at: { events: 3 } },
    ]);
    const said = 'x'.repeat(401);
    const image = { type: 'input_image', image_url: `data:image/png;base64,${'A'.repeat(5000)}` };
    await gate
      .send(NATIVE, { body: turnBody(said, { input: [{ role: 'user', content: [{ type: 'input_text', text: said }, image] }] }) })
      .catch(() => undefined);
    const row = await until('the row', async () => (await gate.rows()).find(({ endpoint }) => endpoint === NATIVE));
    const shown = Buffer.byteLength('Grüße "an" alle\n') + Buffer.byteLength('{"a":1}');
    assert.deepEqual(
      [row.outcome, row.tokens_estimated, row.input_tokens, row.output_tokens],
      ['cut', true, Math.ceil(401 / 4) + 1000, Math.ceil(shown / 4)],
    );
    assert.equal((await usageOf(gate)).output_tokens, Math.ceil(shown / 4));
  });

  test('[Q18] settles a turn whose client left with the same estimate', async () => {
    await using here = await startUsage(single);
    const { gate } = here;
    await leavingTurn(gate, '12345678');
    const row = await until('the row', async () => (await gate.rows()).find(({ endpoint }) => endpoint === NATIVE));
    assert.deepEqual([row.outcome, row.tokens_estimated, row.input_tokens, row.output_tokens], ['client_gone', true, 2, 0]);
    assert.deepEqual((await usageOf(gate)).request_count, 1);
  });

  test('survives a restart, and ends after 28 days', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'poolgate-usage-'));
    let { gate, clock } = await startUsage({ ...single, store: `sqlite:${join(folder, 'store.db')}` });
    try {
      gate.upstream.next('north', spending(100, 0, 10), spending(1, 0, 1));
      await one(gate);
      // Thousands of reads of usage and of catalogs are not part of this.
      gate.stopOwnCalls();
      await clock.advance(DAY);
      await one(gate);
      gate = await gate.restarted({ clock });
      assert.deepEqual((await usageOf(gate)).total_tokens, 112);
      gate.stopOwnCalls();
      // A process that is paused misses the timers of that time.
      clock.skip(25 * DAY);
      await clock.advance(DAY);
      assert.deepEqual((await usageOf(gate)).total_tokens, 112);
      await clock.advance(DAY);
      assert.deepEqual((await usageOf(gate)).total_tokens, 2);
      await clock.advance(DAY);
      assert.deepEqual((await usageOf(gate)).total_tokens, 0);
    } finally {
      await gate.close();
      rmSync(folder, { recursive: true });
    }
  });
});

describe('[S2] the limits of a key', () => {
  const limited = (limits: Readonly<Record<string, number>>, more?: (draft: Draft) => void): Promise<Clocked> =>
    startUsage({ accounts: ['north'], config: keyed(limits, more) });

  const assertLimited = (reply: Reply, { names, ...wait }: { names: string } & ({ retry: number } | { resetsAt: number })): void => {
    assert.equal(reply.status, 429, reply.text);
    const { message, ...error } = reply.json.error;
    const known = 'resetsAt' in wait ? { type: 'usage_limit_reached', resets_at: wait.resetsAt } : { type: 'rate_limit_error' };
    assert.deepEqual(error, { code: 'rate_limit_exceeded', param: null, ...known });
    assert.match(message, new RegExp(names));
    assert.equal(reply.headers.get('retry-after'), 'retry' in wait ? String(wait.retry) : null);
    assert.equal(reply.headers.get('x-should-retry'), 'retry' in wait ? null : 'false');
  };

  const state = async (gate: TestGateway): Promise<readonly unknown[]> => {
    const { limits } = await usageOf(gate);
    return limits.map(({ max_value, current_value, remaining_value, reset_at }) => [max_value, current_value, remaining_value, reset_at]);
  };

  test('[D5] are listed with their current values', async () => {
    await using here = await limited({
      requests_per_minute: 60,
      requests_per_day: 100,
      tokens_per_minute: 5000,
      tokens_per_day: 10_000,
      tokens_per_week: 20_000,
      usd_per_day: 1,
      usd_per_week: 2,
      concurrent: 8,
    });
    const { gate, clock } = here;
    gate.upstream.next('north', spending(1000, 500, 200));
    await one(gate);
    const now = clock.now();
    const midnight = (Math.floor(now / DAY) + 1) * (DAY / 1000);
    const cost = 0.0026875;
    const { limits } = await usageOf(gate);
    assert.deepEqual(
      limits.map((limit) => Object.values(limit)),
      [
        ['requests', 'minute', 60, 1, 59, now / 1000 + 60],
        ['requests', 'day', 100, 1, 99, midnight],
        ['tokens', 'minute', 5000, 1200, 3800, now / 1000 + 60],
        ['tokens', 'day', 10_000, 1200, 8800, midnight],
        ['tokens', 'week', 20_000, 1200, 18_800, midnight + 6 * 86_400],
        ['usd', 'day', 1, cost, 1 - cost, midnight],
        ['usd', 'week', 2, cost, 2 - cost, midnight + 6 * 86_400],
        ['concurrent', 'now', 8, 0, 8, null],
      ],
    );
    assert.deepEqual(Object.keys(limits[0] ?? {}), [
      'limit_type',
      'limit_window',
      'max_value',
      'current_value',
      'remaining_value',
      'reset_at',
    ]);
    assert.deepEqual((await usageOf(gate, OTHER)).limits, []);
  });

  test('requests a minute slide, to the millisecond', async () => {
    await using here = await limited({ requests_per_minute: 2 });
    const { gate, clock } = here;
    assert.equal((await one(gate)).status, 200);
    await clock.advance(20_000);
    assert.equal((await one(gate)).status, 200);
    const refused = await one(gate);
    assertLimited(refused, { retry: 40, names: 'requests per minute' });
    await clock.advance(39_999);
    assert.equal((await one(gate)).status, 429);
    await clock.advance(1);
    assert.equal((await one(gate)).status, 200);
    assert.equal((await one(gate)).status, 429);
    assert.equal(gate.upstream.turns().length, 3, 'no account hears of a refused turn');
    assert.deepEqual(await state(gate), [[2, 2, 0, clock.now() / 1000 + 20]]);
    const rows = (await gate.rows()).filter(({ code }) => code === 'rate_limit_exceeded');
    assert.deepEqual(
      rows.map(({ status, outcome, retries, account, input_tokens }) => [status, outcome, retries, account, input_tokens]),
      rows.map(() => [429, 'refused', 0, null, null]),
    );
    assert.equal(rows.length, 3);
  });

  test('requests per day start from zero at midnight UTC, and no SDK sleeps until then', async () => {
    await using here = await limited({ requests_per_day: 1 });
    const { gate, clock } = here;
    await one(gate);
    const seconds = Math.ceil((DAY - (clock.now() % DAY)) / 1000);
    assertLimited(await one(gate), { resetsAt: Math.ceil(clock.now() / DAY) * (DAY / 1000), names: 'requests per day' });
    await clock.advance(seconds * 1000);
    assert.equal((await one(gate)).status, 200);
  });

  test('tokens count the reservation while a turn runs, and the usage after its end', async () => {
    await using here = await limited({ tokens_per_day: 3000 });
    const { gate } = here;
    gate.upstream.next('north', 'stall before headers', spending(10, 0, 10));
    const running = one(gate, { max_output_tokens: 2000 });
    await gate.upstream.stalled('north');
    const [[, current] = []] = (await state(gate)) as number[][];
    assert.equal(current, 2000 + Math.ceil('hello'.length / 4));
    const refused = await one(gate, { max_output_tokens: 998 });
    assert.deepEqual([refused.status, refused.json.error.code], [429, 'rate_limit_exceeded']);
    gate.upstream.release();
    assert.equal((await running).status, 200);
    assert.equal((await one(gate, { max_output_tokens: 998 })).status, 200);
  });

  test('[Q19] without a cap of the client or the key 2,048 tokens of output are reserved, with a cap the smaller number', async () => {
    await using here = await limited({ tokens_per_day: 2049 });
    assert.equal((await one(here.gate)).status, 429);
    assert.equal((await one(here.gate, { max_output_tokens: 2047 })).status, 200);
    await using capped = await limited({ tokens_per_day: 102 }, (draft) => {
      draft.keys[0].output_tokens = { max: 100 };
    });
    capped.gate.upstream.next('north', spending(0, 0, 0));
    assert.equal((await one(capped.gate)).status, 200);
    assert.equal((await one(capped.gate, { generate: false })).status, 200);
  });

  test('tokens a week are those of the last seven days', async () => {
    await using here = await limited({ tokens_per_week: 1500 });
    const { gate, clock } = here;
    gate.upstream.always('north', spending(0, 0, 500));
    const small = { max_output_tokens: 400 };
    await one(gate, small);
    // The test does not need the reads of usage and of catalogs that would follow.
    gate.stopOwnCalls();
    await clock.advance(DAY);
    await one(gate, small);
    await one(gate, small);
    const first = (Math.floor(clock.now() / DAY) - 1) * DAY;
    const wait = first + 7 * DAY - clock.now();
    assertLimited(await one(gate, small), { resetsAt: (first + 7 * DAY) / 1000, names: 'tokens per week' });
    await clock.advance(wait);
    assert.equal((await one(gate, small)).status, 200);
  });

  test('dollars count by the Pool’s prices', async () => {
    await using here = await limited({ usd_per_day: 0.03 });
    const { gate } = here;
    gate.upstream.next('north', spending(0, 0, 1000), spending(0, 0, 1000));
    const capped = { max_output_tokens: 1000 };
    assert.equal((await one(gate, capped)).status, 200);
    assert.equal((await one(gate, capped)).status, 200);
    const refused = await one(gate, capped);
    assert.deepEqual([refused.status, refused.headers.get('x-should-retry')], [429, 'false']);
    assert.match(refused.json.error.message, /0\.03 US dollars per day/);
  });

  test('of many concurrent turns exactly the limit run, and a slot is free when one ends', async () => {
    await using here = await limited({ concurrent: 3 });
    const { gate } = here;
    gate.upstream.always('north', 'stall before headers');
    const answers = Array.from({ length: 10 }, () => one(gate));
    await gate.upstream.stalled('north', 3);
    await until('seven refusals', async () => ((await gate.rows()).length === 7 ? true : undefined));
    assert.deepEqual(await state(gate), [[3, 3, 0, null]]);
    gate.upstream.always('north', 'steady');
    gate.upstream.release();
    const statuses = (await Promise.all(answers)).map(({ status }) => status).sort();
    assert.deepEqual(statuses, [200, 200, 200, 429, 429, 429, 429, 429, 429, 429]);
    assert.deepEqual(await state(gate), [[3, 0, 3, null]]);
    assert.equal((await one(gate)).status, 200);
  });

  test('of many turns at once exactly the limit of a minute run', async () => {
    await using here = await limited({ requests_per_minute: 5 });
    const statuses = (await Promise.all(Array.from({ length: 20 }, () => one(here.gate)))).map(({ status }) => status);
    assert.equal(statuses.filter((status) => status === 200).length, 5);
    assert.equal(here.gate.upstream.turns().length, 5);
  });

  test('a turn that reached no account does not count, and a client that leaves frees its slot', async () => {
    await using here = await limited({ requests_per_minute: 2, concurrent: 1 }, (draft) => {
      draft.pools[0].strategy = 'fill_first';
    });
    const { gate } = here;
    gate.upstream.next('north', 'refuse 429 usage_limit_reached resets 1');
    assert.equal((await one(gate)).status, 429);
    assert.equal((await one(gate)).json.error.code, 'usage_limit_reached');
    assert.deepEqual(await state(gate), [
      [2, 1, 1, here.clock.now() / 1000 + 60],
      [1, 0, 1, null],
    ]);
    await here.clock.advance(1000);
    await leavingTurn(gate, 'hi');
    await until('its place', async () => {
      const { limits } = await usageOf(gate);
      return limits[1]?.current_value === 0 ? true : undefined;
    });
  });

  test('unknown usage counts as its reservation', async () => {
    await using here = await limited({ tokens_per_day: 3000 });
    const { gate } = here;
    gate.upstream.next('north', silent);
    await one(gate, { max_output_tokens: 1000 });
    assert.deepEqual((await state(gate))[0], [3000, 1002, 1998, (Math.floor(here.clock.now() / DAY) + 1) * (DAY / 1000)]);
    assert.equal((await usageOf(gate)).total_tokens, 0);
  });

  test('[Q18] a reply that failed without stating its usage counts as nothing, streamed or not', async () => {
    await using here = await limited({ tokens_per_day: 3000 });
    const { gate } = here;
    for (const refusal of ['refuse inside', 'refuse 503']) {
      gate.upstream.always('north', refusal);
      await one(gate, { max_output_tokens: 1000 });
      gate.heal();
      assert.deepEqual(((await state(gate))[0] as number[]).slice(0, 3), [3000, 0, 3000], refusal);
    }
    assert.deepEqual([(await usageOf(gate)).request_count, gate.upstream.turns().length], [2, 2]);
  });

  test('[Q4] come after the refusals that cost nothing', async () => {
    await using here = await limited({ requests_per_day: 1 }, (draft) => {
      draft.keys[0].models = ['model-a'];
    });
    const { gate } = here;
    await one(gate);
    assert.equal((await one(gate)).status, 429);
    assert.equal((await one(gate, { model: 'model-b' })).status, 403);
    assert.equal((await one(gate, { input: 'text' })).status, 400);
    assert.equal((await gate.send('/v1/usage')).status, 200);
    assert.equal((await gate.send('/v1/models')).status, 200);
  });

  test('the same turn costs the same in both modes', async () => {
    const reserved: unknown[] = [];
    for (const mode of ['lite', 'full']) {
      await using here = await limited({ tokens_per_day: 100_000 }, (draft) => {
        draft.pools[0].serving_modes = { 'model-a': mode };
      });
      const { gate } = here;
      gate.upstream.next('north', 'stall before headers');
      const tools = [{ type: 'function', name: 'f', description: 'd'.repeat(500), parameters: { type: 'object', properties: {} } }];
      const running = one(gate, { instructions: 'Be brief.', tools });
      await gate.upstream.stalled('north');
      reserved.push((await state(gate))[0]);
      gate.upstream.release();
      await running;
    }
    assert.deepEqual(reserved[0], reserved[1]);
  });
});
