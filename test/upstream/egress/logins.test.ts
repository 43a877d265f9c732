// `account login` and refreshes behind a proxy: they reach the provider through the proxy of the account, and never bypass it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { poolgate, type Ran, type Watched } from '../../cli/run.ts';
import { httpProxy, socksProxy } from '../../support/network/proxies.ts';
import { type Program, startProgram } from '../../support/program/program.ts';
import { inTime } from '../../support/rehearsal-inbox.ts';
import { until } from '../../support/until.ts';

/** An address of the loopback network without a provider; the proxies map it to 127.0.0.1. */
const ELSEWHERE = '127.0.0.2';
const NAMES = { [ELSEWHERE]: '127.0.0.1' };

interface Stage {
  readonly program: Program;
  /** Connections that reached the address of the account without its proxy. */
  readonly direct: () => number;
  readonly login: (way: '--device' | '--paste', watched?: Partial<Watched>) => Promise<Ran>;
  /** The number of POST requests to this path that the provider got. */
  readonly posted: (path: string) => number;
}

async function stage(context: TestContext, proxy: string): Promise<Stage> {
  let direct = 0;
  const trap = createServer((socket) => {
    direct += 1;
    socket.destroy();
  });
  context.after(() => trap.close());
  const program = await startProgram({
    here: true,
    upstream: { accounts: [{ id: 'north', oauth: { client_id: 'client-1' } }, 'south'] },
    config: (draft) => {
      draft.accounts = [{ id: 'north', base_url: '', credential: { oauth: {} }, proxy: { url: proxy } }];
      draft.pools[0].assignments = [{ account: 'north' }];
    },
    urls: (draft, upstream) => {
      const [north] = draft.accounts;
      const url = upstream.urlOf('north');
      north.base_url = url.replace('127.0.0.1', ELSEWHERE);
      trap.listen(Number(new URL(url).port), ELSEWHERE);
      north.credential.oauth = {
        token_url: `${north.base_url}/oauth/token`,
        device_url: `${north.base_url}/oauth/device`,
        // A browser opens this address, and does not use the proxy of the account.
        authorize_url: `${url}/oauth/authorize`,
        client_id: 'client-1',
      };
    },
  });
  context.after(() => program[Symbol.asyncDispose]());
  if (!trap.listening) await inTime(once(trap, 'listening'), () => 'the trap listens');
  program.upstream.authorizationOf('north').settings = { seconds: 20, intervalSeconds: 1 };
  return {
    program,
    direct: () => direct,
    login: (way, watched) => {
      const ran = poolgate(['account', 'login', 'north', way, '--config', program.path], {}, watched);
      return inTime(ran, () => `account login ${way} ends`);
    },
    posted: (path) => program.upstream.requests('north').filter((one) => one.method === 'POST' && one.path === path).length,
  };
}

const turn = ({ program }: Stage): Promise<number> => program.status('/v1/responses', { body: { model: 'model-a', input: 'hello' } });

for (const [scheme, start] of [
  ['http', httpProxy],
  ['socks5', socksProxy],
] as const) {
  test(`[Q9] logins and refreshes go through the account's proxy of ${scheme}, and end in a sentence while it is away`, async (context) => {
    const proxy = await start({ names: NAMES });
    let isAway = false;
    const leave = async (): Promise<void> => {
      if (!isAway) await proxy[Symbol.asyncDispose]();
      isAway = true;
    };
    context.after(leave);
    const staged = await stage(context, `${scheme}://127.0.0.1:${proxy.port}`);
    const { program, direct, login, posted } = staged;
    const authorization = program.upstream.authorizationOf('north');

    const byDevice = login('--device');
    authorization.decide(await until('a user code', () => authorization.undecided[0]), 'allow', 'user-1');
    const device = await byDevice;
    assert.match(device.out, /^account 'north' is logged in as 'user-1'; \d+ models/, device.err);
    assert.equal(posted('/oauth/device'), 1);
    assert.ok(posted('/oauth/token') > 0 && proxy.opened.length > 0);

    const callback = Promise.withResolvers<string>();
    let shown = '';
    const exchanges = posted('/oauth/token');
    const opened = proxy.opened.length;
    const byPaste = login('--paste', {
      input: { isTerminal: true, line: () => callback.promise },
      onErr: (text) => {
        shown += text;
      },
    });
    const url = await until('the address', () => /^http:\S+code_challenge\S+$/m.exec(shown)?.[0]);
    const { headers } = await fetch(`${url}&decision=allow&user=user-1`, { redirect: 'manual' });
    callback.resolve(headers.get('location') ?? 'http://127.0.0.1/?error=no_location');
    const pasted = await byPaste;
    assert.match(pasted.out, /^account 'north' is logged in as 'user-1'/, pasted.err);
    assert.equal(posted('/oauth/token'), exchanges + 1, 'the exchange of the code');
    assert.ok(proxy.opened.length > opened, 'over a connection of its own');

    // The provider has dropped the access token.
    program.upstream.next('north', 'refuse 401');
    assert.equal(await turn(staged), 200);
    assert.equal(posted('/oauth/token'), exchanges + 2, 'the refresh');

    await leave();
    program.upstream.clear();
    const away = await login('--device');
    assert.deepEqual([away.code, away.out], [1, '']);
    assert.match(away.err, /^http:\S+ cannot be reached \(.*\): check the network of this machine and the proxy of the account/);
    assert.notEqual(await turn(staged), 200);
    assert.deepEqual(program.upstream.requests('north'), []);
    assert.equal(direct(), 0, 'nothing went around the proxy');
  });
}
