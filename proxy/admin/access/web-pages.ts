// Refuses what a web page of another origin sends to the admin listener: a cross-site form, or a host name bound to its address (DNS rebinding).
import type { IncomingHttpHeaders } from 'node:http';
import { isLoopback } from '../../base/process/loopback.ts';

/** The header of every write: no page can send it to another origin without a preflight, which is refused. */
export const COMMAND_HEADER = 'x-poolgate-command';

export interface PageCheck {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  /** Whether any Host is served: a proxy that signs people in passes its own name. */
  readonly anyHost: boolean;
}

/** The reason of the refusal; undefined for a request of a command, a scraper or the listener's own pages. */
export function pageRefusal({ method, headers, anyHost }: PageCheck): string | undefined {
  const { host, origin, 'sec-fetch-site': site } = headers;
  if (!anyHost && !isLoopback(nameOf(host))) return 'this host is not served';
  if (origin !== undefined && hostOf(origin) !== host?.toLowerCase()) return 'no cross-origin requests';
  // Browsers state it for every request of a page; a page that is opened by its address or a bookmark has `none`.
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

/** Host and port of an origin, as a Host header has them; undefined for `null`, and for a text that is no origin. */
const hostOf = (origin: string): string | undefined => /^https?:\/\/([^/?#\s]+)$/i.exec(origin)?.[1]?.toLowerCase();
