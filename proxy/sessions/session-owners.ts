// The sessions whose turns this node has, among all nodes. Each session is leased to the node while a client may come back for one of its
// turns (Q34).
import { randomUUID } from 'node:crypto';
import type { SessionOwner, SessionOwnerVerbs } from '../../store/store.ts';
import type { Counters } from '../base/process/metrics.ts';
import { type Clock, LATE, withDeadline } from '../base/time/clock.ts';
import type { KeyedDigest } from '../encryption/digest.ts';

export interface SessionOwnersOptions {
  readonly store: SessionOwnerVerbs;
  /** The name of this process for the others. */
  readonly owner: string;
  /** The address at which other nodes reach this node. */
  readonly address: () => string;
  /** Digests the names of sessions with the same result on all nodes. */
  readonly digest: KeyedDigest;
  readonly clock: Clock;
  readonly counters: Counters;
  readonly turns: SessionTurns;
}

/** The turns of this node that clients may come back for. */
export interface SessionTurns {
  has(session: string): boolean;
  /** Gives up a session that another node has: ends its detached turns, and keeps no running turn for a client that leaves. */
  disown(session: string): void;
}

interface Lease {
  /** The name of the session in the store. */
  readonly name: string;
  /** Whether the session had no turn at the last renewal. */
  idle: boolean;
}

const LEASE_MS = 45_000;
const RENEW_EVERY_MS = 15_000;

/** How long a turn waits for the store. After that it continues with the node's current leases. */
const CLAIM_MS = 2_000;

/** How long a renewal waits for the store. */
const RENEWAL_MS = 5_000;

export class SessionOwners {
  readonly #options: SessionOwnersOptions;
  /** The leases of this node, by session. */
  readonly #leases = new Map<string, Lease>();
  #cancelRenewal: (() => void) | undefined;
  /** The last release of sessions. A claim waits for it. */
  #released: Promise<unknown> = Promise.resolve();
  #stopped = false;

  constructor(options: SessionOwnersOptions) {
    this.#options = options;
  }

  /** The number of sessions that are leased to this node. */
  get count(): number {
    return this.#leases.size;
  }

  /**
   * Leases the session to this node, or verifies its lease, because another node may have it after a pause of this process. Resolves with
   * the other owner if there is one. If the store does not answer, the node continues with its current leases.
   * @param instead an owner that has no turn of the session or does not answer; it loses its lease
   */
  async claim(session: string, instead?: SessionOwner): Promise<SessionOwner | undefined> {
    const { clock, counters } = this.#options;
    try {
      const claimed = await withDeadline(this.#claim(session, instead), clock, CLAIM_MS);
      if (claimed !== LATE) return claimed;
    } catch {
      // A store that fails has the same effect as one that does not answer in time.
    }
    counters.add('session_claims_failed');
    return undefined;
  }

  /** Notes the start of a turn that a client may come back for. The turn does not wait for the lease. */
  hold(session: string): void {
    if (!this.#leases.has(session)) void this.claim(session);
  }

  /**
   * Gives up the session, because its client went to another node with a turn that this node does not have. The other node takes the lease.
   */
  giveUp(session: string): void {
    this.#leases.delete(session);
    this.#options.turns.disown(session);
  }

  /** Gives up all sessions, because the process ends. */
  async stop(): Promise<void> {
    const { clock, owner, store } = this.#options;
    this.#stopped = true;
    this.#cancelRenewal?.();
    this.#leases.clear();
    await withDeadline(store.releaseAll(owner), clock, RENEWAL_MS).catch(() => undefined);
  }

  async #claim(session: string, instead: SessionOwner | undefined): Promise<SessionOwner | undefined> {
    const { address, digest, owner, store } = this.#options;
    await this.#released;
    const name = digest.of(session);
    const own = { owner, address: address(), lease: randomUUID() };
    const made = await store.claim({ session: name, ...own, ttlMs: LEASE_MS, instead: instead?.lease });
    if (made.owner !== owner) {
      if (this.#leases.has(session)) this.#lose(session);
      return made;
    }
    if (!this.#stopped) {
      this.#leases.set(session, { name, idle: false });
      this.#cancelRenewal ??= this.#nextRenewal();
    }
    return undefined;
  }

  #lose(session: string): void {
    this.#options.counters.add('sessions_lost');
    this.giveUp(session);
  }

  #nextRenewal(): () => void {
    return this.#options.clock.after(RENEW_EVERY_MS, async () => {
      await this.#renew().catch(() => this.#options.counters.add('session_claims_failed'));
      this.#cancelRenewal = this.#leases.size > 0 && !this.#stopped ? this.#nextRenewal() : undefined;
    });
  }

  async #renew(): Promise<void> {
    await this.#release();
    const held = [...this.#leases];
    if (held.length === 0) return;
    const { owner, store } = this.#options;
    const renewed = await this.#inTime(store.renew(owner, LEASE_MS));
    const missing = held.filter(([, { name }]) => !renewed.has(name));
    // If no other node has taken such a session, it is leased again.
    await Promise.all(missing.map(([session]) => this.#claim(session, undefined)));
  }

  /** Gives up sessions that had no turn for a whole period, so that the next turn of a tool loop needs no new lease. */
  async #release(): Promise<void> {
    const { owner, store, turns } = this.#options;
    const given: [string, Lease][] = [];
    for (const [session, lease] of this.#leases) {
      const wasIdle = lease.idle;
      lease.idle = !turns.has(session);
      if (wasIdle && lease.idle) given.push([session, lease]);
    }
    if (given.length === 0) return;
    for (const [session] of given) this.#leases.delete(session);
    const names = given.map(([, { name }]) => name);
    const released = this.#inTime(store.release(owner, names));
    this.#released = released.catch(() => {
      for (const [session, lease] of given) this.#leases.set(session, lease);
    });
    await released;
  }

  /** Limits the wait for the store. @throws Error if it does not answer in time */
  async #inTime<Result>(answer: Promise<Result>): Promise<Result> {
    const result = await withDeadline(answer, this.#options.clock, RENEWAL_MS);
    if (result === LATE) throw new Error('the store did not answer');
    return result as Result;
  }
}
