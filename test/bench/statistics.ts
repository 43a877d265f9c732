// A few runs of one figure: its median, and how far they lie apart.

/** One value a run, in the order of the runs. */
export type Runs = readonly number[];

export function median(values: Runs): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** Run by run, so that it holds while the machine's speed drifts. */
export const ratios = (values: Runs, reference: Runs): Runs => values.map((value, run) => value / (reference[run] ?? Number.NaN));

/** Three significant digits, without an exponent. */
export function shown(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

export const spread = (values: Runs): string => `${shown(Math.min(...values))}–${shown(Math.max(...values))}`;
