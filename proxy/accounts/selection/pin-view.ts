// What selection asks of continuity: where a turn must go, and where it should (Q10).
import type { Body } from '../../turn/turn.ts';
import type { SelectedTurn } from './demand.ts';

export interface Pins {
  /**
   * The account that this turn may not leave: its response id, its files. Undefined for a turn that may go anywhere.
   * @param body undefined on routes without a JSON body
   * @throws Refusal where that account is known to be of no use any more
   */
  hard(turn: SelectedTurn, body: Body | undefined): string | undefined;
  /** The account that the turn's session was at; it yields to health and quota. */
  soft(turn: SelectedTurn, body: Body | undefined): string | undefined;
}

export const NO_PINS: Pins = { hard: () => undefined, soft: () => undefined };
