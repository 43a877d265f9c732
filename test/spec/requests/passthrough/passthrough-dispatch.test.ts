// Pass-through rows are dispatched like turns: one retry budget, quota and turn state from answers, credentials, counters, refusals (Q5 to
// Q10).
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { SimulatedQuota } from '../../../../proxy/rehearsal/account/account-profiles.ts';
import type { RehearsalAccount } from '../../../../proxy/rehearsal/account/simulated-account.ts';
import type { Draft, Reply, TestGateway } from '../../../support/gateway.ts';
import type { Script } from '../../../support/rehearsal.ts';
import { replyEvents, replyJson, turnBody } from '../../../support/rehearsal-replies.ts';
import { type Clocked, startClocked } from '../../../support/stages/clocked.ts';
import { until } from '../../../support/until.ts';

const TURN = '/backend-api/agent/responses';
/** A pass-through row without a body; the rehearsal provider answers its path. */
const GET_ROW = '/backend-api/agent/thread/goal/get';
const GOAL = '/backend-api/agent/models';
/** A pass-through row with a body, which can be sent only once. */
const SET_ROW = '/backend-api/agent/thread/goal/set';
const SET_GOAL = '/backend-api/agent/responses/compact';
const USAGE = '/backend-api/meter/usage';
const TOKENS = '/oauth/token';
const MINUTE = 60_000;

interface WorldOptions {
  /** Accounts are tried in this order. */
  readonly accounts?: readonly (string | RehearsalAccount)[];
  readonly config?: (draft: Draft) => void;
  readonly store?: string;
}

async function world({ accounts = ['north', 'south'], config = () => undefined, store }: WorldOptions = {}): Promise<Clocked> {
  const clocked = await startClocked({
    upstream: { accounts, strict: false },
    config: (draft) => {
      draft.routes = [
        { POST: TURN, status: 'supported', serve: 'responses', class: 'stream' },
        { GET: GET_ROW, to: GOAL, status: 'supported', serve: 'forward', class: 'control' },
        { POST: SET_ROW, to: SET_GOAL, status: 'supported', serve: 'forward', class: 'control' },
      ];
      config(draft);
    },
    ...(store === undefined ? {} : { store }),
  });
  clocked.gate.upstream.clear();
  return clocked;
}

/** Sends a pass-through request; `scripts` are the answers of the first account in order. */
function forward(gate: TestGateway, ...scripts: readonly Script[]): Promise<Reply> {
  gate.upstream.nextOn('north', GOAL, ...scripts);
  return gate.send(GET_ROW);
}

const turn = (gate: TestGateway, headers: Record<string, string> = {}): Promise<Reply> =>
  gate.send(TURN, { body: turnBody('hello'), headers });

/** The accounts of all requests to these paths since the last call, in order. */
function asked(gate: TestGateway, ...paths: readonly string[]): readonly string[] {
  const accounts = gate.upstream.requests().flatMap(({ account, path }) => (paths.includes(path) ? account : []));
  gate.upstream.clear();
  return accounts;
}

const retriesOf = async (gate: TestGateway, reply: Reply): Promise<number | undefined> => (await gate.row(reply))?.retries;

const quotaHeaders = (used: number, reset: number): Record<string, string> => ({
  'x-agent-primary-used-percent': String(used),
  'x-agent-primary-window-minutes': '300',
  'x-agent-primary-reset-at': String(reset),
});

const NOTHING_STATED = {
  error: { code: null, type: null, param: null, message: null },
  retryAfterMs: undefined,
  resetsAt: undefined,
  answer: undefined,
};

const full: SimulatedQuota = {
  primary: { used_percent: 100, window_minutes: 300 },
  secondary: { used_percent: 3, window_minutes: 10_080 },
};

describe('[Q6] the retries of pass-through requests', () => {
  test('and of turns share one budget of their Pool', async () => {
    await using here = await world();
    const { gate } = here;
    const retried: unknown[] = [];
    for (let i = 0; i < 12; i++) {
      gate.heal();
      gate.upstream.clear();
      gate.upstream.next('north', 'refuse 503');
      const reply = await (i % 2 === 0 ? forward(gate, 'refuse 503') : turn(gate));
      retried.push([reply.status, await retriesOf(gate, reply)]);
    }
    const [first, second] = [Array(10).fill([200, 1]), Array(2).fill([503, 0])];
    assert.deepEqual(retried, [...first, ...second]);
    assert.equal(gate.count('retries_withheld'), 2);
  });

  test('are a fifth of all requests of the Pool, pass-through ones included', async () => {
    await using here = await world();
    const { gate } = here;
    for (let i = 0; i < 55; i++) assert.equal((await forward(gate)).status, 200);
    const retried: unknown[] = [];
    for (let i = 0; i < 15; i++) {
      gate.heal();
      gate.upstream.clear();
      retried.push(await retriesOf(gate, await forward(gate, 'refuse 503')));
    }
    assert.deepEqual(retried, [...Array(14).fill(1), 0], 'ten, without the requests before');
  });

  test('end at max_attempts accounts', async () => {
    await using here = await world({
      accounts: ['north', 'south', 'east'],
      config: (draft) => {
        draft.pools[0].max_attempts = 2;
      },
    });
    const { gate } = here;
    for (const account of ['north', 'south', 'east']) gate.upstream.nextOn(account, GOAL, 'refuse 503');
    const reply = await gate.send(GET_ROW);
    assert.deepEqual([reply.status, asked(gate, GOAL)], [503, ['north', 'south']]);
  });

  test('never repeat a body that was sent', async () => {
    await using here = await world();
    const { gate } = here;
    gate.upstream.next('north', 'refuse 503');
    const reply = await gate.send(SET_ROW, { body: { goal: 'x' } });
    assert.deepEqual([reply.status, asked(gate, SET_GOAL)], [503, ['north']]);
  });
});

describe('[Q8] the quota headers of a pass-through answer', () => {
  test('decide where the next turn goes', async () => {
    await using here = await world();
    const { gate, clock } = here;
    const reset = clock.now() / 1000 + 3600;
    assert.equal((await forward(gate, replyJson({ goal: null }, { headers: quotaHeaders(100, reset) }))).status, 200);
    assert.deepEqual([gate.quota('north').status, gate.quota('north').until], ['exhausted', reset * 1000]);
    assert.equal((await turn(gate)).status, 200);
    assert.deepEqual(asked(gate, GOAL, TURN), ['north', 'south']);
    await clock.advance(60 * MINUTE);
    await turn(gate);
    assert.deepEqual(asked(gate, TURN), ['north'], 'until the stated reset');
  });

  test('are read from a refusal too', async () => {
    await using here = await world();
    const { gate, clock } = here;
    const refusal = replyJson(
      { error: { code: 'goal_missing', message: 'No.' } },
      { status: 404, headers: quotaHeaders(40, clock.now() / 1000 + 60) },
    );
    assert.equal((await forward(gate, refusal)).status, 404);
    const [window] = gate.quota('north').windows;
    assert.deepEqual([window?.used_percent, window?.source], [40, 'headers']);
  });

  test('and a refusal for quota keep turns away from the account', async () => {
    await using here = await world();
    const { gate } = here;
    assert.equal((await forward(gate, 'refuse 429 usage_limit_reached resets 3600')).status, 200);
    assert.deepEqual([gate.quota('north').status, gate.account('north').cooldown?.cause], ['exhausted', 'quota']);
    await turn(gate);
    assert.deepEqual(asked(gate, GOAL, TURN), ['north', 'south', 'south']);
  });
});

describe('[Q10] turn state that a pass-through answer issues', () => {
  const issued = replyJson({ goal: null }, { headers: { 'x-agent-turn-state': 'ts_forwarded' } });
  const state = { 'x-agent-turn-state': 'ts_forwarded' };

  /** The account of the only turn since the last call, and the turn state that the account got. */
  const sentState = (gate: TestGateway): unknown => {
    const turns = gate.upstream.turns().map(({ account, headers }) => [account, headers['x-agent-turn-state']]);
    gate.upstream.clear();
    return turns;
  };

  test('is bound to its account: the next turn with it goes there', async () => {
    await using here = await world();
    const { gate } = here;
    gate.upstream.nextOn('north', GOAL, 'refuse 503');
    gate.upstream.nextOn('south', GOAL, issued);
    const reply = await gate.send(GET_ROW);
    assert.deepEqual([reply.status, reply.headers.get('x-agent-turn-state')], [200, 'ts_forwarded']);
    gate.heal();
    await turn(gate);
    await turn(gate, state);
    assert.deepEqual(sentState(gate), [
      ['north', undefined],
      ['south', 'ts_forwarded'],
    ]);
  });

  test('is sent to no other account, neither by a turn nor by a pass-through request', async () => {
    await using here = await world();
    const { gate } = here;
    await forward(gate, issued);
    gate.upstream.clear();
    gate.upstream.next('north', 'refuse 503');
    assert.equal((await turn(gate, state)).status, 200);
    assert.deepEqual(sentState(gate), [
      ['north', 'ts_forwarded'],
      ['south', undefined],
    ]);
    gate.heal();
    gate.upstream.nextOn('north', GOAL, 'refuse 503');
    await gate.send(GET_ROW, { headers: state });
    assert.deepEqual(
      gate.upstream.requests().flatMap(({ account, path, headers }) => (path === GOAL ? [[account, headers['x-agent-turn-state']]] : [])),
      [
        ['north', 'ts_forwarded'],
        ['south', undefined],
      ],
    );
  });

  test('of a turn directs a pass-through request to its account', async () => {
    await using here = await world();
    const { gate } = here;
    gate.upstream.next('north', 'refuse 503');
    gate.upstream.next('south', replyEvents([{ type: 'response.completed', response: { id: 'resp_1', output: [] } }], { headers: state }));
    assert.equal((await turn(gate)).status, 200);
    gate.heal();
    gate.upstream.clear();
    await gate.send(GET_ROW, { headers: state });
    assert.deepEqual(asked(gate, GOAL), ['south']);
  });
});

describe('[Q5] [Q9] a credential that a pass-through request was refused with', () => {
  interface OauthWorld extends Clocked {
    /** Writes the file with the tokens of the operator's login. */
    login(tokens: object): Promise<void>;
    refreshes(): number;
  }

  async function oauthWorld(): Promise<OauthWorld> {
    const folder = await mkdtemp(join(tmpdir(), 'poolgate-forward-'));
    const login = (tokens: object): Promise<void> => writeFile(join(folder, 'north.json'), JSON.stringify({ tokens }));
    await login({ access_token: 'at-1', refresh_token: 'rt-1' });
    const here = await world({
      accounts: [{ id: 'north', oauth: { refresh_token: 'rt-1', access_token: 'at-1', expires_in: 3600 } }, 'south'],
      store: `sqlite:${folder}/poolgate.db`,
      config: (draft) => {
        const [north] = draft.accounts;
        draft.store_key = { file: `${folder}/store.key` };
        north.credential = { oauth: { file: `${folder}/north.json`, token_url: `${north.base_url}${TOKENS}`, client_id: 'client-1' } };
      },
    });
    return {
      ...here,
      login,
      refreshes: () => here.gate.upstream.requests('north').filter(({ path }) => path === TOKENS).length,
      [Symbol.asyncDispose]: async () => {
        await here.gate.close();
        await rm(folder, { recursive: true, force: true });
      },
    };
  }

  const useless = { kind: 'reply', status: 200, body: { json: { access_token: 'of-no-use', refresh_token: 'rt-2' } } } as const;

  test('is renewed, and the request is sent again with the new one', async () => {
    await using here = await oauthWorld();
    const { gate } = here;
    gate.upstream.loginOf('north').expire();
    const reply = await gate.send(GET_ROW);
    const attempts = await gate.attempts(reply.headers.get('x-request-id') ?? '');
    assert.deepEqual(
      attempts.map(({ account, cause, status }) => [account, cause, status]),
      [
        ['NORTH', 'first', 401],
        ['NORTH', 'resend', 200],
      ],
    );
    assert.deepEqual([here.refreshes(), gate.account('north').status], [1, 'active']);
  });

  test('and refused again after its renewal makes the account need a log-in', async () => {
    await using here = await oauthWorld();
    const { gate } = here;
    gate.upstream.loginOf('north').expire();
    gate.upstream.nextOn('north', TOKENS, useless);
    assert.equal((await gate.send(GET_ROW)).status, 200);
    assert.deepEqual([asked(gate, GOAL), gate.account('north').status], [['north', 'north', 'south'], 'reauth_required']);
  });

  test('and refused again after its renewal is imported again if the operator has stored another login', async () => {
    await using here = await oauthWorld();
    const { gate } = here;
    gate.upstream.loginOf('north').expire();
    gate.upstream.nextOn('north', TOKENS, useless);
    await here.login({ refresh_token: 'rt-operator' });
    assert.equal((await gate.send(GET_ROW)).status, 200);
    assert.deepEqual([asked(gate, GOAL), gate.account('north').status], [['north', 'north', 'south'], 'active']);
    gate.upstream.loginOf('north').renew('rt-operator');
    assert.equal((await turn(gate)).status, 200);
    assert.deepEqual(asked(gate, TURN), ['north'], 'with the operator’s credential');
  });

  test('of a request with a body is renewed for the requests after it', async () => {
    await using here = await oauthWorld();
    const { gate } = here;
    gate.upstream.loginOf('north').expire();
    const reply = await gate.send(SET_ROW, { body: { goal: 'x' } });
    assert.deepEqual([reply.status, reply.json.error.code], [502, 'upstream_error']);
    assert.deepEqual([here.refreshes(), gate.account('north').status, asked(gate, SET_GOAL)], [1, 'active', ['north']]);
    assert.equal((await turn(gate)).status, 200);
    assert.deepEqual(asked(gate, TURN), ['north']);
  });
});

describe('[Q3] [B1] where no account is left after a failed attempt, the client gets the provider’s failure', () => {
  const failing = replyJson({ error: { code: 'goal_store_down', message: 'The goal store is down.' } }, { status: 503 });

  test('of the only account', async () => {
    await using here = await world({ accounts: ['north'] });
    const { gate } = here;
    gate.upstream.nextOn('north', GOAL, failing);
    const { status, json } = await gate.send(GET_ROW);
    assert.deepEqual([status, json], [503, { error: { code: 'goal_store_down', message: 'The goal store is down.' } }]);
  });

  test('where the others cannot take it', async () => {
    await using here = await world();
    const { gate } = here;
    gate.fail('south', '(forward)', { cause: 'credential', status: 401, ...NOTHING_STATED });
    const { status, json } = await forward(gate, failing);
    assert.deepEqual([status, json.error.code, asked(gate, GOAL)], [503, 'goal_store_down', ['north']]);
  });

  test('of the last attempt where every account failed', async () => {
    await using here = await world();
    const { gate } = here;
    gate.upstream.nextOn('north', GOAL, 'refuse 500');
    gate.upstream.nextOn('south', GOAL, failing);
    const { status, json } = await gate.send(GET_ROW);
    assert.deepEqual([status, json.error.code, asked(gate, GOAL)], [503, 'goal_store_down', ['north', 'south']]);
  });

  test('where the other one is lost while the request waits for it', async () => {
    await using here = await world({
      config: (draft) => {
        draft.accounts[1].max_concurrent = 1;
      },
    });
    const { gate } = here;
    gate.fail('north', 'model-a', { cause: 'credential', status: 401, ...NOTHING_STATED });
    gate.upstream.next('south', 'stall before headers + refuse 401');
    const running = turn(gate);
    await gate.upstream.stalled('south');
    gate.heal();
    const waiting = forward(gate, failing);
    await until('the request to wait for an account', () => (gate.count('account_waits') === 1 ? true : undefined));
    gate.upstream.release('south');
    const { status, json } = await waiting;
    assert.deepEqual([status, json.error.code], [503, 'goal_store_down']);
    await running;
  });
});

describe('[OB] the counters', () => {
  test('turns, attempts and retries count pass-through requests', async () => {
    await using here = await world();
    const { gate } = here;
    const counted = (): readonly number[] => [gate.count('turns'), gate.count('attempts'), gate.count('retries')];
    assert.deepEqual(counted(), [0, 0, 0]);
    await forward(gate);
    await forward(gate, 'refuse 503');
    await gate.send(SET_ROW, { body: {} });
    assert.deepEqual(counted(), [3, 4, 1]);
    await turn(gate);
    assert.deepEqual(counted(), [4, 5, 1]);
  });
});

describe('[Q8] when every account is out of quota', () => {
  test('a pass-through request is refused with the soonest reset, and no account is asked', async () => {
    await using here = await world();
    const { gate, clock } = here;
    const now = clock.now() / 1000;
    gate.upstream.next('north', 'refuse 429 usage_limit_reached resets 7200');
    gate.upstream.next('south', 'refuse 429 usage_limit_reached resets 3600');
    assert.equal((await turn(gate)).status, 429);
    gate.upstream.clear();
    for (const reply of [await gate.send(GET_ROW), await gate.send(SET_ROW, { body: {} })]) {
      const { status, json, headers } = reply;
      assert.deepEqual([status, json.error.code, json.error.resets_at], [429, 'usage_limit_reached', now + 3600]);
      assert.equal(headers.get('x-should-retry'), 'false');
    }
    assert.deepEqual(asked(gate, GOAL, SET_GOAL), []);
  });

  test('and refuse a pass-through request themselves, it gets the same', async () => {
    await using here = await world();
    const { gate, clock } = here;
    gate.upstream.nextOn('north', GOAL, 'refuse 429 usage_limit_reached resets 7200');
    gate.upstream.nextOn('south', GOAL, 'refuse 429 usage_limit_reached resets 3600');
    const { status, json } = await gate.send(GET_ROW);
    assert.deepEqual([status, json.error.code, json.error.resets_at], [429, 'usage_limit_reached', clock.now() / 1000 + 3600]);
    assert.deepEqual(asked(gate, GOAL), ['north', 'south']);
  });

  test('and only the last one refuses a pass-through request, it gets the soonest reset of all', async () => {
    await using here = await world();
    const { gate, clock } = here;
    gate.upstream.next('north', 'refuse 429 usage_limit_reached resets 3600');
    assert.equal((await turn(gate)).status, 200);
    gate.upstream.clear();
    gate.upstream.nextOn('south', GOAL, 'refuse 429 usage_limit_reached resets 7200');
    const { status, json } = await gate.send(GET_ROW);
    assert.deepEqual([status, json.error.code, json.error.resets_at], [429, 'usage_limit_reached', clock.now() / 1000 + 3600]);
    assert.deepEqual(asked(gate, GOAL), ['south']);
  });

  test('according to old evidence only, their usage is read again before a pass-through request is refused', async () => {
    await using here = await world({ accounts: [{ id: 'north', quota: full }] });
    const { gate, clock } = here;
    assert.equal((await gate.send(GET_ROW)).status, 429);
    await gate.upstream.hangUp('north');
    await clock.advance(20 * MINUTE);
    await until('two reads without an answer', () => (gate.count('quota_read_failures') > 1 ? true : undefined));
    await gate.upstream.pickUp('north');
    await clock.advance(2 * MINUTE);
    gate.upstream.clear();
    const used = { used_percent: 20, limit_window_seconds: 18_000, reset_after_seconds: 600, reset_at: 0 };
    gate.upstream.nextOn('north', USAGE, replyJson({ rate_limit: { allowed: true, limit_reached: false, primary_window: used } }));
    assert.equal((await forward(gate)).status, 200);
    assert.equal(gate.count('quota_rechecks'), 1);
    assert.equal(gate.upstream.requests('north').filter(({ path }) => path === USAGE).length, 1);
  });

  test('according to old evidence or its answer, the old evidence is checked after that answer too', async () => {
    await using here = await world({ accounts: ['north', { id: 'south', quota: full }] });
    const { gate, clock } = here;
    await gate.upstream.hangUp('south');
    await clock.advance(20 * MINUTE);
    await until('two reads without an answer', () => (gate.count('quota_read_failures') > 1 ? true : undefined));
    await gate.upstream.pickUp('south');
    await clock.advance(2 * MINUTE);
    gate.upstream.clear();
    const used = { used_percent: 20, limit_window_seconds: 18_000, reset_after_seconds: 600, reset_at: 0 };
    gate.upstream.nextOn('south', USAGE, replyJson({ rate_limit: { allowed: true, limit_reached: false, primary_window: used } }));
    assert.equal((await forward(gate, 'refuse 429 usage_limit_reached resets 3600')).status, 200);
    assert.deepEqual(asked(gate, GOAL), ['north', 'south']);
  });
});
