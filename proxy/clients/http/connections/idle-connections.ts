// Closes client connections without progress: idle ones after KEEP_ALIVE_MS, and those whose client does not read its answer after
// stalledMs.
import type { Socket } from 'node:net';
import { disableSocketTimeout, unsentBytes } from '../../../base/process/internals/socket-internals.ts';
import type { Counters } from '../../../base/process/metrics.ts';
import { type ClientConnection, connectionOf } from './client-connection.ts';

/**
 * The time after which an idle connection is closed. Clients get it as `Keep-Alive`, so that they do not reuse a connection that is about
 * to close.
 */
export const KEEP_ALIVE_MS = 75_000;
/** The interval of the sweep. A connection is closed at most two intervals late. */
const SWEEP_MS = 5_000;

/** The number of sweeps since the last progress. */
interface Idleness {
  read: number;
  idleSweeps: number;
  /** The bytes of all finished writes. */
  written: number;
  /** The bytes of the current write that the system has not sent. */
  unsent: number;
  stalledSweeps: number;
}

export interface IdleConnectionsOptions {
  /** How long a client may leave data of its answer unread, in milliseconds. */
  readonly stalledMs: () => number;
  readonly counters: Counters;
}

export class IdleConnections {
  readonly #options: IdleConnectionsOptions;
  readonly #connections = new Map<ClientConnection, Idleness>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: IdleConnectionsOptions) {
    this.#options = options;
  }

  watch(socket: Socket): void {
    const connection = connectionOf(socket);
    this.#connections.set(connection, { read: 0, idleSweeps: 0, written: 0, unsent: 0, stalledSweeps: 0 });
    socket.on('close', () => this.#connections.delete(connection));
    disableSocketTimeout(socket);
    this.#timer ??= setInterval(() => this.#sweep(), SWEEP_MS).unref();
  }

  [Symbol.iterator](): Iterator<ClientConnection> {
    return this.#connections.keys();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #sweep(): void {
    const { stalledMs, counters } = this.#options;
    const stalledSweeps = stalledMs() / SWEEP_MS;
    for (const [connection, idleness] of this.#connections) {
      if (isIdle(connection, idleness)) connection.socket.destroy();
      else if (isStalled(connection, idleness, stalledSweeps)) {
        counters.add('clients_stalled');
        connection.socket.destroy();
      }
    }
  }
}

/** Whether a connection is idle. Before its first request the header timeout applies instead. */
function isIdle({ latest, socket: { bytesRead } }: ClientConnection, idleness: Idleness): boolean {
  if (!latest?.writableFinished || bytesRead !== idleness.read) {
    idleness.read = bytesRead;
    idleness.idleSweeps = 0;
    return false;
  }
  idleness.idleSweeps += 1;
  return idleness.idleSweeps > KEEP_ALIVE_MS / SWEEP_MS;
}

/** Whether a client does not read its answer. The turn holds its slots until the answer has ended, and nothing else would end it. */
function isStalled({ latest, socket }: ClientConnection, idleness: Idleness, most: number): boolean {
  const written = socket.bytesWritten - socket.writableLength;
  const unsent = unsentBytes(socket);
  const hasMoved = written !== idleness.written || unsent !== idleness.unsent;
  if (!latest || latest.writableFinished || socket.writableLength === 0 || hasMoved) {
    idleness.written = written;
    idleness.unsent = unsent;
    idleness.stalledSweeps = 0;
    return false;
  }
  idleness.stalledSweeps += 1;
  return idleness.stalledSweeps > most;
}
