// The duration of a limit refusal as clients read it: headers, error type and resets_at, for JSON and for streams (Q1, Q19).
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import type { Reply, TestGateway } from '../../support/gateway.ts';
import { replyEvents, turnBody } from '../../support/rehearsal-replies.ts';
import { type Clocked, startClocked } from '../../support/stages/clocked.ts';
import { connect } from '../../support/websocket.ts';

const NATIVE = '/backend-api/agent/responses';
const PUBLIC = '/v1/responses';
const DAY = 86_400_000;

const limited = (limits: Readonly<Record<string, number>>): Promise<Clocked> =>
  startClocked({
    upstream: { accounts: ['north'], strict: false },
    config: (draft) => {
      draft.keys[0].limits = limits;
      draft.pools[0].models = { 'model-a': { prices: { input: 1, cached_input: 0.1, output: 10 } } };
    },
  });

/** A reply whose provider states this usage. */
const spending = (input_tokens: number, output_tokens: number) =>
  replyEvents([
    { type: 'response.output_text.delta', sequence_number: 0, delta: 'hi' },
    {
      type: 'response.completed',
      sequence_number: 1,
      response: { id: 'resp_1', object: 'response', status: 'completed', output: [], usage: { input_tokens, output_tokens } },
    },
  ]);

/** The four ways to send a turn over HTTP. */
const WAYS: readonly (readonly [name: string, path: string, stream: boolean])[] = [
  ['native SSE', NATIVE, true],
  ['native JSON', NATIVE, false],
  ['public SSE', PUBLIC, true],
  ['public JSON', PUBLIC, false],
];

/** The error that a websocket turn gets, with the status of its frame. */
async function refusalFrame(gate: TestGateway, path: string): Promise<JsonObject> {
  using socket = await connect(gate, path);
  const frames = await socket.turn(turnBody('hello'));
  assert.deepEqual(
    frames.map(({ type }) => type),
    ['error'],
  );
  const { status, error } = frames[0] as { status: number; error: JsonObject };
  const { code, type, resets_at } = error;
  return { status, code, type, resets_at };
}

const ask = (gate: TestGateway, path = NATIVE, fields: JsonObject = {}): Promise<Reply> =>
  gate.send(path, { body: turnBody('hello', fields) });

const waitOf = ({ status, headers, json }: Reply): unknown => ({
  status,
  retry: headers.get('retry-after'),
  should: headers.get('x-should-retry'),
  code: json.error.code,
  type: json.error.type,
  resets_at: json.error.resets_at,
});

const LONG = { status: 429, retry: null, should: 'false', code: 'rate_limit_exceeded', type: 'usage_limit_reached' };

describe('[Q1] a limit of a day, a week or of dollars is final, and states its reset', () => {
  for (const limit of ['requests_per_day', 'tokens_per_day', 'tokens_per_week', 'usd_per_day', 'usd_per_week']) {
    test(limit, async () => {
      const max = limit.startsWith('requests') ? 1 : limit.startsWith('usd') ? 0.03 : 3000;
      await using here = await limited({ [limit]: max });
      const { gate, clock } = here;
      gate.upstream.next('north', spending(0, 3000));
      assert.equal((await ask(gate)).status, 200);
      const day = Math.floor(clock.now() / DAY) * DAY;
      const resets_at = (day + (limit.endsWith('week') ? 7 : 1) * DAY) / 1000;
      for (const [name, path, stream] of WAYS) {
        const refused = await ask(gate, path, { stream });
        assert.deepEqual(waitOf(refused), { ...LONG, resets_at }, name);
        assert.match(refused.json.error.message, new RegExp(`\\(${limit}\\)\\. It resets at 20\\d\\d-\\d\\d-\\d\\dT00:00:00Z\\.$`));
      }
      const { status, code, type } = LONG;
      for (const path of [NATIVE, PUBLIC])
        assert.deepEqual(await refusalFrame(gate, path), { status, code, type, resets_at }, `websocket of ${path}`);
      assert.equal(gate.upstream.turns().length, 1);
    });
  }

  test('in the last minute before the reset it has a Retry-After, and is final too', async () => {
    await using here = await limited({ requests_per_day: 1 });
    const { gate, clock } = here;
    const midnight = (Math.floor(clock.now() / DAY) + 1) * DAY;
    await clock.advance(midnight - clock.now() - 60_500);
    assert.equal((await ask(gate)).status, 200);
    assert.deepEqual(waitOf(await ask(gate)), { ...LONG, resets_at: midnight / 1000 });
    await clock.advance(500);
    assert.deepEqual(waitOf(await ask(gate)), { ...LONG, retry: '60', resets_at: midnight / 1000 });
    await clock.advance(59_999);
    assert.deepEqual(waitOf(await ask(gate)), { ...LONG, retry: '1', resets_at: midnight / 1000 });
    await clock.advance(1);
    assert.equal((await ask(gate)).status, 200);
  });
});

test('[Q1] a limit of a minute or of concurrent turns has a Retry-After of whole seconds, and may be retried', async () => {
  await using here = await limited({ requests_per_minute: 1 });
  const { gate, clock } = here;
  await ask(gate);
  await clock.advance(19_300);
  const short = { status: 429, should: null, code: 'rate_limit_exceeded', type: 'rate_limit_error', resets_at: undefined };
  for (const [name, path, stream] of WAYS) assert.deepEqual(waitOf(await ask(gate, path, { stream })), { ...short, retry: '41' }, name);
  await using concurrent = await limited({ concurrent: 1 });
  concurrent.gate.upstream.next('north', 'stall before headers');
  const running = ask(concurrent.gate);
  await concurrent.gate.upstream.stalled('north');
  assert.deepEqual(waitOf(await ask(concurrent.gate)), { ...short, retry: '1' });
  concurrent.gate.upstream.release();
  assert.equal((await running).status, 200);
});

test('[Q19] a limit of concurrent turns that a reload gives a key counts the turns that run, and not twice when they end', async () => {
  await using here = await limited({});
  const { gate } = here;
  gate.upstream.next('north', 'stall before headers');
  const running = ask(gate);
  await gate.upstream.stalled('north');
  await gate.reconfigure((draft) => {
    draft.keys[0].limits = { concurrent: 1 };
  });
  const current = async () => (await gate.send('/v1/usage')).json.limits[0].current_value;
  assert.deepEqual([(await ask(gate)).status, await current()], [429, 1]);
  gate.upstream.release();
  assert.equal((await running).status, 200);
  assert.deepEqual([(await ask(gate)).status, await current()], [200, 0]);
});

test('[Q1] a 503 states its wait up to 60 s, and a longer one is final without Retry-After', async () => {
  await using here = await limited({});
  const { gate, clock } = here;
  gate.upstream.next('north', 'refuse 429 usage_limit_reached resets 90');
  await ask(gate);
  const resets_at = clock.now() / 1000 + 90;
  const exhausted = { status: 429, should: 'false', code: 'usage_limit_reached', type: 'usage_limit_reached', resets_at };
  assert.deepEqual(waitOf(await ask(gate)), { ...exhausted, retry: null });
  await clock.advance(30_000);
  assert.deepEqual(waitOf(await ask(gate)), { ...exhausted, retry: '60' });
});

describe('[Q19] a turn that can never fit', () => {
  test('is refused on an empty window, with the needed amount and the limit', async () => {
    await using here = await limited({ tokens_per_minute: 5000 });
    for (const [name, path, stream] of WAYS) {
      const refused = await ask(here.gate, path, { stream, instructions: 'x'.repeat(4 * 3000), max_output_tokens: 128_000 });
      assert.deepEqual(waitOf(refused), { ...LONG, resets_at: undefined }, name);
      assert.equal(
        refused.json.error.message,
        'This request needs about 5050 tokens, which never fits the limit of this API key: 5000 tokens per minute (tokens_per_minute).',
      );
    }
    assert.equal((await ask(here.gate, NATIVE, { instructions: 'x'.repeat(4 * 2900), max_output_tokens: 128_000 })).status, 200);
    assert.equal(here.gate.upstream.turns().length, 1);
  });

  test('does not include a turn with a large cap, because the cap is not a forecast', async () => {
    await using here = await limited({ tokens_per_minute: 100_000 });
    assert.equal((await ask(here.gate, NATIVE, { max_output_tokens: 128_000 })).status, 200);
  });
});

describe('[Q19] the reservation of output', () => {
  test('four parallel turns with a cap of 32,000 all pass under 100,000 a minute', async () => {
    await using here = await limited({ tokens_per_minute: 100_000 });
    const { gate } = here;
    gate.upstream.next('north', ...Array.from({ length: 4 }, () => 'stall before headers'));
    const turns = Array.from({ length: 4 }, () => ask(gate, NATIVE, { max_output_tokens: 32_000 }));
    await gate.upstream.stalled('north', 4);
    gate.upstream.release();
    assert.deepEqual(
      (await Promise.all(turns)).map(({ status }) => status),
      [200, 200, 200, 200],
    );
  });

  const reserved = async (gate: TestGateway, fields: JsonObject = {}): Promise<number> => {
    const before = await used(gate);
    gate.upstream.next('north', 'stall before headers');
    const running = ask(gate, NATIVE, fields);
    await gate.upstream.stalled('north');
    const amount = (await used(gate)) - before;
    gate.upstream.release();
    await running;
    return amount - Math.ceil('hello'.length / 4);
  };
  const used = async (gate: TestGateway): Promise<number> => (await gate.send('/v1/usage')).json.limits[0].current_value;

  test('is twice the mean of the key’s turns on that model, never more than the caps', async () => {
    await using here = await limited({ tokens_per_day: 1_000_000 });
    const { gate } = here;
    assert.equal(await reserved(gate, { max_output_tokens: 500 }), 500);
    gate.upstream.next('north', spending(10, 4000), spending(10, 2000));
    await ask(gate);
    await ask(gate);
    const forecast = await reserved(gate);
    assert.ok(forecast > 4000 && forecast < 4400, `${forecast}`);
    assert.equal(await reserved(gate, { max_output_tokens: 500 }), 500);
    assert.equal(await reserved(gate, { model: 'model-mini' }), 2048);
  });
});
