// Makes http-proxy-3 carry a request without a client: a request and an answer that have no connection.
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';

/**
 * Unsets the variable with which http-proxy-3 uses its `fetch` path. That path hides client aborts, breaks gzip bodies and cuts live
 * streams.
 */
export function disableFetchPath(): void {
  delete process.env.FORCE_FETCH_PATH;
}

/** The request that http-proxy-3 gets instead of a client's request. It counts as received completely, and has no body. */
export function detachedRequest(method: string, path: string, headers: Readonly<Record<string, string>>): IncomingMessage {
  const request = new IncomingMessage(UNCONNECTED);
  request.method = method;
  request.url = path;
  request.headers = { ...headers };
  // Node destroys the socket of an incomplete request together with the request.
  request.complete = true;
  request.push(null);
  return request;
}

/** The answer that http-proxy-3 gets with a detached request. Nothing is written to it, because the caller handles replies. */
export const detachedResponse = (request: IncomingMessage): ServerResponse => new ServerResponse(request);

const UNCONNECTED = new Socket();
