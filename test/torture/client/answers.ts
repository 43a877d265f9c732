// Reads the answers on a connection strictly: every deviation from HTTP is a fault.

export interface Answer {
  readonly status: number;
  /** The headers by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** False if the connection ended, or stopped, inside the body. */
  readonly isWhole: boolean;
}

export interface Read {
  /** The answers without interim ones. The last one may be incomplete. */
  readonly answers: readonly Answer[];
  /** The bytes that belong to no answer. */
  readonly rest: Buffer;
  /** The fault of the bytes. */
  readonly fault: string | undefined;
  /** The number of bytes with which one more answer is complete. Infinite for an answer in chunks, whose end is not known before. */
  readonly wholeAt: number;
}

const STATUS_LINE = /^HTTP\/1\.1 ([1-5]\d\d) [\t\x20-\x7e]*$/;
const HEADER = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+): ?([\t\x20-\x7e\x80-\xff]*)$/;
const CHUNK = /^[0-9a-fA-F]{1,8}$/;
/** Headers that an answer has at most once. */
const SINGLE: ReadonlySet<string> = new Set([
  'content-length',
  'content-type',
  'transfer-encoding',
  'x-request-id',
  'retry-after',
  'connection',
]);

const NOTHING = Buffer.alloc(0);

class BadBytes extends Error {}

/** @param methods the methods of the requests in order, because an answer to HEAD has no body */
export function readAnswers(bytes: Buffer, methods: readonly string[] = []): Read {
  const answers: Answer[] = [];
  let at = 0;
  try {
    while (at < bytes.length) {
      const end = bytes.indexOf('\r\n\r\n', at);
      if (end === -1) break;
      const head = headOf(bytes.toString('latin1', at, end));
      if (head.status < 200) {
        at = end + 4;
        continue;
      }
      const { body, next } = bodyOf(bytes, end + 4, head, methods[answers.length]);
      const isWhole = next <= bytes.length;
      answers.push({ ...head, body, isWhole });
      if (!isWhole) return { answers, rest: NOTHING, fault: undefined, wholeAt: next };
      at = next;
    }
    return { answers, rest: bytes.subarray(at), fault: undefined, wholeAt: 0 };
  } catch (thrown) {
    if (!(thrown instanceof BadBytes)) throw thrown;
    return { answers, rest: bytes.subarray(at), fault: thrown.message, wholeAt: 0 };
  }
}

function headOf(text: string): Pick<Answer, 'status' | 'headers'> {
  const [first = '', ...lines] = text.split('\r\n');
  const status = Number(STATUS_LINE.exec(first)?.[1]);
  if (Number.isNaN(status)) throw new BadBytes(`a status line that is none: ${JSON.stringify(first.slice(0, 100))}`);
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [, raw, value = ''] = HEADER.exec(line) ?? [];
    const name = raw?.toLowerCase();
    if (name === undefined) throw new BadBytes(`a header that is none: ${JSON.stringify(line.slice(0, 100))}`);
    if (headers[name] !== undefined && SINGLE.has(name)) throw new BadBytes(`${name} twice`);
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
  }
  if (headers['content-length'] !== undefined && headers['transfer-encoding'] !== undefined) throw new BadBytes('two framings');
  return { status, headers };
}

/** `next` is the end of the body, which may be after the bytes so far. */
function bodyOf(
  bytes: Buffer,
  from: number,
  { status, headers }: Pick<Answer, 'status' | 'headers'>,
  method: string | undefined,
): { readonly body: Buffer; readonly next: number } {
  if (method === 'HEAD' || status === 204 || status === 304) return { body: NOTHING, next: from };
  const { 'content-length': length, 'transfer-encoding': coding } = headers;
  if (coding !== undefined && coding !== 'chunked') throw new BadBytes(`the transfer coding ${coding}`);
  if (coding !== undefined) return chunked(bytes, from);
  if (length === undefined || !/^\d{1,12}$/.test(length)) throw new BadBytes('a body without a length');
  const end = from + Number(length);
  return { body: bytes.subarray(from, end), next: end };
}

function chunked(bytes: Buffer, from: number): { readonly body: Buffer; readonly next: number } {
  const chunks: Buffer[] = [];
  for (let at = from; ; ) {
    const line = bytes.indexOf('\r\n', at);
    if (line === -1) return { body: Buffer.concat(chunks), next: Number.POSITIVE_INFINITY };
    const size = bytes.toString('latin1', at, line);
    if (!CHUNK.test(size)) throw new BadBytes(`a chunk size that is none: ${JSON.stringify(size.slice(0, 100))}`);
    const length = Number.parseInt(size, 16);
    const end = line + 2 + length;
    chunks.push(bytes.subarray(line + 2, Math.min(end, bytes.length)));
    if (end + 2 > bytes.length) return { body: Buffer.concat(chunks), next: Number.POSITIVE_INFINITY };
    if (bytes.toString('latin1', end, end + 2) !== '\r\n') throw new BadBytes('a chunk without its end');
    if (length === 0) return { body: Buffer.concat(chunks), next: end + 2 };
    at = end + 2;
  }
}
