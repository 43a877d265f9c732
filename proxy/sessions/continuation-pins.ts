// The pins of a turn, as its continuation settled them.
import type { Pins } from '../accounts/selection/demand.ts';

export const CONTINUATION_PINS: Pins = {
  hard: ({ continuation }) => continuation?.hard,
  soft: ({ continuation }) => continuation?.soft,
};
