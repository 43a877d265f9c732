// The choice among the candidates of an index: by affinity, otherwise by the Pool's strategy (Q7, Q11).
import type { Demand } from '../demand.ts';
import type { Choice, Left, UnavailableAccount } from '../selection-result.ts';
import type { CandidateIndex } from './candidate-index.ts';

/** The choice if some accounts take the turn only without a part of it; these come after all others (AA19, AA21). */
export function preferredChoice(index: CandidateIndex, demand: Demand, tried: ReadonlySet<string>): Choice | undefined {
  const { lossy } = demand;
  const whole = lossy.size === 0 ? undefined : chooseIn(index, demand, new Set([...tried, ...lossy]));
  return whole ? { ...whole, tried } : chooseIn(index, demand, tried);
}

/**
 * Chooses by affinity, otherwise by the strategy. If an account is over its bound, the turn goes to the next choice of the strategy (Q11).
 */
export function chooseIn(index: CandidateIndex, { turn, affinity, lacking }: Demand, tried: ReadonlySet<string>): Choice | undefined {
  const last = affinity?.account;
  const leftAffinity = last === undefined ? undefined : (lacking.get(last)?.reason ?? affinityIn(index, last, tried));
  const byAffinity = affinity && last !== undefined ? { account: last, reason: affinity.reason, index, tried } : undefined;
  if (leftAffinity === 'available') return byAffinity;
  if (index.count('available', tried) === 0) return undefined;
  const passesOn = leftAffinity === 'over_bound' && !index.weighsLoad;
  const best = index.best(turn, passesOn && last !== undefined ? new Set([...tried, last]) : tried);
  // The strategy chooses the same account again, or no other account is available.
  if (!best || best.load.id === last) return byAffinity;
  return { account: best.load.id, reason: turn.pool.strategy, index, tried, leftAffinity };
}

function affinityIn(index: CandidateIndex, account: string, tried: ReadonlySet<string>): Left {
  const candidate = index.get(account);
  if (!candidate) return 'not_a_source';
  if (tried.has(account)) return 'tried';
  const availability = index.availability(candidate);
  return availability === 'available' && index.isOverBound(candidate) ? 'over_bound' : availability;
}

/** Called only if no untried candidate is available. */
export const unavailableIn = (index: CandidateIndex, tried: ReadonlySet<string>): readonly UnavailableAccount[] =>
  index.candidates
    .filter(({ load }) => !tried.has(load.id))
    .map((candidate) => ({ load: candidate.load, availability: index.availability(candidate) }));
