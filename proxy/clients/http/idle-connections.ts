// Idle client connections: kept for longer than the pauses between the turns of a session, then closed by a sweep.
import type { Socket } from 'node:net';
import { disableSocketTimeout } from '../../node-internals.ts';
import { type ClientConnection, connectionOf } from './client-connection.ts';

/** Clients get this as `Keep-Alive`, so that they do not reuse a connection that is about to close. */
export const KEEP_ALIVE_MS = 75_000;
/** The interval of the sweep; a connection is closed at most two intervals late. */
const SWEEP_MS = 5_000;

interface Idleness {
  bytes: number;
  sweeps: number;
}

export class IdleConnections {
  readonly #connections = new Map<ClientConnection, Idleness>();
  #timer: NodeJS.Timeout | undefined;

  watch(socket: Socket): void {
    const connection = connectionOf(socket);
    this.#connections.set(connection, { bytes: 0, sweeps: 0 });
    socket.once('close', () => this.#connections.delete(connection));
    disableSocketTimeout(socket);
    this.#timer ??= setInterval(() => this.#sweep(), SWEEP_MS).unref();
  }

  [Symbol.iterator](): Iterator<ClientConnection> {
    return this.#connections.keys();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Before the first request of a connection the header timeout applies. */
  #sweep(): void {
    for (const [{ latest, socket }, idleness] of this.#connections) {
      const { bytesRead } = socket;
      if (!latest?.writableFinished || bytesRead !== idleness.bytes) {
        idleness.bytes = bytesRead;
        idleness.sweeps = 0;
        continue;
      }
      idleness.sweeps += 1;
      if (idleness.sweeps > KEEP_ALIVE_MS / SWEEP_MS) socket.destroy();
    }
  }
}
