// The HTTP listener for operators: it dispatches admin routes, and refuses requests of web pages.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { listenOn } from '../base/process/listen-on.ts';
import { type Log, placeOf } from '../base/process/log.ts';
import { isLoopback } from '../base/process/loopback.ts';

export interface AdminAnswer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** `METHOD /path` to its handler, which gets the query of the request. */
export type AdminRoutes = Readonly<Record<string, (query: URLSearchParams) => AdminAnswer | Promise<AdminAnswer>>>;

export const adminJson = (status: number, body: unknown): AdminAnswer => ({
  status,
  type: 'application/json',
  body: `${JSON.stringify(body)}\n`,
});

export class AdminServer {
  readonly #routes: AdminRoutes;
  readonly #log: Pick<Log, 'error'>;
  readonly #server: Server;
  #onLoopback = false;

  /** @param log gets the reason why an answer failed; the client gets only the status */
  constructor(routes: AdminRoutes, log: Pick<Log, 'error'>) {
    this.#routes = routes;
    this.#log = log;
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  listen(host: string, port: number): Promise<AddressInfo> {
    this.#onLoopback = isLoopback(host);
    return listenOn(this.#server, host, port);
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').split('?', 1)[0];
    const answer = await this.#answer(`${request.method === 'HEAD' ? 'GET' : request.method} ${path}`, request);
    response.writeHead(answer.status, { 'content-type': answer.type, 'content-length': Buffer.byteLength(answer.body) });
    response.end(request.method === 'HEAD' ? undefined : answer.body);
  }

  async #answer(name: string, request: IncomingMessage): Promise<AdminAnswer> {
    // A web page in the operator's browser could send a cross-site form, or bind its own host name to loopback (DNS rebinding).
    if (request.headers.origin !== undefined) return adminJson(403, { error: 'no cross-origin requests' });
    if (this.#onLoopback && !isLoopback(nameOf(request.headers.host))) return adminJson(403, { error: 'this host is not served' });
    if (request.method === 'POST' && request.headers['x-poolgate-command'] === undefined) {
      return adminJson(403, { error: 'the header x-poolgate-command is missing' });
    }
    const route = this.#routes[name];
    if (!route) return adminJson(404, { error: 'unknown path' });
    try {
      return await route(new URLSearchParams((request.url ?? '').split('?')[1]));
    } catch (thrown) {
      this.#log.error('admin_answer_failed', { route: name, ...placeOf(thrown) });
      return adminJson(500, { error: 'failed' });
    }
  }
}

/** The host of a Host header, without port and brackets. */
const nameOf = (host = ''): string =>
  host
    .replace(/:\d+$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .toLowerCase();
