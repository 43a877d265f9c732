// How far the attempts of one turn have come: what the decision about the next one reads, and what recovery changes.
import type { Demand } from '../accounts/selection/demand.ts';
import type { Continuation } from '../turn/continuation.ts';
import type { Body } from '../turn/turn.ts';
import type { DispatchedTurn } from './dispatch-request.ts';
import type { RetryBudget } from './retry-budget.ts';
import type { TurnSocket } from './turn-socket.ts';

export interface TurnProgress {
  readonly turn: DispatchedTurn;
  readonly continuation: Continuation;
  readonly demand: Demand;
  /** The accounts that are closed to the turn. */
  readonly tried: ReadonlySet<string>;
  /** How many accounts were asked. */
  readonly attempts: number;
  /** Whether the request has a body that can be sent once, and was (Q6). */
  readonly isSpent: boolean;
  /** Whether the body can be read and changed between attempts. */
  readonly hasJson: boolean;
  /** Undefined for a turn that goes over HTTP. */
  readonly socket: TurnSocket | undefined;
  /** Of the turn's Pool. */
  readonly budget: RetryBudget;
  /** What the following attempts begin with. */
  body: Body;
  /** What the last attempt sent of it. */
  readonly sentBody: Body;
  /** Whether it goes without its reasoning already: that is done once. */
  resent: boolean;
  /** Accounts that made its ciphertext and could not take the turn. */
  readonly exhaustedMakers: Set<string>;
}
