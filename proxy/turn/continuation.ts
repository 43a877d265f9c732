// What a turn continues: the accounts that it must or should go to, and the names under which its session and turn state are pinned (Q10).

export type PinKind = 'response' | 'header' | 'turn_state' | 'ciphertext';

/** What names a pin in memory; the store gets a digest of it. */
export interface PinName {
  readonly kind: PinKind;
  readonly text: string;
}

/** Settled before an account is chosen. */
export interface Continuation {
  /** The account that its response id binds it to. */
  readonly hard: string | undefined;
  /** The account of its session; without a session, the one that issued its turn state. */
  readonly soft: string | undefined;
  /** The pin of its session, for the account that answers. */
  readonly session: PinName | undefined;
  /** Its turn states, and the accounts that issued them. */
  readonly states: ReadonlyMap<string, string>;
}
