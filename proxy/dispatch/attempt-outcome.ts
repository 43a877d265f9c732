// How an account took a turn, and what that says of the account.
import type { AttemptResult } from '../accounts/health/account-health.ts';
import type { Failure } from '../turn/failure.ts';
import type { Attempted } from './attempt.ts';

export interface AttemptOutcome {
  readonly attempted: Attempted;
  readonly result: AttemptResult;
}

export const failureOf = (verdict: Attempted['verdict']): Failure | undefined =>
  verdict.kind === 'gone' ? undefined : 'failure' in verdict ? verdict.failure : undefined;

/** Whether its credential was refused, and may be renewed (Q5). */
export function asksForRenewal({ verdict, authorization }: Attempted): boolean {
  const failure = failureOf(verdict);
  return failure?.cause === 'credential' && failure.status === 401 && authorization !== undefined;
}

/** Who leaves, and what our own checks refuse, says nothing of the account. */
export function attemptOutcome(attempted: Attempted): AttemptOutcome {
  const { verdict } = attempted;
  return { attempted, result: failureOf(verdict) ?? (verdict.kind === 'done' ? 'completed' : 'neutral') };
}
