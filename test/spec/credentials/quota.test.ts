// Quota over real sockets: what accounts state about their windows decides which account is used, until when, and the answer to a turn.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { PROFILES, type SimulatedQuota } from '../../../proxy/rehearsal/account/account-profiles.ts';
import type { RehearsalAccount } from '../../../proxy/rehearsal/account/simulated-account.ts';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import type { Draft, Reply, TestGateway } from '../../support/gateway.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { modelEntry, replyEvents, replyJson, turnBody } from '../../support/rehearsal-replies.ts';
import { type Clocked, startClocked } from '../../support/stages/clocked.ts';
import { until } from '../../support/until.ts';
import { connect } from '../../support/websocket.ts';

const NATIVE = '/backend-api/agent/responses';
const USAGE = '/backend-api/meter/usage';
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const quota = (primary: number, secondary = 3): SimulatedQuota => ({
  primary: { used_percent: primary, window_minutes: 300 },
  secondary: { used_percent: secondary, window_minutes: 10_080 },
});

/** Accounts are tried in the given order, which shows which ones were left out. */
const world = (
  accounts: readonly (string | RehearsalAccount)[],
  config: (draft: Draft) => void = () => undefined,
  store?: string,
): Promise<Clocked> =>
  startClocked({
    upstream: { accounts, manners: { streamedUnstoredLists: false } },
    config: (draft) => {
      draft.pools[0].strategy = 'fill_first';
      config(draft);
    },
    ...(store === undefined ? {} : { store }),
  });

const ask = (gate: TestGateway, said = 'hello'): Promise<Reply> => gate.send(NATIVE, { body: turnBody(said) });

/** The accounts that got turns since the last call. */
function asked(gate: TestGateway): readonly string[] {
  const accounts = gate.upstream.turns().map(({ account }) => account);
  gate.upstream.clear();
  return accounts;
}

const reads = (gate: TestGateway, account: string): number => gate.upstream.requests(account).filter(({ path }) => path === USAGE).length;

/** A minimal turn with these headers and events of a provider. */
const reply = (headers: Readonly<Record<string, string>>, ...events: readonly Readonly<Record<string, never>>[] | object[]) =>
  replyEvents(
    [
      ...(events as object[] as never[]),
      { type: 'response.created', sequence_number: 0, response: { id: 'resp_1', status: 'in_progress', output: [] } },
      { type: 'response.completed', sequence_number: 1, response: { id: 'resp_1', status: 'completed', output: [], usage: null } },
    ],
    { headers },
  );

const headersOf = (used: string, minutes = '300', reset?: number): Record<string, string> => ({
  'x-agent-primary-used-percent': used,
  'x-agent-primary-window-minutes': minutes,
  ...(reset === undefined ? {} : { 'x-agent-primary-reset-at': String(reset) }),
});

describe('an account out of quota', () => {
  test('[UA2] is not selected until its reset, and stays a source of the catalog', async () => {
    const only = modelEntry({ slug: 'model-of-north' });
    await using here = await world([{ id: 'north', models: [modelEntry({ slug: 'model-a' }), only] }, 'south']);
    const { gate, clock } = here;
    gate.upstream.next('north', 'refuse 429 usage_limit_reached resets 7200');
    assert.equal((await ask(gate)).status, 200);
    assert.deepEqual(asked(gate), ['north', 'south']);
    assert.equal((await ask(gate)).status, 200);
    assert.deepEqual(asked(gate), ['south']);

    const listed = (await gate.send('/v1/models')).json.data.map(({ id }: { id: string }) => id);
    assert.ok(listed.includes('model-of-north'));
    const refused = await gate.send(NATIVE, { body: turnBody('hello', { model: 'model-of-north' }) });
    assert.deepEqual([refused.status, refused.json.error.code], [429, 'usage_limit_reached']);
    assert.deepEqual(asked(gate), []);

    await clock.advance(2 * HOUR - 1000);
    await ask(gate);
    assert.deepEqual(asked(gate), ['south']);
    await clock.advance(1000);
    await ask(gate);
    assert.deepEqual(asked(gate), ['north']);
  });

  test('[UA2] known by its usage read is never asked', async () => {
    await using here = await world([{ id: 'north', quota: quota(100) }, 'south']);
    for (let turn = 0; turn < 3; turn++) assert.equal((await ask(here.gate)).status, 200);
    assert.deepEqual(asked(here.gate), ['south', 'south', 'south']);
  });

  test('[UA2] known by the headers of its answer is not asked again', async () => {
    await using here = await world(['north', 'south']);
    const { gate, clock } = here;
    gate.upstream.next('north', reply(headersOf('100', '300', clock.now() / 1000 + 3600)));
    await ask(gate);
    await ask(gate);
    assert.deepEqual(asked(gate), ['north', 'south']);
  });

  test('an event takes precedence over the headers of the same answer', async () => {
    await using here = await world(['north', 'south']);
    const { gate } = here;
    const window = { used_percent: 100, window_minutes: 300 };
    gate.upstream.next('north', reply(headersOf('10'), { type: 'agent.rate_limits', rate_limits: { primary: window, secondary: null } }));
    await ask(gate);
    await ask(gate);
    assert.deepEqual(asked(gate), ['north', 'south']);
  });

  test('invalid numbers are ignored', async () => {
    await using here = await world(['north', 'south']);
    const { gate } = here;
    gate.upstream.next('north', reply(headersOf('100, 100')), reply(headersOf('100', 'long')), reply(headersOf('1e9')));
    for (let turn = 0; turn < 4; turn++) await ask(gate);
    assert.deepEqual(asked(gate), ['north', 'north', 'north', 'north']);
  });

  test('whose statement is fifteen minutes old, and has no reset, is eligible again', async () => {
    await using here = await world(['north', 'south']);
    const { gate, clock } = here;
    gate.upstream.next('north', reply(headersOf('100')));
    await ask(gate);
    gate.upstream.nextOn('north', USAGE, 'refuse 500', 'refuse 500', 'refuse 500', 'refuse 500', 'refuse 500');
    await clock.advance(14 * MINUTE);
    await ask(gate);
    await clock.advance(MINUTE);
    await ask(gate);
    assert.deepEqual(asked(gate), ['north', 'south', 'north']);
  });

  test('is eligible before its reset where no other account could take the turn, and a later usage read reported quota', async () => {
    await using here = await world(['north']);
    const { gate, clock } = here;
    gate.upstream.next('north', 'refuse 429 usage_limit_reached resets 604800');
    assert.equal((await ask(gate)).status, 429);
    await clock.advance(5 * MINUTE);
    await until('a usage read', () => (gate.quota('north').windows[0]?.stated_at === clock.now() ? true : undefined));
    assert.equal((await ask(gate)).status, 429, 'the refusal is the better word for fifteen minutes');
    await clock.advance(10 * MINUTE);
    assert.equal((await ask(gate)).status, 200);
    assert.equal(gate.account('north').cooldown, undefined);
  });

  test('stays so through a restart, with its reset', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'poolgate-quota-'));
    let { gate, clock } = await world(['north', 'south'], undefined, `sqlite:${join(folder, 'store.db')}`);
    try {
      gate.upstream.next('north', reply(headersOf('100', '300', clock.now() / 1000 + 3600)));
      await ask(gate);
      gate = await gate.restarted({ clock });
      await ask(gate);
      assert.deepEqual(asked(gate), ['north', 'south']);
      await clock.advance(HOUR);
      await ask(gate);
      assert.deepEqual(asked(gate), ['north']);
    } finally {
      await gate.close();
      rmSync(folder, { recursive: true });
    }
  });
});

describe('when every account is out of quota', () => {
  test('the turn gets the soonest reset, and reaches no account', async () => {
    await using here = await world(['north', 'south']);
    const { gate, clock } = here;
    const now = clock.now() / 1000;
    gate.upstream.next('north', 'refuse 429 usage_limit_reached resets 7200');
    gate.upstream.next('south', 'refuse 429 usage_limit_reached resets 3600');
    for (const turns of [['north', 'south'], []]) {
      const refused = await ask(gate);
      assert.deepEqual(asked(gate), turns);
      assert.equal(refused.status, 429);
      const { message, ...error } = refused.json.error;
      assert.deepEqual(error, { type: 'usage_limit_reached', code: 'usage_limit_reached', param: null, resets_at: now + 3600 });
      assert.ok(!message.includes('north'));
      assert.equal(refused.headers.get('retry-after'), null);
      assert.equal(refused.headers.get('x-should-retry'), 'false');
    }
  });

  test('[Q2] [Q3] a turn whose attempts run out before that gets the last failure, and may be sent again', async () => {
    await using here = await world(['north', 'south'], (draft) => {
      draft.pools[0].max_attempts = 1;
    });
    const { gate } = here;
    gate.upstream.next('north', 'refuse 429 usage_limit_reached resets 7200');
    const body = { model: 'model-a', input: 'hi' };
    const refused = await gate.send('/v1/responses', { body });
    assert.deepEqual([refused.status, refused.json.error.code, refused.headers.get('x-should-retry')], [429, 'rate_limit_exceeded', null]);
    assert.equal((await gate.send('/v1/responses', { body })).status, 200);
  });

  test('full windows without other evidence show it too, for each account with the latest reset of its full windows', async () => {
    await using here = await world([
      { id: 'north', quota: quota(100, 100) },
      { id: 'south', quota: quota(100) },
    ]);
    const { gate, clock } = here;
    const refused = await gate.send('/v1/responses', { body: { model: 'model-a', input: 'hi' } });
    const fiveHours = (Math.floor(clock.now() / 1000 / 18_000) + 1) * 18_000;
    assert.deepEqual([refused.status, refused.json.error.code, refused.json.error.resets_at], [429, 'usage_limit_reached', fiveHours]);
    assert.deepEqual(asked(gate), []);
  });

  test('an account with only old evidence is asked once more, for all waiting turns, and then takes them', async () => {
    await using here = await world([{ id: 'north', quota: quota(100) }]);
    const { gate, clock } = here;
    assert.equal((await ask(gate)).status, 429);
    gate.upstream.nextOn('north', USAGE, ...Array.from({ length: 3 }, () => 'refuse 500'));
    for (let round = 0; round < 3; round++) {
      const before = reads(gate, 'north');
      await clock.advance(round === 2 ? 10 * MINUTE : 5 * MINUTE);
      await until('a read', () => (reads(gate, 'north') > before ? true : undefined));
      await clock.advance(0);
    }
    await clock.advance(2 * MINUTE);
    gate.upstream.clear();
    const used = { used_percent: 20, limit_window_seconds: 18_000, reset_after_seconds: 600, reset_at: 0 };
    gate.upstream.nextOn('north', USAGE, replyJson({ rate_limit: { allowed: true, limit_reached: false, primary_window: used } }));
    const replies = await Promise.all(Array.from({ length: 5 }, () => ask(gate)));
    assert.deepEqual(
      replies.map(({ status }) => status),
      [200, 200, 200, 200, 200],
    );
    assert.equal(reads(gate, 'north'), 1);
    assert.ok(gate.count('quota_rechecks') > 0);
  });

  test('a turn that another account refused for lack of quota goes there too', async () => {
    await using here = await world(['north', { id: 'south', quota: quota(100) }]);
    const { gate, clock } = here;
    await gate.upstream.hangUp('south');
    await clock.advance(20 * MINUTE);
    await until('two reads in vain', () => (gate.count('quota_read_failures') > 1 ? true : undefined));
    await gate.upstream.pickUp('south');
    await clock.advance(2 * MINUTE);
    gate.upstream.next('north', 'refuse 429 usage_limit_reached resets 3600');
    const used = { used_percent: 20, limit_window_seconds: 18_000, reset_after_seconds: 600, reset_at: 0 };
    gate.upstream.nextOn('south', USAGE, replyJson({ rate_limit: { allowed: true, limit_reached: false, primary_window: used } }));
    assert.equal((await ask(gate)).status, 200);
    assert.deepEqual(asked(gate), ['north', 'south']);
  });

  test('an account that does not answer delays the turn by two seconds at most', async () => {
    await using here = await world([{ id: 'north', quota: quota(100) }]);
    const { gate, clock } = here;
    await gate.upstream.hangUp('north');
    await clock.advance(20 * MINUTE);
    await until('two reads in vain', () => (gate.count('quota_read_failures') > 1 ? true : undefined));
    await gate.upstream.pickUp('north');
    await clock.advance(2 * MINUTE);
    gate.upstream.nextOn('north', USAGE, 'stall before headers');
    const answering = ask(gate);
    await gate.upstream.stalled('north');
    await clock.advance(2_000);
    assert.equal((await answering).status, 429);
    assert.equal(gate.upstream.turns().length, 0);
  });
});

describe('reserve_percent', () => {
  const reserving = (draft: Draft): void => {
    draft.accounts[0].reserve_percent = 20;
  };

  test('keeps an account for its owner from 100 minus the reserve on', async () => {
    await using here = await world(['north', 'south'], reserving);
    const { gate, clock } = here;
    const reset = clock.now() / 1000 + 3600;
    gate.upstream.next('north', reply(headersOf('79.9', '300', reset)), reply(headersOf('80', '300', reset)));
    for (let turn = 0; turn < 3; turn++) await ask(gate);
    assert.deepEqual(asked(gate), ['north', 'north', 'south']);
    const [row] = [...(await gate.rows())].reverse();
    assert.equal(row?.why?.others.reserved, 1);
    await clock.advance(HOUR);
    await ask(gate);
    assert.deepEqual(asked(gate), ['north']);
  });

  test('a turn that only the reserve could serve gets the reset of that window', async () => {
    await using here = await world([{ id: 'north', quota: quota(85) }], reserving);
    const { gate, clock } = here;
    const refused = await ask(gate);
    const reset = (Math.floor(clock.now() / 1000 / 18_000) + 1) * 18_000;
    assert.deepEqual([refused.status, refused.json.error.code, refused.json.error.resets_at], [429, 'usage_limit_reached', reset]);
    assert.deepEqual(asked(gate), []);
  });
});

describe('usage reads', () => {
  test('ask every visible account every five minutes with its own credential, except those with evidence from their turns', async () => {
    await using here = await world(['north', 'south', 'hidden'], (draft) => {
      draft.accounts[2].visible = false;
    });
    const { gate, clock } = here;
    assert.deepEqual([reads(gate, 'north'), reads(gate, 'south'), reads(gate, 'hidden')], [1, 1, 0]);
    const [first] = gate.upstream.requests('north').filter(({ path }) => path === USAGE);
    assert.equal(first?.headers.authorization, 'Bearer bearer-of-north');
    await clock.advance(3 * MINUTE);
    await ask(gate);
    await clock.advance(2 * MINUTE);
    await until('the read of south', () => (reads(gate, 'south') > 1 ? true : undefined));
    assert.deepEqual([reads(gate, 'north'), reads(gate, 'south'), reads(gate, 'hidden')], [1, 2, 0]);
    assert.equal(gate.count('quota_reads'), 3);
  });
});

describe('[EV3] an account’s statements of its quota', () => {
  const chatty = (): RehearsalAccount => ({ id: 'north', profile: PROFILES.chatty, quota: quota(12.5) });
  const QUOTA_HEADER = /^x-agent-(?:primary|secondary|plan|active-limit|credits|preview)/;
  const quotaHeaders = ({ headers }: Reply): readonly string[] => [...headers.keys()].filter((name) => QUOTA_HEADER.test(name));
  const types = ({ text }: Reply): readonly string[] => eventsOf(text).map(({ data }) => data.type);

  test('are relayed as sent on native routes', async () => {
    await using here = await world([chatty()]);
    const streamed = await ask(here.gate);
    // The headers are those of two windows and of the limit of one model with four each, the relation of the windows, the plan, the limit
    // in use, and credits (RB24).
    assert.equal(quotaHeaders(streamed).length, 18);
    assert.equal(streamed.headers.get('x-agent-primary-used-percent'), '12.5');
    const event = eventsOf(streamed.text).find(({ data }) => data.type === 'agent.rate_limits');
    assert.equal(event?.data.rate_limits.primary.used_percent, 12.5);
    assert.equal(event?.data.plan_type, 'plus');
  });

  test('are stripped from native routes of a Pool with hide_account_quota, and nothing else is', async () => {
    await using here = await world([chatty()], (draft) => {
      draft.pools[0].hide_account_quota = true;
    });
    const { gate } = here;
    const streamed = await ask(gate);
    assert.deepEqual(quotaHeaders(streamed), []);
    assert.match(streamed.headers.get('x-agent-turn-state') ?? '', /^ts_/);
    assert.deepEqual(types(streamed).slice(0, 4), ['keepalive', 'agent.response.metadata', 'response.metadata', 'response.created']);
    assert.deepEqual(quotaHeaders(await gate.send(NATIVE, { body: turnBody('hi', { stream: false }) })), []);
    gate.upstream.next('north', 'refuse 400');
    assert.deepEqual(quotaHeaders(await ask(gate)), []);
    // The quota is hidden from clients, but the gateway still reads it.
    assert.equal(gate.quota('north').windows[0]?.used_percent, 12.5);
  });

  test('inside metadata events are stripped too, and the rest of their headers stays', async () => {
    await using here = await world(['north'], (draft) => {
      draft.pools[0].hide_account_quota = true;
    });
    const { gate } = here;
    const headers = { 'X-Agent-Primary-Used-Percent': '5', 'x-agent-other-primary-used-percent': '6', 'openai-model': 'm' };
    gate.upstream.next(
      'north',
      reply(
        { 'x-agent-plan-type': 'pro', 'x-agent-credits-balance': '5', 'x-agent-other-limit-name': 'other', 'x-agent-turn-state': 'ts_1' },
        { type: 'agent.response.metadata', headers },
        { type: 'response.metadata', headers: { 'x-agent-turn-state': 'ts_2' } },
      ),
    );
    const streamed = await ask(gate);
    assert.deepEqual(
      [...streamed.headers.keys()].filter((name) => name.startsWith('x-agent-')),
      ['x-agent-turn-state'],
    );
    const events = eventsOf(streamed.text);
    assert.deepEqual(events[0]?.data, { type: 'agent.response.metadata', headers: { 'openai-model': 'm' } });
    assert.deepEqual(events[1]?.data.headers, { 'x-agent-turn-state': 'ts_2' });
  });

  test('never reach the public surface', async () => {
    await using here = await world([chatty()]);
    const streamed = await here.gate.send('/v1/responses', { body: { model: 'model-a', input: 'hi', stream: true } });
    const collected = await here.gate.send('/v1/responses', { body: { model: 'model-a', input: 'hi' } });
    for (const one of [streamed, collected]) {
      assert.deepEqual(quotaHeaders(one), []);
      assert.ok(!one.text.includes('rate_limits'));
    }
  });

  test('never reach it inside metadata events either, and neither do other headers of the account', async () => {
    await using here = await world(['north']);
    const kept = { 'openai-model': 'm', 'x-agent-turn-state': 'ts_1' };
    const all = { ...kept, 'X-Agent-Primary-Used-Percent': '5', 'x-agent-plan-type': 'pro', 'x-request-id': 'theirs', 'set-cookie': 'a=b' };
    const metadata = (headers: JsonObject): JsonObject => ({ type: 'response.metadata', headers });
    const events = [metadata(all), metadata({ 'x-agent-primary-used-percent': '5' }), metadata(kept)];
    const native = { 'x-agent-window-id': 'window:0' };
    const exposed = { ...kept, 'openai-model': 'model-a' };
    for (const [headers, expected] of [
      [{}, []],
      [native, [exposed, exposed]],
    ] as const) {
      here.gate.upstream.next('north', reply({}, ...events));
      const { text } = await here.gate.send('/v1/responses', { headers, body: { model: 'model-a', input: 'hi', stream: true } });
      assert.ok(text.includes('response.completed') && !text.includes('response.metadata'), 'over HTTP no client reads them');
      here.gate.upstream.next('north', reply({}, ...events));
      using socket = await connect(here.gate, '/v1/responses', { headers });
      const frames = await socket.turn({ model: 'model-a', input: 'hi' });
      const shown = frames.filter(({ type }) => type === 'response.metadata').map((frame) => frame.headers);
      assert.deepEqual(shown, expected, 'only native clients on a websocket do');
    }
  });
});
