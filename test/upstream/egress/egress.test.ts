// Accounts behind proxies: every connection of an account uses its proxy, and none bypasses it if the proxy cannot be reached.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { type Draft, type Reply, startGateway, type TestGateway } from '../../support/gateway.ts';
import { frameOf, NATIVE_SOCKET, typesOf } from '../../support/native-frames.ts';
import { httpProxy, type ProxyOptions, socksProxy, type TestProxy } from '../../support/network/proxies.ts';
import { upload } from '../../support/stages/files.ts';
import { connect } from '../../support/websocket.ts';

let folder: string;
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'poolgate-egress-'));
});
after(() => rmSync(folder, { recursive: true }));

/** An address of the loopback network without a provider; the proxies map it to 127.0.0.1. */
const ELSEWHERE = '127.0.0.2';
const NAMES = { [ELSEWHERE]: '127.0.0.1' };
const TOKENS = { access_token: 'at-1', refresh_token: 'rt-1' };

interface Stage {
  readonly gate: TestGateway;
  /** Connections that reached the address of the account without its proxy. */
  readonly direct: () => number;
}

/** One account with a login, and a trap at the address of the account. */
async function stage(context: TestContext, config: (draft: Draft) => void): Promise<Stage> {
  const file = join(folder, 'north.json');
  writeFileSync(file, JSON.stringify({ tokens: TOKENS }));
  let direct = 0;
  const traps: Server[] = [];
  const gate = await startGateway({
    upstream: { accounts: [{ id: 'north', oauth: { ...TOKENS, expires_in: 3600 } }] },
    config: (draft) => {
      const [north] = draft.accounts;
      north.base_url = north.base_url.replace('127.0.0.1', ELSEWHERE);
      north.credential = { oauth: { file, token_url: `${north.base_url}/oauth/token`, client_id: 'client-1' } };
      draft.store_key = { file: join(folder, 'store.key') };
      draft.timeouts.upstream_connect_ms = 1_000;
      const trap = createServer((socket) => {
        direct += 1;
        socket.destroy();
      });
      traps.push(trap.listen(Number(new URL(north.base_url).port), ELSEWHERE));
      config(draft);
    },
  });
  context.after(async () => {
    await gate.close();
    for (const trap of traps) trap.close();
  });
  for (const trap of traps) if (!trap.listening) await once(trap, 'listening');
  return { gate, direct: () => direct };
}

const turn = (gate: TestGateway, stream = false): Promise<Reply> =>
  gate.send('/v1/responses', { body: { model: 'model-a', input: 'hello', stream } });

const image = (gate: TestGateway): Promise<Reply> =>
  gate.send('/backend-api/agent/images/generations', { body: { model: 'gpt-image-1', prompt: 'a tree' } });

/** Makes each kind of connection of the gateway to an account. */
async function everyWay(gate: TestGateway): Promise<void> {
  assert.equal((await turn(gate)).status, 200);
  assert.match((await turn(gate, true)).text, /response\.completed/);
  const piped = await image(gate);
  assert.equal(piped.status, 200, piped.text);
  const socket = await connect(gate, NATIVE_SOCKET);
  const frames = await socket.turn(frameOf('hello'));
  assert.equal(typesOf(frames).at(-1), 'response.completed');
  socket.close();
  const file = await upload(gate);
  assert.equal(file.status, 200, file.text);
  // The provider has dropped the access token, so it is refreshed.
  gate.upstream.next('north', 'refuse 401');
  assert.equal((await turn(gate)).status, 200);
  assert.equal(gate.upstream.requests('north').filter(({ path }) => path === '/oauth/token').length, 1);
}

const KINDS: readonly (readonly [string, (options: ProxyOptions) => Promise<TestProxy>])[] = [
  ['http', httpProxy],
  ['socks5', socksProxy],
];

for (const [scheme, start] of KINDS) {
  describe(`an account with a proxy of ${scheme}`, () => {
    test('turns, streams, pass-through rows, websockets, uploads, refreshes and reads of the gateway go through it', async (context) => {
      await using proxy = await start({ names: NAMES, user: 'me', password: 'p:w' });
      const password = join(folder, 'password');
      writeFileSync(password, 'me:p:w\n');
      const { gate, direct } = await stage(context, (draft) => {
        draft.accounts[0].proxy = { url: `${scheme}://127.0.0.1:${proxy.port}`, credential: { file: password } };
      });
      await everyWay(gate);
      const target = new URL(gate.upstream.urlOf('north').replace('127.0.0.1', ELSEWHERE)).host;
      assert.deepEqual(new Set(proxy.opened), new Set([target]));
      assert.equal(direct(), 0);
      assert.ok(!gate.logged.join('').includes('p:w'));
    });

    test('a proxy that is away takes the account out: nothing goes around it, and it works when the proxy is back', async (context) => {
      const first = await start({ names: NAMES });
      const { gate, direct } = await stage(context, (draft) => {
        draft.accounts[0].proxy = { url: `${scheme}://127.0.0.1:${first.port}` };
      });
      assert.equal((await turn(gate)).status, 200);
      const socket = await connect(gate, NATIVE_SOCKET);
      await first[Symbol.asyncDispose]();
      gate.upstream.clear();
      for (const failed of [await turn(gate), await turn(gate, true), await upload(gate), await image(gate)]) {
        assert.ok(failed.status === 502 || failed.status === 503, failed.text);
      }
      assert.equal(typesOf(await socket.turn(frameOf('hello'))).at(-1), 'error');
      await gate.refresh();
      assert.deepEqual(gate.upstream.requests('north'), []);
      assert.equal(direct(), 0);
      await using second = await start({ names: NAMES });
      await gate.reconfigure((draft) => {
        draft.accounts[0].proxy = { url: `${scheme}://127.0.0.1:${second.port}` };
      });
      gate.heal();
      assert.equal((await turn(gate)).status, 200);
      assert.equal(direct(), 0);
    });

    test('a proxy that is away at the start gives the account no models', async (context) => {
      const proxy = await start({ names: NAMES });
      await proxy[Symbol.asyncDispose]();
      const { gate, direct } = await stage(context, (draft) => {
        draft.accounts[0].proxy = { url: `${scheme}://127.0.0.1:${proxy.port}` };
      });
      assert.equal((await turn(gate)).json.error.code, 'no_eligible_account');
      assert.deepEqual(gate.upstream.requests('north'), []);
      assert.equal(direct(), 0);
    });

    test('a refusal of the proxy is no answer of the account', async (context) => {
      await using proxy = await start({ names: NAMES, user: 'me', password: 'right' });
      const password = join(folder, 'wrong');
      writeFileSync(password, 'me:wrong');
      const { gate, direct } = await stage(context, (draft) => {
        draft.accounts[0].proxy = { url: `${scheme}://127.0.0.1:${proxy.port}`, credential: { file: password } };
        draft.pools[0].models = { 'model-a': {} };
      });
      await turn(gate);
      assert.equal(gate.account('north').status, 'active');
      assert.ok(proxy.credentials.length > 0);
      assert.deepEqual(proxy.opened, []);
      assert.equal(direct(), 0);
    });

    test('a silent proxy costs the time of a connection', async (context) => {
      await using proxy = await start({ isSilent: true });
      const { gate, direct } = await stage(context, (draft) => {
        draft.timeouts.upstream_connect_ms = 100;
        draft.accounts[0].proxy = { url: `${scheme}://127.0.0.1:${proxy.port}` };
      });
      assert.ok((await turn(gate)).status >= 400);
      assert.equal(direct(), 0);
    });
  });
}

describe('egress: environment', () => {
  /** Loads the draft with these variables in the environment of this process. */
  const withEnvironment = async (variables: Readonly<Record<string, string>>, run: () => Promise<void>): Promise<void> => {
    Object.assign(process.env, variables);
    try {
      await run();
    } finally {
      for (const name of Object.keys(variables)) delete process.env[name];
    }
  };

  test('every connection goes through HTTP_PROXY', async (context) => {
    await using proxy = await httpProxy({ names: NAMES, user: 'me', password: 'p%w' });
    await withEnvironment({ HTTP_PROXY: `http://me:p%25w@127.0.0.1:${proxy.port}` }, async () => {
      const { gate, direct } = await stage(context, (draft) => {
        draft.egress = 'environment';
      });
      await everyWay(gate);
      assert.equal(direct(), 0);
      assert.ok(proxy.opened.length > 0);
    });
  });

  test('a host that NO_PROXY excepts is reached directly, and the proxy of an account is the stronger one', async (context) => {
    await using proxy = await httpProxy({ names: NAMES });
    await using own = await socksProxy({ names: NAMES });
    await withEnvironment({ HTTP_PROXY: `127.0.0.1:${proxy.port}`, NO_PROXY: 'other.example,127.0.0.0/8' }, async () => {
      const { gate, direct } = await stage(context, (draft) => {
        draft.egress = 'environment';
      });
      assert.ok(direct() > 0);
      await gate.reconfigure((draft) => {
        draft.accounts[0].proxy = { url: `socks5://127.0.0.1:${own.port}` };
      });
      gate.heal();
      assert.equal((await turn(gate)).status, 200);
      assert.deepEqual(proxy.opened, []);
      assert.ok(own.opened.length > 0);
    });
  });

  test('without the setting the environment changes nothing', async (context) => {
    await using proxy = await httpProxy({ names: NAMES });
    await withEnvironment({ HTTP_PROXY: `http://127.0.0.1:${proxy.port}` }, async () => {
      const { direct } = await stage(context, () => undefined);
      assert.ok(direct() > 0);
      assert.deepEqual(proxy.opened, []);
    });
  });
});
