// What selection asks of quota: answers from memory, and word whenever one may have changed.

export interface QuotaView {
  /** The account is out of quota, until then where that is known; undefined while it is not, or nothing is known. */
  exhausted(account: string, at: number): { readonly until: number | undefined } | undefined;
  /** The share of the tightest window that is left, 0 to 1; undefined is unknown, and unknown is eligible (Q8). */
  remaining(account: string, at: number): number | undefined;
  /** When the first of its windows starts anew; Unix milliseconds. */
  nextReset(account: string, at: number): number | undefined;
  /** What is left is kept for the account's owner (`reserve_percent`), until then where that is known. */
  reserved(account: string, at: number): { readonly until: number | undefined } | undefined;
  /**
   * Asks those of the accounts once more of which only old word is there, before a turn is refused for them; undefined where there is
   * none to ask. Resolves soon, whatever comes of it.
   */
  recheck?(accounts: readonly string[]): Promise<void> | undefined;
  /** Calls `listen` with an account of which something else is known now; returns the undo. Time alone needs no call. */
  onChange(listen: (account: string) => void): () => void;
}

export const UNKNOWN_QUOTA: QuotaView = {
  exhausted: () => undefined,
  remaining: () => undefined,
  nextReset: () => undefined,
  reserved: () => undefined,
  onChange: () => () => undefined,
};
