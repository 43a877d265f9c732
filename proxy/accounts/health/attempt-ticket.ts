// One attempt as health sees it: where it went, when it began, and whether it is the probe that decides.
import type { Failure } from '../../turn/failure.ts';
import type { Condition } from './condition.ts';

/**
 * `completed`: the account gave a whole answer. `neutral`: nothing was learnt of it: the client left, or the request or our own
 * checks are to blame. A failure says itself whom it blames.
 */
export type Result = 'completed' | 'neutral' | Failure;

export interface AttemptTicket {
  readonly account: string;
  /** Exposed model id; a word in parentheses on routes without one. */
  readonly model: string;
  /** Counts up; what opened after a visit began cannot be judged by it. */
  readonly number: number;
  /** The bearer that it carries, where that is a static one. */
  readonly credential: string | undefined;
  /** What it probes. */
  probes: readonly Condition[] | undefined;
}
