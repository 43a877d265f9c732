// Logins at accounts that behave like real agent backends: how they refuse bearers and refresh tokens, and how the gateway reacts (RB5,
// RB6).
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../../../proxy/base/time/clock.ts';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { ShiftedClock } from '../../support/clocks/shifted-clock.ts';
import { type Reply, startGateway, type TestGateway } from '../../support/gateway.ts';
import { frameOf, NATIVE_SOCKET, PUBLIC_SOCKET, typesOf } from '../../support/native-frames.ts';
import { turnOn } from '../../support/turns/turn-paths.ts';
import { until } from '../../support/until.ts';
import { connect } from '../../support/websocket.ts';

const TOKENS = '/oauth/token';
const ACCESS = 'at-from-the-file';
const REFRESH = 'rt-from-the-file';

interface Stage {
  readonly gate: TestGateway;
  readonly clock: ShiftedClock;
  readonly turn: (path?: string) => Promise<Reply>;
  readonly asked: () => readonly string[];
  /** The refresh tokens that the endpoint got. */
  readonly refreshes: () => readonly string[];
  readonly login: (refresh: string) => Promise<void>;
}

/** A Pool of north, which logs in by OAuth, and south. */
async function stage(context: TestContext): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'poolgate-logins-'));
  const write = (tokens: object): Promise<void> => writeFile(join(folder, 'north.json'), JSON.stringify({ tokens }));
  await write({ access_token: ACCESS, refresh_token: REFRESH });
  const clock = new ShiftedClock();
  const gate = await startGateway({
    clock,
    store: `sqlite:${folder}/p.db`,
    upstream: {
      clock: { now: () => clock.now(), wallTime: () => clock.now(), after: systemClock.after },
      accounts: [{ id: 'north', oauth: { refresh_token: REFRESH, access_token: ACCESS, expires_in: 86_400 } }, 'south'],
    },
    config: (draft) => {
      const [north] = draft.accounts;
      draft.store_key = { file: `${folder}/store.key` };
      north.credential = { oauth: { file: `${folder}/north.json`, token_url: `${north.base_url}${TOKENS}`, client_id: 'c' } };
    },
  });
  context.after(async () => {
    await gate.close();
    await rm(folder, { recursive: true });
  });
  gate.upstream.clear();
  const login = async (refresh: string): Promise<void> => {
    gate.upstream.loginOf('north').renew(refresh);
    await write({ refresh_token: refresh });
    await gate.refresh();
  };
  return {
    gate,
    clock,
    turn: (path = PUBLIC_SOCKET) => gate.send(path, { body: turnOn(path, 'hi', { stream: true }) }),
    asked: () => gate.upstream.turns().map(({ account }) => account),
    refreshes: () =>
      gate.upstream.requests('north').flatMap(({ path, json }) => (path === TOKENS ? [String((json as JsonObject).refresh_token)] : [])),
    login,
  };
}

const CODES = ['token_expired', 'token_invalidated', 'token_revoked'] as const;

const refusal = (code: string) => ({
  kind: 'reply' as const,
  status: 401,
  headers: { 'x-openai-authorization-error': code },
  body: { json: { error: { message: 'Please try signing in again.', type: 'invalid_request_error', code, param: null }, status: 401 } },
});

for (const code of CODES) {
  test(`[RB5] a bearer that is refused with ${code} is renewed once; refused again, the account is out until a login`, async (context) => {
    const { gate, turn, asked, refreshes, login } = await stage(context);
    gate.upstream.next('north', refusal(code));
    const renewed = await turn(NATIVE_SOCKET);
    assert.equal(renewed.status, 200);
    assert.deepEqual([asked(), refreshes(), gate.account('north').status], [['north', 'north'], [REFRESH], 'active']);

    gate.upstream.clear();
    gate.upstream.next('north', refusal(code), refusal(code));
    const moved = await turn(NATIVE_SOCKET);
    assert.deepEqual([moved.status, asked(), refreshes().length], [200, ['north', 'north', 'south'], 1]);
    for (const { text, headers } of [renewed, moved]) {
      assert.ok(!text.includes(code) && !headers.has('x-openai-authorization-error'), text);
    }
    assert.equal(gate.account('north').status, 'reauth_required');
    const row = await gate.row(moved);
    const attempts = await gate.attempts(row?.id ?? '');
    assert.deepEqual(
      attempts.map(({ account, cause, status }) => [account, cause, status]),
      [
        ['NORTH', 'first', 401],
        ['NORTH', 'resend', 401],
        ['SOUTH', 'credential', 200],
      ],
    );

    await turn();
    assert.deepEqual([asked().slice(3), refreshes().length], [['south'], 1]);
    await login('rt-anew');
    await turn();
    assert.deepEqual([asked().at(-1), gate.account('north').status], ['north', 'active']);
  });
}

const CLOSED = { kind: 'reply', status: 402, headers: {}, body: { json: { detail: { code: 'deactivated_workspace' } } } } as const;

for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
  test(`[RB5] a closed workspace takes the account out until a login, without a refresh (${path})`, async (context) => {
    const { gate, clock, turn, asked, refreshes, login } = await stage(context);
    gate.upstream.next('north', CLOSED);
    const { status, text } = await turn(path);
    assert.ok(status === 200 && !text.includes('deactivated'), text);
    assert.deepEqual([asked(), refreshes(), gate.account('north').status], [['north', 'south'], [], 'reauth_required']);
    const [row] = await gate.rows();
    const [first] = await gate.attempts(row?.id ?? '');
    assert.deepEqual([first?.status, first?.error_class], [402, 'upstream_status']);
    // No wait ends this state.
    clock.setAhead(20 * 3_600_000);
    await turn(path);
    assert.deepEqual(asked().slice(2), ['south']);
    await login('rt-anew');
    await turn(path);
    assert.equal(asked().at(-1), 'north');
  });
}

test('[RB5] a closed workspace on a live websocket takes the account out, and the next frame goes to another one', async (context) => {
  const { gate, asked } = await stage(context);
  using socket = await connect(gate, NATIVE_SOCKET);
  await socket.turn(frameOf('one'));
  const error = { type: 'invalid_request_error', code: 'deactivated_workspace', message: 'The workspace was closed.' };
  gate.upstream.next('north', { kind: 'reply', status: 402, headers: {}, body: { json: { error } } });
  const frames = await socket.turn(frameOf('two'));
  assert.equal(typesOf(frames).at(-1), 'response.completed');
  assert.deepEqual([asked(), gate.account('north').status], [['north', 'north', 'south'], 'reauth_required']);
});

test('[RB5] an unpaid account without a closed workspace cools, and needs no login', async (context) => {
  const { gate, turn, asked } = await stage(context);
  gate.upstream.next('north', 'refuse 402');
  await turn();
  assert.deepEqual([asked(), gate.account('north').status], [['north', 'south'], 'failing']);
});

test('[RB5] the simulated account refuses bearers in the backend’s words', async (context) => {
  const { gate } = await stage(context);
  const ask = async () => {
    const answer = await fetch(`${gate.upstream.urlOf('north')}/backend-api/meter/usage`, {
      headers: { authorization: `Bearer ${ACCESS}` },
    });
    const { error, status } = (await answer.json()) as { error: { code: string }; status: number };
    return [answer.status, error.code, status, answer.headers.get('x-openai-authorization-error')];
  };
  const login = gate.upstream.loginOf('north');
  login.expire();
  assert.deepEqual(await ask(), [401, 'token_expired', 401, 'token_expired']);
  login.revoke();
  assert.deepEqual(await ask(), [401, 'token_revoked', 401, 'token_revoked']);
});

for (const [name, json] of [
  ['refresh_token_reused', { error: { message: 'Used.', type: 'invalid_request_error', param: null, code: 'refresh_token_reused' } }],
  ['refresh_token_expired', { error: { message: 'Old.', type: 'invalid_request_error', param: null, code: 'refresh_token_expired' } }],
  [
    'refresh_token_invalidated',
    { error: { message: 'Gone.', type: 'invalid_request_error', param: null, code: 'refresh_token_invalidated' } },
  ],
  [
    'token_expired',
    { error: { message: 'Could not validate your token.', type: 'invalid_request_error', param: null, code: 'token_expired' } },
  ],
  ['a code that is not known', { error: { message: 'No.', code: 'something_new' } }],
  ['no code', { detail: 'No.' }],
] as const) {
  test(`[RB6] a 401 of the token endpoint is final: ${name}`, async (context) => {
    const { gate, clock, turn, asked, refreshes } = await stage(context);
    gate.upstream.loginOf('north').expire();
    gate.upstream.nextOn('north', TOKENS, { kind: 'reply', status: 401, headers: {}, body: { json } });
    assert.equal((await turn()).status, 200);
    assert.deepEqual([asked(), gate.account('north').status], [['north', 'south'], 'reauth_required']);
    clock.setAhead(3_600_000);
    await turn();
    assert.deepEqual([asked().slice(2), refreshes()], [['south'], [REFRESH]]);
  });
}

test('[RB6] invalid_grant with 400 is final, and any other 400 is tried again after a pause', async (context) => {
  const { gate, clock, turn, refreshes } = await stage(context);
  gate.upstream.loginOf('north').expire();
  const answer = (error: string) => ({ kind: 'reply' as const, status: 400, headers: {}, body: { json: { error } } });
  gate.upstream.nextOn('north', TOKENS, answer('invalid_client'), answer('invalid_grant'));
  await turn();
  assert.equal(gate.account('north').status, 'failing');
  clock.setAhead(11_000);
  await turn();
  assert.deepEqual([gate.account('north').status, refreshes()], ['reauth_required', [REFRESH, REFRESH]]);
});

test('[RB6] the refresh token of each answer replaces the former one, and no token is sent twice', async (context) => {
  const { gate, clock, turn, refreshes } = await stage(context);
  gate.upstream.loginOf('north').expire();
  await turn();
  for (let day = 1; day <= 3; day++) {
    clock.setAhead(day * 2 * 86_400_000);
    assert.equal((await turn()).status, 200);
  }
  assert.deepEqual([refreshes().length, new Set(refreshes()).size, refreshes()[0]], [4, 4, REFRESH]);
  assert.equal(gate.account('north').status, 'active');
});

test('[RB6] an answer with a refresh token alone replaces the former one, which is not sent again', async (context) => {
  const { gate, clock, turn, asked, refreshes } = await stage(context);
  gate.upstream.loginOf('north').expire();
  const rotated = { kind: 'reply' as const, status: 200, headers: {}, body: { json: { refresh_token: 'rt-alone' } } };
  gate.upstream.nextOn('north', TOKENS, rotated);
  assert.equal((await turn()).status, 200);
  assert.deepEqual([asked(), refreshes(), gate.account('north').status], [['north', 'south'], [REFRESH], 'failing']);
  clock.setAhead(11_000);
  await turn();
  assert.deepEqual(refreshes(), [REFRESH, 'rt-alone']);
});

test('[RB6] a refresh whose answer was lost is not repeated before the pause; the provider then ends the whole login', async (context) => {
  const { gate, clock, turn, asked, refreshes, login } = await stage(context);
  gate.upstream.loginOf('north').expire();
  gate.upstream.nextOn('north', TOKENS, 'cut after headers');
  assert.equal((await turn()).status, 200);
  assert.deepEqual([asked(), refreshes(), gate.account('north').status], [['north', 'south'], [REFRESH], 'failing']);
  await turn();
  assert.deepEqual([asked().slice(2), refreshes()], [['south'], [REFRESH]]);

  // The only token that any process has was used, so the repeated refresh counts as a reuse.
  clock.setAhead(11_000);
  assert.equal((await turn()).status, 200);
  assert.deepEqual([refreshes(), gate.upstream.loginOf('north').ended], [[REFRESH, REFRESH], 'token_invalidated']);
  const { status } = await until('the need for a login', () => {
    const account = gate.account('north');
    return account.status === 'reauth_required' ? account : undefined;
  });
  assert.equal(status, 'reauth_required');
  await login('rt-anew');
  await turn();
  assert.equal(asked().at(-1), 'north');
});
