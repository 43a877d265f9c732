// How logins end at the simulated authorization server: with tokens, or with a sentence that says what the operator can do (RFC 8628, RFC
// 7636).
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Clock } from '../../../proxy/base/time/clock.ts';
import { AuthorizationServer } from '../../../proxy/upstream/credentials/login/authorization-server.ts';
import { codeLogin } from '../../../proxy/upstream/credentials/login/code-login.ts';
import { deviceLogin } from '../../../proxy/upstream/credentials/login/device-login.ts';
import { type LoginEnd, LoginFailed } from '../../../proxy/upstream/credentials/login/login-failed.ts';
import { startUpstream, type Upstream } from '../../support/rehearsal.ts';

const TOKEN = '/oauth/token';
const DEVICE = '/oauth/device';

/** A clock whose time passes only in the pauses of a login, each of which ends at once. */
class PauseClock implements Clock {
  /** The pauses in seconds. */
  readonly pauses: number[] = [];
  /** Called in each pause with the number of the pause. */
  meanwhile: (pause: number) => Promise<void> | void = () => undefined;
  #now = Date.UTC(2030, 0, 1);

  now(): number {
    return this.#now;
  }

  wallTime(): number {
    return this.#now;
  }

  after(ms: number, run: () => void): () => void {
    this.#now += ms;
    const pause = this.pauses.push(ms / 1000);
    void Promise.resolve(this.meanwhile(pause)).then(run);
    return () => undefined;
  }
}

interface Stage {
  readonly clock: PauseClock;
  readonly upstream: Upstream;
  readonly server: AuthorizationServer;
  /** The messages about lost connections. */
  readonly lost: string[];
  readonly user: (decision: 'allow' | 'deny' | 'expire') => void;
  readonly device: () => Promise<unknown>;
}

async function stage(context: TestContext): Promise<Stage> {
  const clock = new PauseClock();
  // Its answers do not wait, so it needs only the time of its clock.
  const upstream = await startUpstream({
    accounts: [{ id: 'north', oauth: { client_id: 'client-1' } }],
    clock: { now: () => clock.now(), wallTime: () => clock.now(), after: () => () => undefined },
  });
  context.after(() => upstream.close());
  const url = upstream.urlOf('north');
  const settings = { token_url: url + TOKEN, device_url: url + DEVICE, authorize_url: `${url}/oauth/authorize`, client_id: 'client-1' };
  const server = new AuthorizationServer(settings, { now: () => clock.now(), routeTo: () => undefined });
  const lost: string[] = [];
  const authorization = upstream.authorizationOf('north');
  return {
    clock,
    upstream,
    server,
    lost,
    user: (decision) => authorization.decide(authorization.undecided[0] ?? '', decision),
    device: () => deviceLogin(server, settings.device_url, { clock, show: () => undefined, onLost: ({ reason }) => lost.push(reason) }),
  };
}

/** Every sentence contains one of these instructions. */
const ADVICE = /begin again|Begin again|correct credential|check client_id|check the addresses|try the other|log in from another network/;

async function endsAs(login: Promise<unknown>, end: LoginEnd, sentence: RegExp): Promise<void> {
  const thrown = await login.then(
    () => undefined,
    (error: unknown) => error,
  );
  assert.ok(thrown instanceof LoginFailed, String(thrown));
  assert.equal(thrown.end, end);
  assert.match(thrown.message, sentence);
  assert.match(thrown.message, ADVICE);
}

interface DeviceCase {
  readonly meanwhile: (stage: Stage, pause: number) => Promise<void> | void;
  /** Runs before the login. */
  readonly first?: (stage: Stage) => void;
  /** Undefined if the login ends with tokens. */
  readonly end?: readonly [LoginEnd, RegExp];
  /** The seconds between the polls. */
  readonly pauses: readonly number[];
}

const allowAt =
  (last: number) =>
  ({ user }: Stage, pause: number): void => {
    if (pause === last) user('allow');
  };

const DEVICES: Readonly<Record<string, DeviceCase>> = {
  'a code that is confirmed in the third pause': { meanwhile: allowAt(3), pauses: [5, 5, 5] },
  'slow_down makes each following pause five seconds longer': {
    first: ({ upstream }) =>
      upstream.nextOn('north', TOKEN, 'refuse 400 slow_down', 'refuse 400 slow_down', 'refuse 400 authorization_pending'),
    meanwhile: allowAt(4),
    pauses: [5, 10, 15, 15],
  },
  'a code that is asked for too often by another process too': {
    // The provider counts its own interval for the code, and reports it.
    meanwhile: async (at, pause) => {
      if (pause === 2) await askedElsewhere(at);
      if (pause === 3) at.user('allow');
    },
    pauses: [5, 5, 10],
  },
  'a login that is denied': {
    meanwhile: ({ user }) => user('deny'),
    end: ['denied', /^the login was denied at the provider; nothing was stored\./],
    pauses: [5],
  },
  'a code that the provider ends early': {
    meanwhile: ({ user }) => user('expire'),
    end: ['expired', /^the login was not confirmed within 600 s, and its code has expired/],
    pauses: [5],
  },
  'a code that is not confirmed': {
    first: ({ upstream }) => {
      upstream.authorizationOf('north').settings = { seconds: 17, intervalSeconds: 5 };
    },
    meanwhile: () => undefined,
    end: ['expired', /^the login was not confirmed within 17 s/],
    pauses: [5, 5, 5],
  },
  'connections that are lost for a while': {
    meanwhile: async ({ upstream, user }, pause) => {
      if (pause === 1) await upstream.hangUp('north');
      if (pause !== 3) return;
      await upstream.pickUp('north');
      user('allow');
    },
    pauses: [5, 10, 20],
  },
  'a network that is lost until the code has expired': {
    first: ({ upstream }) => {
      upstream.authorizationOf('north').settings = { seconds: 60, intervalSeconds: 5 };
    },
    meanwhile: ({ upstream }, pause) => (pause === 1 ? upstream.hangUp('north') : undefined),
    end: ['network', /^http:\S+ cannot be reached \(no connection\): check the network of this machine and the proxy of the account/],
    pauses: [5, 10, 20],
  },
  'a provider that is overloaded while it is asked': {
    first: ({ upstream }) => upstream.nextOn('north', TOKEN, 'refuse 503', 'refuse 429'),
    meanwhile: allowAt(3),
    pauses: [5, 10, 20],
  },
  'a refusal that no code has': {
    first: ({ upstream }) => upstream.nextOn('north', TOKEN, 'refuse 400 invalid_grant'),
    meanwhile: () => undefined,
    end: ['refused', /^http:\S+ refuses the login \(invalid_grant\)/],
    pauses: [5],
  },
  'a client that may not use the grant': {
    first: ({ upstream }) => upstream.nextOn('north', DEVICE, 'refuse 400 unauthorized_client'),
    meanwhile: () => undefined,
    end: ['refused', /^http:\S+ refuses the login \(unauthorized_client\)/],
    pauses: [],
  },
  'an address that is not there': {
    first: ({ upstream }) => upstream.nextOn('north', DEVICE, 'refuse 404'),
    meanwhile: () => undefined,
    end: ['refused', /^http:\S+ refuses the login /],
    pauses: [],
  },
};

/** Polls once more at the same moment as the login, so the poll of the login itself comes too soon. */
async function askedElsewhere({ upstream }: Stage): Promise<void> {
  const asked = upstream.requests('north').findLast(({ path }) => path === TOKEN);
  const answer = await fetch(upstream.urlOf('north') + TOKEN, { method: 'POST', body: new URLSearchParams(asked?.body.toString()) });
  assert.match(await answer.text(), /authorization_pending/);
}

for (const [what, { first, meanwhile, end, pauses }] of Object.entries(DEVICES)) {
  test(`[Q9] a device login: ${what}`, async (context) => {
    const at = await stage(context);
    first?.(at);
    at.clock.meanwhile = (pause) => meanwhile(at, pause);
    if (end) await endsAs(at.device(), ...end);
    else assert.ok(await at.device());
    assert.deepEqual(at.clock.pauses, pauses);
  });
}

interface CodeCase {
  /** Changes the callback, or the provider. */
  readonly callback: (callback: URL, stage: Stage) => URL | Promise<URL>;
  readonly decision?: string;
  readonly end?: readonly [LoginEnd, RegExp];
}

const as = (callback: URL): URL => callback;
const withMember =
  (name: string, value: string) =>
  (callback: URL): URL => {
    callback.searchParams.set(name, value);
    return callback;
  };

const CODES: Readonly<Record<string, CodeCase>> = {
  'a callback with its code': { callback: as },
  'another state': { callback: withMember('state', 'of-another-login'), end: ['state', /its state differs\): nothing was stored/] },
  'another state from the provider': { decision: 'other state', callback: as, end: ['state', /its state differs/] },
  'a login that is denied': { decision: 'deny', callback: as, end: ['denied', /was denied at the provider/] },
  'a code that has expired': {
    decision: 'expire',
    callback: as,
    end: ['refused', /\(invalid_grant\): the code was used before or has expired/],
  },
  'a code that was changed': { callback: withMember('code', 'other'), end: ['refused', /\(invalid_grant\)/] },
  'a callback without a code': {
    callback: (callback) => {
      callback.searchParams.delete('code');
      return callback;
    },
    end: ['malformed', /does not answer with a code/],
  },
  'a provider that is overloaded': {
    callback: (callback, { upstream }) => {
      upstream.nextOn('north', TOKEN, 'refuse 503 temporarily_unavailable');
      return callback;
    },
    end: ['refused', /\(temporarily_unavailable\): the provider is overloaded/],
  },
  'a lost connection': {
    callback: (callback, { upstream }) => {
      upstream.nextOn('north', TOKEN, 'cut before headers');
      return callback;
    },
    end: ['network', /cannot be reached \(the connection was lost\)/],
  },
  'a network that is away': {
    callback: async (callback, { upstream }) => {
      await upstream.hangUp('north');
      return callback;
    },
    end: ['network', /cannot be reached \(no connection\)/],
  },
};

for (const [what, { callback, decision = 'allow', end }] of Object.entries(CODES)) {
  test(`[Q9] a login with a browser: ${what}`, async (context) => {
    const at = await stage(context);
    const login = await codeLogin(at.server, `${at.upstream.urlOf('north')}/oauth/authorize`, 'http://127.0.0.1:1/callback');
    const page = await fetch(`${login.url}&decision=${encodeURIComponent(decision)}`, { redirect: 'manual' });
    const finished = login.finish(await callback(new URL(page.headers.get('location') ?? ''), at));
    if (end) await endsAs(finished, ...end);
    else assert.ok((await finished).access);
  });
}
