// A login with a code that a person confirms in any browser: the device authorization grant (RFC 8628).
import type { Clock } from '../../../base/time/clock.ts';
import type { Tokens } from '../tokens.ts';
import type { AuthorizationServer } from './authorization-server.ts';
import { expired, LoginFailed, malformedAnswer } from './login-failed.ts';

export interface DevicePrompt {
  readonly userCode: string;
  /** The address at which a person enters the code. */
  readonly url: string;
  /** The address that includes the code, if the provider has one. */
  readonly urlWithCode: string | undefined;
  readonly seconds: number;
}

export interface DeviceLoginTools {
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly show: (prompt: DevicePrompt) => void;
  /** Called if the server did not answer. It is asked again. */
  readonly onLost: (failure: LoginFailed) => void;
  /** Ends the login, which is then rejected with the signal's reason. */
  readonly ended?: AbortSignal;
}

/** The interval in seconds if the provider states none (RFC 8628, 3.2). */
const INTERVAL_S = 5;
/** Seconds that are added to the interval if the server is asked too often (RFC 8628, 3.5). */
const SLOWER_S = 5;
/** The longest pause after lost connections. Pauses double. */
const LONGEST_PAUSE_S = 60;
/** The longest validity of a code. A longer one that the provider states is cut, because no person waits that long. */
const LONGEST_S = 3_600;
/** The longest code and address that are shown, because people type them. */
const CODE_LENGTH = 64;
const URL_LENGTH = 2_048;
/** Characters that are removed, because control characters would change the terminal. */
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
  if (userCode.length > CODE_LENGTH || url.length > URL_LENGTH) throw malformedAnswer(deviceUrl, 'a device code');
  const urlWithCode = complete === undefined || complete.length > URL_LENGTH ? undefined : printable(complete);
  show({ userCode, url, urlWithCode, seconds });
  const end = began + seconds * 1000;
  let interval = Math.max(1, Math.min(code.interval ?? INTERVAL_S, LONGEST_PAUSE_S));
  let pause = interval;
  let lost: LoginFailed | undefined;
  for (;;) {
    // The code may be confirmed just before it expires.
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

/** The failure of a request that got no answer. The code stays valid, and the server is asked again later (RFC 8628, 3.5). */
function lostConnection(thrown: unknown): LoginFailed {
  if (thrown instanceof LoginFailed && thrown.end === 'network') return thrown;
  throw thrown;
}

/** Waits. It resolves early if the login ends. */
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
