// Logins over the API as the console makes them: a device code and a link at the simulated provider, each visible only to its operator,
// with each possible end.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, suite, type TestContext, test } from 'node:test';
import { Ajv } from 'ajv';
import { ManualClock } from '../support/clocks/manual-clock.ts';
import { type Draft, startGateway, type TestGateway } from '../support/gateway.ts';
import { operatorRow, tokenOf } from '../support/mcp.ts';
import { until } from '../support/until.ts';

const CLIENT = 'client-1';
const IDS = ['north', 'south', 'east'];

const document = JSON.parse(readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8'));
const REPLY = document.paths['/api/logins/{login}'].get.responses[200].content['application/json'].schema;
const isReply = new Ajv({ strict: false, validateFormats: false }).compile(REPLY);

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: assertions look where they expect something
  readonly json: any;
}

async function ask(gate: TestGateway, name: string, { body, operator }: { body?: object; operator?: string } = {}): Promise<Answer> {
  const [method = '', path = ''] = name.split(' ');
  const response = await fetch(gate.adminUrl + path, {
    method,
    headers: { 'x-poolgate-command': '1', ...(operator !== undefined && { authorization: `Bearer ${tokenOf(operator)}` }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const json = await response.json();
  if (response.status === 200 && path.includes('/logins')) assert.ok(isReply(json), JSON.stringify(isReply.errors));
  return { status: response.status, json };
}

/** Adds accounts that log in, each with its own Pool. */
function withLogins(draft: Draft): void {
  for (const account of draft.accounts) {
    const url = account.base_url;
    account.credential = {
      oauth: {
        token_url: `${url}/oauth/token`,
        ...(account.id !== 'east' && { device_url: `${url}/oauth/device` }),
        ...(account.id !== 'south' && { authorize_url: `${url}/oauth/authorize` }),
        client_id: CLIENT,
      },
    };
  }
  draft.pools = IDS.map((id) => ({ id, assignments: [{ account: id }] }));
  draft.keys = [];
}

const options = (config: (draft: Draft) => void = withLogins) => ({
  upstream: { accounts: IDS.map((id) => ({ id, oauth: { client_id: CLIENT } })) },
  config,
});

async function started(config?: (draft: Draft) => void): Promise<TestGateway> {
  const gate = await startGateway(options(config));
  for (const id of IDS) gate.upstream.authorizationOf(id).settings = { seconds: 60, intervalSeconds: 1 };
  return gate;
}

const begin = (gate: TestGateway, account: string, way: string, more: { another_user?: boolean; operator?: string } = {}) => {
  const { operator, ...body } = more;
  return ask(gate, `POST /api/accounts/${account}/logins`, { body: { way, ...body }, ...(operator !== undefined && { operator }) });
};

const ended = (gate: TestGateway, id: string, as: { operator?: string } = {}) =>
  until('the end of the login', async () => {
    const { json } = await ask(gate, `GET /api/logins/${id}`, as);
    return json.state === 'done' || json.state === 'failed' ? json : undefined;
  });

/** The address at which the browser ends when the person allows the login. */
async function callbackOf(url: string, decision = 'allow'): Promise<string> {
  const { headers } = await fetch(`${url}&decision=${encodeURIComponent(decision)}`, { redirect: 'manual' });
  return headers.get('location') ?? '';
}

suite('logins in the browser', () => {
  let gate: TestGateway;
  before(async () => {
    gate = await started();
  });
  after(() => gate.close());

  test('[Q9] a device code is shown until it is confirmed; the login counts at once, with a sentence and an audit row', async () => {
    const state = await ask(gate, 'GET /api/accounts/north/login');
    assert.deepEqual([state.json.ways, state.json.advice, state.json.login], [['device', 'link'], null, null]);
    const { status, json } = await begin(gate, 'north', 'device');
    assert.equal(status, 200);
    assert.equal(json.state, 'waiting');
    assert.match(json.device.user_code, /^[A-Z]{4}-[A-Z]{4}$/);
    assert.match(json.device.url, /\/oauth\/activate$/);
    assert.ok(json.device.url_with_code.endsWith(`?user_code=${json.device.user_code}`));
    assert.ok(json.seconds_left > 0 && json.seconds_left <= 60);
    gate.upstream.authorizationOf('north').decide(json.device.user_code, 'allow');
    const end = await ended(gate, json.id);
    assert.equal(end.state, 'done', end.text);
    assert.match(end.text, /^account 'north' is logged in as 'user-of-north'; \d+ models/);
    assert.deepEqual([end.device, end.seconds_left], [null, 0], 'the code is gone');
    assert.doesNotMatch(JSON.stringify([json, end]), /device_code|verifier|[ar]t_[0-9a-f]{12}_/, 'no secret');
    const { json: audit } = await ask(gate, 'GET /api/audit?action=account.login');
    assert.deepEqual([audit.audit[0].actor, audit.audit[0].target], ['command', 'north']);
    assert.doesNotMatch(JSON.stringify(audit), /user-of-|[ar]t_/);
    await until('its turns', () => gate.account('north').status === 'active' || undefined);
    assert.equal((await ask(gate, 'GET /api/accounts/north/login')).json.login.identity, 'user-of-north');
  });

  test('[Q9] a link is opened, and the address at which the browser ended is pasted; what is none, and another’s, is refused', async () => {
    const { json } = await begin(gate, 'east', 'link');
    assert.equal(json.link.redirect_url, 'http://127.0.0.1/callback');
    const paste = (callback: string) => ask(gate, `POST /api/logins/${json.id}/callback`, { body: { callback } });
    const none = await paste('https://provider.example/nothing');
    assert.deepEqual([none.status, none.json.param], [400, 'callback']);
    assert.match(none.json.error, /^that is not a callback: paste the address at which the browser ended/);
    const other = await paste('http://127.0.0.1/callback?code=abcdefgh&state=of-another');
    assert.equal(other.status, 400);
    assert.match(other.json.error, /its state differs/);
    assert.equal((await ask(gate, `GET /api/logins/${json.id}`)).json.state, 'waiting', 'it still waits');
    const done = await paste(await callbackOf(json.link.url));
    assert.equal(done.json.state, 'done', done.json.text);
    assert.match(done.json.text, /^account 'east' is logged in as 'user-of-east'/);
  });

  test('[Q9] the code alone is accepted, as a provider may show it, also with the state after it', async () => {
    for (const isWhole of [true, false]) {
      const { json } = await begin(gate, 'east', 'link');
      const callback = new URL(await callbackOf(json.link.url)).searchParams;
      const text = isWhole ? `${callback.get('code')}#${callback.get('state')}` : ` ${callback.get('code')}\n`;
      const { json: end } = await ask(gate, `POST /api/logins/${json.id}/callback`, { body: { callback: text } });
      assert.equal(end.state, 'done', end.text);
    }
  });

  test('[Q9] a login that is denied, that expires, or of another user ends in a sentence and stores nothing', async () => {
    const authorization = gate.upstream.authorizationOf('north');
    for (const [decision, user, sentence] of [
      ['deny', undefined, /^the login was denied at the provider; nothing was stored/],
      ['expire', undefined, /^the login was not confirmed within 60 s, and its code has expired; begin again for another code$/],
      ['allow', 'berta', /^account 'north' belongs to 'user-of-north', and this is the login of 'berta'; nothing was stored/],
    ] as const) {
      const { json } = await begin(gate, 'north', 'device');
      authorization.decide(json.device.user_code, decision, user);
      const end = await ended(gate, json.id);
      assert.equal(end.state, 'failed');
      assert.match(end.text, sentence);
    }
    const { json } = await begin(gate, 'north', 'device', { another_user: true });
    authorization.decide(json.device.user_code, 'allow', 'berta');
    assert.match((await ended(gate, json.id)).text, /is logged in as 'berta'/);
    gate.upstream.nextOn('north', '/oauth/device', 'refuse 400 unauthorized_client');
    const refused = await begin(gate, 'north', 'device');
    assert.deepEqual([refused.status, refused.json.state], [200, 'failed']);
    assert.match(refused.json.text, /refuses the login \(unauthorized_client\)/);
  });

  test('a second login ends the first, an operator ends one, and what ended stays ended', async () => {
    const first = (await begin(gate, 'south', 'device')).json;
    const second = (await begin(gate, 'south', 'device')).json;
    const replaced = (await ask(gate, `GET /api/logins/${first.id}`)).json;
    assert.deepEqual([replaced.state, replaced.device], ['failed', null]);
    assert.match(replaced.text, /^another login of account 'south' was begun/);
    const asked = () => gate.upstream.requests('south').filter(({ path }) => path === '/oauth/token').length;
    const { json } = await ask(gate, `DELETE /api/logins/${second.id}`);
    assert.deepEqual([json.state, json.text], ['failed', 'the login was cancelled; nothing was stored']);
    // Both codes are confirmed too late, because the gateway no longer polls for them.
    const before = asked();
    for (const { device } of [first, second]) gate.upstream.authorizationOf('south').decide(device.user_code, 'allow');
    const third = (await begin(gate, 'south', 'device')).json;
    gate.upstream.authorizationOf('south').decide(third.device.user_code, 'allow', 'anna');
    assert.match((await ended(gate, third.id)).text, /is logged in as 'anna'/);
    assert.ok(asked() - before <= 2, 'the third alone was asked for');
    assert.equal((await ask(gate, `DELETE /api/logins/${third.id}`)).json.state, 'done');
  });

  test('a way that the account does not have is refused, and so are an unknown account and login', async () => {
    assert.deepEqual((await ask(gate, 'GET /api/accounts/south/login')).json.ways, ['device']);
    const other = await begin(gate, 'south', 'link');
    assert.equal(other.status, 409);
    assert.match(other.json.error, /^account 'south' cannot be logged in this way/);
    assert.equal((await begin(gate, 'west', 'device')).status, 404);
    assert.equal((await begin(gate, 'north', 'theft')).status, 400);
    const unknown = await ask(gate, 'GET /api/logins/none');
    assert.equal(unknown.status, 404);
    assert.match(unknown.json.error, /the gateway was started again; begin again$/);
  });
});

test('outside loopback a login belongs to its operator, who owns all Pools of the account', async () => {
  await using gate = await started((draft) => {
    withLogins(draft);
    draft.admin.host = '0.0.0.0';
    draft.accounts[1].credential = { bearer: { env: 'BEARER_SOUTH' } };
    draft.pools.push({ id: 'lab', assignments: [{ account: 'east' }] });
    draft.operators = [
      operatorRow('ops', ['north', 'south', 'east']),
      operatorRow('second', ['north']),
      { ...operatorRow('root', []), admin: true },
    ];
  });
  assert.equal((await begin(gate, 'north', 'device')).status, 401);
  assert.equal((await begin(gate, 'south', 'device', { operator: 'second' })).status, 404, 'not in the view');
  assert.equal((await begin(gate, 'east', 'link', { operator: 'ops' })).status, 403, 'another Pool has it too');
  const { json } = await begin(gate, 'north', 'device', { operator: 'ops' });
  for (const operator of ['second', 'root']) {
    for (const method of ['GET', 'DELETE']) {
      assert.equal((await ask(gate, `${method} /api/logins/${json.id}`, { operator })).status, 404, 'the code is for its operator');
    }
  }
  gate.upstream.authorizationOf('north').decide(json.device.user_code, 'allow');
  assert.equal((await ended(gate, json.id, { operator: 'ops' })).state, 'done');
  const { json: audit } = await ask(gate, 'GET /api/audit?action=account.login', { operator: 'root' });
  assert.equal(audit.audit[0].actor, 'operator:ops');
  const advice = async (operator: string) => (await ask(gate, 'GET /api/accounts/south/login', { operator })).json.advice;
  assert.match(await advice('root'), /^Its credential is a secret of the configuration, .* Set BEARER_SOUTH to a valid secret/);
  assert.match(await advice('ops'), /An operator with `admin: true` sees here what to do\.$/);
});

test('a login waits no longer than its code is valid, and a link for 10 minutes; both are forgotten 5 minutes later', async (context: TestContext) => {
  const clock = new ManualClock();
  const gate = await startGateway({ ...options(), clock });
  context.after(() => gate.close());
  const { json: link } = await begin(gate, 'east', 'link');
  assert.equal(link.seconds_left, 600);
  await clock.advance(599_000);
  assert.equal((await ask(gate, `GET /api/logins/${link.id}`)).json.seconds_left, 1);
  await clock.advance(2_000);
  const { json: late } = await ask(gate, `GET /api/logins/${link.id}`);
  assert.deepEqual([late.state, late.text], ['failed', 'no browser came back within 10 min: begin again, or log in in another way']);
  await clock.advance(301_000);
  assert.equal((await ask(gate, `GET /api/logins/${link.id}`)).status, 404);
});
