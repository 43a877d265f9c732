// Listens on loopback for the browser that a provider sends back after a login (RFC 8252, 7.3).
import { createServer, type Server, type ServerResponse } from 'node:http';
import { listenOn } from '../../../base/process/listen-on.ts';

export interface CallbackListener {
  /** The redirect address, with the actual port. */
  readonly redirectUrl: string;
  /** Resolves with the first callback, and with a function that answers its browser. */
  readonly callback: Promise<Callback>;
  close(): void;
}

export interface Callback {
  readonly url: URL;
  /** Shows the person how the login ended. */
  answer(message: string): void;
}

/** The loopback addresses, because a browser may resolve `localhost` to either. */
const LOOPBACKS = ['127.0.0.1', '::1'];

/** @param redirectUrl the redirect address of the settings; port 0 chooses a free port @throws Error if the port is in use */
export async function callbackListener(redirectUrl: string): Promise<CallbackListener> {
  const { promise, resolve } = Promise.withResolvers<Callback>();
  const target = new URL(redirectUrl);
  const [host = '', ...others] = target.hostname === 'localhost' ? LOOPBACKS : [target.hostname.replace(/^\[|\]$/g, '')];
  const serve = (): Server =>
    createServer((request, response) => {
      const url = URL.canParse(request.url ?? '', target.origin) ? new URL(request.url ?? '', target.origin) : undefined;
      if (request.method !== 'GET' || url?.pathname !== target.pathname) return show(response, 404, 'This address has no page.');
      resolve({ url, answer: (message) => show(response, 200, message) });
    });
  const first = serve();
  const { port } = await listenOn(first, host, Number(target.port || 80));
  target.port = String(port);
  const servers = [first, ...(await Promise.all(others.map((other) => alsoOn(serve(), other, port))))];
  return {
    redirectUrl: target.href,
    callback: promise,
    close: () => {
      for (const server of servers) {
        server.close();
        // Only idle connections are closed, so that a running answer is sent completely.
        server.closeIdleConnections();
      }
    },
  };
}

/** Listens on another address too. A machine may lack that address family. */
const alsoOn = (server: Server, host: string, port: number): Promise<Server> =>
  listenOn(server, host, port).then(
    () => server,
    () => server,
  );

function show(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, {
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    connection: 'close',
  });
  response.end(`${message}\n`);
}
