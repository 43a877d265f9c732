// The table as Markdown that is also readable on a terminal.
import type { Verdict } from './judge.ts';
import { median, shown, spread } from './statistics.ts';

const HEAD = ['row', 'what', 'poolgate', '×', 'of', 'must reach', 'met', 'then aim at', 'met', 'others'];

export function tableOf(verdicts: readonly Verdict[]): string {
  const rows = [HEAD, ...verdicts.map(cells)];
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  const [head, ...body] = rows.map(line);
  return [head, rule, ...body].join('\n');
}

function cells({
  name,
  title,
  unit,
  runs,
  subject,
  reference,
  value,
  ratio,
  ratioRuns,
  must,
  aim,
  met,
  aimMet,
  missing,
}: Verdict): string[] {
  const own = runs[subject];
  const others = Object.entries(runs).filter(([contender]) => contender !== subject);
  return [
    name,
    title,
    value === undefined || !own ? (missing ?? '–') : `${shown(value)} ${unit} (${spread(own)})`,
    ratio === undefined ? '' : `${shown(ratio)} (${spread(ratioRuns)})`,
    ratio === undefined ? '' : (reference ?? ''),
    must,
    verdict(met),
    aim,
    verdict(aimMet),
    others.map(([contender, values]) => `${contender} ${shown(median(values))}`).join(', '),
  ];
}

const verdict = (met: boolean | undefined): string => (met === undefined ? '' : met ? 'yes' : 'NO');
