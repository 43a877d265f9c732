// Pings open websockets on both sides, and ends those whose peer answers no more: a dead peer closes nothing.
import type { WebSocket } from 'ws';
import type { Clock } from './clock.ts';

const PING_EVERY_MS = 25_000;
/** Unanswered pings that end a socket. */
const MISSED = 2;

/** One timer for all sockets: most are idle, and there may be thousands. */
export class Heartbeat {
  readonly #clock: Pick<Clock, 'after'>;
  /** The pings that each socket has not answered. */
  readonly #unanswered = new Map<WebSocket, number>();
  #cancel: (() => void) | undefined;

  constructor(clock: Pick<Clock, 'after'>) {
    this.#clock = clock;
  }

  /** Watches an open socket until it closes. */
  watch(socket: WebSocket): void {
    this.#unanswered.set(socket, 0);
    socket.on('pong', () => this.#unanswered.set(socket, 0));
    socket.once('close', () => this.#unanswered.delete(socket));
    this.#cancel ??= this.#next();
  }

  #next(): () => void {
    return this.#clock.after(PING_EVERY_MS, () => {
      this.#ping();
      this.#cancel = this.#unanswered.size > 0 ? this.#next() : undefined;
    });
  }

  #ping(): void {
    for (const [socket, unanswered] of this.#unanswered) {
      // The pongs of a paused socket wait to be read.
      if (socket.isPaused) continue;
      if (unanswered >= MISSED) socket.terminate();
      else {
        this.#unanswered.set(socket, unanswered + 1);
        if (socket.readyState === socket.OPEN) socket.ping();
      }
    }
  }
}
