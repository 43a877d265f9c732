// The authorization server of a simulated account, with the device grant, the authorization code grant and their refusals (RFC 8628, 6749,
// 7636).
import { hash } from 'node:crypto';
import type { IssuedTokens, LoginUser, SimulatedLogin } from '../account/login.ts';
import { jsonAnswer, type SimulatedAnswer } from '../delivery/answer.ts';
import type { IdSequence } from '../model/id-sequence.ts';
import { GrantRefused } from '../provider-error.ts';
import type { ReceivedRequest } from '../received-request.ts';
import { backTo, codePage, decisionIn, type LoginDecision, loginPage, shownPage } from './login-pages.ts';

/** A request of a login, and what its answer depends on. */
interface LoginRequest {
  readonly request: ReceivedRequest;
  /** Makes values that belong to the account. */
  readonly account: { bind(prefix: string, id: string): string };
  readonly ids: IdSequence;
  /** Unix milliseconds. */
  readonly now: number;
}

/** A login that a client has begun, with the person's decision if there is one. */
interface DeviceGrant {
  readonly userCode: string;
  readonly clientId: string;
  /** Unix milliseconds. */
  readonly expiresAt: number;
  interval: number;
  askedAt: number;
  decided: LoginDecision | undefined;
}

interface CodeGrant {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly challenge: string;
  readonly expiresAt: number;
  readonly user: LoginUser;
}

export interface AuthorizationSettings {
  /** The lifetime of a device code in seconds. */
  readonly seconds: number;
  /** The shortest time between two requests for the tokens. */
  readonly intervalSeconds: number;
}

const SETTINGS: AuthorizationSettings = { seconds: 600, intervalSeconds: 5 };
const CODE_MS = 60_000;
/** Seconds that are added to the interval if a client asks too often (RFC 8628, 3.5). */
const SLOWER_S = 5;
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

export class Authorization {
  settings = SETTINGS;
  readonly #login: SimulatedLogin;
  readonly #account: string;
  readonly #devices = new Map<string, DeviceGrant>();
  readonly #codes = new Map<string, CodeGrant>();

  constructor(login: SimulatedLogin, account: string) {
    this.#login = login;
    this.#account = account;
  }

  /** `POST /oauth/device`. @throws GrantRefused */
  deviceCode({ request, ids, now, account }: LoginRequest): SimulatedAnswer {
    const form = new URLSearchParams(request.body.toString());
    const clientId = this.#clientOf(form);
    const { seconds, intervalSeconds } = this.settings;
    const deviceCode = account.bind('dc', ids.nextNumber());
    const userCode = userCodeOf(deviceCode);
    const expiresAt = now + seconds * 1000;
    this.#devices.set(deviceCode, { userCode, clientId, expiresAt, interval: intervalSeconds, askedAt: now, decided: undefined });
    const url = `http://${request.headers.host}/oauth/activate`;
    return jsonAnswer(200, {
      device_code: deviceCode,
      user_code: userCode,
      verification_uri: url,
      verification_uri_complete: `${url}?user_code=${userCode}`,
      expires_in: seconds,
      interval: intervalSeconds,
    });
  }

  /** The user codes without a decision, oldest first. */
  get undecided(): readonly string[] {
    return [...this.#devices.values()].filter(({ decided }) => !decided).map(({ userCode }) => userCode);
  }

  /** The person at the browser decides. @param user default: the account's own one */
  decide(userCode: string, decision: LoginDecision['is'], user?: string): void {
    const grant = [...this.#devices.values()].find((one) => one.userCode === userCode);
    if (grant) grant.decided = { is: decision, user };
  }

  /** `GET /oauth/activate`: what a person does with a user code. */
  activatePage({ request }: LoginRequest): SimulatedAnswer {
    const query = new URLSearchParams(request.query);
    const userCode = query.get('user_code') ?? '';
    const decision = decisionIn(query);
    if (userCode === '') return codePage(request);
    if (!decision) return loginPage(request, `Allow the device with the code ${userCode} to use the account ${this.#account}?`);
    this.decide(userCode, decision.is, decision.user);
    return shownPage('You may close this window.');
  }

  /** `GET /oauth/authorize`: asks the person, and sends the browser back with what was decided. */
  authorizePage({ request, ids, now, account }: LoginRequest): SimulatedAnswer {
    const query = new URLSearchParams(request.query);
    const [redirectUri = '', state = ''] = ['redirect_uri', 'state'].map((name) => query.get(name) ?? '');
    const clientId = query.get('client_id') ?? '';
    // The browser is not sent back for an unknown client or a foreign address (RFC 6749, 4.1.2.1).
    if (!this.#login.knows(clientId)) return shownPage('The client is not known.', 400);
    if (!/^http:\/\/(?:127\.0\.0\.1|localhost|\[::1\])[:/]/.test(redirectUri))
      return shownPage('The redirect_uri is not on loopback.', 400);
    const decision = decisionIn(query);
    if (!decision) return loginPage(request, `Allow ${clientId} to use the account ${this.#account}?`);
    const challenge = query.get('code_challenge') ?? '';
    if (query.get('code_challenge_method') !== 'S256' || challenge === '') return backTo(redirectUri, { error: 'invalid_request', state });
    if (decision.is === 'deny') return backTo(redirectUri, { error: 'access_denied', state });
    const code = account.bind('ac', ids.nextNumber());
    const expiresAt = decision.is === 'expire' ? now : now + CODE_MS;
    this.#codes.set(code, { clientId, redirectUri, challenge, expiresAt, user: this.#userNamed(decision.user) });
    return backTo(redirectUri, { code, state: decision.is === 'other state' ? 'of-another-login' : state });
  }

  /** Answers the grants of `POST /oauth/token` that begin a login. @throws GrantRefused */
  granted({ request, ids, now }: LoginRequest): IssuedTokens {
    const form = new URLSearchParams(request.body.toString());
    const grant = form.get('grant_type');
    if (grant === DEVICE_GRANT) return this.#login.issued(this.#deviceUser(form, now), ids, now);
    if (grant === 'authorization_code') return this.#login.issued(this.#codeUser(form, now), ids, now);
    throw new GrantRefused('unsupported_grant_type', 'The grant type is not known.');
  }

  #deviceUser(form: URLSearchParams, now: number): LoginUser {
    const clientId = this.#clientOf(form);
    const deviceCode = form.get('device_code') ?? '';
    const grant = this.#devices.get(deviceCode);
    if (!grant || grant.clientId !== clientId) throw new GrantRefused('invalid_grant', 'The device code is not valid.');
    const { decided, askedAt } = grant;
    grant.askedAt = now;
    if (now >= grant.expiresAt || decided?.is === 'expire') throw new GrantRefused('expired_token', 'The device code has expired.');
    if (now < askedAt + grant.interval * 1000) {
      grant.interval += SLOWER_S;
      throw new GrantRefused('slow_down', 'The device code is asked for too often.');
    }
    if (!decided) throw new GrantRefused('authorization_pending', 'The device code was not confirmed yet.');
    this.#devices.delete(deviceCode);
    if (decided.is === 'deny') throw new GrantRefused('access_denied', 'The login was denied.');
    return this.#userNamed(decided.user);
  }

  #codeUser(form: URLSearchParams, now: number): LoginUser {
    const clientId = this.#clientOf(form);
    const code = form.get('code') ?? '';
    const grant = this.#codes.get(code);
    // A code is valid once, even if the request fails.
    this.#codes.delete(code);
    const challenge = hash('sha256', form.get('code_verifier') ?? '', 'base64url');
    const matches = grant?.clientId === clientId && grant.redirectUri === form.get('redirect_uri') && grant.challenge === challenge;
    if (!grant || !matches || now >= grant.expiresAt) throw new GrantRefused('invalid_grant', 'The code is not valid.');
    return grant.user;
  }

  #clientOf(form: URLSearchParams): string {
    const clientId = form.get('client_id') ?? '';
    if (clientId === '' || !this.#login.knows(clientId)) throw new GrantRefused('invalid_client', 'The client is not known.');
    return clientId;
  }

  #userNamed(name = `user-of-${this.#account}`): LoginUser {
    return { sub: name, email: `${name}@rehearsal.invalid` };
  }
}

/** A user code of eight letters that are hard to confuse (RFC 8628, 6.1). */
function userCodeOf(deviceCode: string): string {
  const letters = [...hash('sha256', deviceCode, 'buffer').subarray(0, 8)].map((byte) => 'BCDFGHJKLMNPQRSTVWXZ'[byte % 20]).join('');
  return `${letters.slice(0, 4)}-${letters.slice(4)}`;
}
