// A waiting line: first come, first served, each until its deadline or until its client leaves.
import type { Clock } from '../clock.ts';

export interface Waiting<T> {
  /** What is waited for, or undefined while it is not to be had. What it throws ends the wait. */
  serve(): T | undefined;
  /** Unix milliseconds. */
  readonly deadline: number;
  /** What the wait ends with when the deadline comes first. */
  late(): Error;
  /** Calls back when the client leaves; returns the undo. */
  onGone(aborted: () => void): () => void;
}

interface Waiter<T> {
  readonly waiting: Waiting<T>;
  settle(end: { readonly served?: T; readonly failed?: unknown }): void;
}

export class Line<T> {
  readonly #clock: Clock;
  /** In order of arrival. */
  readonly #waiters = new Set<Waiter<T>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get length(): number {
    return this.#waiters.size;
  }

  /** Resolves with what was waited for, or with undefined when the client left. @throws what `late` made, or what `serve` threw */
  wait(waiting: Waiting<T>): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      let settled = false;
      const waiter: Waiter<T> = {
        waiting,
        settle: (end) => {
          settled = true;
          this.#waiters.delete(waiter);
          cancel();
          forget();
          if ('failed' in end) reject(end.failed);
          else resolve(end.served);
        },
      };
      this.#waiters.add(waiter);
      const cancel = this.#clock.after(Math.max(0, waiting.deadline - this.#clock.now()), () => waiter.settle({ failed: waiting.late() }));
      let forget = (): void => undefined;
      const undo = waiting.onGone(() => {
        if (!settled) waiter.settle({});
      });
      // A client that is gone already says so at once.
      if (settled) undo();
      else forget = undo;
    });
  }

  /** Serves from the head for as long as whoever stands there can be served. */
  serveInOrder(): void {
    for (const waiter of this.#waiters) if (!this.#serve(waiter)) return;
  }

  /** Asks everybody, in order, until `enough` says so: whoever stands in front may want something else. */
  serveWhoCan(enough: () => boolean): void {
    for (const waiter of this.#waiters) {
      if (enough()) return;
      this.#serve(waiter);
    }
  }

  /** False where the waiter still waits. */
  #serve(waiter: Waiter<T>): boolean {
    try {
      const served = waiter.waiting.serve();
      if (served === undefined) return false;
      waiter.settle({ served });
    } catch (failed) {
      waiter.settle({ failed });
    }
    return true;
  }
}
