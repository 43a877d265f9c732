// Limits how long a message of a client may take, and how many pings and pongs may come with it.
import type { Clock } from '../../base/time/clock.ts';

export interface MessageLimitsOptions {
  readonly clock: Pick<Clock, 'after' | 'now'>;
  /** The longest time of a message from its first part to its last. */
  readonly messageMs: number;
  /** The most pings and pongs in a minute. */
  readonly controls: number;
  readonly exceeded: (limit: 'websocket_messages_late' | 'websocket_controls_refused') => void;
}

const MINUTE_MS = 60_000;

export class MessageLimits {
  readonly #options: MessageLimitsOptions;
  #cancel: (() => void) | undefined;
  #controls = 0;
  #minute = Number.NEGATIVE_INFINITY;

  constructor(options: MessageLimitsOptions) {
    this.#options = options;
  }

  /** Called when bytes came. Most messages come whole, and need no timer. @param isIncomplete whether a message has begun and not ended */
  arrived(isIncomplete: boolean): void {
    if (!isIncomplete) this.end();
    else this.#cancel ??= this.#options.clock.after(this.#options.messageMs, () => this.#options.exceeded('websocket_messages_late'));
  }

  /** Called for a ping or pong. */
  control(): void {
    const { clock, controls, exceeded } = this.#options;
    const now = clock.now();
    if (Math.abs(now - this.#minute) >= MINUTE_MS) {
      this.#minute = now;
      this.#controls = 0;
    }
    this.#controls += 1;
    if (this.#controls === controls + 1) exceeded('websocket_controls_refused');
  }

  end(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }
}
