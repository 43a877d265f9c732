// This node's share of one account's slots: the slots that it has, needs and claims.
import type { SlotClaim, SlotGrant } from '../../store/store.ts';

/**
 * `ask` requests more slots. `trim` gives back slots above the share, which another node waits for. `yield` gives back all slots that no
 * turn uses now. No turn begins until its answer arrives, because the slot of a turn that began before it could belong to another node.
 */
export type ClaimKind = 'ask' | 'trim' | 'yield';

/** How long no further slots of an account are requested while the demand does not grow. */
export const ASK_AGAIN_MS = 1_000;

export class Share {
  /** `max_concurrent`; 0 if the account was removed. */
  most: number;
  /** Slots that no other node gets. */
  held = 0;
  /** Turns begin while fewer are running. */
  allowed = 0;
  inFlight = 0;
  /** The number of turns that wait for this account, possibly among others. */
  waiting = 0;
  /** Whether the store has recorded that this node wants more slots than it has. */
  isShort = false;
  /** Whether another node lacks slots of the account. */
  #contended = false;
  /** Set if the answer to a claim was lost. The store may have fewer slots for this node than it counts here. */
  #isUncertain = false;
  /** The most running turns since the last renewal. */
  #peak = 0;
  #askedAt = Number.NEGATIVE_INFINITY;
  /** When this node last made a claim because of other nodes. */
  #followedAt = Number.NEGATIVE_INFINITY;
  #askedFor = 0;

  constructor(most: number) {
    this.most = most;
  }

  used(inFlight: number): void {
    this.inFlight = inFlight;
    this.#peak = Math.max(this.#peak, inFlight);
  }

  /** The number of turns that are at the account or could go there now. */
  get wanted(): number {
    return Math.min(this.inFlight + this.waiting, this.most);
  }

  get isIdle(): boolean {
    return this.held > this.inFlight;
  }

  /** Whether another turn would find no slot, and requesting more is useful, because the demand has grown or some time has passed. */
  lacks(now: number): boolean {
    if (this.inFlight < this.allowed || this.allowed >= this.most) return false;
    return now - this.#askedAt >= ASK_AGAIN_MS || this.wanted > (this.isShort ? 2 * this.#askedFor : this.#askedFor);
  }

  /** The claim that the current use of the account needs; undefined while the node has enough slots. */
  due(now: number): ClaimKind | undefined {
    if (this.lacks(now)) return 'ask';
    if (this.held > this.allowed && this.isIdle) return 'trim';
    if (this.#contended && this.isIdle && this.wanted < this.#askedFor) return 'yield';
    if (this.#contended && now - this.#askedAt >= ASK_AGAIN_MS) return 'ask';
    // Other nodes give back slots for a node that is short, so it has to report when it no longer is.
    return this.isShort && this.wanted <= this.held ? 'ask' : undefined;
  }

  /** The claim that is due at a renewal, or when a node has joined or left. @param nodes the number of running nodes */
  dueAmong(nodes: number): ClaimKind | undefined {
    const needed = Math.max(this.evenPart(nodes), Math.ceil(this.#peak * 1.5), this.inFlight + 1);
    this.#peak = this.inFlight;
    if (this.held > needed || this.#isUncertain) return 'yield';
    return this.waiting > 0 || this.held < this.evenPart(nodes) ? 'ask' : undefined;
  }

  /**
   * The claim that is due when another node is short or has given back slots. For a busy account this happens many times a second on every
   * node.
   */
  dueAfterOthers(nodes: number, now: number): ClaimKind | undefined {
    if (this.isIdle) return 'yield';
    // Without slots, turns of this node go elsewhere. When nodes start together, the others have just asked while the first one still had
    // all slots.
    const askedAt = this.held === 0 ? this.#followedAt : this.#askedAt;
    const isBelow = this.held < this.evenPart(nodes) && now - askedAt >= ASK_AGAIN_MS;
    if (isBelow) this.#followedAt = now;
    return isBelow || this.waiting > 0 ? 'ask' : undefined;
  }

  /** The number of slots that each node may hold without turns. */
  evenPart(nodes: number): number {
    return Math.floor(this.most / nodes);
  }

  claim(account: string, asked: ClaimKind): SlotClaim {
    const kind = this.#isUncertain ? 'yield' : asked;
    if (kind === 'yield') this.allowed = Math.min(this.allowed, this.inFlight);
    const kept = Math.max(this.inFlight, kind === 'ask' ? this.held : Math.min(this.held, this.allowed));
    return { account, most: this.most, kept, wanted: this.wanted };
  }

  granted({ held, allowed, contended }: SlotGrant, { wanted }: SlotClaim, now: number): void {
    this.#isUncertain = false;
    this.#contended = contended;
    this.held = held;
    this.allowed = allowed;
    this.isShort = wanted > held;
    this.#askedFor = wanted;
    this.#askedAt = now;
  }

  /** Restores the former state, because the store did not answer. Until it does, turns use the slots that the node had. */
  failed(before: Pick<Share, 'allowed'>, now: number): void {
    this.#isUncertain = true;
    this.allowed = Math.min(before.allowed, this.most);
    this.#askedFor = this.wanted;
    this.#askedAt = now;
  }

  /** Starts without slots under a new lease. */
  forget(): void {
    this.held = 0;
    this.allowed = 0;
    this.isShort = false;
    this.#isUncertain = false;
    this.#contended = false;
    this.#askedFor = 0;
  }
}
