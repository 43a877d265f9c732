// What a turn continues: the accounts that it must, should or preferably goes to, and the names of the pins that it sets (Q10, Q11).

export type PinKind = 'response' | 'header' | 'turn_state' | 'ciphertext' | 'cache_key' | 'conversation' | 'overflow';

/** The name of a pin in memory; the store gets a digest of it. */
export interface PinName {
  readonly kind: PinKind;
  readonly text: string;
}

export interface Pin {
  readonly account: string;
  /** Unix milliseconds. */
  readonly expires_at: number;
}

/**
 * The pin of the last response of a websocket. It stays in memory, and is written when the websocket ends: before, no other process can
 * continue the response.
 */
export interface LivePin {
  /** The websocket has ended. */
  ended(): void;
  /** Notes that another response came over the websocket. */
  followed(): void;
}

/** The account that served the turn's conversation last, and so has its prompt cached. Health, quota and load take precedence (Q11). */
export interface Affinity {
  /** Undefined at the first turn, which the strategy places. */
  readonly account: string | undefined;
  /** The reason in the row of a turn that goes there. */
  readonly reason: 'locality' | 'conversation';
  /** Takes the account that answered the turn. */
  learn(account: string): void;
  /** The account of a higher tier that answered the last turn of an unfinished tool loop (AA68). */
  readonly overflow?: string | undefined;
  /** Takes the account of a higher tier that answered the turn: the conversation's own account stays what it was (AA68). */
  overflowed?(account: string): void;
}

/** Settled before an account is chosen. */
export interface Continuation {
  /** The account that its response id or its files bind it to. */
  readonly hard: string | undefined;
  /** The account of its session; without a session, the one that issued its turn state or made its newest known ciphertext. */
  readonly soft: string | undefined;
  /** The pin of its session, for the account that answers. */
  readonly session: PinName | undefined;
  /** Undefined if prompt-cache locality does not apply. */
  readonly affinity: Affinity | undefined;
  /** Its turn states, and the accounts that issued them. */
  readonly states: ReadonlyMap<string, string>;
}
