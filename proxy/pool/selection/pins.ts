// What selection asks of continuity: where a turn must go, and where it should (Q10).
import type { Demand } from './demand.ts';

export interface Pins {
  /**
   * The account that this turn may not leave: its response id, its files. Undefined for a turn that may go anywhere.
   * @throws Refusal where the account is known to be of no use any more
   */
  hard(demand: Demand): string | undefined;
  /** The account that the turn's session was at; it yields to health and quota. */
  soft(demand: Demand): string | undefined;
}

export const NO_PINS: Pins = { hard: () => undefined, soft: () => undefined };
