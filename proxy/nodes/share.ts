// This node's share of one account's slots: what it has, what it needs, and what it claims.
import type { SlotClaim, SlotGrant } from '../../store/store.ts';

/**
 * `ask` requests more slots. `trim` gives back slots above the share, which another node waits for. `yield` gives back all slots that no
 * turn uses now: no turn begins until the answer has come, because the slot of a turn that began meanwhile could be another node's.
 */
export type ClaimKind = 'ask' | 'trim' | 'yield';

/** How long an account is not asked for again while the demand for it does not grow. */
export const ASK_AGAIN_MS = 1_000;

export class Share {
  /** `max_concurrent`; 0 of an account that was removed. */
  most: number;
  /** Slots that no other node gets. */
  held = 0;
  /** Turns begin while fewer are in flight. */
  allowed = 0;
  inFlight = 0;
  /** Turns that wait for this account, or for it and others. */
  waiting = 0;
  /** Whether the store has recorded that this node wants more slots than it has. */
  isShort = false;
  /** Whether another node lacks slots of the account. */
  #contended = false;
  /** The answer to a claim was lost: the store may have less for this node than it has here. */
  #isUncertain = false;
  /** Most in flight since the last renewal. */
  #peak = 0;
  #askedAt = Number.NEGATIVE_INFINITY;
  /** When this node last asked because of other nodes. */
  #followedAt = Number.NEGATIVE_INFINITY;
  #askedFor = 0;

  constructor(most: number) {
    this.most = most;
  }

  used(inFlight: number): void {
    this.inFlight = inFlight;
    this.#peak = Math.max(this.#peak, inFlight);
  }

  /** Turns that are there or could go there now. */
  get wanted(): number {
    return Math.min(this.inFlight + this.waiting, this.most);
  }

  get isIdle(): boolean {
    return this.held > this.inFlight;
  }

  /** Whether another turn would find no slot, and asking for more is useful: the demand has grown, or some time has passed. */
  lacks(now: number): boolean {
    if (this.inFlight < this.allowed || this.allowed >= this.most) return false;
    return now - this.#askedAt >= ASK_AGAIN_MS || this.wanted > (this.isShort ? 2 * this.#askedFor : this.#askedFor);
  }

  /** The claim for the current use of the account: none while the node has enough. */
  due(now: number): ClaimKind | undefined {
    if (this.lacks(now)) return 'ask';
    if (this.held > this.allowed && this.isIdle) return 'trim';
    if (this.#contended && this.isIdle && this.wanted < this.#askedFor) return 'yield';
    if (this.#contended && now - this.#askedAt >= ASK_AGAIN_MS) return 'ask';
    // Other nodes give slots back for a node that is short, so it has to report when it is not short any more.
    return this.isShort && this.wanted <= this.held ? 'ask' : undefined;
  }

  /** The same at a renewal, and when a node joined or left. @param nodes the number of living nodes */
  dueAmong(nodes: number): ClaimKind | undefined {
    const needed = Math.max(this.evenPart(nodes), Math.ceil(this.#peak * 1.5), this.inFlight + 1);
    this.#peak = this.inFlight;
    if (this.held > needed || this.#isUncertain) return 'yield';
    return this.waiting > 0 || this.held < this.evenPart(nodes) ? 'ask' : undefined;
  }

  /** The claim that is due when another node is short, or has given slots back. For a busy account this happens many times a second on every node. */
  dueAfterOthers(nodes: number, now: number): ClaimKind | undefined {
    if (this.isIdle) return 'yield';
    // Without slots its turns go elsewhere. Nodes that start together have just asked, when the first one still had all slots.
    const askedAt = this.held === 0 ? this.#followedAt : this.#askedAt;
    const isBelow = this.held < this.evenPart(nodes) && now - askedAt >= ASK_AGAIN_MS;
    if (isBelow) this.#followedAt = now;
    return isBelow || this.waiting > 0 ? 'ask' : undefined;
  }

  /** The slots that each node may hold without turns. */
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

  /** The store did not answer: turns use the slots that the node had, until it does. */
  failed(before: Pick<Share, 'allowed'>, now: number): void {
    this.#isUncertain = true;
    this.allowed = Math.min(before.allowed, this.most);
    this.#askedFor = this.wanted;
    this.#askedAt = now;
  }

  /** A new lease, under which it has nothing. */
  forget(): void {
    this.held = 0;
    this.allowed = 0;
    this.isShort = false;
    this.#isUncertain = false;
    this.#contended = false;
    this.#askedFor = 0;
  }
}
