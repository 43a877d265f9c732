// Client connections between requests: kept for longer than the pauses between the turns of a session, then closed.
import type { Socket } from 'node:net';
import { type ClientConnection, connectionOf } from './client-connection.ts';

/** Told to clients as well, which must not reuse a connection that is about to close. */
export const KEEP_ALIVE_MS = 75_000;
/** How often it is looked; one is closed two looks late at most. */
const SWEEP_MS = 5_000;

interface Idling {
  bytes: number;
  sweeps: number;
}

export class IdleConnections {
  readonly #connections = new Map<ClientConnection, Idling>();
  #timer: NodeJS.Timeout | undefined;

  watch(socket: Socket): void {
    const connection = connectionOf(socket);
    this.#connections.set(connection, { bytes: 0, sweeps: 0 });
    socket.once('close', () => this.#connections.delete(connection));
    // Node would set a timer behind every answer and clear it before the next request: some 5 % of a JSON turn.
    socket.setTimeout = () => socket;
    this.#timer ??= setInterval(() => this.#sweep(), SWEEP_MS).unref();
  }

  [Symbol.iterator](): Iterator<ClientConnection> {
    return this.#connections.keys();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Before the first request of a connection the deadline is the headers'. */
  #sweep(): void {
    for (const [{ latest, socket }, idling] of this.#connections) {
      const { bytesRead } = socket;
      if (!latest?.writableFinished || bytesRead !== idling.bytes) {
        idling.bytes = bytesRead;
        idling.sweeps = 0;
        continue;
      }
      idling.sweeps += 1;
      if (idling.sweeps > KEEP_ALIVE_MS / SWEEP_MS) socket.destroy();
    }
  }
}
