// The demand of a turn in a Pool with several tiers: when the turn may leave a tier, and which accounts of higher tiers cannot take it
// (AA65 to AA71).
import type { FailureCause } from '../../../turn/errors/failure.ts';
import type { Lack } from '../../../turn/provider/lack.ts';
import type { OverflowConfig } from '../../../turn/settings.ts';
import type { OverflowReason } from '../../../turn/tiers.ts';
import type { Availability } from '../../account-record.ts';

export interface TierDemandOptions {
  readonly overflow: Pick<OverflowConfig, 'on' | 'wait_ms'>;
  /** Whether the key's turns may leave their base tier (AA71). */
  readonly mayOverflow: boolean;
  /** The account of a higher tier at which the conversation stays (AA68). */
  readonly stays: string | undefined;
  /**
   * Why an account cannot take the turn because of its tier. It is called once for each account, when a turn could go there.
   * @param lowest the lowest tier that has a source of the model
   */
  readonly lackOf: (account: string, tier: number, lowest: number) => Lack | undefined;
}

/** The states of an account that each reason to leave its tier covers (AA66). */
const REASONS: Readonly<Record<Exclude<Availability, 'available'>, OverflowReason>> = {
  out_of_quota: 'quota',
  reserved: 'quota',
  cooldown: 'failing',
  probing: 'failing',
  reauth_required: 'failing',
  at_max_concurrent: 'full',
};

const NO_OVERFLOW: Lack = { reason: 'no_overflow' };

export class TierDemand {
  readonly stays: string | undefined;
  /** The accounts that were found not to be able to take the turn. */
  readonly excluded = new Map<string, Lack>();
  readonly #options: TierDemandOptions;
  readonly #asked = new Set<string>();
  /** Why each account failed this turn. */
  readonly #failed = new Map<string, FailureCause>();
  /** The accounts for which the gateway can answer the turn. */
  readonly #answered = new Set<string>();
  #fullUntil: number | undefined;

  constructor(options: TierDemandOptions) {
    this.#options = options;
    this.stays = options.stays;
  }

  /** Whether a turn may leave a tier that is full. */
  get leavesFull(): boolean {
    return this.#options.overflow.on.includes('full');
  }

  /**
   * Why this account cannot take the turn; undefined if its tier does not prevent it.
   * @param base undefined while no lower tier has an account for the turn
   */
  lackAt(
    account: string,
    { tier, lowest, base }: { readonly tier: number; readonly lowest: number; readonly base: number | undefined },
  ): Lack | undefined {
    if (!this.#asked.has(account)) {
      this.#asked.add(account);
      const lack = this.#options.lackOf(account, tier, lowest);
      if (lack) this.excluded.set(account, lack);
    }
    if (!this.#options.mayOverflow && base !== undefined && base < tier && !this.excluded.has(account))
      this.excluded.set(account, NO_OVERFLOW);
    return this.excluded.get(account);
  }

  exclude(account: string, lack: Lack): void {
    this.excluded.set(account, lack);
  }

  failed(account: string, cause: FailureCause): void {
    this.#failed.set(account, cause);
  }

  /** Notes that the gateway can answer the turn for this account, which is not tried (AA24). A turn does not leave its tier for that. */
  answeredFor(account: string): void {
    this.#answered.add(account);
  }

  /** Why the turn may leave the tier because of this account's state; undefined if it may not. @param now Unix milliseconds */
  reasonToLeave(account: string, availability: Availability, tried: boolean, now: number): OverflowReason | undefined {
    const { on } = this.#options.overflow;
    const cause = this.#failed.get(account);
    const state = cause === 'quota' ? 'quota' : availability === 'available' ? undefined : REASONS[availability];
    if (tried && !this.#answered.has(account)) {
      const reason = state === 'quota' && on.includes(state) ? state : 'failing';
      return on.includes(reason) ? reason : undefined;
    }
    if (state === undefined || !on.includes(state)) return undefined;
    if (state !== 'full') return state;
    this.#fullUntil ??= now + this.#options.overflow.wait_ms;
    return now < this.#fullUntil ? undefined : state;
  }

  /** The end of the wait for lower tiers that are full, in Unix milliseconds; undefined if the turn does not wait for them. */
  get fullUntil(): number | undefined {
    return this.#fullUntil;
  }
}
