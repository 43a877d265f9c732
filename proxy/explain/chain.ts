// Explains the fallbacks of a turn's model: which models would follow, and which one would serve the turn now (AA74 to AA77).
import type { ExplainedChoice } from './choice.ts';
import type { Facts } from './facts.ts';

export interface ExplainedChain {
  /** The models in order, the requested one first. */
  readonly models: readonly ExplainedLink[];
  /** The model that would serve the turn now. Null if none would, or if that is unknown. */
  readonly ends: string | null;
}

export interface ExplainedLink {
  readonly model: string;
  /** The account that the turn would go to. Null if there is none, or if it is unknown. */
  readonly account: string | null;
  readonly why: string;
}

/** A model of the chain, explained as if the client had named it. */
export interface LinkedTurn {
  readonly facts: Facts;
  readonly refused: string | null;
  readonly choice: ExplainedChoice | undefined;
}

/** The only refusal after which a fallback is tried. Any other refusal is the client's answer. */
const NO_ACCOUNT = '503 no_eligible_account';

/** @param turns the requested model, then its fallbacks */
export function chainOf(turns: readonly LinkedTurn[]): ExplainedChain {
  const models = turns.map(({ facts, refused, choice }) => ({
    model: facts.model ?? '',
    account: choice?.account ?? null,
    why: refused ?? choice?.why ?? 'what its accounts can take now is known to the running gateway',
  }));
  const [asked, ...others] = turns;
  const serves = ({ refused, choice }: LinkedTurn): boolean => refused === null && (choice?.account !== null || choice?.waits === true);
  // A turn that continues a response, or has files at an account, stays with its model. Any other refusal is the client's answer.
  const isBound = asked?.facts.preview?.hard !== undefined;
  const goesOn = asked?.refused === null || asked?.refused?.startsWith(NO_ACCOUNT);
  if (!asked || turns.some(({ refused, choice }) => refused === null && choice === undefined)) return { models, ends: null };
  const end = serves(asked) ? asked : goesOn && !isBound ? others.find(serves) : undefined;
  return { models, ends: end?.facts.model ?? null };
}
