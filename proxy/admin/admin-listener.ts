// The HTTP listener for operators. It refuses requests of web pages of other origins, determines the asker, and passes requests to the
// site.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { listenOn } from '../base/process/listen-on.ts';
import { type Log, placeOf } from '../base/process/log.ts';
import { isLoopback } from '../base/process/loopback.ts';
import { pageRefusal } from './access/web-pages.ts';

export interface AdminAnswer {
  readonly status: number;
  readonly type: string;
  /** The body. A stream ends when its client leaves. */
  readonly body: string | Buffer | Readable;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface AdminRequest {
  readonly method: string;
  /** The path without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  /** The address of the connection. */
  readonly address: string | undefined;
  /** Whether the client used TLS, as its connection or a proxy states. It only affects the client's own cookie. */
  readonly isSecure: boolean;
  /** The decoded JSON body. Undefined if there is none, or if it is not JSON. @throws BodyTooLarge for a body of more bytes */
  body(most: number): Promise<unknown>;
}

/** What a listener serves. */
export interface AdminSite {
  /** Whether requests from this address come through a proxy that signs people in (`admin.trusted_header`). */
  isProxied(address: string | undefined): boolean;
  answer(request: AdminRequest): AdminAnswer | Promise<AdminAnswer>;
}

/** Loads the site of a listener once, so that the start does not wait for its modules. */
export type SiteSource = () => Promise<AdminSite>;

export class BodyTooLarge extends Error {
  constructor(most: number) {
    super(`the body has more than ${most} bytes, or did not come in time`);
  }
}

/** An answer failed because of a defect of the program. @param route the name of its endpoint, which contains nothing of the request */
export class AnswerFault extends Error {
  readonly route: string;

  constructor(route: string, cause: unknown) {
    super('an answer failed', { cause });
    this.route = route;
  }
}

const BODY_MS = 10_000;

export const adminJson = (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): AdminAnswer => ({
  status,
  type: 'application/json',
  body: `${JSON.stringify(body)}\n`,
  headers: { 'cache-control': 'no-store', ...headers },
});

/** Headers that forbid pages to embed an answer, frame it, or run it as a script. */
const PROTECTION: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
};

export class AdminServer {
  readonly #log: Pick<Log, 'error'>;
  readonly #server: Server;
  #source: SiteSource | undefined;
  #site: Promise<AdminSite> | undefined;
  #onLoopback = false;

  /** @param log gets the reason why an answer failed, while the client gets only the status */
  constructor(log: Pick<Log, 'error'>) {
    this.#log = log;
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  listen(source: SiteSource, { host, port }: { readonly host: string; readonly port: number }): Promise<AddressInfo> {
    this.#source = source;
    this.#onLoopback = isLoopback(host);
    return listenOn(this.#server, host, port);
  }

  /** Loads the site before the first request. Resolves with undefined if the server does not listen yet. */
  load(): Promise<AdminSite | undefined> {
    this.#site ??= this.#source?.();
    return this.#site ?? Promise.resolve(undefined);
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { status, type, body, headers } = await this.#answer(request);
    const length = typeof body === 'string' || Buffer.isBuffer(body) ? { 'content-length': Buffer.byteLength(body) } : {};
    response.writeHead(status, { ...PROTECTION, 'content-type': type, ...length, ...headers });
    if (request.method === 'HEAD' || typeof body === 'string' || Buffer.isBuffer(body)) {
      if (typeof body !== 'string' && !Buffer.isBuffer(body)) body.destroy();
      response.end(request.method === 'HEAD' ? undefined : body);
      return;
    }
    response.flushHeaders();
    // A stream usually ends because its client leaves.
    await pipeline(body, response).catch(() => undefined);
  }

  async #answer(request: IncomingMessage): Promise<AdminAnswer> {
    const { method = 'GET', url = '', headers, socket } = request;
    const [path = '', query] = url.split('?', 2);
    try {
      const site = await this.load();
      if (!site) return adminJson(503, { error: 'not ready' });
      const anyHost = !this.#onLoopback || site.isProxied(socket.remoteAddress);
      const refused = pageRefusal({ method, headers, anyHost });
      if (refused !== undefined) return adminJson(403, { error: refused });
      return await site.answer({
        method: method === 'HEAD' ? 'GET' : method,
        path,
        query: new URLSearchParams(query),
        headers,
        address: socket.remoteAddress,
        isSecure: headers['x-forwarded-proto'] === 'https',
        body: (most) => bodyOf(request, most),
      });
    } catch (thrown) {
      if (thrown instanceof BodyTooLarge) return adminJson(413, { error: thrown.message, code: 'request_too_large' });
      const { route, cause } = thrown instanceof AnswerFault ? thrown : { route: 'other', cause: thrown };
      this.#log.error('admin_answer_failed', { route, ...placeOf(cause) });
      return adminJson(500, { error: 'failed' });
    }
  }
}

async function bodyOf(request: IncomingMessage, most: number): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const late = setTimeout(() => request.destroy(), BODY_MS).unref();
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > most) throw new BodyTooLarge(most);
      chunks.push(chunk);
    }
    return chunks.length === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch (thrown) {
    if (thrown instanceof BodyTooLarge) throw thrown;
    return undefined;
  } finally {
    clearTimeout(late);
  }
}
