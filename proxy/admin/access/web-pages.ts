// Refuses requests that a web page of another origin sends to the admin listener, by a form or by a host name that resolves to its address
// (DNS rebinding).
import type { IncomingHttpHeaders } from 'node:http';
import { isLoopback } from '../../base/process/loopback.ts';

/** The header that every write needs. A page can send it to another origin only after a preflight, which is refused. */
export const COMMAND_HEADER = 'x-poolgate-command';

export interface PageCheck {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  /** Whether any Host is accepted, because a proxy that signs people in passes its own name. */
  readonly anyHost: boolean;
}

/** The reason of the refusal; undefined for a request of a command, a scraper or the listener's own pages. */
export function pageRefusal({ method, headers, anyHost }: PageCheck): string | undefined {
  const { host, origin, 'sec-fetch-site': site } = headers;
  if (!anyHost && !isLoopback(nameOf(host))) return 'this host is not served';
  if (origin !== undefined && hostOf(origin) !== host?.toLowerCase()) return 'no cross-origin requests';
  // Browsers send this header with every request of a page. It is `none` if a person opens an address or a bookmark.
  if (site === 'cross-site' || site === 'same-site') return 'no cross-origin requests';
  if (method !== 'GET' && method !== 'HEAD' && headers[COMMAND_HEADER] === undefined) return `the header ${COMMAND_HEADER} is missing`;
  return undefined;
}

/** The host of a Host header, without port and brackets. */
const nameOf = (host = ''): string =>
  host
    .replace(/:\d+$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .toLowerCase();

/** The host and port of an origin, in the form of a Host header. Undefined for `null`, and for text that is not an origin. */
const hostOf = (origin: string): string | undefined => /^https?:\/\/([^/?#\s]+)$/i.exec(origin)?.[1]?.toLowerCase();
