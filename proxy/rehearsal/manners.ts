// The manners of the simulated provider: what the real agent backend does and a polite provider does not, one line each.

export interface Manners {
  /** Refuses a turn over HTTP that does not stream, that is not `store: false` (frames may omit it), or whose input is no list (RB7). */
  readonly streamedUnstoredLists: boolean;
}

/** The real backend; what an account has by default. */
export const STRICT: Manners = {
  streamedUnstoredLists: true,
};

/** The profile `polite`, and accounts of tests that check nothing. */
export const POLITE: Manners = {
  streamedUnstoredLists: false,
};
