// The headers of requests to API accounts: the account's own headers, those that describe the body, and the client's headers for tracing
// (AA29).
import type { LiveTurn } from '../../turn/live-turn.ts';
import type { EncodedAttempt } from '../../turn/provider/provider-requests.ts';
import type { Outgoing } from '../../turn/turn.ts';
import { traceHeaders } from '../../turn/wire/headers.ts';
import { USER_AGENT } from '../../turn/wire/own-request.ts';

/** The client's headers that such an account gets. They are only those for tracing. */
export const beginHeaders = ({ headers }: LiveTurn): Record<string, string> => traceHeaders(headers);

/** @param described the headers that describe the body and the requested answer */
export function apiHeaders(
  { headers }: Pick<Outgoing, 'headers'>,
  { own }: Pick<EncodedAttempt, 'own'>,
  described: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return { ...headers, 'user-agent': USER_AGENT, ...own, ...described, 'accept-encoding': 'identity' };
}
