// Refuses bytes that are not an HTTP request, with errors of the error table that are written to the socket itself.
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { CounterName } from '../../../base/process/metrics.ts';
import { Refusal } from '../../../turn/errors/refusal.ts';
import { HEADERS_TOO_LARGE } from './client-connection.ts';

/** The time in which a client that is still sending can read its answer. */
const LINGER_MS = 1_000;

export const HEADERS_LATE = new Refusal('request_timeout', { message: 'The request headers did not arrive in time.' });

/** The refusal for an error of Node's HTTP parser or of its header timeout. */
export function refusalOfBytes({ code }: NodeJS.ErrnoException): { readonly counter: CounterName; readonly refusal: Refusal } {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return { counter: 'headers_too_large', refusal: HEADERS_TOO_LARGE };
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { counter: 'header_timeouts', refusal: HEADERS_LATE };
    default:
      return { counter: 'framing_refused', refusal: new Refusal('invalid_request', { message: 'The request is not valid HTTP.' }) };
  }
}

/** Writes the refusal and ends the connection. Later bytes are dropped. */
export function endRaw(socket: Socket, refusal: Refusal, id: string): void {
  const body = refusal.json;
  const lines = [
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`,
    ...Object.entries(refusal.headers).map(([name, value]) => `${name}: ${value}`),
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${id}`,
    'connection: close',
  ];
  socket.on('error', () => undefined).end(`${lines.join('\r\n')}\r\n\r\n${body}`);
  socket.resume();
  const cut = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(cut));
}
