// `Expect: 100-continue`: a client that waits before it sends its body gets `100 Continue` after all checks of the headers have passed
// (Q4).
import type { IncomingMessage, ServerResponse } from 'node:http';

const asked = new WeakSet<IncomingMessage>();

/** Whether the client waits for `100 Continue`. HTTP/1.0 has no interim answers. */
export function waitsForContinue(request: IncomingMessage): boolean {
  return request.headers.expect !== undefined && request.httpVersionMinor > 0 && !asked.has(request);
}

export function askForBody(request: IncomingMessage, response: ServerResponse): void {
  if (!waitsForContinue(request)) return;
  asked.add(request);
  response.writeContinue();
}
