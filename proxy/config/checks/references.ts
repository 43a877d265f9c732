// Checks that every referenced id exists in the file.
import type { Path, Problem } from '../schema/finding.ts';
import { isWord } from '../schema/setting-names.ts';
import { suggestion } from '../schema/suggestion.ts';
import { isMapping, rowsOf, text, textsAt } from './config-rows.ts';

export function checkReferences(data: unknown): readonly Problem[] {
  const accounts = idsOf(data, 'accounts');
  const pools = idsOf(data, 'pools');
  const problems: (Problem | undefined)[] = [];

  for (const { path, row } of rowsOf(data, 'pools')) {
    const assignments = rowsOf(row, 'assignments', path);
    for (const { path: at, row: assignment } of assignments) {
      problems.push(dangling(assignment.account, accounts, 'account', [...at, 'account']));
    }
    if (Array.isArray(row.assignments) && row.assignments.length === 0) {
      problems.push({
        path: [...path, 'assignments'],
        message: 'this Pool has no account, so every turn of it is refused',
        severity: 'warning',
      });
    }
  }
  for (const { path, row } of rowsOf(data, 'keys')) problems.push(dangling(row.pool, pools, 'Pool', [...path, 'pool']));
  for (const { path, row } of rowsOf(data, 'operators')) {
    for (const list of ['owns', 'assigned']) {
      for (const { path: at, text: pool } of textsAt(row, list, path)) problems.push(dangling(pool, pools, 'Pool', at));
    }
  }
  return problems.filter((problem) => problem !== undefined);
}

function dangling(id: unknown, known: readonly string[], noun: string, path: Path): Problem | undefined {
  if (typeof id !== 'string' || known.includes(id)) return undefined;
  const name = isWord(id) ? ` '${id}'` : '';
  return { path, message: `there is no ${noun}${name}${suggestion(id, known) || (known.length === 0 ? '' : `; known: ${listed(known)}`)}` };
}

/** The first eight ids, for a message. */
const listed = (ids: readonly string[]): string => ids.slice(0, 8).join(', ') + (ids.length > 8 ? ', …' : '');

function idsOf(data: unknown, list: string): readonly string[] {
  if (!isMapping(data)) return [];
  return [...new Set(rowsOf(data, list).flatMap(({ row }) => text(row.id) ?? []))];
}
