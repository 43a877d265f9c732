// One turn in a Pool with tiers: the reasons that exclude accounts of higher tiers, the account at which its conversation stays, and the
// cost of its attempts (AA10, AA65 to AA70).
import type { AccountLease } from '../../accounts/selection/lease.ts';
import { TierDemand } from '../../accounts/selection/tiers/tier-demand.ts';
import type { Continuation } from '../../turn/continuation.ts';
import { isCostless, priceAt } from '../../turn/costs/prices.ts';
import type { NotReserved, OverflowBudget, Spending } from '../../turn/costs/spending.ts';
import type { Lack } from '../../turn/provider/lack.ts';
import type { PoolConfig, Prices } from '../../turn/settings.ts';
import { type PoolTiers, tiersOf } from '../../turn/tiers.ts';
import { endsInToolOutputs } from '../../turn/tool-loop.ts';
import type { Body } from '../../turn/turn.ts';
import type { DispatchRequest } from '../request/dispatch-request.ts';

export interface TierServices {
  readonly budget: OverflowBudget;
  /** Whether a turn with this many tokens fits the account's context window for the model (AA10). */
  readonly fits: (pool: PoolConfig, model: string, account: string, tokens: number) => boolean;
  /** Called when a turn goes to a tier above its base tier (AA72). */
  readonly used: (pool: string, tier: number) => void;
  /** Called when a higher tier does not take a turn (AA72). */
  readonly refused: (pool: string, reason: 'no_price' | 'overflow_spent' | 'no_overflow' | 'unavailable') => void;
}

const CIPHERTEXT: Lack = { reason: 'ciphertext' };
const WINDOW: Lack = { reason: 'window' };
const NO_PRICE: Lack = { reason: 'no_price' };
const SPENT: Lack = { reason: 'overflow_spent' };

export interface TieredTurn {
  readonly request: Pick<DispatchRequest, 'turn' | 'expected'>;
  readonly continuation: Continuation;
  /** Undefined if the body passes unread. */
  readonly body: Body | undefined;
  /** The account that made the newest ciphertext of the history. It is read only if the Pool keeps reasoning in its tier. */
  readonly maker: string | undefined;
}

export class TurnTiers {
  readonly demand: TierDemand;
  readonly #services: TierServices;
  readonly #turn: TieredTurn;
  readonly #tiers: PoolTiers;
  #spending: Spending | undefined;
  /** The tokens of the turn, after they were needed once. */
  #tokens: number | undefined;

  constructor(turn: TieredTurn, services: TierServices) {
    const { pool, key } = turn.request.turn;
    this.#turn = turn;
    this.#services = services;
    this.#tiers = tiersOf(pool);
    this.demand = new TierDemand({
      overflow: pool.overflow,
      mayOverflow: key.overflow,
      stays: key.overflow ? this.#stays() : undefined,
      lackOf: (account, tier, lowest) => this.#lackOf(account, tier, lowest),
    });
  }

  /** What the attempt that served the turn has reserved. */
  get spending(): Spending | undefined {
    return this.#spending;
  }

  /**
   * Reserves the cost of an attempt at this account. Returns false if it does not fit into a cap; the tier is then excluded for this turn.
   */
  pays({ account, tier }: AccountLease): boolean | Promise<boolean> {
    this.release();
    const { turn, expected } = this.#turn.request;
    const caps = this.#tiers.capsOf(tier);
    const prices = caps.length === 0 ? undefined : this.#pricesAt(account.id);
    if (!prices) return true;
    const cost = expected.costAt(prices);
    if (cost.expected === 0 && prices.output === 0) return true;
    const taken = (reserved: Spending | NotReserved): boolean => {
      if (typeof reserved !== 'string') {
        this.#spending = reserved;
        return true;
      }
      this.#services.refused(turn.pool.id, reserved === 'spent' ? 'overflow_spent' : 'unavailable');
      this.#exclude(tier, cost.least);
      return false;
    };
    const reserving = this.#services.budget.reserve(caps, cost);
    return reserving instanceof Promise ? reserving.then(taken) : taken(reserving);
  }

  /** Ends the reservation of an attempt that failed, because it has no known cost. */
  release(): void {
    this.#spending?.settle(undefined);
    this.#spending = undefined;
  }

  /** Counts why higher tiers did not take the turn, because no account could be chosen. */
  refused(): void {
    const { pool } = this.#turn.request.turn;
    const reasons = new Set([...this.demand.excluded.values()].map(({ reason }) => reason));
    for (const reason of ['no_price', 'no_overflow'] as const) if (reasons.has(reason)) this.#services.refused(pool.id, reason);
  }

  /** Excludes the accounts of the tier with this cost, because the same caps have no room for them. */
  #exclude(tier: number, cost: number): void {
    const { turn, expected } = this.#turn.request;
    for (const assignment of turn.pool.assignments) {
      if (assignment.tier !== tier) continue;
      const prices = this.#pricesAt(assignment.account);
      if (prices && expected.costAt(prices).least >= cost) this.demand.exclude(assignment.account, SPENT);
    }
  }

  /**
   * The account at which a conversation stays. After an overflow it stays while its input ends in tool outputs. With `reasoning: keep` it
   * stays with the account of its ciphertext (AA68).
   */
  #stays(): string | undefined {
    const { continuation, body, maker } = this.#turn;
    if (maker !== undefined && this.#isAbove(maker)) return maker;
    if (!body || !endsInToolOutputs(body)) return undefined;
    return [continuation.soft, continuation.affinity?.overflow].find((account) => account !== undefined && this.#isAbove(account));
  }

  #isAbove(account: string): boolean {
    return this.#tiers.tierOf(account) > (this.#tiers.all[0] ?? 0);
  }

  #lackOf(account: string, tier: number, lowest: number): Lack | undefined {
    const { request, maker, body } = this.#turn;
    const { turn, expected } = request;
    if (maker !== undefined && this.#tiers.tierOf(maker) !== tier) return CIPHERTEXT;
    if (tier > lowest && body && turn.model) {
      this.#tokens ??= expected.tokens();
      if (!this.#services.fits(turn.pool, turn.model.id, account, this.#tokens)) return WINDOW;
    }
    if (this.#tiers.capsOf(tier).length === 0 || isCostless(turn.kind)) return undefined;
    return this.#pricesAt(account) ? undefined : NO_PRICE;
  }

  #pricesAt(id: string): Prices | undefined {
    const { turn } = this.#turn.request;
    const account = turn.generation.accounts.get(id);
    return account && priceAt(account, turn.model?.id, turn.pool);
  }
}
