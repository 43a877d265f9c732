// The known word that a mistyped one most likely meant.

/**
 * @returns The candidate within the fewest slips (a letter too many, too few, wrong, or two swapped) of `word`; undefined where
 *   even the nearest is further off than a third of its length.
 */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const typed = plain(word);
  let best: string | undefined;
  let fewest = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const known = plain(candidate);
    const slips = known === typed ? 0 : begins(typed, known) ? 1 : slipsBetween(typed, known);
    if (slips < fewest && slips <= Math.max(1, Math.floor(known.length / 3))) {
      best = candidate;
      fewest = slips;
    }
  }
  return best;
}

/** `; did you mean 'listen'?`, or nothing. */
export function suggestion(word: string, candidates: readonly string[]): string {
  const meant = nearest(word, candidates);
  return meant === undefined ? '' : `; did you mean '${meant}'?`;
}

/** Case, dashes and underscores are no difference: `maxAttempts` and `max-attempts` both mean `max_attempts`. */
const plain = (word: string): string => word.toLowerCase().replace(/[-_ ]/g, '');

/** `warning` means `warn`, and `max` means `max_attempts`: one begins with the whole of the other. */
const begins = (a: string, b: string): boolean => Math.min(a.length, b.length) >= 3 && (a.startsWith(b) || b.startsWith(a));

/** Damerau–Levenshtein distance (optimal string alignment). */
function slipsBetween(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 8 || a.length > 64) return Number.POSITIVE_INFINITY;
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const wrong = a[i - 1] === b[j - 1] ? 0 : 1;
      let slips = Math.min((row[j - 1] ?? 0) + 1, (above[j] ?? 0) + 1, (above[j - 1] ?? 0) + wrong);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) slips = Math.min(slips, (before[j - 2] ?? 0) + 1);
      row.push(slips);
    }
    before = above;
    above = row;
  }
  return above[b.length] ?? Number.POSITIVE_INFINITY;
}
