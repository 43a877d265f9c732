// The idle timeout of a client's websocket. Frames in either direction and a running turn are activity, but pings are not (LI1).
import type { Clock } from '../../base/time/clock.ts';

export interface IdleWatchOptions {
  readonly clock: Pick<Clock, 'after' | 'now'>;
  readonly idleMs: number;
  /** Whether a turn is running. */
  readonly isRunning: () => boolean;
  readonly expired: () => void;
}

/** One timer looks at the time of the last frame. A timer for each frame would have to be set again with every frame. */
export class IdleWatch {
  readonly #options: IdleWatchOptions;
  #activeAt: number;
  #cancel: () => void;

  constructor(options: IdleWatchOptions) {
    this.#options = options;
    this.#activeAt = options.clock.now();
    this.#cancel = this.#wait(options.idleMs);
  }

  /** Called for each frame, and at the end of a turn. */
  active(): void {
    this.#activeAt = this.#options.clock.now();
  }

  end(): void {
    this.#cancel();
  }

  #wait(ms: number): () => void {
    const { clock, expired, idleMs, isRunning } = this.#options;
    return clock.after(ms, () => {
      const left = isRunning() ? idleMs : this.#activeAt + idleMs - clock.now();
      if (left > 0) this.#cancel = this.#wait(left);
      else expired();
    });
  }
}
