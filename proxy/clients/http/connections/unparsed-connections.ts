// New client connections. The first line is awaited until a deadline and checked for its protocol. Then Node's HTTP parser gets the
// connection.
import type { Socket } from 'node:net';
import { unshiftInParts } from '../../../base/process/internals/request-reading.ts';
import type { CounterName } from '../../../base/process/metrics.ts';
import type { Refusal } from '../../../turn/errors/refusal.ts';
import { OTHER_VERSION } from './client-connection.ts';
import { HEADERS_LATE } from './raw-refusal.ts';

export interface FirstLineLimits {
  /** The most bytes of the first line. */
  readonly maxBytes: number;
  readonly waitMs: number;
}

export interface UnparsedConnectionsOptions {
  /** The limits of the current configuration. */
  readonly limits: () => FirstLineLimits;
  readonly refuse: (socket: Socket, counter: CounterName, refusal: Refusal) => void;
}

export class UnparsedConnections {
  readonly #options: UnparsedConnectionsOptions;
  readonly #sockets = new Set<Socket>();

  constructor(options: UnparsedConnectionsOptions) {
    this.#options = options;
  }

  /** @param parse passes the connection to Node's parser */
  open(socket: Socket, parse: (socket: Socket) => void): void {
    const { limits, refuse } = this.#options;
    const { maxBytes, waitMs } = limits();
    this.#sockets.add(socket);
    const over = (): void => {
      clearTimeout(late);
      this.#sockets.delete(socket);
      socket.off('close', over).off('end', gone).off('error', gone);
    };
    const gone = (): void => void socket.destroy();
    const stop = readFirstLine(socket, {
      maxBytes,
      read: (line) => {
        over();
        if (isOtherProtocol(line)) refuse(socket, 'framing_refused', OTHER_VERSION);
        else parse(socket);
      },
    });
    const late = setTimeout(() => {
      stop();
      over();
      refuse(socket, 'header_timeouts', HEADERS_LATE);
    }, waitMs);
    socket.once('close', over).once('end', gone).once('error', gone);
  }

  /** Closes the connections that still wait. Node's server does not list them, because its parser has not seen them. */
  destroy(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

const LF = 10;
const CR = 13;

/** Matches a request line of another protocol, such as RTSP/1.0, which has the grammar and the methods of HTTP. */
const OTHER_PROTOCOL = / (?!HTTP\/)[A-Za-z][A-Za-z0-9+.-]*\/\d+(?:\.\d+)?\r?$/;

const isOtherProtocol = (line: string): boolean => OTHER_PROTOCOL.test(line);

interface FirstLineOptions {
  /** The longest line. A longer one is left to the parser, which refuses it. */
  readonly maxBytes: number;
  /** Called once with the line, or with the first `maxBytes` of it. All bytes can be read again from the socket. */
  readonly read: (line: string) => void;
}

/**
 * Reads the first line of a connection before Node's parser, because the parser reads requests of other protocols as HTTP requests.
 * @returns a function that stops reading, for a connection that is refused
 */
export function readFirstLine(socket: Socket, { maxBytes, read }: FirstLineOptions): () => void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  /** The start of the line. Empty lines before it are skipped, as in the parser. */
  let start = -1;
  const onReadable = (): void => {
    for (let chunk: Buffer | null = socket.read(); chunk !== null; chunk = socket.read()) {
      chunks.push(chunk);
      let from = 0;
      if (start === -1) {
        while (from < chunk.length && (chunk[from] === LF || chunk[from] === CR)) from++;
        if (from < chunk.length) start = bytes + from;
      }
      bytes += chunk.length;
      if ((start === -1 || chunk.indexOf(LF, from) === -1) && bytes <= maxBytes) continue;
      const all = chunks.length === 1 ? chunk : Buffer.concat(chunks);
      const end = start === -1 ? -1 : all.indexOf(LF, start);
      stop();
      unshiftInParts(socket, all);
      read(all.toString('latin1', Math.max(start, 0), end === -1 ? all.length : end));
      return;
    }
  };
  const stop = (): void => void socket.off('readable', onReadable);
  socket.on('readable', onReadable);
  return stop;
}
