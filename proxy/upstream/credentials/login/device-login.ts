// A login with a code that a person confirms in any browser: the device authorization grant (RFC 8628).
import type { Clock } from '../../../base/time/clock.ts';
import type { Tokens } from '../tokens.ts';
import type { AuthorizationServer } from './authorization-server.ts';
import { expired, LoginFailed } from './login-failed.ts';

export interface DevicePrompt {
  readonly userCode: string;
  /** Where a person enters it. */
  readonly url: string;
  /** The same with the code in it, where the provider has one. */
  readonly urlWithCode: string | undefined;
  readonly seconds: number;
}

export interface DeviceLoginTools {
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly show: (prompt: DevicePrompt) => void;
  /** The server did not answer, and is asked again. */
  readonly onLost: (failure: LoginFailed) => void;
}

/** Where the provider states none (RFC 8628, 3.2). */
const INTERVAL_S = 5;
/** Added where it is asked too often (RFC 8628, 3.5). */
const SLOWER_S = 5;
/** Of the pauses after lost connections, which double. */
const LONGEST_PAUSE_S = 60;
/** A person is there for no longer, whatever the provider states. */
const LONGEST_S = 3_600;
/** Control characters would change the terminal. */
const UNPRINTABLE = /\p{C}/gu;

/** @throws LoginFailed */
export async function deviceLogin(
  server: AuthorizationServer,
  deviceUrl: string,
  { clock, show, onLost }: DeviceLoginTools,
): Promise<Tokens> {
  const began = clock.now();
  const code = await server.deviceCode(deviceUrl);
  const seconds = Math.min(code.expires_in, LONGEST_S);
  show({
    userCode: printable(code.user_code),
    url: printable(code.verification_uri),
    urlWithCode: code.verification_uri_complete === undefined ? undefined : printable(code.verification_uri_complete),
    seconds,
  });
  const end = began + seconds * 1000;
  let interval = Math.max(1, Math.min(code.interval ?? INTERVAL_S, LONGEST_PAUSE_S));
  let pause = interval;
  let lost: LoginFailed | undefined;
  for (;;) {
    // The code may be confirmed in the last moment before its end.
    if (clock.now() + pause * 1000 > end) throw lost ?? expired(seconds);
    await passed(pause * 1000, clock);
    const answer = await server.deviceTokens(code.device_code).catch(lostConnection);
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

const passed = (ms: number, clock: Pick<Clock, 'after'>): Promise<void> => new Promise((resolve) => void clock.after(ms, resolve));

const printable = (text: string): string => text.replace(UNPRINTABLE, '');
