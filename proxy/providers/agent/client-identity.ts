// The account's own headers on an attempt, and the client version that the attempt states: the newer of the operator's and the client's
// (RB2).
import type { Headers } from '../../turn/turn.ts';
import { compareVersions, parseVersion, versionText } from '../../turn/wire/client-version.ts';

/**
 * Adds the account's headers, which replace the client's.
 * @param client the headers of a native client; undefined for other clients, whose headers state the version of another program
 */
export function identify(
  sent: Record<string, string>,
  own: Readonly<Record<string, string>>,
  client: Headers | undefined,
): Record<string, string> {
  const operator = versionText(own);
  const stated = client && versionText(client);
  Object.assign(sent, own);
  const version = newer(operator, stated);
  if (version === undefined) return sent;
  sent.version = version;
  const agent = sent['user-agent'];
  // A configured user agent contains a version of the operator's choice.
  const written = own['user-agent'] === undefined ? stated : operator;
  if (agent !== undefined && written !== undefined && written !== version) sent['user-agent'] = withNumber(agent, written, version);
  return sent;
}

function newer(a: string | undefined, b: string | undefined): string | undefined {
  const parsedA = parseVersion(a);
  if (!parsedA) return b;
  const parsedB = parseVersion(b);
  return parsedB && compareVersions(parsedB, parsedA) > 0 ? b : a;
}

function withNumber(agent: string, from: string, to: string): string {
  const escaped = from.replace(/[.+]/g, '\\$&');
  return agent.replace(new RegExp(`(?<![\\d.])${escaped}(?![\\d.])`, 'g'), () => to);
}
