// A client that waits for leave before it sends its body (`Expect: 100-continue`): asked only when nothing speaks against it (Q4).
import type { IncomingMessage, ServerResponse } from 'node:http';

const asked = new WeakSet<IncomingMessage>();

/** HTTP/1.0 knows no such leave, and gets none. */
export function waitsForLeave(request: IncomingMessage): boolean {
  return request.headers.expect !== undefined && request.httpVersionMinor > 0 && !asked.has(request);
}

export function askForBody(request: IncomingMessage, response: ServerResponse): void {
  if (!waitsForLeave(request)) return;
  asked.add(request);
  response.writeContinue();
}
