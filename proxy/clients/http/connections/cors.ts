// Cross-origin requests of web pages (CORS) to /v1. It answers preflights, and allows pages of the listed origins to read the answers.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RouteTable } from '../../../turn/routes/route-table.ts';
import { pathOfTarget } from './client-connection.ts';

/** How long a browser may reuse the answer to a preflight, in seconds. */
const MAX_AGE_S = '600';

/** Matches the names of request headers in the form in which browsers list them. */
const HEADER_NAMES = /^[\w-]+(?:, ?[\w-]+)*$/;

export class Cors {
  readonly #origins: ReadonlySet<string>;

  /** @param origins exact origins, such as `https://app.example` */
  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins);
  }

  /**
   * Adds the headers of CORS to an answer that is not written yet.
   * @param id the id for the answer to a preflight
   * @returns whether the request was a preflight, which is answered now, because it has no key and is not a turn
   */
  handle(request: IncomingMessage, response: ServerResponse, routes: RouteTable, id: string): boolean {
    const path = pathOfTarget(request.url ?? '');
    if (!path.startsWith('/v1/')) return false;
    // A cache must not share answers between origins, because they differ.
    response.setHeader('vary', 'origin');
    const { origin } = request.headers;
    if (origin === undefined || !this.#origins.has(origin)) return false;
    response.setHeader('access-control-allow-origin', origin);
    response.setHeader('access-control-expose-headers', '*');
    const method = request.headers['access-control-request-method'];
    if (request.method !== 'OPTIONS' || method === undefined) return false;
    const found = routes.find(method, path);
    // If there is no such row, the request gets the refusal of any other OPTIONS.
    if (!found || 'allow' in found) return false;
    const names = request.headers['access-control-request-headers'];
    response.writeHead(204, {
      'access-control-allow-methods': method,
      ...(names !== undefined && HEADER_NAMES.test(names) && { 'access-control-allow-headers': names }),
      'access-control-max-age': MAX_AGE_S,
      'x-request-id': id,
    });
    response.end();
    return true;
  }
}
