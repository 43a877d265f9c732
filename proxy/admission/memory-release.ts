// Returns memory to the system when the gateway rests after large bodies, because V8 keeps the pages of its largest heap (Q38).
import type { Clock } from '../base/time/clock.ts';

export interface MemoryReleaseOptions {
  readonly clock: Pick<Clock, 'after'>;
  /** Whether no turn runs and no body is held. */
  readonly isResting: () => boolean;
  /** Collects all garbage, which stops the process. */
  readonly collect: () => void;
}

/** The interval of looks at the gateway. It rests if it does so at two of them, one after the other. */
const LOOK_MS = 10_000;

export class MemoryRelease {
  readonly #options: MemoryReleaseOptions;
  #cancel: (() => void) | undefined;
  #wasResting = false;

  constructor(options: MemoryReleaseOptions) {
    this.#options = options;
  }

  /** Called while bodies need much memory, however often. */
  readonly grown = (): void => {
    this.#wasResting = false;
    this.#cancel ??= this.#options.clock.after(LOOK_MS, this.#look);
  };

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  readonly #look = (): void => {
    const { clock, isResting, collect } = this.#options;
    const isRest = isResting();
    if (isRest && this.#wasResting) {
      this.stop();
      collect();
      return;
    }
    this.#wasResting = isRest;
    this.#cancel = clock.after(LOOK_MS, this.#look);
  };
}
