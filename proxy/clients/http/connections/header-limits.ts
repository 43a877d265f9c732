// Limits the head of a request. Node's own limit does not count the separators of headers, and Node does not limit their number.
import type { IncomingMessage } from 'node:http';
import { Refusal } from '../../../turn/errors/refusal.ts';

export interface HeaderLimits {
  readonly header_bytes: number;
  /** The most headers, and the most names in the Connection header. */
  readonly header_count: number;
}

export const HEADERS_TOO_LARGE = new Refusal('invalid_request', { status: 431, message: 'The request headers are too large.' });

/**
 * The bytes that are counted in addition: for the line `METHOD TARGET HTTP/1.1` without method and target, for a header without name and
 * value, and for the empty line at the end.
 */
const LINE_BYTES = '  HTTP/1.1\r\n'.length;
const HEADER_BYTES = ': \r\n'.length;
const END_BYTES = '\r\n'.length;

/** Whether the head exceeds a limit. The cost is linear in the size of the head up to the limits. */
export function isHeadTooLarge(request: IncomingMessage, { header_bytes, header_count }: HeaderLimits): boolean {
  const { method = '', url = '', rawHeaders } = request;
  if (rawHeaders.length > 2 * header_count) return true;
  let bytes = method.length + url.length + LINE_BYTES + END_BYTES;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    bytes += (rawHeaders[i] as string).length + (rawHeaders[i + 1] as string).length + HEADER_BYTES;
  }
  if (bytes > header_bytes) return true;
  // Limited, because each name is looked up before the request is authenticated.
  const { connection } = request.headers;
  return connection !== undefined && connection.split(',', header_count + 1).length > header_count;
}
