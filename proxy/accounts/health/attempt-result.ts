// One attempt as the health of its account sees it, its result, and its right to probe.
import type { HeldLease } from '../../nodes/exclusive-work.ts';
import type { Failure } from '../../turn/errors/failure.ts';
import type { CircuitBreaker } from './circuit-breaker.ts';

/**
 * `completed`: the reply was complete. `neutral`: the attempt says nothing about the account's health, because the client left or the
 * gateway's own checks refused it.
 */
export type AttemptResult = 'completed' | 'neutral' | Failure;

export interface JudgedAttempt {
  /** The scope of the attempt's turn (`scopeOf`). */
  readonly scope: string;
  /** A serial number. A breaker that opened after an attempt began ignores the attempt's result. */
  readonly number: number;
  /** The breakers that this attempt probes. */
  probes: readonly CircuitBreaker[] | undefined;
}

/** The right to probe. One node has it at a time (Q34). */
export interface ProbeClaim {
  readonly granted: Promise<boolean>;
  /** Guards the write of the probe's result. Undefined until the right is granted, and if the store does not answer. */
  lease: HeldLease | undefined;
}
