// Client connections between requests: kept for longer than the pauses between the turns of a session, then closed.
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Told to clients as well, which must not reuse a connection that is about to close. */
export const KEEP_ALIVE_MS = 75_000;
/** How often it is looked; one is closed two looks late at most. */
const SWEEP_MS = 5_000;

interface Idling {
  bytes: number;
  sweeps: number;
}

export class IdleConnections {
  readonly #connections = new Map<Socket, Idling>();
  /** The answer to the last request of a connection; undefined before the first, whose deadline is the headers'. */
  readonly #lastAnswer: (socket: Socket) => ServerResponse | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(lastAnswer: (socket: Socket) => ServerResponse | undefined) {
    this.#lastAnswer = lastAnswer;
  }

  watch(socket: Socket): void {
    this.#connections.set(socket, { bytes: 0, sweeps: 0 });
    socket.once('close', () => this.#connections.delete(socket));
    // Node would set a timer behind every answer and clear it before the next request: some 5 % of a JSON turn.
    socket.setTimeout = () => socket;
    this.#timer ??= setInterval(() => this.#sweep(), SWEEP_MS).unref();
  }

  [Symbol.iterator](): Iterator<Socket> {
    return this.#connections.keys();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #sweep(): void {
    for (const [socket, idling] of this.#connections) {
      const answer = this.#lastAnswer(socket);
      const { bytesRead } = socket;
      if (!answer?.writableFinished || bytesRead !== idling.bytes) {
        idling.bytes = bytesRead;
        idling.sweeps = 0;
        continue;
      }
      idling.sweeps += 1;
      if (idling.sweeps > KEEP_ALIVE_MS / SWEEP_MS) socket.destroy();
    }
  }
}
