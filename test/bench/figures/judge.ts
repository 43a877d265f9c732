// The verdict on one row: the figure, its ratio to the reference, and whether it meets its bounds.
import type { Bound, Row } from './rows.ts';
import type { Sheet } from './sheet.ts';
import { median, type Runs, ratios } from './statistics.ts';

/** A row as it was measured, for people and for `--json`. */
export interface Verdict {
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  /** The runs of each contender; empty if nothing was measured. */
  readonly runs: Readonly<Record<string, Runs>>;
  readonly subject: string;
  readonly reference: string | undefined;
  readonly value: number | undefined;
  readonly ratio: number | undefined;
  readonly ratioRuns: Runs;
  readonly must: string;
  readonly aim: string;
  readonly met: boolean | undefined;
  readonly aimMet: boolean | undefined;
  /** The reason if nothing was measured. */
  readonly missing: string | undefined;
}

export function judge(row: Row, sheet: Sheet, missing: string | undefined): Verdict {
  const { name, title, unit, subject, reference, must, aim } = row;
  const contenders = sheet.of(row.figure);
  const own = contenders.get(subject);
  const others = reference === undefined ? undefined : contenders.get(reference);
  const ratioRuns = own && others ? ratios(own, others) : [];
  const value = own && median(own);
  const ratio = ratioRuns.length > 0 ? median(ratioRuns) : undefined;
  const meets = (bound: Bound | undefined): boolean | undefined => {
    const measured = bound && ('times' in bound ? ratio : value);
    return bound && measured !== undefined ? measured <= ('times' in bound ? bound.times : bound.most) : undefined;
  };
  return {
    name,
    title,
    unit,
    runs: Object.fromEntries(contenders),
    subject,
    reference,
    value,
    ratio,
    ratioRuns,
    must: must ? told(must, unit) : '',
    aim: aim ? told(aim, unit) : '',
    met: meets(must),
    aimMet: meets(aim),
    missing,
  };
}

const told = (bound: Bound, unit: string): string => ('times' in bound ? `≤ ${bound.times} ×` : `≤ ${bound.most} ${unit}`);
