// The health of accounts as clients see it: the causes of an unroutable assignment, its effect on models and modes, and the state after a
// restart.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, describe, test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { ShiftedClock } from '../../support/clocks/shifted-clock.ts';
import { type Draft, startGateway, type TestGateway } from '../../support/gateway.ts';
import { modelEntry, turnBody } from '../../support/rehearsal-replies.ts';
import { until } from '../../support/until.ts';

const NATIVE = '/backend-api/agent/responses';
const MARKER = 'x-internal-agent-responses-lite';

const clock = new ShiftedClock();
/** Only north has `only-north`; model-a is Lite only at north. */
const gate = await startGateway({
  clock,
  upstream: {
    accounts: [
      {
        id: 'north',
        models: [modelEntry({ slug: 'model-a', use_responses_lite: true }), modelEntry({ slug: 'only-north', use_responses_lite: true })],
      },
      { id: 'south', models: [modelEntry({ slug: 'model-a', use_responses_lite: false })] },
    ],
  },
});
after(() => gate.close());

beforeEach(async () => {
  gate.heal();
  gate.upstream.clear();
  clock.setAhead(2 * 3_600_000);
  await assigned({});
});

/** Changes the configuration of north to one of the states of UA1. */
function assigned({
  visible = true,
  ...assignment
}: {
  readonly active?: boolean;
  readonly eligible?: boolean;
  readonly visible?: boolean;
}) {
  return gate.reconfigure((draft: Draft) => {
    draft.accounts[0].visible = visible;
    draft.pools[0].assignments = [{ account: 'north', ...assignment }, { account: 'south' }];
  });
}

const turn = (model = 'model-a') => gate.send(NATIVE, { body: turnBody('hi', { model }) });

async function whereAt(model = 'model-a'): Promise<string | undefined> {
  gate.upstream.clear();
  assert.equal((await turn(model)).status, 200);
  return gate.upstream.turns()[0]?.account;
}

async function listed(): Promise<readonly string[]> {
  const { json } = await gate.send('/v1/models');
  return json.data.map(({ id }: JsonObject) => id);
}

/** Three turns of this model fail in a row at north; south answers them. */
async function failNorth(model = 'model-a'): Promise<void> {
  gate.upstream.next('north', ...Array<string>(3).fill('refuse 503'));
  for (let i = 0; i < 3; i++) await turn(model);
}

describe('[UA1] an assignment takes turns while it is active, eligible, active in health, past its cooldown, and its account visible', () => {
  const CONDITIONS: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['it is not active', () => assigned({ active: false })],
    ['it is not eligible', () => assigned({ eligible: false })],
    ['its account is not visible', () => assigned({ visible: false })],
    [
      'it needs re-authentication',
      () => {
        gate.upstream.next('north', 'refuse 401');
        return turn();
      },
    ],
    ['its cooldown has not passed', () => failNorth()],
    [
      'it is failing, and its probe is under way',
      async () => {
        await failNorth();
        clock.setAhead(10_000);
        gate.upstream.next('north', 'stall before headers');
        void turn().catch(() => undefined);
        await gate.upstream.stalled('north');
      },
    ],
  ];
  test('without any failure', async () => assert.equal(await whereAt(), 'north'));

  for (const [what, make] of CONDITIONS) {
    test(`and not where ${what}`, async () => {
      await make();
      const before = gate.upstream.turns('north').length;
      const { status } = await turn();
      assert.deepEqual([status, gate.upstream.turns('north').length - before], [200, 0]);
      gate.upstream.release();
    });
  }
});

test('[UA1] [SM5] a model without a routable source is 503 with the time to wait, and reaches no account', async () => {
  gate.upstream.next('north', 'refuse 401');
  await turn('only-north');
  const before = gate.upstream.turns().length;
  const { status, json, headers } = await turn('only-north');
  assert.deepEqual([status, json.error.code, headers.get('retry-after')], [503, 'no_eligible_account', '1']);
  assert.equal(gate.upstream.turns().length, before);
  assert.deepEqual(await listed(), ['model-a']);
  gate.heal();
  assert.deepEqual(await listed(), ['model-a', 'only-north']);
  // North is in a cooldown while south can serve; then south has to log in again.
  gate.upstream.next('north', 'refuse 429 retry 90');
  gate.upstream.next('south', 'refuse 401');
  assert.equal((await turn()).status, 502);
  const both = await turn();
  assert.deepEqual([both.status, both.headers.get('retry-after'), both.headers.get('x-should-retry')], [503, null, 'false']);
});

test('[UA1] a burst never closes the last account of a model: turns keep going to it, and succeed as soon as it answers', async () => {
  gate.upstream.always('north', 'refuse 503');
  for (let i = 0; i < 5; i++) assert.equal((await turn('only-north')).status, 503);
  assert.equal(gate.upstream.turns('north').length, 5);
  gate.upstream.always('north', 'steady');
  assert.equal((await turn('only-north')).status, 200);
});

test('[SM3] the pair returns to Full when its one Lite account stops being routable, and to Lite when that is back', async () => {
  const mode = async (): Promise<unknown[]> => {
    gate.upstream.clear();
    const { headers } = await turn();
    const row = await gate.row({ headers });
    const { json, headers: list } = await gate.send('/backend-api/agent/models');
    const shown = json.models.find(({ slug }: JsonObject) => slug === 'model-a').use_responses_lite;
    return [row?.effective_mode, gate.upstream.turns().at(-1)?.headers[MARKER], shown, list.get('etag') === headers.get('x-models-etag')];
  };
  assert.deepEqual(await mode(), ['lite', 'true', true, true]);
  await failNorth();
  assert.deepEqual(await mode(), ['full', undefined, false, true]);
  clock.setAhead(10_000);
  assert.deepEqual(await mode(), ['lite', 'true', true, true]);
});

test('[SM7] a turn keeps its captured mode, also where the failure that moves it to another account changes the mode of the pair', async () => {
  gate.upstream.next('north', 'refuse 404 model_not_found');
  assert.equal((await turn()).status, 200);
  assert.deepEqual(
    gate.upstream.turns().map(({ account, headers }) => [account, headers[MARKER]]),
    [
      ['north', 'true'],
      ['south', 'true'],
    ],
  );
  gate.upstream.clear();
  await turn();
  assert.deepEqual(
    gate.upstream.turns().map(({ account, headers }) => [account, headers[MARKER]]),
    [['south', undefined]],
  );
});

test('[UA2] accounts that are all out of quota keep their models in the lists, and turns get the soonest reset', async () => {
  const time = new ShiftedClock();
  await using spent = await startGateway({ clock: time });
  const { upstream } = spent;
  upstream.always('north', 'refuse 429 usage_limit_reached resets 7200');
  upstream.always('south', 'refuse 429 usage_limit_reached resets 3600');
  const soonest = Math.ceil(time.now() / 1000) + 3_600;
  for (const attempts of [2, 2]) {
    const { status, json, headers } = await spent.send(NATIVE, { body: turnBody('hi') });
    assert.deepEqual([status, json.error.code, headers.get('x-should-retry')], [429, 'usage_limit_reached', 'false']);
    assert.ok(Math.abs(json.error.resets_at - soonest) <= 2, `${json.error.resets_at} is about ${soonest}`);
    assert.equal(json.error.plan_type, undefined);
    assert.equal(upstream.turns().length, attempts, 'the second turn reaches no account');
  }
  assert.ok((await spent.send('/v1/models')).json.data.some(({ id }: JsonObject) => id === 'model-a'));
  upstream.clear();
  time.setAhead(3_700_000);
  assert.equal((await spent.send(NATIVE, { body: turnBody('hi') })).status, 200);
  assert.deepEqual(
    upstream.turns().map(({ account }) => account),
    ['south'],
    'whose quota is back first',
  );
});

test('operators see each account’s health, the turns in flight, and the queues', async () => {
  gate.upstream.next('north', 'refuse 403');
  await turn();
  const { accounts, admission } = (await (await fetch(`${gate.adminUrl}/api/status`)).json()) as {
    readonly accounts: readonly JsonObject[];
    readonly admission: JsonObject;
  };
  const [north, south] = accounts;
  assert.deepEqual([north?.account, north?.status, (north?.cooldown as JsonObject | undefined)?.cause], ['north', 'failing', 'refused']);
  assert.deepEqual([south?.status, south?.cooldown, south?.inFlight], ['active', undefined, 0]);
  assert.deepEqual(admission.stream, { running: 0, waiting: 0, limits: { running: 4096, waiting: 1024 } });
});

test('[UA1] cooldowns and refused credentials survive a restart', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'poolgate-health-'));
  const time = new ShiftedClock();
  let one: TestGateway = await startGateway({
    clock: time,
    store: `sqlite:${join(folder, 'store.db')}`,
    upstream: { accounts: ['a', 'b', 'c'] },
  });
  const { upstream } = one;
  try {
    upstream.next('a', 'refuse 401');
    upstream.next('b', 'refuse 429 retry 600');
    assert.equal((await one.send(NATIVE, { body: turnBody('hi') })).status, 200);
    const where = async (): Promise<unknown> => {
      await one.send(NATIVE, { body: turnBody('hi') });
      return upstream.turns().at(-1)?.account;
    };
    one = await one.restarted({ clock: time });
    assert.equal(await where(), 'c');
    time.setAhead(600_000);
    assert.equal(await where(), 'b');
    one = await one.restarted({ clock: time });
    assert.equal(one.accounts()[0]?.status, 'reauth_required');
  } finally {
    await one.close();
    await rm(folder, { recursive: true });
  }
});

test('[Q9] an account without any login shows that it needs one, also if no lease for its first refresh is granted', async () => {
  await using own = await startGateway({ upstream: { accounts: ['north', { id: 'west', oauth: { client_id: 'client-1' } }] } });
  own.breakPart('leases', new Error('no connection'));
  await own.reconfigure((draft) => {
    const west = draft.accounts[1];
    west.credential = { oauth: { token_url: `${west.base_url}/oauth/token`, client_id: 'client-1' } };
  });
  await until('the read of its models', () => own.account('west').status === 'reauth_required' || undefined);
  assert.equal((await own.send(NATIVE, { body: turnBody('hi') })).status, 200);
  assert.deepEqual(own.upstream.turns('west'), []);
});
