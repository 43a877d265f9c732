// When and how often tokens are refreshed, and which tokens are used until then.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { CredentialUnavailable } from '../../../proxy/upstream/account-credentials.ts';
import type { TokenExchange } from '../../../proxy/upstream/credentials/token-endpoint.ts';
import { ACCESS, Bench, REFRESH, webToken } from './bench.ts';

const MINUTE = 60_000;

suite('an OAuth account', () => {
  test('is asked with the access token of its file, its own headers, and no account_id', async (context) => {
    const bench = await Bench.open(context);
    const { credentials } = await bench.start();
    assert.deepEqual(await credentials.headersFor(bench.account, undefined), {
      'x-account': 'north-1',
      authorization: `Bearer ${ACCESS}`,
    });
    assert.equal(bench.refreshes, 0);
  });

  test('reads both usual shapes of the file', async (context) => {
    const bench = await Bench.open(context, { file: { access_token: 'flat', refresh_token: 'r', id_token: 'i', account_id: 'a' } });
    assert.equal(await (await bench.start()).bearer(), 'flat');
  });

  test('without an access token refreshes first', async (context) => {
    const bench = await Bench.open(context, { file: { tokens: { refresh_token: REFRESH } } });
    const north = await bench.start();
    assert(await bench.admits(await north.bearer()));
    assert.equal(bench.refreshes, 1);
  });

  test('sends the request of native clients, and keeps members that the answer leaves out', async (context) => {
    const bench = await Bench.open(context);
    bench.upstream.nextOn('north', '/oauth/token', { kind: 'reply', status: 200, body: { json: { access_token: 'only-this' } } });
    const north = await bench.start();
    assert.equal(await north.unauthorized(), 'renewed');
    assert.equal(await north.bearer(), 'only-this');
    const [request] = bench.upstream.requests('north').slice(-1);
    assert.equal(request?.method, 'POST');
    assert.equal(request?.headers['content-type'], 'application/json');
    assert.equal(request?.headers.authorization, undefined);
    assert.deepEqual(request?.json, { client_id: 'client-1', grant_type: 'refresh_token', refresh_token: REFRESH });
    // The refresh token was not replaced, so it can be used again.
    assert.equal(await north.unauthorized(), 'renewed');
    assert(await bench.admits(await north.bearer()));
  });

  test('[RB3] gets a challenge page in place of its endpoint: no credential is refused, and the next refresh is tried after a pause', async (context) => {
    const bench = await Bench.open(context);
    const page = { 'content-type': 'text/html; charset=UTF-8' };
    bench.upstream.nextOn('north', '/oauth/token', { kind: 'reply', status: 403, headers: page, body: { text: '<html></html>' } });
    const north = await bench.start();
    assert.equal(await north.unauthorized(), 'challenged');
    assert.equal(await north.unauthorized(), 'challenged', 'within the pause');
    await bench.clock.advance(6_000);
    assert.equal(await north.unauthorized(), 'renewed');
    assert(await bench.admits(await north.bearer()));
  });

  test('refreshes five minutes before the end, and uses the old token until the new one has come', async (context) => {
    const bench = await Bench.open(context, { login: { expires_in: 3600 } });
    const north = await bench.start();
    await north.unauthorized();
    const first = await north.bearer();
    await bench.clock.advance(55 * MINUTE - 1);
    assert.equal(await north.bearer(), first);
    assert.equal(bench.refreshes, 1);
    await bench.clock.advance(1);
    const headers = north.credentials.headersFor(bench.account, undefined);
    assert(!(headers instanceof Promise), 'no turn waits while there is a good token');
    assert.equal(headers.authorization, `Bearer ${first}`);
    // All that need a running refresh wait for it.
    assert.equal(await north.unauthorized(first), 'renewed');
    assert.notEqual(await north.bearer(), first);
    assert.equal(bench.refreshes, 2);
  });

  test('counts the earlier of exp and expires_in', async (context) => {
    const bench = await Bench.open(context);
    const soon = webToken(bench.clock.now() + 20 * MINUTE);
    const late = webToken(bench.clock.now() + 500 * MINUTE);
    const answers = [
      { access_token: soon, refresh_token: 'r1', expires_in: 36_000 },
      { access_token: late, refresh_token: 'r2', expires_in: 600 },
    ];
    for (const json of answers) bench.upstream.nextOn('north', '/oauth/token', { kind: 'reply', status: 200, body: { json } });
    const north = await bench.start();
    await north.unauthorized();
    await bench.clock.advance(15 * MINUTE - 1);
    assert.equal(await north.bearer(), soon);
    assert.equal(bench.refreshes, 1);
    await bench.clock.advance(1);
    await north.bearer();
    assert.equal(await north.unauthorized(soon), 'renewed');
    assert.equal(await north.bearer(), late);
    await bench.clock.advance(10 * MINUTE);
    await assert.rejects(north.bearer(), CredentialUnavailable, 'it has ended, and the provider knows no r2');
    assert.equal(bench.refreshes, 3);
  });

  test('whose tokens live shorter than ten minutes refreshes at half their life, not with every turn', async (context) => {
    const bench = await Bench.open(context, { login: { expires_in: 240 } });
    const north = await bench.start();
    await north.unauthorized();
    const first = await north.bearer();
    await bench.clock.advance(2 * MINUTE - 1);
    for (let turn = 0; turn < 5; turn++) assert.equal(await north.bearer(), first);
    assert.equal(bench.refreshes, 1);
  });

  test('whose token has ended waits for the refresh, and so do all its turns together', async (context) => {
    const bench = await Bench.open(context, { file: { access_token: webToken(Date.UTC(2023, 0, 1)), refresh_token: REFRESH } });
    const north = await bench.start();
    const bearers = new Set(await Promise.all(Array.from({ length: 20 }, () => north.bearer())));
    assert.equal(bearers.size, 1);
    assert.equal(bench.refreshes, 1);
  });

  test('refreshes once for twenty turns that were refused at once, and not at all for one that comes later', async (context) => {
    const bench = await Bench.open(context);
    const north = await bench.start();
    bench.upstream.loginOf('north').expire();
    const old = await north.bearer();
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => north.unauthorized(old)));
    assert.deepEqual(new Set(outcomes), new Set(['renewed']));
    assert.equal(await north.unauthorized(old), 'renewed');
    assert.equal(bench.refreshes, 1);
    assert(await bench.admits(await north.bearer()));
  });

  test('without a refresh token is used until it is refused', async (context) => {
    const bench = await Bench.open(context, { file: { access_token: ACCESS } });
    const north = await bench.start();
    assert.equal(await north.bearer(), ACCESS);
    assert.equal(await north.unauthorized(), 'refused');
    assert.deepEqual(north.refused, ['north']);
    assert.equal(bench.refreshes, 0);
  });
});

suite('a static bearer', () => {
  test('is refused for good: there is nothing to refresh', async (context) => {
    const bench = await Bench.open(context);
    const { credentials } = await bench.start();
    const account = { ...bench.account, id: 'south', credential: { bearer: { env: 'SOUTH' } } };
    assert.deepEqual(credentials.headersFor(account, 'static'), { 'x-account': 'north-1', authorization: 'Bearer static' });
    assert.equal(await credentials.refused(account, 'Bearer static'), 'refused');
    assert.deepEqual(credentials.headersFor(account, undefined), { 'x-account': 'north-1' });
  });
});

suite('the endpoint', () => {
  const says = async (context: Parameters<typeof Bench.open>[0], script: Parameters<Bench['upstream']['nextOn']>[2]) => {
    const bench = await Bench.open(context, { silence: 50 });
    bench.upstream.nextOn('north', '/oauth/token', script);
    const north = await bench.start();
    return { bench, north, outcome: await north.unauthorized() };
  };
  const answer = (status: number, json: unknown) =>
    ({ kind: 'reply', status, body: { json } }) as Parameters<Bench['upstream']['nextOn']>[2];

  for (const [name, script] of [
    ['401', answer(401, {})],
    ['invalid_grant', answer(400, { error: 'invalid_grant', error_description: 'x' })],
    ['refresh_token_expired', answer(401, { error: { code: 'refresh_token_expired' } })],
    ['refresh_token_reused', answer(400, { error: { code: 'refresh_token_reused', type: 'invalid_request_error' } })],
    ['refresh_token_invalidated', answer(403, { code: 'refresh_token_invalidated' })],
  ] as const) {
    test(`that answers ${name} means that the account must log in again, and it is not asked again`, async (context) => {
      const { bench, north, outcome } = await says(context, script);
      assert.equal(outcome, 'refused');
      assert.deepEqual(north.refused, ['north']);
      assert.equal(await north.unauthorized(), 'refused');
      assert.equal(bench.refreshes, 1);
      assert(!north.logged.join('').includes(REFRESH));
    });
  }

  for (const [name, script] of [
    ['500', 'refuse 500'],
    ['503', 'refuse 503'],
    ['429', 'refuse 429'],
    ['503 with a final code in it', answer(503, { error: 'invalid_grant' })],
    ['a client that it does not know', answer(400, { error: 'invalid_client' })],
    ['nothing', 'stall before headers'],
    ['a broken answer', answer(200, { token_type: 'Bearer' })],
    ['an access token that no header carries', answer(200, { access_token: 'a\r\nx: y' })],
    ['a redirect', answer(302, {})],
  ] as const) {
    test(`that answers ${name} is a network failure: asked again after a pause`, async (context) => {
      const { bench, north, outcome } = await says(context, script);
      assert.equal(outcome, 'failed');
      assert.deepEqual(north.refused, []);
      assert.equal(await north.unauthorized(), 'failed');
      assert.equal(bench.refreshes, 1, 'a pause first');
      assert.equal(await north.bearer(), ACCESS, 'what was refused once may be good again');
      await bench.clock.advance(5_000);
      assert.equal(await north.unauthorized(), 'renewed');
      assert(await bench.admits(await north.bearer()));
    });
  }

  test('that cannot be reached is asked again too', async (context) => {
    const bench = await Bench.open(context);
    const north = await bench.start();
    await bench.upstream.hangUp('north');
    assert.equal(await north.unauthorized(), 'failed');
    await bench.upstream.pickUp('north');
    await bench.clock.advance(5_000);
    assert.equal(await north.unauthorized(), 'renewed');
  });

  test('whose failure coincides with an expired token leaves the turn without a credential', async (context) => {
    const bench = await Bench.open(context, { file: { refresh_token: REFRESH } });
    bench.upstream.nextOn('north', '/oauth/token', 'refuse 503');
    const north = await bench.start();
    await assert.rejects(north.bearer(), (error: unknown) => error instanceof CredentialUnavailable && error.why === 'failed');
    await assert.rejects(north.bearer(), (error: unknown) => error instanceof CredentialUnavailable && error.why === 'failed');
    assert.equal(bench.refreshes, 1);
  });

  test('that answers after its callers gave up still provides the tokens', async (context) => {
    const bench = await Bench.open(context);
    const gate = Promise.withResolvers<void>();
    const real = bench.exchange();
    const exchange: TokenExchange = async (request) => {
      await gate.promise;
      return real(request);
    };
    const north = await bench.start({ exchange });
    const waited = north.unauthorized();
    await new Promise(setImmediate);
    await bench.clock.advance(15_000);
    assert.equal(await waited, 'failed');
    const later = north.unauthorized();
    gate.resolve();
    assert.equal(await later, 'renewed');
    assert.equal(bench.refreshes, 1);
  });
});
