// New client connections. The first line is awaited until a deadline and checked for its protocol. Then Node's HTTP parser gets the
// connection.
import type { Socket } from 'node:net';
import type { CounterName } from '../../../base/process/metrics.ts';
import type { Refusal } from '../../../turn/errors/refusal.ts';
import { isOtherProtocol, readFirstLine } from './first-line.ts';
import { OTHER_VERSION } from './framing.ts';
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
