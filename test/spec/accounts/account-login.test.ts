// `account login` over the wire: the device grant and the code grant at the simulated authorization server, with and without a running
// gateway.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import type { AuthorizationSettings } from '../../../proxy/rehearsal/login/authorization.ts';
import { answering, poolgate, type Ran, type Watched } from '../../cli/run.ts';
import { type Program, startProgram } from '../../support/program/program.ts';
import { until } from '../../support/until.ts';

const FAST: AuthorizationSettings = { seconds: 20, intervalSeconds: 1 };
const CLIENT = 'client-1';
const IDS = ['north', 'south', 'east', 'west', 'code', 'paste', 'lone'];

/** Each account has its own Pool and its own key. */
const keyOf = (id: string): string => `pg-key-of-${id}`;

suite('account login', () => {
  let program: Program;

  before(async () => {
    program = await startProgram({
      here: true,
      upstream: { accounts: IDS.map((id) => ({ id, oauth: { client_id: CLIENT } })) },
      config: (draft) => {
        draft.accounts = IDS.map((id) => ({ id, base_url: '', credential: { oauth: {} } }));
        draft.pools = IDS.map((id) => ({ id, assignments: [{ account: id }] }));
        draft.keys = IDS.map((id) => ({ id, pool: id, secret_sha256: [hash('sha256', keyOf(id), 'hex')] }));
        draft.log = { level: 'debug' };
      },
      urls: (draft, upstream) => {
        for (const account of draft.accounts) {
          const url = upstream.urlOf(account.id);
          account.base_url = url;
          account.credential.oauth = {
            token_url: `${url}/oauth/token`,
            device_url: `${url}/oauth/device`,
            authorize_url: `${url}/oauth/authorize?prompt=login`,
            client_id: CLIENT,
            scopes: ['openid', 'offline_access'],
          };
        }
      },
    });
    for (const id of IDS) program.upstream.authorizationOf(id).settings = FAST;
  });
  after(() => program[Symbol.asyncDispose]());

  const command = (args: readonly string[], watched: Partial<Watched> = {}): Promise<Ran> =>
    poolgate([...args, '--config', program.path], {}, watched);

  /** Runs a login with a device code; a person decides about it as soon as the code is shown. */
  async function byDevice(
    id: string,
    decide: 'allow' | 'deny' | 'expire',
    { user, args = [] }: { user?: string; args?: string[] } = {},
  ): Promise<Ran> {
    const authorization = program.upstream.authorizationOf(id);
    const ran = command(['account', 'login', id, '--device', ...args]);
    const code = await until('a user code', () => authorization.undecided[0]);
    authorization.decide(code, decide, user);
    return ran;
  }

  /** Runs a login in a browser: `visit` gets the address that is opened. */
  async function byBrowser(
    args: readonly string[],
    visit: (url: string) => Promise<unknown>,
    watched: Partial<Watched> = {},
  ): Promise<Ran> {
    const opened = Promise.withResolvers<string>();
    let shown = '';
    const ran = command(args, {
      ...watched,
      onErr: (text) => {
        shown += text;
        const url = /^http:\S+code_challenge\S+$/m.exec(shown)?.[0];
        if (url !== undefined) opened.resolve(url);
      },
    });
    await Promise.race([opened.promise.then(visit), ran]);
    return ran;
  }

  const turnAt = (id: string): Promise<number> =>
    program.status('/v1/responses', { key: keyOf(id), body: { model: 'model-a', input: 'hello' } });

  test('[Q9] an account without a login asks for one, and a device login counts at once: its models and its quota are read', async () => {
    await until('the status', async () => /^north +login required /m.test((await command(['status'])).out) || undefined);
    program.upstream.clear();
    const { code, out, err } = await byDevice('north', 'allow');
    assert.equal(code, 0, err);
    assert.match(err, /^Open http:\S+\/oauth\/activate in any browser, and enter the code [A-Z]{4}-[A-Z]{4} \(valid for 1 min\)/);
    assert.match(out, /^account 'north' is logged in as 'user-of-north'; \d+ models, \S+ quota \d+ % used/);
    const paths = program.upstream.requests('north').map(({ method, path }) => `${method} ${path}`);
    assert.ok(paths.includes('GET /backend-api/agent/models') && paths.includes('GET /backend-api/meter/usage'), paths.join());
    const [asked] = program.upstream.requests('north').filter(({ path }) => path === '/oauth/device');
    assert.deepEqual(
      [...new URLSearchParams(asked?.body.toString())],
      [
        ['scope', 'openid offline_access'],
        ['client_id', CLIENT],
      ],
    );
    assert.equal(await turnAt('north'), 200);
    assert.match(program.upstream.turns('north')[0]?.headers.authorization ?? '', /^Bearer at_/);
  });

  test('[Q9] a browser that comes back to loopback logs in: PKCE, a state, and the query of the authorize_url', async () => {
    const visited: URL[] = [];
    const { code, out, err } = await byBrowser(['account', 'login', 'code', '--browser'], async (url) => {
      visited.push(new URL(url));
      const page = await fetch(`${url}&decision=allow`);
      assert.match(await page.text(), /the terminal says how the login ended/);
    });
    assert.equal(code, 0, err);
    assert.match(out, /^account 'code' is logged in as 'user-of-code'/);
    const query = visited[0]?.searchParams;
    assert.equal(query?.get('prompt'), 'login');
    assert.equal(query?.get('code_challenge_method'), 'S256');
    assert.match(query?.get('redirect_uri') ?? '', /^http:\/\/127\.0\.0\.1:\d+\/callback$/);
    const exchange = program.upstream.requests('code').find(({ path, method }) => method === 'POST' && path === '/oauth/token');
    const form = new URLSearchParams(exchange?.body.toString());
    assert.equal(form.get('redirect_uri'), query?.get('redirect_uri'));
    assert.match(form.get('code_verifier') ?? '', /^[\w-]{43}$/);
  });

  test('[Q9] a pasted callback address logs in; what is none is asked for again', async () => {
    const paste = Promise.withResolvers<string>();
    const texts = [Promise.resolve('no address'), paste.promise];
    const input = { isTerminal: true, line: async () => texts.shift() };
    const { code, out, err } = await byBrowser(
      ['account', 'login', 'paste', '--paste'],
      async (url) => {
        const { headers } = await fetch(`${url}&decision=allow`, { redirect: 'manual' });
        paste.resolve(headers.get('location') ?? '');
      },
      { input },
    );
    assert.equal(code, 0, err);
    assert.match(err, /That is no callback address/);
    assert.match(out, /^account 'paste' is logged in as 'user-of-paste'/);
  });

  test('[Q9] another login must be one of the same user, else both are named; --another-user gives the account away', async () => {
    assert.equal((await byDevice('east', 'allow', { user: 'anna' })).code, 0);
    const other = await byDevice('east', 'allow', { user: 'berta' });
    assert.equal(other.code, 1);
    assert.match(
      other.err,
      /account 'east' belongs to 'anna', and this is the login of 'berta'; nothing was stored\. Log in as the same user/,
    );
    assert.equal((await byDevice('east', 'allow', { user: 'anna' })).code, 0);
    const given = await byDevice('east', 'allow', { user: 'berta', args: ['--another-user'] });
    assert.match(given.out, /^account 'east' is logged in as 'berta'/, given.err);
    const twice = await byDevice('west', 'allow', { user: 'berta' });
    assert.match(twice.err, /account 'east' has the login of 'berta' already, .*set identity_claim to the claim that differs\n$/);
  });

  test('[Q9] a login that was denied or has expired, or whose callback is another’s, ends in a sentence and stores nothing', async () => {
    const denied = await byDevice('south', 'deny');
    assert.deepEqual([denied.code, denied.out], [1, '']);
    assert.match(denied.err, /the login was denied at the provider; nothing was stored\. To log in, begin again and allow the access\n$/);
    const expired = await byDevice('south', 'expire');
    assert.match(expired.err, /the login was not confirmed within 20 s, and its code has expired; begin again for another code\n$/);
    const state = await byBrowser(['account', 'login', 'south', '--browser'], (url) => fetch(`${url}&decision=other+state`));
    assert.match(state.err, /the callback belongs to another login \(its state differs\): nothing was stored\. Begin again/);
    const refused = await byBrowser(['account', 'login', 'south', '--browser'], (url) => fetch(`${url}&decision=deny`));
    assert.match(refused.err, /the login was denied at the provider/);
    const late = await byBrowser(['account', 'login', 'south', '--browser'], (url) => fetch(`${url}&decision=expire`));
    assert.match(late.err, /refuses the login \(invalid_grant\): the code was used before or has expired; begin again\n$/);
    assert.match((await command(['status'])).out, /^south +login required /m);
  });

  test('[Q9] a connection that is lost while the code waits is tried again', async () => {
    const { upstream } = program;
    let shown = '';
    const ran = command(['account', 'login', 'south'], {
      onErr: (text) => {
        shown += text;
      },
    });
    const code = await until('a user code', () => upstream.authorizationOf('south').undecided.at(-1));
    await upstream.hangUp('south');
    await until(
      'the notice',
      () => /cannot be reached \(no connection\); it is asked again until the code ends\n/.test(shown) || undefined,
    );
    await upstream.pickUp('south');
    upstream.authorizationOf('south').decide(code, 'allow');
    const { out, err } = await ran;
    assert.match(out, /^account 'south' is logged in as 'user-of-south'/, err);
  });

  test('[Q9] a provider that cannot be reached, and one that has no such grant, end in a sentence', async () => {
    const { upstream } = program;
    upstream.nextOn('west', '/oauth/device', 'cut before headers');
    const lost = await command(['account', 'login', 'west']);
    assert.match(
      lost.err,
      /^http:\S+ cannot be reached \(the connection was lost\): check the network of this machine and the proxy of the account/,
    );
    upstream.nextOn('west', '/oauth/device', 'refuse 503');
    const down = await command(['account', 'login', 'west']);
    assert.match(down.err, /^http:\S+ refuses the login \(server_is_overloaded\): check client_id, scopes/);
    upstream.nextOn('west', '/oauth/device', 'refuse 400 unauthorized_client');
    const other = await command(['account', 'login', 'west']);
    assert.match(other.err, /unauthorized_client\): this client may not use this grant; try the other way, a device code or a browser\n$/);
    const both = await command(['account', 'login', 'west', '--device', '--paste']);
    assert.deepEqual([both.code, both.err], [2, '--device, --browser and --paste exclude each other\n']);
  });

  test('[Q9] of two logins at a time the first that ends stays, and the second says so', async () => {
    const authorization = program.upstream.authorizationOf('west');
    const before = authorization.undecided.length;
    const slow = command(['account', 'login', 'west']);
    const first = await until('the first code', () => authorization.undecided[before]);
    const quick = command(['account', 'login', 'west']);
    const second = await until('the second code', () => authorization.undecided[before + 1]);
    authorization.decide(second, 'allow');
    assert.equal((await quick).code, 0);
    authorization.decide(first, 'allow');
    const { code, err } = await slow;
    assert.equal(code, 1);
    assert.match(err, /another login of account 'west' was stored at 2\S+Z, after this one had begun, and stays in use/);
  });

  test('[Q9] without a running gateway the login goes into the store, and the gateway uses it when it starts', async () => {
    await program.stop();
    const { code, out, err } = await byDevice('lone', 'allow');
    assert.equal(code, 0, err);
    assert.match(out, /^account 'lone' is logged in as 'user-of-lone'\. It is in the store; the gateway reads its quota/);
    const again = await byDevice('lone', 'allow', { user: 'someone' });
    assert.match(again.err, /account 'lone' belongs to 'user-of-lone', and this is the login of 'someone'/);
    await program.run();
    await until('the models', async () => /^lone +active /m.test((await command(['status'])).out) || undefined);
    assert.equal(await turnAt('lone'), 200);
  });

  test('[S9] each stored login leaves an audit row, and no token is on disk or in the log', async () => {
    await program.stop();
    const { openStore } = await import('../../../store/store.ts');
    const store = await openStore(`sqlite:${join(program.folder, 'data', 'poolgate.db')}`, { clock: () => Date.now() });
    const rows = (await store.audit.list({ limit: 1000 })).filter(({ action }) => action === 'account.login');
    await store.close();
    assert.deepEqual([...new Set(rows.map(({ target }) => target))].toSorted(), IDS.toSorted());
    assert.ok(rows.every(({ actor, fields }) => actor === 'command' && JSON.stringify(fields).includes('(changed)')));
    const files = readdirSync(join(program.folder, 'data')).filter((name) => name.startsWith('poolgate'));
    const stored = files.map((name) => readFileSync(join(program.folder, 'data', name), 'latin1')).join('');
    for (const text of [stored, program.written]) assert.doesNotMatch(text, /[ar]t_[0-9a-f]{12}_|user-of-/);
  });
});

test('[Q9] account login needs an oauth section with the address of a grant', async () => {
  const { out, err, code } = await poolgate(['account', 'login', 'north', '--config', 'config.yaml'], {}, { input: answering() });
  assert.deepEqual([code, out], [1, '']);
  assert.match(err, /^account 'north' has no login: its credential has no oauth section/);
});
