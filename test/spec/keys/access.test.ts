// Authentication, and the accounts that a key reaches: S1, S7, AU1, AU3, D1, ML3.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { loadConfig } from '../../../proxy/config/loading/load.ts';
import { type Draft, KEY, startGateway, type TestGateway } from '../../support/gateway.ts';
import { headOf, postOf, RawClient } from '../../support/network/raw.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';

const sha256 = (secret: string): string => hash('sha256', secret, 'hex');

const PAUSED = 'pg-paused';
const REVOKED = 'pg-revoked';
const EXPIRED = 'pg-expired';
const OTHER = 'pg-other-pool';
const OPERATOR = 'pg-mcp-operator';

function withKeys(draft: Draft): void {
  draft.pools = [
    { id: 'team', label: 'Team', assignments: [{ account: 'north' }, { account: 'south' }] },
    { id: 'other', label: 'Other', assignments: [{ account: 'west' }] },
  ];
  draft.keys.push(
    { id: 'paused', pool: 'team', secret_sha256: [sha256(PAUSED)], status: 'paused' },
    { id: 'revoked', pool: 'team', secret_sha256: [sha256(REVOKED)], status: 'revoked' },
    { id: 'expired', pool: 'team', secret_sha256: [sha256(EXPIRED)], expires_at: '2020-01-01T00:00:00Z' },
    { id: 'other', pool: 'other', secret_sha256: [sha256(OTHER)] },
  );
  draft.operators = [{ id: 'ops', token_sha256: [sha256(OPERATOR)], owns: ['team'], assigned: [] }];
}

let gate: TestGateway;
before(async () => {
  gate = await startGateway({ upstream: { accounts: ['north', 'south', 'west'] }, config: withKeys });
  gate.upstream.clear();
});
after(() => gate.close());

/** Each runtime row of the table as a request, with values for its parameters. */
const runtimeRequests = (): { method: string; path: string }[] =>
  gate.config.routes
    .filter(({ path }) => path !== '/mcp')
    .map(({ method, path }) => ({ method: method === 'WS' ? 'GET' : method, path: path.replace(/\{[^}]+\}/g, 'id-1') }));

const INVALID = {
  error: {
    ...{
      message: 'A valid Pool API key is required as a Bearer token.',
      type: 'invalid_request_error',
      code: 'invalid_api_key',
      param: null,
    },
  },
};

/** Whether the errors of this path have the form of Messages (AM8, AM10). */
const isOfMessages = (path: string): boolean => path.startsWith('/v1/messages');

function assertInvalid(path: string, json: unknown): void {
  if (!isOfMessages(path)) {
    assert.deepEqual(json, INVALID, path);
    return;
  }
  const { request_id, ...rest } = json as { readonly request_id: string };
  assert.match(request_id, /^req_/);
  const { message, code } = INVALID.error;
  assert.deepEqual(rest, { type: 'error', error: { type: 'authentication_error', message, details: { error_code: code } } }, path);
}

describe('without a valid key', () => {
  const CREDENTIALS: Readonly<Record<string, string | undefined>> = {
    'no Authorization': undefined,
    'an empty one': '',
    'the word Bearer alone': 'Bearer',
    'an unknown key': 'Bearer pg-unknown',
    'the SHA-256 of a key': `Bearer ${sha256(KEY)}`,
    'a key and more': `Bearer ${KEY}x`,
    'a key in quotes': `Bearer "${KEY}"`,
    'two keys': `Bearer ${KEY}, Bearer ${KEY}`,
    'another scheme': `Basic ${Buffer.from(`${KEY}:`).toString('base64')}`,
    'the bare key': KEY,
    "an account's credential": 'Bearer bearer-of-north',
  };

  test('every runtime row, unsupported and websocket rows too, answers the same 401 and does nothing else [AU1]', async () => {
    using client = await RawClient.connect(gate.url);
    for (const { method, path } of runtimeRequests()) {
      for (const authorization of [undefined, 'Bearer pg-unknown']) {
        client.write(headOf(method, path, { authorization }));
        const { status, json, headers } = await client.answer();
        assert.equal(status, 401, `${method} ${path}`);
        assertInvalid(path, json);
        assert.equal(headers['www-authenticate'], 'Bearer');
        assert.equal(headers['x-should-retry'], isOfMessages(path) ? 'false' : undefined);
      }
    }
    assert.equal(gate.upstream.requests().length, 0);
    const rows = (await gate.rows()).filter(({ status }) => status === 401);
    assert.ok(rows.length > 0);
    for (const { pool, key_id, account } of rows) assert.deepEqual([pool, key_id, account], [null, null, null]);
  });

  for (const [what, authorization] of Object.entries(CREDENTIALS)) {
    test(`${what} is 401, with one indistinguishable answer [AU1]`, async () => {
      using client = await RawClient.connect(gate.url);
      client.write(headOf('GET', '/v1/models', { authorization }));
      const { status, json } = await client.answer();
      assert.deepEqual([status, json], [401, INVALID]);
    });
  }

  test('credentials outside of the Authorization header are not accepted [AU1]', async () => {
    using client = await RawClient.connect(gate.url);
    for (const headers of [
      { 'x-api-key': KEY },
      { 'api-key': KEY },
      { cookie: `key=${KEY}` },
      { 'proxy-authorization': `Bearer ${KEY}` },
    ]) {
      client.write(headOf('GET', `/v1/models?api_key=${KEY}&key=${KEY}`, { authorization: undefined, ...headers }));
      assert.equal((await client.answer()).status, 401);
    }
  });

  test('without a valid key the body is neither read nor checked [AU1]', async () => {
    const wrong = { authorization: 'Bearer pg-unknown' };
    for (const body of ['no JSON', '{"model":"nobody-knows"}', JSON.stringify(turnBody('hello'))]) {
      for (const headers of [wrong, { ...wrong, 'content-type': 'text/plain' }, { ...wrong, 'content-encoding': 'compress' }]) {
        const { status, json } = await gate.send('/v1/responses', { body, headers });
        assert.deepEqual([status, json], [401, INVALID]);
      }
    }
    assert.equal(gate.upstream.requests().length, 0);
  });
});

test('the status of a paused, revoked or expired key is revealed only with its secret, and the key is refused [AU1]', async () => {
  const expected = { [PAUSED]: 'api_key_disabled', [REVOKED]: 'api_key_disabled', [EXPIRED]: 'api_key_expired' };
  for (const [secret, code] of Object.entries(expected)) {
    const { status, json, headers } = await gate.send('/v1/models', { headers: { authorization: `Bearer ${secret}` } });
    assert.deepEqual(
      [status, json.error.code, json.error.type, headers.get('www-authenticate')],
      [401, code, 'invalid_request_error', 'Bearer'],
    );
    const row = (await gate.rows()).at(-1);
    assert.deepEqual([row?.status, row?.code], [401, code]);
  }
});

test('[AU1] each request of a kept connection is checked with its own key, and with the configuration at its time', async () => {
  await using gate = await startGateway({ config: withKeys, upstream: { accounts: ['north', 'south', 'west'] } });
  using client = await RawClient.connect(gate.url);
  const ask = async (secret: string): Promise<readonly [number, string | undefined]> => {
    const answer = await client
      .write(postOf('/v1/responses', turnBody('hello', { stream: false }), { authorization: `Bearer ${secret}` }))
      .answer();
    return [answer.status, answer.json.error?.code];
  };
  const open = [200, undefined];
  const unknown = [401, 'invalid_api_key'];
  for (const [secret, expected] of [
    [KEY, open],
    [KEY, open],
    ['pg-nobody', unknown],
    ['pg-nobody', unknown],
    [KEY, open],
    [PAUSED, [401, 'api_key_disabled']],
    [OTHER, open],
    [KEY, open],
  ] as const) {
    assert.deepEqual(await ask(secret), expected, secret);
  }
  const pools = (await gate.rows()).flatMap(({ status, pool }) => (status === 200 ? [pool] : []));
  assert.deepEqual(pools, ['team', 'team', 'team', 'other', 'team']);
  await gate.reconfigure((draft) => {
    for (const key of draft.keys) if (key.id === 'ci') key.status = 'revoked';
    draft.keys.push({ id: 'new', pool: 'team', secret_sha256: [sha256('pg-nobody')] });
  });
  assert.deepEqual(await ask(KEY), [401, 'api_key_disabled']);
  assert.deepEqual(await ask('pg-nobody'), open);
});

test('the scheme is accepted in any letter case, as HTTP requires', async () => {
  for (const authorization of [`bearer ${KEY}`, `BEARER ${KEY}`, `Bearer   ${KEY}`]) {
    assert.equal((await gate.send('/v1/models', { headers: { authorization } })).status, 200);
  }
});

test("an operator's token is refused on every runtime row, and a Pool key is refused on /mcp [AU3]", async () => {
  using client = await RawClient.connect(gate.url);
  for (const { method, path } of runtimeRequests()) {
    client.write(headOf(method, path, { authorization: `Bearer ${OPERATOR}` }));
    const { status, json } = await client.answer();
    assert.equal(status, 401, `${method} ${path}`);
    assertInvalid(path, json);
  }
  gate.upstream.clear();
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  const { status } = await gate.send('/mcp', { body });
  assert.ok(status === 401 || status === 404, 'refused, or not there yet');
  assert.equal(gate.upstream.requests().length, 0);
});

test('a key belongs to its Pool: its turns reach every account of it, and none outside, whatever fails [S1]', async () => {
  gate.upstream.clear();
  const turn = { model: 'model-a', input: 'hello', stream: true };
  for (const account of ['north', 'south', 'west']) gate.upstream.next(account, 'stall before headers');
  const first = gate.send('/v1/responses', { body: turn });
  const stalled = ['north', 'south'].map((account) => gate.upstream.stalled(account));
  await Promise.any(stalled);
  const second = gate.send('/v1/responses', { body: turn });
  await Promise.all(stalled);
  gate.upstream.release();
  for (const reply of await Promise.all([first, second])) assert.equal(reply.status, 200);
  const reached = new Set(gate.upstream.turns().map(({ account }) => account));
  assert.deepEqual(reached, new Set(['north', 'south']));

  const others = { headers: { authorization: `Bearer ${OTHER}` } };
  gate.upstream.clear();
  assert.equal((await gate.send('/v1/responses', { body: turn, ...others })).status, 200);
  assert.deepEqual(
    gate.upstream.turns().map(({ account }) => account),
    ['west'],
  );

  gate.upstream.clear();
  for (const account of ['north', 'south']) gate.upstream.always(account, 'refuse 503');
  assert.equal((await gate.send('/v1/responses', { body: turn })).status, 502);
  assert.deepEqual(gate.upstream.turns('west').length, 0, 'no account outside the Pool is asked, even when all inside fail');
  gate.upstream.clear();
});

describe('the list of models', () => {
  test('is answered from the catalog state, for any key of the Pool, without a request to an account [D1] [ML3]', async () => {
    gate.upstream.clear();
    const { status, json, headers } = await gate.send('/v1/models');
    assert.equal(status, 200);
    assert.equal(headers.get('content-type'), 'application/json');
    assert.equal(json.object, 'list');
    assert.ok(json.data.some(({ id }: { id: string }) => id === 'model-a'));
    for (let i = 0; i < 20; i++) assert.equal((await gate.send('/v1/models')).status, 200);
    assert.equal(gate.upstream.requests().length, 0);
    const row = (await gate.rows()).at(-1);
    assert.deepEqual([row?.endpoint, row?.account, row?.retries], ['/v1/models', null, 0]);
  });

  test('is answered while every account is unreachable [D1] [ML3]', async () => {
    await using alone = await startGateway();
    await Promise.all([alone.upstream.hangUp('north'), alone.upstream.hangUp('south')]);
    const { status, json } = await alone.send('/v1/models');
    assert.equal(status, 200);
    assert.ok(json.data.length > 0);
  });
});

describe('a local instance', () => {
  test('listens on port 4000 by default, on loopback [S7]', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'poolgate-'));
    try {
      const path = join(folder, 'config.yaml');
      await writeFile(
        path,
        'accounts: [{ id: north, base_url: "rehearsal:" }]\npools: [{ id: team, assignments: [{ account: north }] }]\n',
      );
      const { loaded } = await loadConfig(path);
      assert.deepEqual(loaded.config.listen, { host: '127.0.0.1', port: 4000, trusted_proxies: [], cors: { origins: [] } });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test('serves every family on its one port [S7]', async () => {
    const known = (await gate.rows()).length;
    const paths = ['/backend-api/agent/models', '/backend-api/meter/usage', '/v1/models', '/api/agent/usage', '/meter/usage', '/mcp'];
    for (const path of paths) {
      const { status, json } = await gate.send(path);
      assert.ok(status !== 404 || json.error.code !== 'unknown_endpoint', path);
    }
    const families = (await gate.rows()).slice(known).map(({ family }) => family);
    assert.deepEqual(families, ['backend-agent', 'usage', 'v1', 'usage', 'usage', 'mcp']);
  });
});
