// The median of a few runs of one figure, and their spread.

/** One value for each run, in the order of the runs. */
export type Runs = readonly number[];

export function median(values: Runs): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** The ratio of each run, which stays valid while the speed of the machine drifts. */
export const ratios = (values: Runs, reference: Runs): Runs => values.map((value, run) => value / (reference[run] ?? Number.NaN));

/** The value with three significant digits and without an exponent. */
export function shown(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

export const spread = (values: Runs): string => `${shown(Math.min(...values))}–${shown(Math.max(...values))}`;
