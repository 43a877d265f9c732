// Connections whose first line has not come: they wait for it as long as for the headers of a request, and then go to Node's parser.
import type { Socket } from 'node:net';
import type { CounterName } from '../../metrics.ts';
import type { Refusal } from '../../turn/refusal.ts';
import { isOtherProtocol, readFirstLine } from './first-line.ts';
import { OTHER_VERSION } from './framing.ts';
import { HEADERS_LATE } from './raw-refusal.ts';

export interface FirstLineLimits {
  /** Of the line. */
  readonly maxBytes: number;
  readonly waitMs: number;
}

export interface UnparsedConnectionsOptions {
  /** Of the configuration of now. */
  readonly limits: () => FirstLineLimits;
  /** Hands a connection to Node's parser. */
  readonly parse: (socket: Socket) => void;
  readonly refuse: (socket: Socket, counter: CounterName, refusal: Refusal) => void;
}

export class UnparsedConnections {
  readonly #options: UnparsedConnectionsOptions;
  readonly #sockets = new Set<Socket>();

  constructor(options: UnparsedConnectionsOptions) {
    this.#options = options;
  }

  open(socket: Socket): void {
    const { limits, parse, refuse } = this.#options;
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

  /** Ends them: Node does not know them. */
  destroy(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}
