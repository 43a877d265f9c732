// Work that only one node does at a time: that node holds a lease, and the other nodes wait for its result (Q34).
import type { Lease, LeaseVerbs } from '../../store/store.ts';
import { type Clock, LATE, withDeadline } from '../base/time/clock.ts';

/** After this time the work of a node that died is taken over. A running node renews its leases three times as often. */
const LEASE_MS = 10_000;
/** If the store has not answered within this time, the state of a lease is unknown. */
const ASK_MS = 2_000;
/** The interval at which a waiting node asks again, because the other node's lease may have expired, or the change feed may be down. */
const ASK_AGAIN_MS = 1_000;

/** A lease of this process, renewed until it is released. */
export interface HeldLease {
  /** The token that guarded writes compare. */
  readonly lease: Lease;
  /**
   * Whether the lease expired, for example while the process was paused. Another node may have it, and the work must not decide anything
   * more.
   */
  readonly isLost: boolean;
  release(): Promise<void>;
}

export interface ExclusiveTask<Result> {
  /** The name of the lease, and of the changes that end a wait for it: `catalog/north`. */
  readonly name: string;
  /** The longest wait for another node. */
  readonly waitMs: number;
  /** The result of another node, if the store has it. Called after a change, and again before the work. */
  readonly found: () => Promise<Result | undefined>;
  /** @param lease guards the writes of the work; undefined if the store does not answer, so no other node can have the lease either */
  readonly work: (lease: HeldLease | undefined) => Promise<Result>;
}

export interface ExclusiveWorkOptions {
  readonly leases: LeaseVerbs;
  readonly clock: Clock;
  /** The name of this process. */
  readonly owner: string;
}

export class ExclusiveWork {
  readonly #options: ExclusiveWorkOptions;
  /** Functions that end the waits for a name. */
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(options: ExclusiveWorkOptions) {
    this.#options = options;
  }

  /** @returns the result of the work, done here or at another node; LATE if the other node took too long */
  async run<Result>({ name, waitMs, found, work }: ExclusiveTask<Result>): Promise<Result | typeof LATE> {
    const { clock } = this.#options;
    const end = clock.now() + waitMs;
    for (;;) {
      // Listens first, because the result may arrive while the lease is requested.
      const news = this.#next(name);
      try {
        const held = await this.acquire(name);
        if (held === 'unknown') return await work(undefined);
        if (held !== 'elsewhere') return await this.#under(held, found, work);
        const left = end - clock.now();
        if (left <= 0) return LATE;
        await withDeadline(news.arrived, clock, Math.min(left, ASK_AGAIN_MS));
      } finally {
        news.cancel();
      }
      const known = await found().catch(() => undefined);
      if (known !== undefined) return known;
    }
  }

  /** `elsewhere`: another node has the lease. `unknown`: the store does not answer. Never rejects. */
  async acquire(name: string): Promise<HeldLease | 'elsewhere' | 'unknown'> {
    const { leases, clock, owner } = this.#options;
    const askedAt = clock.now();
    const asking = leases.acquire(name, owner, LEASE_MS);
    try {
      const lease = await withDeadline(asking, clock, ASK_MS);
      if (lease !== LATE) return lease ? new Held(lease, askedAt, this.#options) : 'elsewhere';
      // The lease may still be granted later.
      asking.then((late) => late && leases.release(late)).catch(() => undefined);
    } catch {
      // The store does not answer.
    }
    return 'unknown';
  }

  /** Notes that the store has a new result of this work. */
  announce(name: string): void {
    for (const wake of this.#waiting.get(name) ?? []) wake();
  }

  async #under<Result>(held: HeldLease, found: ExclusiveTask<Result>['found'], work: ExclusiveTask<Result>['work']): Promise<Result> {
    try {
      // The previous owner of the lease may have stored the result.
      return (await found().catch(() => undefined)) ?? (await work(held));
    } finally {
      await held.release();
    }
  }

  #next(name: string): { readonly arrived: Promise<void>; readonly cancel: () => void } {
    const { promise: arrived, resolve } = Promise.withResolvers<void>();
    const waiting = this.#waiting.get(name) ?? new Set();
    this.#waiting.set(name, waiting.add(resolve));
    const cancel = (): void => {
      waiting.delete(resolve);
      if (waiting.size === 0 && this.#waiting.get(name) === waiting) this.#waiting.delete(name);
    };
    return { arrived, cancel };
  }
}

class Held implements HeldLease {
  readonly lease: Lease;
  readonly #options: ExclusiveWorkOptions;
  /**
   * When the lease ends by this process's own clock, counted from before the store was asked. This is never later than by the store's
   * clock.
   */
  #end: number;
  #cancelRenewal: () => void = () => undefined;

  constructor(lease: Lease, askedAt: number, options: ExclusiveWorkOptions) {
    this.lease = lease;
    this.#options = options;
    this.#end = askedAt + LEASE_MS;
    this.#renewSoon();
  }

  get isLost(): boolean {
    return this.#options.clock.now() >= this.#end;
  }

  async release(): Promise<void> {
    this.#cancelRenewal();
    // A lease that cannot be released expires.
    await this.#options.leases.release(this.lease).catch(() => undefined);
  }

  #renewSoon(): void {
    this.#cancelRenewal = this.#options.clock.after(LEASE_MS / 3, () => void this.#renew());
  }

  async #renew(): Promise<void> {
    const { leases, clock } = this.#options;
    const askedAt = clock.now();
    let released = false;
    this.#cancelRenewal = () => {
      released = true;
    };
    try {
      this.#end = (await leases.renew(this.lease, LEASE_MS)) ? askedAt + LEASE_MS : Number.NEGATIVE_INFINITY;
    } catch {
      // The next renewal may succeed before the lease expires.
    }
    if (!released && !this.isLost) this.#renewSoon();
  }
}
