// A login with a code that a person confirms in any browser: the device authorization grant (RFC 8628).
import type { Clock } from '../../../base/time/clock.ts';
import type { Tokens } from '../tokens.ts';
import type { AuthorizationServer } from './authorization-server.ts';
import { expired, LoginFailed, malformed } from './login-failed.ts';

export interface DevicePrompt {
  readonly userCode: string;
  /** Where a person enters it. */
  readonly url: string;
  /** The address with the code in it, if the provider has one. */
  readonly urlWithCode: string | undefined;
  readonly seconds: number;
}

export interface DeviceLoginTools {
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly show: (prompt: DevicePrompt) => void;
  /** The server did not answer, and is asked again. */
  readonly onLost: (failure: LoginFailed) => void;
  /** Ends the login; its reason is what the login is rejected with. */
  readonly ended?: AbortSignal;
}

/** The interval if the provider states none (RFC 8628, 3.2). */
const INTERVAL_S = 5;
/** Added to the interval if the server is asked too often (RFC 8628, 3.5). */
const SLOWER_S = 5;
/** The longest pause after lost connections. Pauses double. */
const LONGEST_PAUSE_S = 60;
/** A person is there for no longer, whatever the provider states. */
const LONGEST_S = 3_600;
/** People type a code, and open an address. */
const CODE_LENGTH = 64;
const URL_LENGTH = 2_048;
/** Control characters would change the terminal. */
const UNPRINTABLE = /\p{C}/gu;

/** @throws LoginFailed */
export async function deviceLogin(
  server: AuthorizationServer,
  deviceUrl: string,
  { clock, show, onLost, ended }: DeviceLoginTools,
): Promise<Tokens> {
  const began = clock.now();
  const code = await server.deviceCode(deviceUrl);
  ended?.throwIfAborted();
  const { verification_uri_complete: complete } = code;
  const seconds = Math.min(code.expires_in, LONGEST_S);
  const userCode = printable(code.user_code);
  const url = printable(code.verification_uri);
  if (userCode.length > CODE_LENGTH || url.length > URL_LENGTH) throw malformed(deviceUrl, 'a device code');
  const urlWithCode = complete === undefined || complete.length > URL_LENGTH ? undefined : printable(complete);
  show({ userCode, url, urlWithCode, seconds });
  const end = began + seconds * 1000;
  let interval = Math.max(1, Math.min(code.interval ?? INTERVAL_S, LONGEST_PAUSE_S));
  let pause = interval;
  let lost: LoginFailed | undefined;
  for (;;) {
    // The code may be confirmed in the last moment before its end.
    if (clock.now() + pause * 1000 > end) throw lost ?? expired(seconds);
    await passed(pause * 1000, clock, ended);
    ended?.throwIfAborted();
    const answer = await server.deviceTokens(code.device_code).catch(lostConnection);
    ended?.throwIfAborted();
    lost = answer instanceof LoginFailed ? answer : undefined;
    if (answer instanceof LoginFailed) {
      if (pause === interval) onLost(answer);
      pause = Math.min(pause * 2, LONGEST_PAUSE_S);
    } else if (typeof answer === 'object') return answer.tokens;
    else if (answer === 'expired') throw expired(seconds);
    else {
      if (answer === 'slow_down') interval += SLOWER_S;
      pause = interval;
    }
  }
}

/** The code stays valid: it is asked for again later (RFC 8628, 3.5). */
function lostConnection(thrown: unknown): LoginFailed {
  if (thrown instanceof LoginFailed && thrown.end === 'network') return thrown;
  throw thrown;
}

/** Resolves also when the login ends. */
async function passed(ms: number, clock: Pick<Clock, 'after'>, ended: AbortSignal | undefined): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = clock.after(ms, resolve);
  const end = (): void => resolve();
  ended?.addEventListener('abort', end);
  await promise;
  ended?.removeEventListener('abort', end);
  cancel();
}

const printable = (text: string): string => text.replace(UNPRINTABLE, '');
