// The flow of a reply to its sink: one write per read of the account's socket, and backpressure from a slow client to the account.
import type { Sink } from '../../../turn/reply/sink.ts';
import type { Sending } from '../../../upstream/carriers/carrier.ts';

export interface OutputFlowOptions {
  readonly sending: () => Sending;
  /** Runs work of the reply. An error in it ends the reply. */
  readonly guarded: (work: () => void) => void;
}

export class OutputFlow {
  readonly #options: OutputFlowOptions;
  readonly #sink: Sink;
  #scheduled = false;
  #paused = false;
  #withheld = false;

  constructor(sink: Sink, options: OutputFlowOptions) {
    this.#sink = sink;
    this.#options = options;
  }

  /** Whether the account is paused because the client is slow. */
  get paused(): boolean {
    return this.#paused;
  }

  /** Whether the sink has written everything that it got. */
  get isWritten(): boolean {
    return !this.#scheduled && !this.#paused && !this.#withheld;
  }

  /** Flushes once for all events of one read of the socket. Accounts send each event as a separate chunk, and many arrive together. */
  flushSoon(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.#options.guarded(() => this.flush());
    });
  }

  /** Writes nothing until this promise has resolved. */
  withhold(until: Promise<void>): void {
    this.#withheld = true;
    void until.then(() => {
      this.#withheld = false;
      this.#options.guarded(() => this.flush());
    });
  }

  flush(): void {
    if (this.#withheld) return;
    const sink = this.#sink;
    if (sink.flush()) return;
    this.#paused = true;
    this.#options.sending().pause();
    sink.onDrain(() => this.#resume());
  }

  #resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#options.sending().resume();
  }
}
