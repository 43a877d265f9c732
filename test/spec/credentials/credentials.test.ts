// Credentials over the wire: OAuth accounts whose tokens expire, rotate and are revoked while turns run (Q9, Q5, Q6).
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { systemClock } from '../../../proxy/base/time/clock.ts';
import { ShiftedClock } from '../../support/clocks/shifted-clock.ts';
import { type Reply, startGateway, type TestGateway } from '../../support/gateway.ts';
import { frameOf, NATIVE_SOCKET, responseId, typesOf } from '../../support/native-frames.ts';
import { until } from '../../support/until.ts';
import { connect } from '../../support/websocket.ts';

const TOKENS = '/oauth/token';
const first = {
  access_token: 'at-from-the-file',
  refresh_token: 'rt-from-the-file',
  account_id: 'acct-from-the-file',
  id_token: 'it-file',
};

let gate: TestGateway;
let folder: string;
let clock: ShiftedClock;
let secrets: Set<string>;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'poolgate-credentials-'));
  await login(first);
  clock = new ShiftedClock();
  gate = await startGateway({
    clock,
    store: `sqlite:${folder}/poolgate.db`,
    upstream: {
      accounts: [
        { id: 'north', oauth: { refresh_token: first.refresh_token, access_token: first.access_token, expires_in: 3600 } },
        'south',
      ],
      clock: { now: () => clock.now(), wallTime: () => clock.now(), after: systemClock.after },
    },
    config: (draft) => {
      const [north] = draft.accounts;
      draft.store_key = { file: `${folder}/store.key` };
      north.credential = { oauth: { file: `${folder}/north.json`, token_url: `${north.base_url}${TOKENS}`, client_id: 'client-1' } };
      north.headers = { 'x-account-id': 'north-1' };
    },
  });
  gate.upstream.clear();
  secrets = new Set(Object.values(first));
});

/** No test may show, log or store a token in plain text. */
afterEach(async () => {
  for (const { headers } of gate.upstream.requests('north')) secrets.add(headers.authorization?.replace('Bearer ', '') ?? '');
  secrets.delete('');
  await gate.close();
  const files = (await readdir(folder)).filter((name) => name.startsWith('poolgate'));
  const stored = (await Promise.all(files.map((name) => readFile(join(folder, name), 'latin1')))).join('');
  for (const secret of secrets) {
    assert(!stored.includes(secret), `${secret} is on disk`);
    assert(!gate.logged.join('').includes(secret), `${secret} is in the log`);
  }
  await rm(folder, { recursive: true, force: true });
});

const login = (tokens: object): Promise<void> => writeFile(join(folder, 'north.json'), JSON.stringify({ tokens }));
const turn = (): Promise<Reply> => gate.send('/v1/responses', { body: { model: 'model-a', input: 'hello', stream: true } });
const refreshes = (): number => gate.upstream.requests('north').filter(({ path }) => path === TOKENS).length;
const went = (): readonly string[] => gate.upstream.turns().map(({ account }) => account);
const statusOf = (account: string) => gate.account(account).status;

/** Logs in like an operator: the file is written, and the gateway reads it. */
async function loginAnew(refresh: string): Promise<void> {
  gate.upstream.loginOf('north').renew(refresh);
  await login({ refresh_token: refresh });
  secrets.add(refresh);
  await gate.refresh();
}

describe('an OAuth account', () => {
  test('gets requests with its access token and its own headers, and nothing else of its file', async () => {
    await turn();
    const [arrived] = gate.upstream.turns('north');
    assert.equal(arrived?.headers.authorization, `Bearer ${first.access_token}`);
    assert.equal(arrived?.headers['x-account-id'], 'north-1');
    assert(!JSON.stringify([arrived?.rawHeaders, arrived?.json]).includes('acct-from-the-file'));
  });

  test('whose token was refused gets the request again with a new one, and the client sees one complete answer', async () => {
    gate.upstream.loginOf('north').expire();
    const { status, text } = await turn();
    assert.equal(status, 200);
    assert.match(text, /response\.completed/);
    assert.deepEqual([went(), refreshes()], [['north', 'north'], 1]);
    const [row] = await gate.rows();
    const attempts = await gate.attempts(row?.id ?? '');
    assert.deepEqual(
      attempts.map(({ account, cause, status }) => [account, cause, status]),
      [
        ['NORTH', 'first', 401],
        ['NORTH', 'resend', 200],
      ],
    );
    assert.equal(statusOf('north'), 'active');
  });

  test('refreshes once for twenty turns at once', async () => {
    gate.upstream.loginOf('north').expire();
    const statuses = await Promise.all(Array.from({ length: 20 }, async () => (await turn()).status));
    assert.deepEqual(new Set(statuses), new Set([200]));
    assert.equal(refreshes(), 1);
    assert.equal(gate.upstream.turns('south').length, 0, 'no turn had to go elsewhere');
  });

  test('is refreshed before its token expires, and no turn waits for the refresh', async () => {
    gate.upstream.loginOf('north').expire();
    await turn();
    clock.setAhead(56 * 60_000);
    const before = gate.upstream.turns('north').at(-1)?.headers.authorization;
    await turn();
    assert.equal(gate.upstream.turns('north').at(-1)?.headers.authorization, before);
    await until('the refresh', () => refreshes() === 2 || undefined);
    await until('the new token', async () => {
      await turn();
      return gate.upstream.turns('north').at(-1)?.headers.authorization !== before || undefined;
    });
    assert(went().every((account) => account === 'north'));
    const rows = await gate.rows();
    assert(rows.slice(1).every(({ retries }) => retries === 0));
  });

  test('that must log in again gets no turns until it has logged in', async () => {
    gate.upstream.loginOf('north').revoke();
    assert.equal((await turn()).status, 200);
    assert.deepEqual([went(), refreshes(), statusOf('north')], [['north', 'south'], 1, 'reauth_required']);
    await turn();
    assert.deepEqual([went().slice(2), refreshes()], [['south'], 1]);

    gate = await gate.restarted({ clock });
    await turn();
    assert.deepEqual([went().slice(3), statusOf('north')], [['south'], 'reauth_required'], 'a restart changes nothing');

    await loginAnew('rt-anew');
    assert.equal(statusOf('north'), 'active');
    await turn();
    assert.equal(went().at(-1), 'north');
    const [audit] = await gate.audit('credential.import');
    assert.deepEqual([audit?.target, audit?.actor], ['north', 'file']);
  });

  test('whose operator logged in while the gateway was down is active again', async () => {
    gate.upstream.loginOf('north').revoke();
    await turn();
    assert.equal(statusOf('north'), 'reauth_required');
    gate.upstream.loginOf('north').renew('rt-anew');
    secrets.add('rt-anew');
    await login({ refresh_token: 'rt-anew' });
    gate = await gate.restarted({ clock });
    assert.equal(statusOf('north'), 'active');
    await turn();
    assert.equal(went().at(-1), 'north');
  });

  test('that refuses its renewed token must log in again, unless its operator has stored another login', async () => {
    gate.upstream.loginOf('north').expire();
    gate.upstream.nextOn('north', TOKENS, {
      kind: 'reply',
      status: 200,
      body: { json: { access_token: 'of-no-use', refresh_token: 'rt-2' } },
    });
    await login({ refresh_token: 'rt-anew' });
    secrets.add('rt-anew').add('rt-2');
    assert.equal((await turn()).status, 200);
    assert.deepEqual([went(), statusOf('north')], [['north', 'north', 'south'], 'active']);
    gate.upstream.loginOf('north').renew('rt-anew');
    await turn();
    assert.deepEqual(went().slice(3), ['north']);

    gate.upstream.loginOf('north').expire();
    gate.upstream.nextOn('north', TOKENS, {
      kind: 'reply',
      status: 200,
      body: { json: { access_token: 'of-no-use-2', refresh_token: 'rt-3' } },
    });
    await turn();
    assert.deepEqual([went().slice(4), statusOf('north')], [['north', 'north', 'south'], 'reauth_required']);
  });

  test('whose operator has stored another login never becomes reauth_required', async () => {
    gate.upstream.loginOf('north').renew('rt-anew');
    await login({ refresh_token: 'rt-anew' });
    assert.equal((await turn()).status, 200);
    assert.deepEqual([went(), statusOf('north')], [['north', 'north'], 'active']);
  });

  test('whose token endpoint fails is skipped for a while, and need not log in again', async () => {
    gate.upstream.loginOf('north').expire();
    gate.upstream.nextOn('north', TOKENS, 'refuse 503');
    assert.equal((await turn()).status, 200);
    assert.deepEqual(went(), ['north', 'south']);
    assert.notEqual(statusOf('north'), 'reauth_required');
    gate.heal();
    clock.setAhead(11_000);
    await turn();
    assert.deepEqual([went().slice(2), refreshes()], [['north', 'north'], 2]);
  });

  test('[S2] whose tokens cannot be renewed gets nothing, and the turn has an attempt and no usage', async () => {
    await gate.reconfigure((draft) => {
      draft.pools[0].assignments = [{ account: 'north' }];
    });
    gate.upstream.nextOn('north', TOKENS, ...Array<string>(5).fill('refuse 503'));
    // The new login has no access token yet.
    await loginAnew('a-new-login');
    const refused = await turn();
    assert.equal(refused.status, 502);
    const row = await gate.row(refused);
    assert.deepEqual([row?.account, (await gate.attempts(row?.id ?? '')).length], ['NORTH', 1]);
    assert.deepEqual([went(), await gate.usageRows()], [[], []]);
    assert.equal((await gate.send('/v1/usage')).json.request_count, 0);
  });

  test('keeps its refreshed tokens through a restart', async () => {
    gate.upstream.loginOf('north').expire();
    await turn();
    gate = await gate.restarted({ clock });
    assert.equal((await turn()).status, 200);
    assert.deepEqual([went(), refreshes()], [['north', 'north', 'north'], 1]);
  });

  test('whose store key was lost sends no spent token; it is active again with the key, or after another login', async () => {
    gate.upstream.loginOf('north').expire();
    await turn();
    const key = await readFile(join(folder, 'store.key'));
    await rm(join(folder, 'store.key'));
    gate = await gate.restarted({ clock });
    assert.equal(statusOf('north'), 'reauth_required');
    assert.match(gate.logged.join(''), /"level":"error","event":"store_key_differs","account":"north"/);
    await gate.refresh();
    const relogin = await fetch(`${gate.adminUrl}/api/accounts/north/relogin`, {
      method: 'POST',
      headers: { 'x-poolgate-command': '1' },
    });
    const { error } = (await relogin.json()) as { error: string };
    assert.deepEqual([relogin.status, /older than the stored login/.test(error)], [409, true], error);
    assert.equal((await turn()).status, 200);
    assert.deepEqual([went().slice(2), refreshes()], [['south'], 1]);

    await writeFile(join(folder, 'store.key'), key);
    gate = await gate.restarted({ clock });
    assert.equal(statusOf('north'), 'active', 'the stored login was kept, and no command is needed');
    await turn();
    assert.deepEqual([went().slice(3), refreshes()], [['north'], 1]);

    await rm(join(folder, 'store.key'));
    gate = await gate.restarted({ clock });
    await loginAnew('rt-anew');
    await turn();
    assert.deepEqual([went().slice(4), refreshes(), statusOf('north')], [['north'], 2, 'active']);
    assert.deepEqual(
      gate.upstream
        .requests('north')
        .flatMap(({ path, json }) => (path === TOKENS ? [(json as { refresh_token: string }).refresh_token] : [])),
      [first.refresh_token, 'rt-anew'],
    );
  });

  test('whose token expired between turns is refreshed before the next turn', async () => {
    gate.upstream.loginOf('north').expire();
    await turn();
    clock.setAhead(2 * 3_600_000);
    assert.equal((await turn()).status, 200);
    assert.deepEqual([went().slice(2), refreshes()], [['north'], 2]);
  });

  test('is asked for its catalog under a fresh token too', async () => {
    gate.upstream.loginOf('north').expire();
    await gate.reconfigure(() => undefined);
    assert.equal(refreshes(), 1);
    assert.deepEqual(went(), []);
    assert.equal((await turn()).status, 200);
    assert.deepEqual([went(), refreshes()], [['north'], 1]);
  });

  test('that is the only one does not reveal to the client whose credential failed', async () => {
    await gate.reconfigure((draft) => {
      draft.pools[0].assignments = [{ account: 'north' }];
    });
    gate.upstream.loginOf('north').revoke();
    const { status, json, text } = await turn();
    assert.deepEqual([status, json.error.code], [502, 'upstream_error']);
    assert(!/refresh|token|login|401/i.test(text), text);
    const next = await turn();
    assert.deepEqual([next.status, next.json.error.code], [503, 'no_eligible_account']);
  });

  test('on a pass-through row gets the request again with a new token', async () => {
    gate.upstream.loginOf('north').expire();
    await gate.send('/backend-api/meter/agent-identities/jwks');
    const asked = gate.upstream.requests('north').filter(({ path }) => path.endsWith('/jwks'));
    assert.equal(asked.length, 2);
    assert.equal(refreshes(), 1);
  });
});

test('a credential that a live websocket refuses is renewed, and the turn is sent over a new websocket', async () => {
  using socket = await connect(gate, NATIVE_SOCKET);
  await socket.turn(frameOf('one'));
  gate.upstream.next('north', 'refuse 401');
  const frames = await socket.turn(frameOf('two'));
  assert.equal(typesOf(frames).at(-1), 'response.completed');
  const turns = gate.upstream.turns('north');
  assert.deepEqual(
    turns.map(({ connection }) => connection === turns[0]?.connection),
    [true, true, false],
  );
  assert.notEqual(turns[2]?.headers.authorization, turns[0]?.headers.authorization);
  gate.upstream.next('north', 'refuse 401');
  const anchored = await socket.turn(frameOf('three', { previous_response_id: responseId(frames) }));
  assert.equal((anchored.at(-1)?.error as { code?: string } | undefined)?.code, 'previous_response_not_found');
  assert.equal(gate.account('north').status, 'active');
});
