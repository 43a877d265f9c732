// This node's slots of the accounts. Turns use them without a round trip, more are requested in advance, and slots that other nodes need
// are given back (Q34).
import type { AccountConfig } from '../turn/settings.ts';
import type { Membership } from './membership.ts';
import { ASK_AGAIN_MS, Share } from './share.ts';
import { SlotClaims, type SlotClaimsOptions } from './slot-claims.ts';

export interface CapacitySharesOptions extends SlotClaimsOptions {
  readonly membership: Pick<Membership, 'token' | 'standing' | 'lost' | 'listen' | 'nodes'>;
}

/** A turn that could go to more accounts waits for any of them, but requests slots of at most this many. */
const MOST_ASKED = 32;

export class CapacityShares {
  readonly #options: CapacitySharesOptions;
  readonly #shares = new Map<string, Share>();
  readonly #claims: SlotClaims;
  #listen: (account: string) => void = () => undefined;
  /** Set while the lease may be lost. No turn begins until the store has answered. */
  #suspended = false;
  #stopped = false;
  #askAgain: (() => void) | undefined;
  /** The number of turns that wait for more accounts than they request slots of. */
  #turns = 0;

  constructor(options: CapacitySharesOptions) {
    this.#options = options;
    this.#claims = new SlotClaims(options, this.#shares, {
      changed: (account) => this.#listen(account),
      granted: (account, share) => this.#review(account, share),
      ended: () => this.#planToAskAgain(),
    });
    options.membership.listen({
      renewed: () => void this.#renewed(),
      joined: () => this.#joined(),
      reached: () => this.check(),
    });
  }

  /** Claims an even share of every account. */
  start(): Promise<void> {
    for (const account of this.#shares.keys()) this.#claims.replan(account, 'ask');
    return this.#claims.run();
  }

  stop(): void {
    this.#stopped = true;
    this.#claims.stop();
    this.#askAgain?.();
  }

  configure(accounts: readonly AccountConfig[]): void {
    const most = new Map(accounts.map(({ id, max_concurrent }) => [id, max_concurrent]));
    for (const id of most.keys()) if (!this.#shares.has(id)) this.#shares.set(id, new Share(0));
    for (const [id, share] of this.#shares) {
      const next = most.get(id) ?? 0;
      if (next !== share.most) this.#claims.replan(id, next > share.most ? 'ask' : 'yield');
      share.most = next;
    }
    void this.#claims.run();
  }

  capacityOf(account: string): number {
    return this.#suspended ? 0 : (this.#shares.get(account)?.allowed ?? 0);
  }

  onChange(listen: (account: string) => void): void {
    this.#listen = listen;
  }

  check(): void {
    const suspended = this.#options.membership.standing() === 'unsure';
    if (suspended === this.#suspended) return;
    this.#suspended = suspended;
    for (const account of this.#shares.keys()) this.#listen(account);
  }

  used(account: string, inFlight: number): void {
    const share = this.#shares.get(account);
    if (!share) return;
    share.used(inFlight);
    this.#review(account, share);
  }

  wanted(accounts: readonly string[]): () => void {
    const first = accounts.length > MOST_ASKED ? Math.floor(this.#nextPlace() * accounts.length) : 0;
    const asked = [...accounts.slice(first), ...accounts.slice(0, first)].slice(0, MOST_ASKED).flatMap((account) => {
      const share = this.#shares.get(account);
      return share ? [[account, share] as const] : [];
    });
    for (const [account, share] of asked) {
      share.waiting += 1;
      this.#review(account, share);
    }
    this.#planToAskAgain();
    return () => {
      for (const [account, share] of asked) {
        share.waiting -= 1;
        this.#review(account, share);
      }
    };
  }

  ask(account: string): Promise<void> | undefined {
    const share = this.#shares.get(account);
    if (!share?.lacks(this.#options.clock.now())) return undefined;
    const answered = this.wanted([account]);
    return this.#claims.run().then(answered);
  }

  /** Handles accounts of which other nodes lack slots, or have given slots back. */
  changed(accounts: readonly string[]): void {
    const now = this.#options.clock.now();
    const nodes = this.#livingNodes();
    for (const account of accounts) {
      const share = this.#shares.get(account);
      if (share) this.#claims.plan(account, share.dueAfterOthers(nodes, now));
    }
    void this.#claims.run();
  }

  /** Called when nodes have joined or left. */
  nodesChanged(): void {
    const nodes = this.#livingNodes();
    for (const [account, share] of this.#shares) this.#claims.plan(account, share.dueAmong(nodes));
    void this.#claims.run();
  }

  /** The slots that this node holds, by account. */
  held(): readonly (readonly [account: string, slots: number])[] {
    return [...this.#shares].map(([account, { held }]) => [account, held]);
  }

  /**
   * The account at which a turn begins to request slots, as a fraction from 0 to 1. It differs between turns and nodes. If all nodes began
   * with the same accounts, they would all lack slots of these while others are free.
   */
  #nextPlace(): number {
    const start = Math.imul(this.#options.membership.token ?? 0, 0x85ebca6b);
    return (Math.imul(start + this.#turns++, 0x9e3779b1) >>> 0) / 0x1_0000_0000;
  }

  #review(account: string, share: Share): void {
    this.#claims.plan(account, share.due(this.#options.clock.now()));
    if (this.#claims.isDue) void this.#claims.run();
  }

  #livingNodes(): number {
    const { membership, clock } = this.#options;
    const now = clock.now();
    return Math.max(1, membership.nodes.filter(({ expires_at }) => expires_at > now).length);
  }

  /** Finds changes that the change feed missed. */
  async #renewed(): Promise<void> {
    this.check();
    this.nodesChanged();
    const { slots, membership } = this.#options;
    if (membership.token !== undefined) this.changed(await slots.short(membership.token).catch(() => []));
  }

  #joined(): void {
    for (const [account, share] of this.#shares) {
      share.forget();
      this.#claims.replan(account, 'ask');
    }
    this.#suspended = false;
    for (const account of this.#shares.keys()) this.#listen(account);
    void this.#claims.run();
  }

  #planToAskAgain(): void {
    const isShort = (share: Share): boolean => share.waiting > 0;
    if (this.#stopped || this.#askAgain || ![...this.#shares.values()].some(isShort)) return;
    this.#askAgain = this.#options.clock.after(ASK_AGAIN_MS, () => {
      this.#askAgain = undefined;
      for (const [account, share] of this.#shares) if (isShort(share)) this.#claims.replan(account, 'ask');
      void this.#claims.run();
    });
  }
}
