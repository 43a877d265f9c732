// The reservations of each key that wait for the store: few are asked for at a time, and a refusal answers all that it holds for.
import type { Clock } from '../clock.ts';

/** Asks for one reservation. */
export interface Asking<Result> {
  readonly key: string;
  /** Runs when its turn has come. */
  ask(): Promise<Result>;
  /** What another one's result says about this one; undefined where it has to ask for itself. */
  answeredBy(other: Result): Result | undefined;
  /** The result of one that has waited too long. */
  readonly late: Result;
}

interface Waiting<Result> extends Asking<Result> {
  readonly number: number;
  resolve(result: Result | Promise<Result>): void;
}

interface KeyQueue<Result> {
  running: number;
  /** Reservations that have waited so far. */
  waited: number;
  waiting: Waiting<Result>[];
}

/**
 * The store lets one reservation of a key in at a time. More than these would hold connections while they wait for each other, and keys
 * that are asked for often would keep others from the store. One is on its way while another is decided.
 */
const AT_ONCE = 2;
const WAIT_MS = 2_000;

export class ReservationQueue<Result> {
  readonly #clock: Pick<Clock, 'after'>;
  readonly #keys = new Map<string, KeyQueue<Result>>();

  constructor(clock: Pick<Clock, 'after'>) {
    this.#clock = clock;
  }

  /** Never rejects where `ask` does not. */
  ask(asking: Asking<Result>): Promise<Result> {
    let queue = this.#keys.get(asking.key);
    if (!queue) {
      queue = { running: 0, waited: 0, waiting: [] };
      this.#keys.set(asking.key, queue);
    }
    return queue.running < AT_ONCE ? this.#run(asking, queue) : this.#wait(asking, queue);
  }

  async #run(asking: Asking<Result>, queue: KeyQueue<Result>): Promise<Result> {
    queue.running += 1;
    // For one that came while this one was asked for, there may be room by then.
    const last = queue.waited;
    try {
      const result = await asking.ask();
      for (const waiting of queue.waiting.filter(({ number }) => number <= last)) {
        const answer = waiting.answeredBy(result);
        if (answer !== undefined) waiting.resolve(answer);
      }
      return result;
    } finally {
      queue.running -= 1;
      const next = queue.waiting[0];
      if (next) next.resolve(this.#run(next, queue));
      else if (queue.running === 0) this.#keys.delete(asking.key);
    }
  }

  #wait(asking: Asking<Result>, queue: KeyQueue<Result>): Promise<Result> {
    const { promise, resolve } = Promise.withResolvers<Result>();
    queue.waited += 1;
    const waiting: Waiting<Result> = {
      ...asking,
      number: queue.waited,
      resolve: (result) => {
        cancel();
        queue.waiting = queue.waiting.filter((one) => one !== waiting);
        resolve(result);
      },
    };
    const cancel = this.#clock.after(WAIT_MS, () => waiting.resolve(asking.late));
    queue.waiting.push(waiting);
    return promise;
  }
}
