// Why a turn went where it went: the reason, and how many of the Pool's other accounts each reason ruled out (Q7).
import type { Why } from '../../../store/rows.ts';
import type { PoolConfig } from '../../turn/settings.ts';
import { AVAILABILITIES, type Availability } from './availability.ts';
import type { CandidateIndex } from './candidate-index.ts';

export interface Reason {
  /** The account that the turn goes to. */
  readonly chosen: string;
  /** `hard_pin`, `soft_pin`, `locality`, or the Pool's strategy. */
  readonly reason: string;
  /** Absent for a hard pin, which leaves nothing to compare. */
  readonly roster?: CandidateIndex;
  readonly tried: ReadonlySet<string>;
  /** Why the turn did not go where its session was. */
  readonly left?: Availability | 'tried' | 'not_a_source' | undefined;
}

/** Counts are kept by the roster: a row costs the same however many accounts there are. */
export function whyOf(pool: PoolConfig, { chosen, reason, roster, tried, left }: Reason): Why {
  const others: Record<string, number> = {};
  if (roster) {
    for (const standing of AVAILABILITIES) {
      // The chosen one is among the open ones, unless a pin led out of the roster.
      const count = roster.count(standing, tried) - (standing === 'open' && roster.of(chosen) ? 1 : 0);
      if (count > 0) others[standing === 'open' ? 'less_preferred' : standing] = count;
    }
    if (tried.size > 0) others.tried = tried.size;
    const elsewhere = pool.assignments.length - roster.places.length;
    if (elsewhere > 0) others.not_a_source = elsewhere;
  }
  return left === undefined ? { reason, others } : { reason, others, left_soft_pin: left };
}
