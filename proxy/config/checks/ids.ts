// Checks that ids and hashes are unique, and that every referenced id exists. A duplicate is reported at its second place.
import type { Path, Problem } from '../schema/finding.ts';
import { isWord } from '../schema/setting-names.ts';
import { suggestion } from '../schema/suggestion.ts';
import { isMapping, rowsOf, text, textsAt } from './config-rows.ts';

export function checkIds(data: unknown): readonly Problem[] {
  return [...duplicateIds(data), ...duplicateAssignments(data), ...sharedHashes(data)];
}

function* duplicateIds(data: unknown): Generator<Problem> {
  for (const list of ['accounts', 'pools', 'keys', 'operators']) {
    const seen = new Set<string>();
    for (const { path, row } of rowsOf(data, list)) {
      const id = text(row.id);
      if (id === undefined) continue;
      if (seen.has(id)) yield { path: [...path, 'id'], message: `${quoted(id)} is used twice; ids are unique within a list` };
      seen.add(id);
    }
  }
}

function* duplicateAssignments(data: unknown): Generator<Problem> {
  for (const pool of rowsOf(data, 'pools')) {
    const seen = new Set<string>();
    for (const { path, row } of rowsOf(pool.row, 'assignments', pool.path)) {
      const account = text(row.account);
      if (account === undefined) continue;
      if (seen.has(account)) yield { path: [...path, 'account'], message: `${quoted(account)} is assigned twice to this Pool` };
      seen.add(account);
    }
  }
}

/** Reports a hash that two keys share, or a key and an operator (AU3), because it would identify neither. */
function* sharedHashes(data: unknown): Generator<Problem> {
  const owners = new Map<string, string>();
  const hashes = [
    ...rowsOf(data, 'keys').map((key) => ({ ...key, list: 'secret_sha256', owner: 'key' })),
    ...rowsOf(data, 'operators').map((operator) => ({ ...operator, list: 'token_sha256', owner: 'operator' })),
  ];
  for (const { path, row, list, owner } of hashes) {
    const name = `${owner} ${quoted(text(row.id) ?? '')}`;
    for (const hash of textsAt(row, list, path)) {
      const first = owners.get(hash.text);
      if (first !== undefined && first !== name)
        yield { path: hash.path, message: `${first} has this secret already; every secret belongs to one key or operator` };
      owners.set(hash.text, first ?? name);
    }
  }
}

const quoted = (id: string): string => (isWord(id) ? `'${id}'` : 'this one');

/** Checks that every referenced id exists in the file. */
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
