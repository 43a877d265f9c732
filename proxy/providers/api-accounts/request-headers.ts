// The headers of requests to API accounts: the account's own, those that describe the body, and the client's for tracing a call (AA29).
import type { LiveTurn } from '../../turn/live-turn.ts';
import type { EncodedAttempt } from '../../turn/provider/requests.ts';
import type { Outgoing } from '../../turn/turn.ts';
import { traceHeaders } from '../../turn/wire/headers.ts';
import { USER_AGENT } from '../../turn/wire/own-request.ts';

/** Nothing else of the client goes to such an account. */
export const beginHeaders = ({ headers }: LiveTurn): Record<string, string> => traceHeaders(headers);

/** @param described the headers of the body and of the answer that is wanted */
export function apiHeaders(
  { headers }: Pick<Outgoing, 'headers'>,
  { own }: Pick<EncodedAttempt, 'own'>,
  described: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return { ...headers, 'user-agent': USER_AGENT, ...own, ...described, 'accept-encoding': 'identity' };
}
