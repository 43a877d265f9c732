// A parser that accepts only strictly valid HTTP/1.1 requests. It defines which requests the gateway may serve.
import { METHODS as ALL_METHODS } from 'node:http';

export interface StrictRequest {
  readonly method: string;
  readonly path: string;
  /** The headers by lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
  /** The body in latin1. */
  readonly body: string;
}

export interface StrictReading {
  /** The requests in order. Each gets one answer. */
  readonly requests: readonly StrictRequest[];
  /**
   * What follows the requests. `refused`: bytes that are not a request. `more`: an incomplete request. `closed`: the connection ends.
   * `whole`: nothing.
   */
  readonly end: 'refused' | 'more' | 'closed' | 'whole';
  /** A request with a valid head whose body is refused or incomplete. If bodies are streamed, it may have been passed on. */
  readonly begun: StrictRequest | undefined;
}

/** The accepted methods. CONNECT asks for a tunnel, which only a proxy makes. */
const METHODS: ReadonlySet<string> = new Set(ALL_METHODS.filter((method) => method !== 'CONNECT'));
const BODYLESS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE']);
/** Matches a request line. Several spaces are accepted as white space between words (RFC 9112, 3). */
const LINE = /^([A-Z-]+) +(\/[\x21-\x7e]*) HTTP\/1\.([01])$/;
const HEADER = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[\t ]*([\t\x20-\x7e\x80-\xff]*?)[\t ]*$/;
const CHUNK = /^([0-9a-fA-F]{1,15})(?:[\t ]*;[\t\x20-\x7e\x80-\xff]*)?$/;
/** Headers that a request has at most once. */
const SINGLE: ReadonlySet<string> = new Set(['host', 'content-length', 'transfer-encoding', 'authorization']);

class Refused extends Error {}
class More extends Error {}

export function readStrictly(bytes: Buffer): StrictReading {
  const requests: StrictRequest[] = [];
  const text = bytes.toString('latin1');
  let at = 0;
  let begun: StrictRequest | undefined;
  try {
    while (at < text.length) {
      // Empty lines before a request line are skipped (RFC 9112, 2.2).
      if (text[at] === '\r' || text[at] === '\n') {
        at += 1;
        continue;
      }
      const end = text.indexOf('\r\n\r\n', at);
      if (end === -1) checkHalf(text.slice(at));
      const head = headOf(text.slice(at, end));
      begun = { ...head, body: '' };
      const { body, next } = bodyOf(text, end + 4, head);
      requests.push({ ...head, body });
      begun = undefined;
      at = next;
      if (closes(head)) return { requests, end: 'closed', begun };
    }
    return { requests, end: 'whole', begun };
  } catch (thrown) {
    if (thrown instanceof More) return { requests, end: 'more', begun };
    if (thrown instanceof Refused) return { requests, end: 'refused', begun };
    throw thrown;
  }
}

/** Ends at half a head. It may still become a request, unless no further byte could make it valid. */
function checkHalf(text: string): never {
  const lines = text.split('\r\n');
  lines.pop();
  if (lines.length > 0) headOf(lines.join('\r\n'), { isHalf: true });
  throw new More();
}

type Head = Pick<StrictRequest, 'method' | 'path' | 'headers'> & { readonly minor: string };

function headOf(text: string, { isHalf = false }: { readonly isHalf?: boolean } = {}): Head {
  const [first = '', ...lines] = text.split('\r\n');
  const [, method = '', path = '', minor = ''] = LINE.exec(first) ?? [];
  if (!METHODS.has(method)) throw new Refused();
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, raw, value = ''] = HEADER.exec(line) ?? [];
    const name = raw?.toLowerCase();
    if (name === undefined || (SINGLE.has(name) && headers.has(name))) throw new Refused();
    headers.set(name, headers.has(name) ? `${headers.get(name)}, ${value}` : value);
  }
  if (!isHalf) checkFraming({ method, path, headers, minor });
  return { method, path, headers, minor };
}

function checkFraming({ method, headers, minor }: Head): void {
  const [length, coding, expectation] = ['content-length', 'transfer-encoding', 'expect'].map((name) => headers.get(name));
  if (!headers.has('host')) throw new Refused();
  if (length !== undefined && !/^\d{1,15}$/.test(length)) throw new Refused();
  if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || length !== undefined || minor === '0')) throw new Refused();
  if (expectation !== undefined && expectation.toLowerCase() !== '100-continue') throw new Refused();
  if (BODYLESS.has(method) && (coding !== undefined || Number(length ?? 0) > 0)) throw new Refused();
}

function bodyOf(text: string, from: number, { headers }: Head): { readonly body: string; readonly next: number } {
  if (headers.has('transfer-encoding')) return chunked(text, from);
  const next = from + Number(headers.get('content-length') ?? 0);
  if (next > text.length) throw new More();
  return { body: text.slice(from, next), next };
}

function chunked(text: string, from: number): { readonly body: string; readonly next: number } {
  let body = '';
  for (let at = from; ; ) {
    const line = text.indexOf('\r\n', at);
    if (line === -1) throw /^[0-9a-fA-F]*(?:;[^\r\n]*)?\r?$/.test(text.slice(at)) ? new More() : new Refused();
    const size = CHUNK.exec(text.slice(at, line))?.[1];
    if (size === undefined) throw new Refused();
    const length = Number.parseInt(size, 16);
    if (length === 0) return { body, next: trailersEnd(text, line + 2) };
    const end = line + 2 + length;
    if (end + 2 > text.length) throw new More();
    if (text.slice(end, end + 2) !== '\r\n') throw new Refused();
    body += text.slice(line + 2, end);
    at = end + 2;
  }
}

function trailersEnd(text: string, from: number): number {
  for (let at = from; ; ) {
    const line = text.indexOf('\r\n', at);
    if (line === -1) throw new More();
    if (line === at) return line + 2;
    if (!HEADER.test(text.slice(at, line))) throw new Refused();
    at = line + 2;
  }
}

function closes({ headers, minor }: Head): boolean {
  const options = (headers.get('connection') ?? '').toLowerCase().split(/[\t ]*,[\t ]*/);
  // Bytes after a request for another protocol may belong to that protocol.
  if (headers.has('upgrade')) return true;
  return options.includes('close') || (minor === '0' && !options.includes('keep-alive'));
}
