// Refuses requests to /mcp that name another host or come from a page of another host, because a web page must not reach it (Q25).
import { Refusal } from '../../proxy/turn/errors/refusal.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';

const refuse = (header: string): Refusal =>
  new Refusal('invalid_request', {
    status: 403,
    message: `The ${header} of this request is not allowed here: mcp.allowed_hosts lists the hosts that are.`,
  });

const FOREIGN_HOST = refuse('Host');
const FOREIGN_ORIGIN = refuse('Origin');

/** The host of an origin; undefined for an opaque origin (`null`) and for a text that is not an origin. */
const hostOf = (origin: string): string | undefined => /^https?:\/\/([^/?#\s]+)$/i.exec(origin)?.[1];

/**
 * A page could bind its own host name to this gateway's address (DNS rebinding). Then Host names a foreign host. If a page of another host
 * sends a request, Origin names that host.
 */
export const operatorHost = rule({
  name: 'operator-host',
  routes: ['mcp'],
  admit(turn) {
    const { host, origin } = turn.headers;
    if (host === undefined || !turn.isOwnHost(host)) throw FOREIGN_HOST;
    if (origin === undefined) return;
    const from = hostOf(origin);
    if (from === undefined || !turn.isOwnHost(from)) throw FOREIGN_ORIGIN;
  },
});
