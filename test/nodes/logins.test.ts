// Logins over nodes: one node stores a login, the others use it at once, and all of them together refresh it once.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { systemClock } from '../../proxy/base/time/clock.ts';
import { AuthorizationServer } from '../../proxy/upstream/credentials/login/authorization-server.ts';
import { deviceLogin } from '../../proxy/upstream/credentials/login/device-login.ts';
import type { Tokens } from '../../proxy/upstream/credentials/tokens.ts';
import type { TestGateway } from '../support/gateway.ts';
import { type Nodes, startNodes } from '../support/nodes/nodes.ts';
import { until } from '../support/until.ts';

suite('logins over nodes', () => {
  let nodes: Nodes<'a' | 'b'>;
  let upstream: TestGateway['upstream'];

  before(async () => {
    nodes = await startNodes(['a', 'b'], {
      upstream: { accounts: [{ id: 'north', oauth: { client_id: 'client-1' } }] },
      config: (draft) => {
        const [north] = draft.accounts;
        north.credential = {
          oauth: { token_url: `${north.base_url}/oauth/token`, device_url: `${north.base_url}/oauth/device`, client_id: 'client-1' },
        };
      },
    });
    upstream = nodes.a.upstream;
    upstream.authorizationOf('north').settings = { seconds: 600, intervalSeconds: 1 };
  });
  after(() => nodes?.[Symbol.asyncDispose]());

  /** Logs in at one node like `account login`. */
  async function login(node: TestGateway, user: string): Promise<{ readonly status: number; readonly json: Record<string, unknown> }> {
    const state = await fetch(`${node.adminUrl}/api/accounts/north/login`);
    const { addresses, login: former }: Record<string, Record<string, string> | null> = (await state.json()) as never;
    const settings = { ...(addresses as { token_url: string; device_url: string }), client_id: 'client-1' };
    const server = new AuthorizationServer(settings, { now: () => Date.now(), routeTo: () => undefined });
    const tokens: Tokens = await deviceLogin(server, settings.device_url, {
      clock: systemClock,
      show: ({ userCode }) => upstream.authorizationOf('north').decide(userCode, 'allow', user),
      onLost: () => undefined,
    });
    const body = {
      tokens: { access_token: tokens.access, refresh_token: tokens.refresh, id_token: tokens.id },
      by: 'login',
      former: former?.name ?? null,
      another_user: false,
    };
    const answer = await fetch(`${node.adminUrl}/api/accounts/north/login`, {
      method: 'POST',
      headers: { 'x-poolgate-command': '1', 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: answer.status, json: (await answer.json()) as Record<string, unknown> };
  }

  const turn = async (node: TestGateway): Promise<number> =>
    (await node.send('/v1/responses', { body: { model: 'model-a', input: 'hello' } })).status;
  const refreshes = (): number =>
    upstream.requests('north').filter(({ path, body }) => path === '/oauth/token' && body.toString().includes('refresh_token')).length;

  test('[Q9, Q34] no node has turns for an account without a login; what one node stores, the other uses without a login of its own', async () => {
    for (const node of [nodes.a, nodes.b]) assert.notEqual(await turn(node), 200);
    const { status, json } = await login(nodes.a, 'anna');
    assert.equal(status, 200, JSON.stringify(json));
    assert.equal(json.identity, 'anna');
    assert.equal(await turn(nodes.a), 200);
    upstream.clear();
    await until('the login at the other node', async () => (await turn(nodes.b)) === 200 || undefined);
    assert.equal(nodes.b.account('north').status, 'active');
    assert.equal(refreshes(), 0, 'the tokens of the login are used as they are');
  });

  test('[Q9, Q34] the refresh token of the login is sent once, whichever node finds out that the access token is refused', async () => {
    upstream.clear();
    upstream.next('north', 'refuse 401');
    assert.equal(await turn(nodes.b), 200);
    assert.equal(refreshes(), 1);
    await until('the new token at the first node', async () => (await turn(nodes.a)) === 200 || undefined);
    assert.equal(refreshes(), 1);
  });

  test('[Q9, Q34] a login in the browser belongs to its node: the other one says so, and uses what it stores', async () => {
    const headers = { 'x-poolgate-command': '1', 'content-type': 'application/json' };
    const begun = await fetch(`${nodes.a.adminUrl}/api/accounts/north/logins`, { method: 'POST', headers, body: '{"way":"device"}' });
    const { id, device } = (await begun.json()) as { id: string; device: { user_code: string } };
    const elsewhere = await fetch(`${nodes.b.adminUrl}/api/logins/${id}`);
    assert.equal(elsewhere.status, 409);
    const { code, error } = (await elsewhere.json()) as Record<string, string>;
    assert.deepEqual([code, error], ['other_node', 'the login was begun at another node, which alone can continue it']);
    upstream.authorizationOf('north').decide(device.user_code, 'allow', 'anna');
    await until('its end', async () => {
      const { state, text } = (await (await fetch(`${nodes.a.adminUrl}/api/logins/${id}`)).json()) as Record<string, string>;
      assert.notEqual(state, 'failed', text);
      return state === 'done' || undefined;
    });
    for (const node of [nodes.a, nodes.b]) await until('its turns', async () => (await turn(node)) === 200 || undefined);
  });

  test('[Q9, Q34] another login at the other node is one of the same user, and each node uses it', async () => {
    const other = await login(nodes.b, 'berta');
    assert.equal(other.status, 409);
    assert.match(String(other.json.error), /account 'north' belongs to 'anna', and this is the login of 'berta'; nothing was stored/);
    assert.equal((await login(nodes.b, 'anna')).status, 200);
    upstream.clear();
    for (const node of [nodes.a, nodes.b]) await until('its turns', async () => (await turn(node)) === 200 || undefined);
    assert.equal(refreshes(), 0);
    const bearers = new Set(upstream.turns('north').map(({ headers }) => headers.authorization));
    await until('one token at both', async () => {
      upstream.clear();
      for (const node of [nodes.a, nodes.b]) await turn(node);
      return new Set(upstream.turns('north').map(({ headers }) => headers.authorization)).size === 1 || undefined;
    });
    assert.ok(bearers.size > 0);
  });
});
