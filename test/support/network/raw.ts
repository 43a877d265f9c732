// A client that sends bytes, for requests that no HTTP library would send, and reads answers byte by byte.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate as immediate } from 'node:timers/promises';
import { KEY } from '../gateway.ts';
import { inTime } from '../rehearsal-inbox.ts';

export interface RawAnswer {
  readonly status: number;
  /** The headers by lower-case name. Repeated ones are joined with ", ". */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The chunks of a chunked body. Each is one write of the server. */
  readonly chunks: readonly string[];
  // biome-ignore lint/suspicious/noExplicitAny: assertions look where they expect something
  readonly json: any;
}

export class RawClient {
  readonly socket: Socket;
  /** The bytes in the pieces in which they came. They are joined only when they are read, because an answer may have many. */
  #pieces: Buffer[] = [];
  #length = 0;
  #over = false;
  #news = Promise.withResolvers<void>();

  private constructor(socket: Socket) {
    this.socket = socket;
    const news = (): void => {
      this.#news.resolve();
      this.#news = Promise.withResolvers();
    };
    socket.on('data', (chunk: Buffer) => {
      this.#pieces.push(chunk);
      this.#length += chunk.length;
      news();
    });
    // A reset counts as an end. Bytes before it still count.
    socket.on('error', () => undefined);
    for (const event of ['end', 'close']) {
      socket.on(event, () => {
        this.#over = true;
        news();
      });
    }
  }

  static async connect(url: string): Promise<RawClient> {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    await once(socket, 'connect');
    return new RawClient(socket);
  }

  /** Whether the server has ended the connection. */
  get over(): boolean {
    return this.#over;
  }

  /** Everything that came and does not belong to an answer that was read. */
  get pending(): string {
    return this.#received.toString('latin1');
  }

  get #received(): Buffer {
    if (this.#pieces.length !== 1) this.#pieces = [Buffer.concat(this.#pieces)];
    return this.#pieces[0] as Buffer;
  }

  write(bytes: string | Buffer): this {
    this.socket.write(bytes);
    return this;
  }

  /** Writes pieces of this size, if possible each as a separate packet. Stops when the server ends the connection. */
  async writePieces(bytes: string | Buffer, size: number): Promise<void> {
    this.socket.setNoDelay(true);
    for (let at = 0; at < bytes.length && !this.#over; at += size) {
      this.write(bytes.slice(at, at + size));
      await immediate();
    }
  }

  /** Resolves when the condition is true. Rejects after five seconds. */
  async until(condition: () => boolean, what: string): Promise<void> {
    while (!condition()) await inTime(this.#news.promise, () => `${what}; so far: ${JSON.stringify(this.pending.slice(0, 500))}`);
  }

  /** Resolves with the remaining bytes when the server has ended the connection. */
  async ended(): Promise<string> {
    await this.until(() => this.#over, 'the end of the connection');
    return this.pending;
  }

  /** The next answer, which may be informational. If its body has no end, the part that came. */
  async answer(): Promise<RawAnswer> {
    await this.until(() => this.#over || this.pending.includes('\r\n\r\n'), 'an answer');
    const end = this.#received.indexOf('\r\n\r\n');
    if (end < 0) throw new Error(`the connection ended without an answer: ${JSON.stringify(this.pending)}`);
    const [first = '', ...lines] = this.#received.toString('latin1', 0, end).split('\r\n');
    this.#take(end + 4);
    const headers: Record<string, string> = {};
    for (const line of lines) {
      const colon = line.indexOf(':');
      const name = line.slice(0, colon).toLowerCase();
      const value = line.slice(colon + 1).trim();
      headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
    }
    const status = Number(first.split(' ')[1]);
    const chunks = await this.#body(status, headers);
    const body = Buffer.concat(chunks).toString('utf8');
    return { status, headers, body, chunks: chunks.map((chunk) => chunk.toString('utf8')), json: parsed(body) };
  }

  close(): void {
    this.socket.destroy();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  async #body(status: number, headers: Readonly<Record<string, string>>): Promise<Buffer[]> {
    if (status < 200 || status === 204 || status === 304) return [];
    if (headers['transfer-encoding'] === 'chunked') return this.#chunked();
    const length = Number(headers['content-length'] ?? 0);
    await this.until(() => this.#over || this.#length >= length, 'a body');
    return [this.#take(length)];
  }

  async #chunked(): Promise<Buffer[]> {
    const chunks: Buffer[] = [];
    for (;;) {
      await this.until(() => this.#over || this.#received.includes('\r\n'), 'a chunk');
      const line = this.#received.indexOf('\r\n');
      if (line < 0) return chunks;
      const size = Number.parseInt(this.#received.toString('latin1', 0, line), 16);
      await this.until(() => this.#over || this.#length >= line + 2 + size + 2, 'a chunk');
      this.#take(line + 2);
      const chunk = this.#take(size);
      this.#take(2);
      if (size === 0) return chunks;
      chunks.push(chunk);
    }
  }

  #take(bytes: number): Buffer {
    const all = this.#received;
    this.#pieces = [all.subarray(bytes)];
    this.#length = Math.max(0, this.#length - bytes);
    return all.subarray(0, bytes);
  }
}

/** The head of a request with the test key. Headers that are undefined are left out. */
export function headOf(method: string, target: string, headers: Readonly<Record<string, string | number | undefined>> = {}): string {
  const all = { host: 'gateway', authorization: `Bearer ${KEY}`, ...headers };
  const lines = Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]));
  return `${[`${method} ${target} HTTP/1.1`, ...lines].join('\r\n')}\r\n\r\n`;
}

/** A whole POST of a JSON body with the test key. */
export function postOf(path: string, body: unknown, headers: Readonly<Record<string, string | number | undefined>> = {}): string {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return headOf('POST', path, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text), ...headers }) + text;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
