// A client's connection, with the framing of its requests, which is checked before anything else reads them.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Refusal } from '../../../turn/errors/refusal.ts';
import type { KeyConfig } from '../../../turn/settings.ts';

/** Looks keys up in one configuration. */
export interface KeyLookup {
  keyOf(secret: string): KeyConfig | undefined;
}

export class ClientConnection {
  readonly socket: Socket;
  /** Whether the connection came over the gateway's socket in the file system. */
  isUnix = false;
  /** The answer to the last request that the parser has read. */
  latest: ServerResponse | undefined;
  /** The HTTP version of the first request. */
  version: string | undefined;
  /** Whether the connection was refused because of its bytes. Later bytes are then not read as requests. */
  framingBroken = false;
  /** Whether the answer that is being written is the last one. Later bytes are then not read as requests. */
  isLast = false;
  /**
   * The secret and the key of the last look-up. Agents send the same key with every request, and a digest costs more than the rest of the
   * look-up.
   */
  #secret: string | undefined;
  #keys: KeyLookup | undefined;
  #key: KeyConfig | undefined;
  #isStopped = false;
  /** Called when the turns of the connection are stopped. */
  readonly #stops: (() => void)[] = [];

  constructor(socket: Socket) {
    this.socket = socket;
  }

  /** Whether bytes that are written to the socket now come after all answers. An answer that waits for an earlier one has no socket yet. */
  get isAnswered(): boolean {
    const { latest } = this;
    return !latest || latest.writableFinished || (latest.writableEnded && latest.socket !== null);
  }

  /** Whether the gateway no longer waits for the turns of the connection. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Calls `stop` when the turns of the connection are stopped. Returns a function that cancels this. */
  onStop(stop: () => void): () => void {
    this.#stops.push(stop);
    return () => {
      const at = this.#stops.indexOf(stop);
      if (at !== -1) this.#stops.splice(at, 1);
    };
  }

  /** Stops the turns of the connection, because the time of a drain has passed. */
  stop(): void {
    this.#isStopped = true;
    for (const each of this.#stops.splice(0)) each();
  }

  keyOf(secret: string, keys: KeyLookup): KeyConfig | undefined {
    if (secret !== this.#secret || keys !== this.#keys) {
      this.#key = keys.keyOf(secret);
      this.#secret = secret;
      this.#keys = keys;
    }
    return this.#key;
  }
}

const CONNECTION = Symbol('connection');

/** Returns the same object for the same socket. */
export function connectionOf(socket: Socket & { [CONNECTION]?: ClientConnection }): ClientConnection {
  socket[CONNECTION] ??= new ClientConnection(socket);
  return socket[CONNECTION];
}

/** Headers that must not be repeated, because two parsers could use different ones. */
const SINGLE = new Set(['host', 'authorization', 'content-length']);

/** The accepted HTTP versions. Node's parser accepts two more. */
const VERSIONS = new Set(['1.0', '1.1']);

export const OTHER_VERSION = new Refusal('invalid_request', { status: 505, message: 'Only HTTP/1.1 and HTTP/1.0 are supported.' });

/** Methods without a body. A forwarder that drops the length of a body would send it as a second request. */
const BODYLESS = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE']);

const refuse = (message: string): Refusal => new Refusal('invalid_request', { message });

/**
 * Checks that no two HTTP parsers could read the request differently.
 * @throws Refusal `invalid_request`; the connection must be closed after it
 */
export function checkFraming(request: IncomingMessage): void {
  const { method = '', url = '', rawHeaders, headers, httpVersion } = request;
  if (!VERSIONS.has(httpVersion)) throw OTHER_VERSION;
  const connection = connectionOf(request.socket);
  connection.version ??= httpVersion;
  // The first line of a connection was checked before the parser. A later request of RTSP/1.0 looks like one of HTTP/1.0.
  if (connection.version !== httpVersion) throw OTHER_VERSION;
  if (!url.startsWith('/')) throw refuse('The request target must be in origin form.');
  let hosts = 0;
  let seen: string | undefined;
  let alsoSeen: string | undefined;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const raw = rawHeaders[i] as string;
    // A fast check: only names with the lengths of the three headers are compared.
    if (raw.length !== 4 && raw.length !== 13 && raw.length !== 14) continue;
    const name = raw.toLowerCase();
    if (!SINGLE.has(name)) continue;
    if (name === 'host') hosts++;
    else if (seen === undefined) seen = name;
    else if (seen === name || alsoSeen === name) throw refuse(`The header ${name} must not be repeated.`);
    else alsoSeen = name;
  }
  if (hosts !== 1) throw refuse('Exactly one Host header is required.');
  const coding = headers['transfer-encoding'];
  const length = headers['content-length'];
  if (coding !== undefined) {
    if (request.httpVersionMajor === 1 && request.httpVersionMinor === 0) throw refuse('HTTP/1.0 has no Transfer-Encoding.');
    if (coding.toLowerCase() !== 'chunked' || length !== undefined) throw refuse('The framing of the body is ambiguous.');
  }
  const { expect } = headers;
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') throw refuse('This expectation is not supported.');
  if (BODYLESS.has(method) && (coding !== undefined || (length !== undefined && length !== '0'))) {
    throw refuse('This method does not accept a request body.');
  }
}

/** The raw path of an origin-form target, not decoded. The query string is not included, and is not logged. */
export function pathOfTarget(url: string): string {
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}

/** The query with its question mark, as it came; empty without a query. */
export function queryOfTarget(url: string): string {
  const query = url.indexOf('?');
  return query === -1 ? '' : url.slice(query);
}

interface HeaderLimits {
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

/**
 * Whether the head exceeds a limit. Node's own limit does not count the separators of headers, and Node does not limit their number. The
 * cost is linear in the size of the head up to the limits.
 */
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
