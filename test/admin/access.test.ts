// Who may use the admin listener: on loopback everyone, elsewhere operators, within their rights.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { inspect } from '../../proxy/config/loading/load.ts';
import { poolgate } from '../cli/run.ts';
import { fileAt, folderFor, HASH, SMALL } from '../config/files.ts';
import { ManualClock } from '../support/clocks/manual-clock.ts';
import { type Draft, startGateway, type TestGateway } from '../support/gateway.ts';
import { operatorRow, tokenOf } from '../support/mcp.ts';
import { turnBody } from '../support/rehearsal-replies.ts';

const HOUR = 3_600_000;

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: assertions look where they expect something
  readonly json: any;
  readonly cookie: string | undefined;
}

async function ask(gate: TestGateway, name: string, headers: Record<string, string> = {}): Promise<Answer> {
  const [method = '', path = ''] = name.split(' ');
  const response = await fetch(gate.adminUrl + path, { method, headers: { 'x-poolgate-command': '1', ...headers } });
  const text = await response.text();
  return {
    status: response.status,
    json: response.headers.get('content-type') === 'application/json' ? JSON.parse(text) : text,
    cookie: response.headers.getSetCookie()[0],
  };
}

const bearer = (operator: string): Record<string, string> => ({ authorization: `Bearer ${tokenOf(operator)}` });

/** Two Pools: `north` serves both, `south` only the first. */
function beyondLoopback(draft: Draft): void {
  draft.admin.host = '0.0.0.0';
  draft.pools.push({ id: 'lab', label: 'Lab', assignments: [{ account: 'north' }] });
  draft.keys.push({ id: 'bench', pool: 'lab', secret_sha256: [HASH] });
  draft.operators = [operatorRow('ops', ['team']), operatorRow('both', ['team', 'lab']), { ...operatorRow('root', []), admin: true }];
}

test('outside loopback everything but health needs an operator', async () => {
  await using gate = await startGateway({ config: beyondLoopback });
  for (const name of ['GET /healthz', 'GET /readyz']) assert.equal((await ask(gate, name)).status, 200, name);
  const all = [
    'GET /metrics',
    'GET /api/session',
    'GET /api/status',
    'GET /api/requests',
    'POST /api/reload',
    'GET /api/events',
    'GET /nothing',
  ];
  for (const name of all) {
    for (const headers of [{}, { authorization: 'Bearer pg-mcp-unknown' }, { cookie: 'poolgate_session=v1.a.b' }]) {
      const { status, json } = await ask(gate, name, headers as Record<string, string>);
      assert.equal(status, 401, name);
      assert.match(json.error, /^a sign-in is required/);
    }
  }
});

test('an operator sees and changes what is theirs, and `admin: true` sees and changes everything', async () => {
  await using gate = await startGateway({ config: beyondLoopback });
  await gate.send('/backend-api/agent/responses', { body: turnBody('hello') });
  await gate.send('/v1/models', { headers: { authorization: 'Bearer test' } });
  await gate.send('/v1/models', { headers: { authorization: 'Bearer wrong' } });
  const rowsOf = async (operator: string): Promise<readonly unknown[]> =>
    (await ask(gate, 'GET /api/requests', bearer(operator))).json.rows.map(({ key_id }: { key_id: unknown }) => key_id);
  assert.deepEqual(await rowsOf('ops'), ['ci']);
  assert.deepEqual(await rowsOf('both'), ['bench', 'ci']);
  assert.deepEqual(await rowsOf('root'), [null, 'bench', 'ci']);

  const session = async (operator: string) => (await ask(gate, 'GET /api/session', bearer(operator))).json;
  const { edits, ...rights } = await session('ops');
  assert.deepEqual(rights, { operator: 'ops', whole: false, pools: ['team'], owns: ['team'], accounts: ['south'] });
  assert.match(edits.off, /it does not exist \(ENOENT\)$/);
  assert.deepEqual((await session('both')).accounts, ['north', 'south']);
  assert.deepEqual((await session('root')).whole, true);

  const [turn] = (await ask(gate, 'GET /api/requests?key=ci', bearer('root'))).json.rows;
  assert.equal((await ask(gate, `GET /api/requests/${turn.id}`, bearer('ops'))).json.attempts.length, 1);
  const [other] = (await ask(gate, 'GET /api/requests?key=bench', bearer('root'))).json.rows;
  assert.equal((await ask(gate, `GET /api/requests/${other.id}`, bearer('ops'))).status, 404);

  const restore = async (operator: string, account: string): Promise<number> =>
    (await ask(gate, `POST /api/accounts/${account}/restore`, bearer(operator))).status;
  assert.equal(await restore('ops', 'south'), 200);
  assert.equal(await restore('ops', 'north'), 403, 'another Pool has it too');
  assert.equal(await restore('ops', 'west'), 404);
  assert.equal(await restore('both', 'north'), 200);
  assert.equal(await restore('root', 'north'), 200);
  for (const name of ['GET /api/status', 'GET /api/explain?method=GET&path=/v1/models', 'GET /metrics']) {
    assert.equal((await ask(gate, name, bearer('ops'))).status, 403, name);
    assert.equal((await ask(gate, name, bearer('root'))).status, 200, name);
  }
  assert.equal((await ask(gate, 'POST /api/reload', bearer('both'))).status, 403);
});

test('a token is exchanged for a cookie that ends when it is idle, in any case after three days, and with its token', async () => {
  const clock = new ManualClock();
  await using gate = await startGateway({ clock, upstream: { clock }, config: beyondLoopback });
  assert.equal((await ask(gate, 'POST /api/session', { authorization: 'Bearer wrong' })).cookie, undefined);
  const { status, cookie = '' } = await ask(gate, 'POST /api/session', bearer('ops'));
  assert.equal(status, 200);
  assert.match(cookie, /^poolgate_session=[\w.-]+; Path=\/; Max-Age=28800; HttpOnly; SameSite=Strict$/);
  assert.ok(!cookie.includes(tokenOf('ops')));
  const secure = await ask(gate, 'POST /api/session', { ...bearer('ops'), 'x-forwarded-proto': 'https' });
  assert.match(secure.cookie ?? '', /; Secure$/);

  const pair = (text: string): Record<string, string> => ({ cookie: text.split(';')[0] ?? '' });
  let current = pair(cookie);
  const first = await ask(gate, 'GET /api/session', current);
  assert.deepEqual([first.json.operator, first.cookie], ['ops', undefined]);
  const forged = { cookie: `${current.cookie?.slice(0, -2)}${current.cookie?.endsWith('AA') ? 'BB' : 'AA'}` };
  assert.equal((await ask(gate, 'GET /api/session', forged)).status, 401);
  // These are nine requests, each within the idle time after the one before.
  for (let hours = 7; hours <= 63; hours += 7) {
    clock.skip(7 * HOUR);
    const { cookie: renewed } = await ask(gate, 'GET /api/session', current);
    assert.ok(renewed, `${hours} h`);
    current = pair(renewed);
  }
  clock.skip(7 * HOUR);
  const last = await ask(gate, 'GET /api/session', current);
  assert.match(last.cookie ?? '', /Max-Age=7200;/);
  clock.skip(3 * HOUR);
  assert.equal((await ask(gate, 'GET /api/session', pair(last.cookie ?? ''))).status, 401, 'three days after the sign-in');

  const again = pair((await ask(gate, 'POST /api/session', bearer('ops'))).cookie ?? '');
  clock.skip(8 * HOUR);
  assert.equal((await ask(gate, 'GET /api/session', again)).status, 401, 'idle');
  const revoked = pair((await ask(gate, 'POST /api/session', bearer('ops'))).cookie ?? '');
  await gate.reconfigure((draft) => {
    draft.operators[0].token_sha256 = ['ab'.repeat(32)];
  });
  assert.equal((await ask(gate, 'GET /api/session', revoked)).status, 401, 'its token is gone');
  assert.match((await ask(gate, 'DELETE /api/session')).cookie ?? '', /^poolgate_session=; Path=\/; Max-Age=0;/);
});

test('a session holds after a restart: the key of the store opens it', async (context) => {
  const folder = folderFor(context);
  const gate = await startGateway({
    store: `sqlite:${join(folder, 'store.db')}`,
    config: (draft) => {
      beyondLoopback(draft);
      draft.store_key = { file: join(folder, 'store.key') };
    },
  });
  const { cookie = '' } = await ask(gate, 'POST /api/session', bearer('ops'));
  const next = await gate.restarted();
  assert.equal((await ask(next, 'GET /api/session', { cookie: cookie.split(';')[0] ?? '' })).json.operator, 'ops');
  await next.close();
});

test('a proxy that has signed a person in states the operator, and no one else does', async () => {
  const stated = (from: string) => (draft: Draft) => {
    beyondLoopback(draft);
    draft.admin.trusted_header = { name: 'x-forwarded-user', from: [from] };
  };
  await using behind = await startGateway({ config: stated('127.0.0.1/32') });
  const operatorOf = async (headers: Record<string, string>): Promise<unknown> =>
    (await ask(behind, 'GET /api/session', headers)).json.operator;
  assert.equal(await operatorOf({ 'x-forwarded-user': 'ops' }), 'ops');
  assert.equal(await operatorOf({ 'x-forwarded-user': 'root', host: 'console.example' }), 'root');
  assert.equal(await operatorOf(bearer('both')), 'both', 'a command has its token');
  for (const headers of [{}, { 'x-forwarded-user': 'eve' }, { 'x-forwarded-user': 'ops, root' }, { 'x-forwarded-user': '' }]) {
    assert.equal((await ask(behind, 'GET /api/session', headers as Record<string, string>)).status, 401, JSON.stringify(headers));
  }
  await using elsewhere = await startGateway({ config: stated('10.0.0.0/8') });
  assert.equal((await ask(elsewhere, 'GET /api/session', { 'x-forwarded-user': 'root' })).status, 401);
  await using local = await startGateway({
    config: (draft) => {
      stated('127.0.0.1/32')(draft);
      draft.admin.host = '127.0.0.1';
    },
  });
  assert.equal((await ask(local, 'GET /api/session')).status, 401, 'a proxy on this machine has to state the operator');
  assert.equal((await ask(local, 'GET /api/session', { 'x-forwarded-user': 'ops' })).json.operator, 'ops');
});

test('commands send POOLGATE_TOKEN, and say what is missing without it', async (context) => {
  await using gate = await startGateway({ config: beyondLoopback });
  const path = fileAt(context, gate);
  const without = await poolgate(['requests', '--config', path]);
  assert.equal(without.code, 1);
  assert.match(without.err, /^http:\/\/127\.0\.0\.1:\d+ requires an operator: set POOLGATE_TOKEN to a token of one\n$/);
  assert.equal((await poolgate(['requests', '--config', path], { POOLGATE_TOKEN: tokenOf('ops') })).code, 0);
  const refused = await poolgate(['status', '--config', path], { POOLGATE_TOKEN: tokenOf('ops') });
  assert.deepEqual([refused.code, refused.err], [1, 'only an operator with `admin: true` may do this\n']);
  assert.equal((await poolgate(['status', '--config', path], { POOLGATE_TOKEN: tokenOf('root') })).code, 0);
});

test('doctor does not take a gateway that requires a sign-in for another program at its port', async (context) => {
  await using gate = await startGateway({ config: beyondLoopback });
  const path = fileAt(context, gate);
  const run = (env: NodeJS.ProcessEnv) => poolgate(['doctor', '--offline', '--config', path], env);
  assert.match(
    (await run({})).out,
    /^warning +gateway +A gateway runs, and does not show its state: http:\S+ requires an operator: .*\n +-> Set POOLGATE_TOKEN/m,
  );
  const other = await run({ POOLGATE_TOKEN: tokenOf('ops') });
  assert.match(
    other.out,
    /^warning +gateway +A gateway runs, and does not show its state: only an operator with `admin: true` may do this\.$/m,
  );
  assert.match((await run({ POOLGATE_TOKEN: tokenOf('root') })).out, /^ok +gateway +A gateway runs and takes traffic\.$/m);
});

test('audit rows name the operator who acted', async () => {
  await using gate = await startGateway({ config: beyondLoopback });
  const test = await ask(gate, 'POST /api/accounts/south/test?turn=false', bearer('ops'));
  assert.equal(test.json.ok, true);
  const [row] = await gate.audit('account.test');
  assert.deepEqual([row?.actor, row?.target], ['operator:ops', 'south']);
});

test('check refuses an address outside loopback without an operator, and networks of proxies that are everyone', async () => {
  const findingsOf = async (admin: string, rest = ''): Promise<readonly string[]> => {
    const { findings } = await inspect(`${SMALL}admin: ${admin}\n${rest}`, { path: 'config.yaml' });
    return findings.map(({ severity, message }) => `${severity}: ${message}`);
  };
  const operators = `operators:\n  - id: ops\n    token_sha256: [${HASH}]\n    owns: [team]\n`;
  assert.deepEqual(await findingsOf('{ host: 127.0.0.1 }'), []);
  const [without] = await findingsOf('{ host: 0.0.0.0 }');
  assert.match(without ?? '', /^error: admin\.host: outside loopback every request needs an operator, and there is none/);
  assert.match(
    (await findingsOf('{ host: 0.0.0.0 }', operators)).join(),
    /^warning: admin\.host: the admin listener has no TLS of its own/,
  );
  const header = (from: string, name = 'x-user') => `{ host: 0.0.0.0, trusted_header: { name: ${name}, from: [${from}] } }`;
  assert.ok((await findingsOf(header('10.0.0.5'))).every((finding) => finding.startsWith('warning')));
  assert.match(
    (await findingsOf(header('0.0.0.0/0'))).join(),
    /error: admin\.trusted_header\.from\[0\]: this network contains every address/,
  );
  assert.match((await findingsOf(header('unix'))).join(), /must be an address or a network/);
  assert.match((await findingsOf(header('10.0.0.5', 'cookie'))).join(), /this header has a meaning of its own/);
});
