// Answers to bytes that are no HTTP request: the error table's words, written on the socket itself.
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { CounterName } from '../../metrics.ts';
import { Refusal } from '../../turn/refusal.ts';

/** For a client that is still sending to read its answer. */
const LINGER_MS = 1_000;

/** What Node's parser, or its clock, found wrong with a connection's bytes. */
export function refusalOfBytes({ code }: NodeJS.ErrnoException): { readonly counter: CounterName; readonly refusal: Refusal } {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return {
        counter: 'headers_too_large',
        refusal: new Refusal('invalid_request', { status: 431, message: 'The request headers are too large.' }),
      };
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return {
        counter: 'header_timeouts',
        refusal: new Refusal('request_timeout', { message: 'The request headers did not arrive in time.' }),
      };
    default:
      return { counter: 'framing_refused', refusal: new Refusal('invalid_request', { message: 'The request is not valid HTTP.' }) };
  }
}

/** Writes the refusal, and ends the connection; what still comes of it is dropped. */
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
