// Guides a person through the login of an account: with a code for any browser, with a browser on this machine, or with a pasted callback.
import { codeOf } from '../../../store/folder.ts';
import { systemClock, withDeadline } from '../../base/time/clock.ts';
import type { OauthCredential } from '../../turn/settings.ts';
import { AuthorizationServer } from '../../upstream/credentials/login/authorization-server.ts';
import { type CallbackListener, callbackListener } from '../../upstream/credentials/login/callback-listener.ts';
import {
  CALLBACK_MS,
  type CodeLogin,
  codeLogin,
  PASTED,
  pastedRedirectOf,
  redirectOf,
} from '../../upstream/credentials/login/code-login.ts';
import { deviceLogin } from '../../upstream/credentials/login/device-login.ts';
import { LoginFailed, noCallback } from '../../upstream/credentials/login/login-failed.ts';
import type { Tokens } from '../../upstream/credentials/tokens.ts';
import type { Egress } from '../../upstream/egress/egress.ts';
import { CommandFailure, type Io } from '../command.ts';

export type Grant = 'device' | 'browser' | 'paste';

/** The interval of a timer that keeps the process alive, which timers of a clock do not. */
const ALIVE_MS = 60_000;

export interface LoginFlow {
  /** The `oauth` section with actual addresses. */
  readonly oauth: OauthCredential;
  readonly grant: Grant;
  /** The connections of the account, which the login uses too. */
  readonly egress: Egress;
}

/** @throws {CommandFailure} with what to do */
export async function loginByHand({ oauth, grant, egress }: LoginFlow, io: Io): Promise<Tokens> {
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
    const pasted = pastedCallback(login, 'In another browser: paste the address that it ends at here. ', { io, signal: waiting.signal });
    const first = await Promise.race([finishFromListener(login, listener), pasted]);
    return first instanceof URL ? await login.finish(first) : first;
  } finally {
    waiting.abort();
    listener.close();
  }
}

async function finishFromListener(login: CodeLogin, listener: CallbackListener): Promise<Tokens> {
  const callback = await withDeadline(listener.callback, systemClock, CALLBACK_MS);
  if (typeof callback === 'symbol') throw noCallback(CALLBACK_MS);
  // The login may still fail, because the tokens may be refused here or by the store.
  callback.answer('The browser has done its part; the terminal says how the login ended. You may close this window.');
  return login.finish(callback.url);
}

async function byPaste(server: AuthorizationServer, oauth: OauthCredential, io: Io): Promise<Tokens> {
  const login = await codeLogin(server, oauth.authorize_url ?? '', pastedRedirectOf(oauth));
  io.err(
    `Open this address in any browser:\n\n${login.url}\n\nIt ends at an address that begins with ${login.redirectUrl}, and does not load.\n`,
  );
  const callback = await pastedCallback(login, 'Paste that address here: ', { io });
  if (!(callback instanceof URL)) throw new CommandFailure('no address was pasted: run the command again');
  return login.finish(callback);
}

/** Never resolves if the input ends while a listener waits too. */
async function pastedCallback(
  login: CodeLogin,
  question: string,
  { io, signal }: { readonly io: Io; readonly signal?: AbortSignal },
): Promise<URL> {
  for (;;) {
    const text = await io.input.line(question, signal ? { signal } : {});
    if (text === undefined) {
      if (signal) return new Promise(() => undefined);
      throw new CommandFailure('no address was pasted: run the command again');
    }
    const callback = login.pasted(text);
    if (callback) return callback;
    io.err(`That is no callback address. Paste ${PASTED}.\n`);
  }
}

async function listening(redirectUrl: string): Promise<CallbackListener> {
  try {
    return await callbackListener(redirectUrl);
  } catch (thrown) {
    throw new CommandFailure(
      `${redirectUrl} cannot be listened on (${codeOf(thrown)}): end the program that has its port, or use --paste or --device`,
    );
  }
}
