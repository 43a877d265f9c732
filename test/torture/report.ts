// The printed report: each finding with the command that repeats it, and a table of the attacks.
import type { Found } from './run.ts';
import type { Note } from './stage/stage.ts';

/** One row of the table. */
export interface AttackReport {
  readonly name: string;
  readonly title: string;
  readonly rounds: number;
  readonly cases: number;
  /** Requests and frames that left a row in the request log. */
  readonly turns: number;
  readonly seconds: number;
  readonly found: readonly Found[];
  readonly notes: ReadonlyMap<string, Note>;
  /** The reason why it could not run on this machine. */
  readonly missing?: string;
}

const commandFor = ({ attack, seed, case: name }: Found): string =>
  `npm run torture -- --seed ${seed} --only ${quoted(name === undefined ? attack : `${attack}/${name}`)}`;

const quoted = (text: string): string => (/^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

export function findingText(found: Found): string {
  const where = found.case === undefined ? `after a round of seed ${found.seed}` : found.case;
  return `FOUND by ${found.attack}, ${where}:\n  ${found.message.replaceAll('\n', '\n  ')}\n  repeat it: ${commandFor(found)}`;
}

const HEAD = ['attack', 'what', 'rounds', 'cases', 'turns', 'seconds', 'findings'];

export function tableOf(reports: readonly AttackReport[]): string {
  const rows = [HEAD, ...reports.map(cells), totals(reports)];
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row.map((cell, i) => (i < 2 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join('  ');
  return rows.map((row) => line(row).trimEnd()).join('\n');
}

export function notesOf(reports: readonly AttackReport[]): string {
  return reports
    .flatMap(({ name, notes }) => [...notes].map(([what, { value, of }]) => `${name}: ${what} ${Number(value.toPrecision(3))} (${of})`))
    .join('\n');
}

const cells = ({ name, title, rounds, cases, turns, seconds, found, missing }: AttackReport): readonly string[] =>
  missing === undefined
    ? [name, title, ...[rounds, cases, turns, Math.round(seconds), found.length].map(String)]
    : [name, title, `not run: ${missing}`];

function totals(reports: readonly AttackReport[]): readonly string[] {
  const sum = (of: (report: AttackReport) => number): string => String(Math.round(reports.reduce((all, report) => all + of(report), 0)));
  return [
    'all',
    '',
    sum(({ rounds }) => rounds),
    sum(({ cases }) => cases),
    sum(({ turns }) => turns),
    sum(({ seconds }) => seconds),
    sum(({ found }) => found.length),
  ];
}
