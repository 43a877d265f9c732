// How several nodes share the `max_concurrent` of accounts, for selection. A single node has all of it and does not use this (Q34).
import type { AccountConfig } from '../../turn/settings.ts';

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
