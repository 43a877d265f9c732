// Claims slots of accounts from the store, one transaction at a time. Claims that are planned during a transaction share the next one (Q34).
import type { SlotVerbs } from '../../store/store.ts';
import type { Counters } from '../base/process/metrics.ts';
import type { Clock } from '../base/time/clock.ts';
import type { Membership } from './membership.ts';
import type { ClaimKind, Share } from './share.ts';

export interface SlotClaimsOptions {
  readonly slots: SlotVerbs;
  readonly membership: Pick<Membership, 'token' | 'lost'>;
  readonly clock: Clock;
  readonly counters: Counters;
}

export interface ClaimListener {
  /** The slots that turns may use at the account have changed. */
  changed(account: string): void;
  /** A claim of the account was granted. */
  granted(account: string, share: Share): void;
  /** The last planned claim has ended. */
  ended(): void;
}

/** The most accounts in one transaction. */
const BATCH = 256;

/** A claim for an account, and the number of turns that were allowed before it. */
interface Claimed {
  readonly account: string;
  readonly share: Share;
  readonly before: Pick<Share, 'allowed'>;
  readonly claim: ReturnType<Share['claim']>;
}

export class SlotClaims {
  readonly #options: SlotClaimsOptions;
  readonly #shares: Map<string, Share>;
  readonly #listener: ClaimListener;
  /** The next claims. */
  readonly #due = new Map<string, ClaimKind>();
  #running: Promise<void> | undefined;
  #stopped = false;

  /** @param shares by account; a removed account is deleted when it holds no slots */
  constructor(options: SlotClaimsOptions, shares: Map<string, Share>, listener: ClaimListener) {
    this.#options = options;
    this.#shares = shares;
    this.#listener = listener;
  }

  /** Whether a claim is planned. */
  get isDue(): boolean {
    return this.#due.size > 0;
  }

  stop(): void {
    this.#stopped = true;
  }

  /** Plans a claim, unless one is already planned for the account: it will use the numbers at its own time. */
  plan(account: string, kind: ClaimKind | undefined): void {
    if (kind !== undefined && !this.#due.has(account)) this.#due.set(account, kind);
  }

  /** Plans a claim that replaces the planned one of the account. */
  replan(account: string, kind: ClaimKind): void {
    this.#due.set(account, kind);
  }

  /** Makes the planned claims, one transaction at a time. */
  run(): Promise<void> {
    this.#running ??= this.#claimDue().finally(() => {
      this.#running = undefined;
      this.#listener.ended();
    });
    return this.#running;
  }

  async #claimDue(): Promise<void> {
    while (this.#due.size > 0 && !this.#stopped) {
      const { token } = this.#options.membership;
      // The claims stay planned, and are made when the node has joined.
      if (token === undefined || !(await this.#claimOnce(token))) return;
    }
  }

  /** @returns whether the store answered */
  async #claimOnce(token: number): Promise<boolean> {
    const { slots, membership, clock, counters } = this.#options;
    const batch = this.#nextBatch();
    for (const { account, share, before } of batch) if (share.allowed !== before.allowed) this.#listener.changed(account);
    counters.add('slot_claims');
    try {
      const grants = await slots.claim(
        token,
        batch.map(({ claim }) => claim),
      );
      if (membership.token !== token) return true;
      if (!grants) {
        await membership.lost(token);
        return membership.token !== token;
      }
      const granted = new Map(grants.map((grant) => [grant.account, grant]));
      for (const { account, share, claim } of batch) {
        const grant = granted.get(account);
        if (grant) share.granted(grant, claim, clock.now());
        if (share.most === 0 && share.held === 0) this.#shares.delete(account);
        this.#listener.changed(account);
        this.#listener.granted(account, share);
      }
      return true;
    } catch {
      if (membership.token !== token) return false;
      for (const { account, share, before } of batch) {
        share.failed(before, clock.now());
        this.#listener.changed(account);
      }
      return false;
    }
  }

  #nextBatch(): readonly Claimed[] {
    return [...this.#due].slice(0, BATCH).flatMap(([account, kind]) => {
      this.#due.delete(account);
      const share = this.#shares.get(account);
      return share ? [{ account, share, before: { allowed: share.allowed }, claim: share.claim(account, kind) }] : [];
    });
  }
}
