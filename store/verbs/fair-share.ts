// Shares units among sharers: none gets more than it asks for, and the others share what it does not need.

export interface Sharer {
  readonly wanted: number;
  readonly held: number;
  /** When `held` last changed; Unix milliseconds. */
  readonly since: number;
}

/** How long a sharer keeps a unit that others wait for. Handing it over after every short turn would cost more than it gains. */
const TENURE_MS = 1_000;

/**
 * The share of one sharer (max-min fairness in whole numbers). The remainder rotates: with fewer units than sharers each one gets a unit
 * for some time.
 */
export function fairShare(units: number, sharers: readonly Sharer[], of: Sharer, now: number): number {
  const level = levelOf(units, sharers);
  if (of.wanted <= level) return of.wanted;
  const left = units - sharers.reduce((sum, { wanted }) => sum + Math.min(wanted, level), 0);
  const order = (sharer: Sharer): number => {
    if (sharer.held <= level) return 1;
    return now - sharer.since < TENURE_MS ? 0 : 2;
  };
  const queue = sharers.filter(({ wanted }) => wanted > level).sort((a, b) => order(a) - order(b) || a.since - b.since);
  return queue.indexOf(of) < left ? level + 1 : level;
}

/** The greatest number of units that every sharer can have if it asks for as many. */
function levelOf(units: number, sharers: readonly Sharer[]): number {
  const wants = sharers.map(({ wanted }) => wanted).sort((a, b) => a - b);
  let left = units;
  for (const [i, wanted] of wants.entries()) {
    const share = Math.floor(left / (wants.length - i));
    if (wanted > share) return share;
    left -= wanted;
  }
  return units;
}
