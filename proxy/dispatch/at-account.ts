// How an account took a turn, and what that says of the account.
import type { Result } from '../pool/health/visit.ts';
import type { Attempted } from './attempt.ts';
import type { Failure } from './failure.ts';

export interface AtAccount {
  readonly attempted: Attempted;
  readonly result: Result;
}

export const failureOf = (verdict: Attempted['verdict']): Failure | undefined =>
  verdict.kind === 'gone' ? undefined : 'failure' in verdict ? verdict.failure : undefined;

/** Whether its credential was refused, and may be renewed (Q5). */
export function asksForRenewal({ verdict, authorization }: Attempted): boolean {
  const failure = failureOf(verdict);
  return failure?.cause === 'credential' && failure.status === 401 && authorization !== undefined;
}

/** Who leaves, and what our own checks refuse, says nothing of the account. */
export function atAccount(attempted: Attempted): AtAccount {
  const { verdict } = attempted;
  return { attempted, result: failureOf(verdict) ?? (verdict.kind === 'done' ? 'completed' : 'neutral') };
}
