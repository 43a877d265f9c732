// Chooses an account in a Pool with several tiers: the tiers in order, and inside a tier by pin, by affinity or by the strategy (AA65).
import type { Counters } from '../../../base/process/metrics.ts';
import { tiersOf } from '../../../turn/tiers.ts';
import type { AccountRecord, AccountRecords } from '../../account-record.ts';
import type { CandidateAccounts } from '../candidate-accounts.ts';
import type { Demand, Tried } from '../demand.ts';
import type { CandidateIndexes } from '../index/candidate-indexes.ts';
import type { AccountLease } from '../lease.ts';
import { type Choice, type Left, preferredChoice } from '../selection-result.ts';
import { closedTo } from './open-tiers.ts';
import type { TierDemand } from './tier-demand.ts';

export interface TierChoiceOptions {
  readonly candidates: CandidateAccounts;
  readonly indexes: CandidateIndexes;
  readonly records: AccountRecords;
  readonly counters: Counters;
  /** Leases the chosen account; undefined if it was removed or has another address. */
  readonly lease: (demand: Demand, choice: Choice) => AccountLease | undefined;
}

/**
 * Undefined if every account that could take the turn is at its `max_concurrent`.
 * @throws Refusal if no account can take the turn
 */
export function chooseInTiers(
  demand: Demand,
  tiers: TierDemand,
  tried: Tried,
  { candidates, counters, indexes, records, lease: leaseOf }: TierChoiceOptions,
): AccountLease | undefined {
  const { soft, affinity } = demand;
  const all = indexes.inTiers(demand);
  const find = (account: string | undefined): AccountRecord | undefined =>
    account === undefined ? undefined : records.configured(account);
  const stays = find(tiers.stays);
  if (stays && indexes.availabilityAt(stays, demand, tried) === 'available') {
    const index = all.find((one) => one.get(stays)) ?? all[0];
    const reason = stays.id === soft ? 'soft_pin' : stays.id === affinity?.overflow ? affinity.reason : 'ciphertext';
    const lease = leaseOf(demand, { tiers: all, tried: closedTo(tiers, tried), record: stays, reason, index });
    if (lease) return lease;
  }
  const pinned = find(soft);
  let softPin: Left | undefined = soft === undefined ? undefined : indexes.availabilityAt(pinned, demand, tried);
  let waits = false;
  // The state of the conversation's account, if the turn leaves the tier of that account.
  let leftAffinity: Left | undefined;
  for (const { index, closed, left } of candidates.openTiers(demand, tried)) {
    const shown = { tiers: all, tried: closed };
    if (pinned && softPin === 'available' && tiersOf(demand.turn.pool).tierOf(pinned.id) === index.tier) {
      const lease = leaseOf(demand, { ...shown, record: pinned, reason: 'soft_pin', index, overflow: left });
      if (lease) return lease;
      softPin = 'not_a_source';
    }
    // The account of the conversation belongs to one tier. In the other tiers only the strategy places the turn.
    const isHome = left === undefined;
    const own = isHome ? demand : { ...demand, affinity: undefined };
    if (isHome && affinity?.account !== undefined) leftAffinity = indexes.availabilityAt(find(affinity.account), demand, closed);
    for (let passed = closed; ; ) {
      const choice = preferredChoice(index, own, passed);
      if (!choice) break;
      const leftSoftPin = softPin === 'available' ? 'lower_tier' : softPin;
      const leftHome = isHome ? choice.leftAffinity : leftAffinity;
      const lease = leaseOf(demand, { ...choice, ...shown, leftSoftPin, leftAffinity: leftHome, overflow: left });
      if (lease) {
        if (leftSoftPin !== undefined && leftSoftPin !== 'lower_tier') counters.add('soft_pins_left');
        return lease;
      }
      passed = new Set(passed).add(choice.record.id);
    }
    waits ||= index.count('at_max_concurrent', closed) > 0;
  }
  if (waits) return undefined;
  throw candidates.noneFor(demand, tried);
}
