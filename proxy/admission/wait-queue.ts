// A queue of waiting turns that is fair among Pools, and in each Pool among its keys. A wait ends at its deadline, or when its client
// leaves.
import type { Clock } from '../base/time/clock.ts';
import type { Durations } from '../base/time/durations.ts';
import type { Refusal } from '../turn/errors/refusal.ts';
import { FairOrder } from './fair-order.ts';
import type { Tenant, WaitingRoom } from './waiting-room.ts';

export interface WaitRequest<T> {
  /** The key of the turn. Turns of one key are served in their order of arrival; those that cannot be served yet are passed over. */
  readonly tenant: Tenant;
  /** Counts the turn while it waits, and may end the wait for another turn. */
  readonly room: WaitingRoom;
  /** Records the length of the wait if it ends with the value. */
  readonly waits: Durations;
  /** The value that the turn waits for; undefined while it is not available. A thrown error ends the wait. */
  serve(): T | undefined;
  /** The deadline of the wait; Unix milliseconds. */
  readonly deadline: number;
  /** Calls back when the client closes the connection, immediately if it is already closed. Returns the undo. */
  onGone(aborted: () => void): () => void;
}

interface Waiter<T> {
  readonly request: WaitRequest<T>;
  /** When the wait began; Unix milliseconds. */
  readonly began: number;
  settle(end: { readonly served?: T; readonly failed?: unknown }): void;
  /** The last pass in which the turn could not be served. */
  refusedIn: number;
}

/** The waiting turns of one key, in order of arrival. */
type KeyTurns<T> = Set<Waiter<T>>;

export class WaitQueue<T> {
  /** The number of turns that wait. Only the queue changes it. */
  length = 0;
  readonly #clock: Clock;
  /**
   * Fair on two levels: Pools count equally, so that a Pool with many keys gets no more than one with a single key. The keys of a Pool
   * share its part by their weights.
   */
  readonly #pools = new FairOrder<FairOrder<KeyTurns<T>>>();
  #pass = 0;
  #serving = false;
  #changedWhileServing = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Resolves with the served value, or with undefined when the client has closed the connection. Rejects at the deadline, and with the
   * error of `serve`.
   * @throws Refusal at once, not from the promise, if the room is full
   */
  wait(request: WaitRequest<T>): Promise<T | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<T | undefined>();
    const { tenant, room, deadline } = request;
    const began = this.#clock.now();
    let settled = false;
    const waiter: Waiter<T> = {
      request,
      began,
      refusedIn: 0,
      settle: (end) => {
        settled = true;
        turns.delete(waiter);
        this.length -= 1;
        leaveRoom();
        cancelTimeout();
        stopListening();
        if ('failed' in end) reject(end.failed);
        else resolve(end.served);
      },
    };
    const leaveRoom = room.enter(tenant, (refusal: Refusal) => waiter.settle({ failed: refusal }));
    const turns = this.#turnsOf(tenant);
    turns.add(waiter);
    this.length += 1;
    const timeout = Math.max(0, deadline - began);
    const cancelTimeout = this.#clock.after(timeout, () => waiter.settle({ failed: room.timeoutRefusal() }));
    let stopListening = (): void => undefined;
    const undo = request.onGone(() => {
      if (!settled) waiter.settle({});
    });
    // A connection that was already closed has settled the wait inside onGone.
    if (settled) undo();
    else stopListening = undo;
    return promise;
  }

  /** Serves turns in fair order until `enough` returns true, skipping those that cannot be served: turns may wait for different things. */
  serve(enough: () => boolean): void {
    // Serving a turn can change what others wait for.
    if (this.#serving) {
      this.#changedWhileServing = true;
      return;
    }
    this.#serving = true;
    this.#pass += 1;
    while (!enough() && this.#serveNext());
    this.#serving = false;
    if (!this.#changedWhileServing) return;
    this.#changedWhileServing = false;
    this.serve(() => false);
  }

  #turnsOf({ pool, id, weight }: Tenant): KeyTurns<T> {
    const keys = this.#pools.join(pool, 1, () => new FairOrder<KeyTurns<T>>());
    return keys.join(id, weight, () => new Set());
  }

  #serveNext(): boolean {
    return this.#pools.serveNext((keys) => keys.serveNext((turns) => this.#serveOneOf(turns)));
  }

  #serveOneOf(turns: KeyTurns<T>): boolean {
    for (const waiter of turns) {
      // A pass only reduces the capacity, so a turn that was refused in it would be refused again.
      if (waiter.refusedIn === this.#pass) continue;
      try {
        const served = waiter.request.serve();
        if (served !== undefined) {
          waiter.request.waits.add(this.#clock.now() - waiter.began);
          waiter.settle({ served });
          return true;
        }
        waiter.refusedIn = this.#pass;
      } catch (failed) {
        waiter.settle({ failed });
      }
    }
    return false;
  }
}
