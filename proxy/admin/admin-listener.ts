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

/** `METHOD /path` to its handler, which gets the query of the request, and its decoded JSON body if it has one. */
export type AdminRoutes = Readonly<Record<string, (query: URLSearchParams, body: unknown) => AdminAnswer | Promise<AdminAnswer>>>;

/** More than any tokens file has. */
const BODY_BYTES = 262_144;
const BODY_MS = 10_000;

export const adminJson = (status: number, body: unknown): AdminAnswer => ({
  status,
  type: 'application/json',
  body: `${JSON.stringify(body)}\n`,
});

/** By `METHOD /path`, the most bytes of a body; undefined for the usual bound. */
export type AdminBodyBounds = (route: string) => number | undefined;

export class AdminServer {
  readonly #routes: AdminRoutes;
  readonly #boundOf: AdminBodyBounds;
  readonly #log: Pick<Log, 'error'>;
  readonly #server: Server;
  #onLoopback = false;

  /** @param log gets the reason why an answer failed; the client gets only the status */
  constructor(routes: AdminRoutes, log: Pick<Log, 'error'>, boundOf: AdminBodyBounds = () => undefined) {
    this.#routes = routes;
    this.#boundOf = boundOf;
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
      const most = this.#boundOf(name) ?? BODY_BYTES;
      const body = request.method === 'POST' ? await bodyOf(request, most) : undefined;
      if (body === TOO_LARGE) return adminJson(413, { error: `the body has more than ${most} bytes, or did not come in time` });
      return await route(new URLSearchParams((request.url ?? '').split('?')[1]), body);
    } catch (thrown) {
      this.#log.error('admin_answer_failed', { route: name, ...placeOf(thrown) });
      return adminJson(500, { error: 'failed' });
    }
  }
}

const TOO_LARGE = Symbol('too large');

/** The decoded JSON; undefined where there is none. */
async function bodyOf(request: IncomingMessage, most: number): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const late = setTimeout(() => request.destroy(), BODY_MS).unref();
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > most) return TOO_LARGE;
      chunks.push(chunk);
    }
    return chunks.length === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    return undefined;
  } finally {
    clearTimeout(late);
  }
}

/** The host of a Host header, without port and brackets. */
const nameOf = (host = ''): string =>
  host
    .replace(/:\d+$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .toLowerCase();
