// Counts tokens in a separate thread, so that no text can block the event loop (F7.6). Texts never leave the process.
import { Worker } from 'node:worker_threads';
import type { Counters } from '../base/process/metrics.ts';
import type { Clock } from '../base/time/clock.ts';
import type { TokenAnswer, TokenTask } from './token-worker.ts';

type Counts = readonly number[] | undefined;

export interface TokenCounterOptions {
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly counters: Counters;
  /** The module that the thread runs. */
  readonly module?: URL;
}

/** The longest wait for a count, including the start of the thread. */
const DEADLINE_MS = 5_000;
/** The time after which a thread without an answer is ended. Its tasks end themselves long before. */
const STUCK_MS = 15_000;
/** The most tasks that may wait. `MOST_CHARACTERS` limits their texts. */
const MOST_TASKS = 64;
const MOST_CHARACTERS = 16_777_216;
/** The pause before another thread is started after a failure. */
const RESTART_MS = 10_000;
const MEMORY_MB = 512;
/** The time after which a thread without work is ended. It needs about 90 MB. */
const IDLE_MS = 600_000;

interface Waiting {
  readonly characters: number;
  readonly resolve: (counts: Counts) => void;
}

export class TokenCounter {
  readonly #clock: Pick<Clock, 'now' | 'after'>;
  readonly #counters: Counters;
  readonly #module: URL;
  #worker: Worker | undefined;
  #endedAt: number | undefined;
  #lastId = 0;
  /** Tasks without a result, by id. A task whose deadline has passed stays until the thread answers. */
  readonly #waiting = new Map<number, Waiting>();
  #characters = 0;
  #cancelIdle = (): void => undefined;

  constructor({ clock, counters, module = new URL('./token-worker.ts', import.meta.url) }: TokenCounterOptions) {
    this.#clock = clock;
    this.#counters = counters;
    this.#module = module;
  }

  /** The tokens of each text; undefined if they are not counted in time. Never rejects. The first call starts the thread. */
  count(texts: readonly string[]): Promise<Counts> {
    const characters = texts.reduce((total, { length }) => total + length, 0);
    const worker = this.#waiting.size < MOST_TASKS && this.#characters + characters <= MOST_CHARACTERS ? this.#running() : undefined;
    if (!worker) {
      this.#counters.add('token_counts_refused');
      return Promise.resolve(undefined);
    }
    const id = ++this.#lastId;
    const { promise, resolve } = Promise.withResolvers<Counts>();
    const cancelDeadline = this.#clock.after(DEADLINE_MS, () => resolve(undefined));
    const cancelStuck = this.#clock.after(STUCK_MS, () => this.#fail(worker));
    this.#characters += characters;
    this.#waiting.set(id, {
      characters,
      resolve: (counts) => {
        cancelDeadline();
        cancelStuck();
        resolve(counts);
      },
    });
    worker.postMessage({ id, texts } satisfies TokenTask);
    this.#cancelIdle();
    this.#cancelIdle = this.#clock.after(IDLE_MS, () => void this.close());
    return promise.then((counts) => {
      this.#counters.add(counts ? 'token_counts' : 'token_counts_late');
      return counts;
    });
  }

  /** Ends the thread. A later count starts another one. */
  async close(): Promise<void> {
    this.#cancelIdle();
    const worker = this.#worker;
    this.#worker = undefined;
    this.#giveUp();
    await worker?.terminate();
  }

  #running(): Worker | undefined {
    if (this.#worker) return this.#worker;
    if (this.#endedAt !== undefined && this.#clock.now() < this.#endedAt + RESTART_MS) return undefined;
    const worker = new Worker(this.#module, { resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB } });
    worker.unref();
    worker.on('message', (answer: TokenAnswer) => this.#answered(answer));
    // The thread ends after an error.
    worker.on('error', () => undefined);
    worker.once('exit', () => this.#fail(worker));
    this.#worker = worker;
    return worker;
  }

  #answered({ id, counts }: TokenAnswer): void {
    const waiting = this.#waiting.get(id);
    if (!waiting) return;
    this.#waiting.delete(id);
    this.#characters -= waiting.characters;
    waiting.resolve(counts ?? undefined);
  }

  #fail(worker: Worker): void {
    if (worker !== this.#worker) return;
    this.#worker = undefined;
    this.#endedAt = this.#clock.now();
    this.#counters.add('token_threads_ended');
    this.#giveUp();
    void worker.terminate();
  }

  #giveUp(): void {
    for (const { resolve } of this.#waiting.values()) resolve(undefined);
    this.#waiting.clear();
    this.#characters = 0;
  }
}
