// The tiers that a turn may be sent to now, the lowest first. A higher tier is included only if no account of the lower ones can take the
// turn (AA66).
import type { OverflowReason } from '../../../turn/tiers.ts';
import type { Demand, Tried } from '../demand.ts';
import type { CandidateIndex } from '../index/candidate-index.ts';
import type { TierDemand } from './tier-demand.ts';

export interface OpenTier {
  readonly index: CandidateIndex;
  /** The accounts that the turn cannot go to. */
  readonly closed: Tried;
  /** Why the turn left the lower tiers; undefined in the base tier. */
  readonly left: OverflowReason | undefined;
}

/**
 * The reasons from the weakest to the strongest. A reason that lasts for a shorter time is stronger, because without it the lower tier
 * would have served the turn.
 */
const STRENGTH: readonly OverflowReason[] = ['quota', 'failing', 'full'];

const stronger = (a: OverflowReason | undefined, b: OverflowReason): OverflowReason =>
  a === undefined || STRENGTH.indexOf(b) > STRENGTH.indexOf(a) ? b : a;

/** The accounts that the turn cannot go to as far as is known. */
export const closedTo = ({ excluded }: TierDemand, tried: Tried): Tried =>
  excluded.size === 0 ? tried : new Set([...tried, ...excluded.keys()]);

/**
 * Yields the open tiers. A tier without an account for the turn is skipped, so the base tier is the first one that has an account.
 * @param indexes the indexes of the model's tiers, the lowest first; each is refreshed when it is reached
 */
export function* openTiers(
  indexes: readonly CandidateIndex[],
  { tiers, lacking }: Pick<Demand, 'tiers' | 'lacking'>,
  tried: Tried,
  now: number,
): Generator<OpenTier> {
  const [first] = indexes;
  if (!tiers || !first) {
    first?.refresh(now);
    if (first) yield { index: first, closed: tried, left: undefined };
    return;
  }
  let base: number | undefined;
  let left: OverflowReason | undefined;
  for (const index of indexes) {
    index.refresh(now);
    const at = { tier: index.tier, lowest: first.tier, base };
    const usable = index.candidates.filter(({ record: { id } }) => !lacking.has(id) && !tiers.lackAt(id, at));
    if (usable.length === 0) continue;
    base ??= index.tier;
    yield { index, closed: closedTo(tiers, tried), left };
    for (const candidate of usable) {
      const { id } = candidate.record;
      const reason = tiers.reasonToLeave(id, index.availability(candidate), tried.has(id), now);
      if (reason === undefined) return;
      left = stronger(left, reason);
    }
  }
}
