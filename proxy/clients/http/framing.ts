// Refuses, before anything else is looked at, requests that two HTTP parsers could read differently.
import type { IncomingMessage } from 'node:http';
import { Refusal } from '../../turn/refusal.ts';

/** Headers of which a second one would let two readers see two different requests. */
const SINGLE = new Set(['host', 'authorization', 'content-length']);

/** Methods that carry no body here: a forwarder that drops their length would let it ride on as a second request. */
const BODYLESS = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS']);

/** Methods that no proxy should touch. */
const REFUSED = new Set(['CONNECT', 'TRACE']);

const refuse = (message: string): Refusal => new Refusal('invalid_request', { message });

/** @throws Refusal `invalid_request`; the connection must be closed after it. */
export function checkFraming(request: IncomingMessage): void {
  const { method = '', url = '', rawHeaders, headers } = request;
  if (REFUSED.has(method)) throw refuse('This method is not served.');
  if (!url.startsWith('/')) throw refuse('The request target must be in origin form.');
  let hosts = 0;
  let seen: string | undefined;
  let seenToo: string | undefined;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const raw = rawHeaders[i] as string;
    // Only names as long as one of the three are worth lowering.
    if (raw.length !== 4 && raw.length !== 13 && raw.length !== 14) continue;
    const name = raw.toLowerCase();
    if (!SINGLE.has(name)) continue;
    if (name === 'host') hosts++;
    else if (seen === undefined) seen = name;
    else if (seen === name || seenToo === name) throw refuse(`The header ${name} must not be repeated.`);
    else seenToo = name;
  }
  if (hosts !== 1) throw refuse('Exactly one Host header is required.');
  const coding = headers['transfer-encoding'];
  const length = headers['content-length'];
  if (coding !== undefined) {
    if (request.httpVersionMajor === 1 && request.httpVersionMinor === 0) throw refuse('HTTP/1.0 has no Transfer-Encoding.');
    if (coding.toLowerCase() !== 'chunked' || length !== undefined) throw refuse('The framing of the body is ambiguous.');
  }
  const { expect } = headers;
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') throw refuse('This expectation is not known.');
  if (BODYLESS.has(method) && (coding !== undefined || (length !== undefined && length !== '0'))) {
    throw refuse('This method takes no request body.');
  }
}

/** The raw path of an origin-form target: no decoding; a query string is tolerated and never logged. */
export function pathOf(url: string): string {
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}
