// A strategy: how a Pool orders the accounts that could take a turn, and what it learns from the attempts (Q7).
import type { AttemptResult } from '../../health/account-health.ts';
import type { AccountLoad } from '../account-load.ts';
import type { SelectedTurn } from '../demand.ts';

/** An account of one Pool for one model. */
export interface Candidate {
  readonly load: AccountLoad;
  /** The exposed model id; the scope of a route without a model. */
  readonly model: string;
  /** In configuration order, the canonical cohort before its overflow. */
  readonly index: number;
  /** The weight of the assignment; 1 by default. */
  readonly weight: number;
}

/** The end of an attempt, whether the strategy or a pin placed it. */
export interface EndedAttempt {
  readonly candidate: Candidate;
  readonly turn: SelectedTurn;
  readonly result: AttemptResult;
  /** From the choice of the account to the commit of its reply; undefined if nothing was committed. Milliseconds. */
  readonly firstEventMs: number | undefined;
}

/** Takes the end of one attempt, whose account and turn are known. */
export type Learning = (end: Pick<EndedAttempt, 'result' | 'firstEventMs'>) => void;

/** A strategy scores only candidates that are available. */
export interface Strategy {
  /**
   * A finite number, the highest first. Ties are broken by rendezvous hash. The score is kept until the candidate changes, for a second at
   * most; `turn` is then undefined.
   */
  score(candidate: Candidate, turn: SelectedTurn | undefined): number;
  /** Scores depend on the turn: they are computed for each choice. */
  readonly perTurn?: true;
  /** The score weighs attempts in flight against quota, so it may keep a turn at an account over its bound (Q11). */
  readonly weighsLoad?: true;
  /** The strategy's choice got the turn. Not called for a turn that a pin placed. */
  chosen?(candidate: Candidate): void;
  /** An attempt ended. Called once for each attempt at a candidate of the Pool and model. */
  ended?(attempt: EndedAttempt): void;
}
