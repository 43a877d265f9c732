// Checks that ids and hashes are unique. A duplicate is reported at its second place.
import type { Problem } from '../schema/finding.ts';
import { isWord } from '../schema/setting-names.ts';
import { rowsOf, text, textsAt } from './config-rows.ts';

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
