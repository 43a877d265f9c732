// A queue of waiting turns: first in, first out; a wait ends at its deadline or when its client closes the connection.
import type { Clock } from '../clock.ts';

export interface WaitRequest<T> {
  /** The value to wait for, or undefined while it is not available. An error that it throws ends the wait. */
  serve(): T | undefined;
  /** Unix milliseconds. */
  readonly deadline: number;
  /** The error of a wait that reached its deadline. */
  timeoutError(): Error;
  /** Calls back when the client closes the connection, at once where it is closed already. Returns the undo. */
  onGone(aborted: () => void): () => void;
}

interface Waiter<T> {
  readonly request: WaitRequest<T>;
  settle(end: { readonly served?: T; readonly failed?: unknown }): void;
}

export class WaitQueue<T> {
  readonly #clock: Clock;
  /** In order of arrival. */
  readonly #waiters = new Set<Waiter<T>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get length(): number {
    return this.#waiters.size;
  }

  /** Resolves with the served value, or with undefined when the client closed the connection. @throws the error of `timeoutError` or of `serve` */
  wait(request: WaitRequest<T>): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      let settled = false;
      const waiter: Waiter<T> = {
        request,
        settle: (end) => {
          settled = true;
          this.#waiters.delete(waiter);
          cancelTimeout();
          stopListening();
          if ('failed' in end) reject(end.failed);
          else resolve(end.served);
        },
      };
      this.#waiters.add(waiter);
      const timeout = Math.max(0, request.deadline - this.#clock.now());
      const cancelTimeout = this.#clock.after(timeout, () => waiter.settle({ failed: request.timeoutError() }));
      let stopListening = (): void => undefined;
      const undo = request.onGone(() => {
        if (!settled) waiter.settle({});
      });
      // A connection that was closed before has settled the wait inside onGone.
      if (settled) undo();
      else stopListening = undo;
    });
  }

  /** Serves waiters in order, up to the first one that cannot be served. */
  serveInOrder(): void {
    for (const waiter of this.#waiters) if (!this.#serve(waiter)) return;
  }

  /** Tries every waiter in order until `enough` returns true: waiters may wait for different things. */
  serveEach(enough: () => boolean): void {
    for (const waiter of this.#waiters) {
      if (enough()) return;
      this.#serve(waiter);
    }
  }

  /** @returns false where the waiter still waits */
  #serve(waiter: Waiter<T>): boolean {
    try {
      const served = waiter.request.serve();
      if (served === undefined) return false;
      waiter.settle({ served });
    } catch (failed) {
      waiter.settle({ failed });
    }
    return true;
  }
}
