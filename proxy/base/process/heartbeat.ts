// Pings the websockets of clients and accounts, and ends those whose peer does not answer, because a peer that died sends no close frame.
import type { WebSocket } from 'ws';
import type { Clock } from '../time/clock.ts';
import { unsentBytes } from './internals/socket-internals.ts';
import { connectionUnder } from './internals/ws-internals.ts';

const PING_EVERY_MS = 25_000;
/** The number of unanswered pings after which a socket is ended. */
const MISSED = 2;

/** The state of a socket since its last ping. */
interface Watched {
  /** The number of pings that were not answered. */
  unanswered: number;
  /** The bytes that came from the peer. */
  read: number;
  /** The bytes of all completed writes to the peer. */
  written: number;
  /** The bytes of the current write that the system has not taken. */
  unsent: number;
}

/** All sockets share one timer, because there may be thousands and most are idle. */
export class Heartbeat {
  readonly #clock: Pick<Clock, 'after'>;
  readonly #sockets = new Map<WebSocket, Watched>();
  #cancel: (() => void) | undefined;

  constructor(clock: Pick<Clock, 'after'>) {
    this.#clock = clock;
  }

  /** Watches an open socket until it closes. */
  watch(socket: WebSocket): void {
    this.#sockets.set(socket, { unanswered: 0, read: 0, written: 0, unsent: 0 });
    socket.on('close', () => this.#sockets.delete(socket));
    this.#cancel ??= this.#next();
  }

  #next(): () => void {
    return this.#clock.after(PING_EVERY_MS, () => {
      this.#ping();
      this.#cancel = this.#sockets.size > 0 ? this.#next() : undefined;
    });
  }

  #ping(): void {
    for (const [socket, watched] of this.#sockets) {
      // The pongs of a paused socket have not been read.
      if (socket.isPaused) continue;
      if (hasMoved(socket, watched)) watched.unanswered = 0;
      if (watched.unanswered >= MISSED) socket.terminate();
      else {
        watched.unanswered += 1;
        if (socket.readyState === socket.OPEN) socket.ping();
      }
    }
  }
}

/**
 * Whether bytes arrived, such as a pong, or some of the waiting bytes were sent. A slow peer needs minutes for a large frame, because its pong waits until
 * its own frame is sent, and the ping waits until earlier frames are read.
 */
function hasMoved(socket: WebSocket, watched: Watched): boolean {
  const connection = connectionUnder(socket);
  if (!connection) return false;
  const { bytesRead: read } = connection;
  const written = connection.bytesWritten - connection.writableLength;
  const unsent = unsentBytes(connection);
  // A write that the system accepts at once shows nothing about the peer.
  const taken = watched.unsent > 0 && (unsent !== watched.unsent || written !== watched.written);
  const moved = taken || read !== watched.read;
  Object.assign(watched, { read, written, unsent });
  return moved;
}
