// Suggests the known word that is closest to a mistyped one.

/** @returns the candidate with the smallest edit distance to `word`; undefined if that distance exceeds a third of the word's length */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const typed = normalise(word);
  let best: string | undefined;
  let fewest = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const known = normalise(candidate);
    const distance = known === typed ? 0 : isPrefix(typed, known) ? 1 : editDistance(typed, known);
    if (distance < fewest && distance <= Math.max(1, Math.floor(known.length / 3))) {
      best = candidate;
      fewest = distance;
    }
  }
  return best;
}

/** The end of a message, such as `; did you mean 'listen'?`, or an empty text. */
export function suggestion(word: string, candidates: readonly string[]): string {
  const meant = nearest(word, candidates);
  return meant === undefined ? '' : `; did you mean '${meant}'?`;
}

/** Removes case, dashes and underscores, so that `maxAttempts` and `max-attempts` match `max_attempts`. */
const normalise = (word: string): string => word.toLowerCase().replace(/[-_ ]/g, '');

/** Whether one word begins with the other, such as `warning` and `warn`, or `max` and `max_attempts`. */
const isPrefix = (a: string, b: string): boolean => Math.min(a.length, b.length) >= 3 && (a.startsWith(b) || b.startsWith(a));

/** The Damerau–Levenshtein distance (optimal string alignment). */
function editDistance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 8 || a.length > 64) return Number.POSITIVE_INFINITY;
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const wrong = a[i - 1] === b[j - 1] ? 0 : 1;
      let distance = Math.min((row[j - 1] ?? 0) + 1, (above[j] ?? 0) + 1, (above[j - 1] ?? 0) + wrong);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) distance = Math.min(distance, (before[j - 2] ?? 0) + 1);
      row.push(distance);
    }
    before = above;
    above = row;
  }
  return above[b.length] ?? Number.POSITIVE_INFINITY;
}
