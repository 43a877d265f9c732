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
 * The pin of the last response of a websocket. It stays in memory, and is written when the websocket ends. Until then, no other process can
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
  /** Undefined at the first turn of a conversation. The strategy then chooses the account. */
  readonly account: string | undefined;
  /** The reason that is logged for a turn that goes to this account. */
  readonly reason: 'locality' | 'conversation';
  /** Remembers the account that answered the turn. */
  learn(account: string): void;
  /** The account of a higher tier that answered the last turn of an unfinished tool loop (AA68). */
  readonly overflow?: string | undefined;
  /** Remembers the account of a higher tier that answered the turn. The conversation's own account does not change (AA68). */
  overflowed?(account: string): void;
}

/** What a turn continues. It is determined before an account is chosen. */
export interface Continuation {
  /** The account that the turn must go to, because of its response id or its files. */
  readonly hard: string | undefined;
  /**
   * The account of the turn's session. Without a session, it is the account that issued the turn state or made the newest known ciphertext.
   */
  readonly soft: string | undefined;
  /** The pin of the turn's session. It is set to the account that answers. */
  readonly session: PinName | undefined;
  /** Undefined if prompt-cache locality does not apply. */
  readonly affinity: Affinity | undefined;
  /** The turn states of the request, with the accounts that issued them. */
  readonly states: ReadonlyMap<string, string>;
}
