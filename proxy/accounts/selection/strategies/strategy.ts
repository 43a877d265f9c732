// A strategy decides how a Pool orders the accounts that could take a turn, and what it learns from the attempts (Q7).
import type { AccountRecord } from '../../account-record.ts';
import type { AttemptResult } from '../../health/attempt-result.ts';
import type { SelectedTurn } from '../demand.ts';

/** An account of one Pool for one model. */
export interface Candidate {
  readonly record: AccountRecord;
  /** The exposed model id, or the scope of a route without a model. */
  readonly model: string;
  /** The position in configuration order; the canonical cohort comes before its overflow. */
  readonly index: number;
  /** The weight of the assignment; 1 by default. */
  readonly weight: number;
}

/** The end of an attempt, whether the strategy or a pin placed it. */
export interface EndedAttempt {
  readonly candidate: Candidate;
  readonly turn: SelectedTurn;
  readonly result: AttemptResult;
  /** Milliseconds from the choice of the account to the commit of its reply; undefined if nothing was committed. */
  readonly firstEventMs: number | undefined;
}

/** Records the end of one attempt whose account and turn are known. */
export type Learning = (end: Pick<EndedAttempt, 'result' | 'firstEventMs'>) => void;

/** Strategies score only available candidates. */
export interface Strategy {
  /**
   * A finite number, of which the highest wins; rendezvous hashing breaks ties. The score is kept until the candidate changes, for a second
   * at most; `turn` is undefined then.
   */
  score(candidate: Candidate, turn: SelectedTurn | undefined): number;
  /** Set if scores depend on the turn, so they are computed for each choice. */
  readonly perTurn?: true;
  /** Set if the score weighs attempts in flight against quota, so it may keep a turn at an account over its bound (Q11). */
  readonly weighsLoad?: true;
  /** Called when the strategy's choice got the turn, but not for a turn that a pin placed. */
  chosen?(candidate: Candidate): void;
  /** Called at the end of each attempt at a candidate of the Pool and model. */
  ended?(attempt: EndedAttempt): void;
}
