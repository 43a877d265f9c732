// Leads a person through the login of an account: with a code for any browser, or with a browser on this machine, or with a pasted callback.
import { codeOf } from '../../../store/folder.ts';
import { systemClock, withDeadline } from '../../base/time/clock.ts';
import type { OauthCredential } from '../../turn/settings.ts';
import { AuthorizationServer } from '../../upstream/credentials/login/authorization-server.ts';
import { type CallbackListener, callbackListener } from '../../upstream/credentials/login/callback-listener.ts';
import { type CodeLogin, codeLogin } from '../../upstream/credentials/login/code-login.ts';
import { deviceLogin } from '../../upstream/credentials/login/device-login.ts';
import { LoginFailed } from '../../upstream/credentials/login/login-failed.ts';
import type { Tokens } from '../../upstream/credentials/tokens.ts';
import type { Egress } from '../../upstream/egress/egress.ts';
import { CommandFailure, type Io } from '../command.ts';

export type Grant = 'device' | 'browser' | 'paste';

/** The longest wait for the callback of a browser. */
const CALLBACK_MS = 600_000;
/** Any interval keeps the process alive while a clock's timers do not. */
const ALIVE_MS = 60_000;

export interface LoginWay {
  /** With the addresses that are really asked. */
  readonly oauth: OauthCredential;
  readonly grant: Grant;
  /** How the account is reached: the login goes the same way. */
  readonly egress: Egress;
}

/** @throws {CommandFailure} with what to do */
export async function loginByHand({ oauth, grant, egress }: LoginWay, io: Io): Promise<Tokens> {
  const server = new AuthorizationServer(oauth, { now: () => systemClock.now(), routeTo: (url) => egress.routeTo(url) });
  const alive = setInterval(() => undefined, ALIVE_MS);
  try {
    if (grant === 'device') return await byDevice(server, oauth.device_url ?? '', io);
    return await (grant === 'browser' ? byBrowser : byPaste)(server, oauth, io);
  } catch (thrown) {
    throw thrown instanceof LoginFailed ? new CommandFailure(thrown.message) : thrown;
  } finally {
    clearInterval(alive);
  }
}

function byDevice(server: AuthorizationServer, deviceUrl: string, io: Io): Promise<Tokens> {
  return deviceLogin(server, deviceUrl, {
    clock: systemClock,
    onLost: ({ reason }) => io.err(`${reason}; it is asked again until the code ends\n`),
    show: ({ userCode, url, urlWithCode, seconds }) => {
      const minutes = Math.max(1, Math.round(seconds / 60));
      const short = urlWithCode === undefined ? '' : `\nOr open ${urlWithCode}`;
      io.err(`Open ${url} in any browser, and enter the code ${userCode} (valid for ${minutes} min).${short}\n`);
    },
  });
}

async function byBrowser(server: AuthorizationServer, oauth: OauthCredential, io: Io): Promise<Tokens> {
  const listener = await listening(redirectOf(oauth));
  const waiting = new AbortController();
  try {
    const login = await codeLogin(server, oauth.authorize_url ?? '', listener.redirectUrl);
    io.err(`Open this address in a browser of this machine:\n\n${login.url}\n\n`);
    if (!io.input.isTerminal) return await finishFromListener(login, listener);
    const pasted = pastedCallback('In another browser: paste the address that it ends at here. ', io, waiting.signal);
    const first = await Promise.race([finishFromListener(login, listener), pasted]);
    return first instanceof URL ? await login.finish(first) : first;
  } finally {
    waiting.abort();
    listener.close();
  }
}

async function finishFromListener(login: CodeLogin, listener: CallbackListener): Promise<Tokens> {
  const callback = await withDeadline(listener.callback, systemClock, CALLBACK_MS);
  if (typeof callback === 'symbol') {
    throw new CommandFailure(`no browser came back within ${CALLBACK_MS / 60_000} min: run the command again, or use --device or --paste`);
  }
  // Its tokens may be refused here, or by the store.
  callback.answer('The browser has done its part; the terminal says how the login ended. You may close this window.');
  return login.finish(callback.url);
}

async function byPaste(server: AuthorizationServer, oauth: OauthCredential, io: Io): Promise<Tokens> {
  const redirect = new URL(redirectOf(oauth));
  // Nothing listens there: the browser shows an error page, and its address has the code.
  if (redirect.port === '0') redirect.port = '';
  const login = await codeLogin(server, oauth.authorize_url ?? '', redirect.href);
  io.err(
    `Open this address in any browser:\n\n${login.url}\n\nIt ends at an address that begins with ${redirect.href}, and does not load.\n`,
  );
  const callback = await pastedCallback('Paste that address here: ', io);
  if (!(callback instanceof URL)) throw new CommandFailure('no address was pasted: run the command again');
  return login.finish(callback);
}

/** Never resolves where the input ends while a listener waits too. */
async function pastedCallback(question: string, io: Io, signal?: AbortSignal): Promise<URL> {
  for (;;) {
    const text = await io.input.line(question, signal ? { signal } : {});
    if (text === undefined) {
      if (signal) return new Promise(() => undefined);
      throw new CommandFailure('no address was pasted: run the command again');
    }
    const address = text.trim();
    if (URL.canParse(address) && /[?&](?:code|error)=/.test(address)) return new URL(address);
    io.err('That is no callback address: it has a code=… in it. Copy it from the address bar of the browser.\n');
  }
}

const redirectOf = ({ redirect_url = 'http://127.0.0.1:0/callback' }: OauthCredential): string => redirect_url;

async function listening(redirectUrl: string): Promise<CallbackListener> {
  try {
    return await callbackListener(redirectUrl);
  } catch (thrown) {
    throw new CommandFailure(
      `${redirectUrl} cannot be listened on (${codeOf(thrown)}): end the program that has its port, or use --paste or --device`,
    );
  }
}
