// The sessions whose turns this node has, over all nodes: each is leased to the node while a client may come back for a turn of it (Q34).
import { randomUUID } from 'node:crypto';
import type { SessionOwner, SessionOwnerVerbs } from '../../store/store.ts';
import type { Counters } from '../base/process/metrics.ts';
import { type Clock, LATE, withDeadline } from '../base/time/clock.ts';
import type { KeyedDigest } from '../encryption/digest.ts';

export interface SessionOwnersOptions {
  readonly store: SessionOwnerVerbs;
  /** Names this process to the others. */
  readonly owner: string;
  /** The address at which the other nodes reach it. */
  readonly address: () => string;
  /** Digests the names of sessions, with the same result on all nodes. */
  readonly digest: KeyedDigest;
  readonly clock: Clock;
  readonly counters: Counters;
  readonly turns: SessionTurns;
}

/** The turns of this node that clients may come back for. */
export interface SessionTurns {
  has(session: string): boolean;
  /** Another node has the session: ends its turns that have no client, and keeps none of the others for one. */
  disown(session: string): void;
}

interface Lease {
  /** The session as the store has it. */
  readonly name: string;
  /** Whether it had no turn at the last renewal. */
  idle: boolean;
}

const LEASE_MS = 45_000;
const RENEW_EVERY_MS = 15_000;

/** How long a turn waits for the store: after that it continues with the leases that the node has. */
const CLAIM_MS = 500;

/** How long a renewal waits for it. */
const RENEWAL_MS = 5_000;

export class SessionOwners {
  readonly #options: SessionOwnersOptions;
  /** The leases of this node, by session. */
  readonly #leases = new Map<string, Lease>();
  #cancelRenewal: (() => void) | undefined;
  /** Sessions that were given up: a claim of one of them comes after. */
  #released: Promise<unknown> = Promise.resolve();
  #stopped = false;

  constructor(options: SessionOwnersOptions) {
    this.#options = options;
  }

  /** How many sessions are leased to this node. */
  get count(): number {
    return this.#leases.size;
  }

  /**
   * Leases the session to this node, or verifies that it still is: after a pause of the process another node may have it. Resolves with
   * the other owner if one has it. Without an answer of the store the node continues with the leases that it has.
   * @param instead an owner that has no turn of the session, or does not answer: it loses its lease
   */
  async claim(session: string, instead?: SessionOwner): Promise<SessionOwner | undefined> {
    const { clock, counters } = this.#options;
    try {
      const claimed = await withDeadline(this.#claim(session, instead), clock, CLAIM_MS);
      if (claimed !== LATE) return claimed;
    } catch {
      // Treated as if there was no answer.
    }
    counters.add('session_claims_failed');
    return undefined;
  }

  /** A turn of the session starts that a client may come back for. It does not wait for the lease. */
  hold(session: string): void {
    if (!this.#leases.has(session)) void this.claim(session);
  }

  /** The client went to another node with a turn that this node does not have. The other node takes the lease. */
  giveUp(session: string): void {
    this.#leases.delete(session);
    this.#options.turns.disown(session);
  }

  /** Gives all sessions up: the process ends. */
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

  /** A session that had no turn for a whole period is given up: the next turn of a tool loop needs no new lease. */
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

  /** @throws Error if the store does not answer */
  async #inTime<Result>(answer: Promise<Result>): Promise<Result> {
    const result = await withDeadline(answer, this.#options.clock, RENEWAL_MS);
    if (result === LATE) throw new Error('the store did not answer');
    return result as Result;
  }
}
