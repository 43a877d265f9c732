// Limits the messages of a client while they arrive: their time, their bytes in memory, and the pings and pongs that come with them.
import type { HeldBody } from '../../base/bytes/body-memory.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { JsonMemory } from '../http/bodies/json-body.ts';

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

/** The head of a client's ping or pong: two bytes, and four bytes of the mask. */
const CONTROL_HEAD_BYTES = 6;

/** Counts the bytes of a client's incomplete frame against the memory limit. */
export class ArrivingBytes {
  readonly #memory: JsonMemory;
  readonly #held: HeldBody;

  /** @param displaced drops the frame to make room for a body of another key */
  constructor(memory: JsonMemory, displaced: () => void) {
    this.#memory = memory;
    this.#held = memory.share.body(displaced);
  }

  /** Whether a message has begun and not ended. */
  get isIncomplete(): boolean {
    return this.#held.bytes > 0;
  }

  /** @returns whether there is room for the bytes */
  add(bytes: number): boolean {
    const { counters, limits } = this.#memory;
    if (this.#held.take(bytes, limits.bodies_in_memory_bytes)) return true;
    counters.add('bodies_guard_refused');
    return false;
  }

  /** Releases a control frame, which is not part of a body. Endless pings would otherwise use up the limit of all clients. */
  releaseControl(payloadBytes: number): void {
    this.#held.give(CONTROL_HEAD_BYTES + payloadBytes);
  }

  /** Releases all bytes, because the frame is complete. */
  release(): void {
    this.#held.give();
  }
}
