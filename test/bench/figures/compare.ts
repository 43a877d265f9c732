// Compares the figures of this run with those of an earlier `--json` file.
import { readFileSync } from 'node:fs';
import type { Verdict } from './judge.ts';
import { shown } from './statistics.ts';

/** One line for each row that both have. */
export function comparison(verdicts: readonly Verdict[], file: string): string {
  const { rows } = JSON.parse(readFileSync(file, 'utf8')) as { readonly rows: readonly Verdict[] };
  const before = new Map(rows.map((row) => [row.name, row]));
  const lines = verdicts.flatMap(({ name, unit, value, ratio }) => {
    const old = before.get(name);
    if (value === undefined || old?.value === undefined) return [];
    const times = ratio === undefined || old.ratio === undefined ? '' : `, × ${shown(old.ratio)} → ${shown(ratio)}`;
    const change = old.value === 0 ? '' : ` (${((value / old.value - 1) * 100).toFixed(0)} %)`;
    return [`${name}: ${shown(old.value)} → ${shown(value)} ${unit}${change}${times}`];
  });
  return lines.join('\n');
}
