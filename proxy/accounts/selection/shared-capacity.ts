// How several nodes share the `max_concurrent` of accounts, for selection. A single node has all of it and does not use this (Q34).
import type { AccountConfig } from '../../turn/settings.ts';
import type { AccountRecords } from '../account-record.ts';
import type { CandidateAccounts } from './candidate-accounts.ts';
import type { Demand, Tried } from './demand.ts';

export interface SharedCapacity {
  /** Applies the accounts of a configuration. */
  configure(accounts: readonly AccountConfig[]): void;
  /** The turns that this node may have at the account at the same time. */
  capacityOf(account: string): number;
  /** Calls `listen` with an account whose capacity changed. */
  onChange(listen: (account: string) => void): void;
  /** Called before each choice, at the cost of one comparison. A node that may have lost its lease begins no turn until that is certain. */
  check(): void;
  /** Reports the number of turns at the account after each change. */
  used(account: string, inFlight: number): void;
  /** Reports that a turn waits for one of these accounts. @returns the undo */
  wanted(accounts: readonly string[]): () => void;
  /**
   * Asks for more slots of the account that a turn should go to. Resolves when the answer has come; undefined if a recent question for this
   * account was in vain.
   */
  ask(account: string): Promise<void> | undefined;
}

interface AskOptions {
  readonly shared: SharedCapacity;
  readonly records: AccountRecords;
  readonly candidates: CandidateAccounts;
}

/** Asks for slots at which this node has none, so that the turn does not leave its account or its tier; undefined if it need not. */
export function askForSlots(demand: Demand, tried: Tried, options: AskOptions): Promise<unknown> | undefined {
  return askFor(demand, tried, options) ?? askForTier(demand, tried, options);
}

/** Asks for a slot if the turn belongs to an account at which this node has none. */
function askFor({ hard, soft, affinity }: Demand, tried: Tried, { shared, records }: AskOptions): Promise<void> | undefined {
  shared.check();
  const home = hard ?? soft ?? affinity?.account;
  const record = home === undefined || tried.has(home) ? undefined : records.configured(home);
  return record && record.inFlight >= record.capacity ? shared.ask(record.id) : undefined;
}

/** Asks for a slot if a tier is full at this node (AA66). */
function askForTier(demand: Demand, tried: Tried, { shared, candidates }: AskOptions): Promise<unknown> | undefined {
  if (!demand.tiers?.leavesFull || demand.hard !== undefined) return undefined;
  for (const { index, closed } of candidates.openTiers(demand, tried)) {
    if (index.count('available', closed) > 0) return undefined;
    const full = index.candidates.filter((one) => index.availability(one) === 'at_max_concurrent' && !closed.has(one.record.id));
    const asked = full.flatMap(({ record }) => shared.ask(record.id) ?? []);
    if (asked.length > 0) return Promise.all(asked);
  }
  return undefined;
}
