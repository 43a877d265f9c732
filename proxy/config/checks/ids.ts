// Ids, hashes and header names are unique: what stands twice is reported where it stands the second time.
import type { Path, Problem } from '../finding.ts';
import { isWord } from '../setting-names.ts';
import { mapping, rowsOf, text, textsOf } from './rows.ts';

export function checkIds(data: unknown): readonly Problem[] {
  return [...duplicateIds(data), ...duplicateAssignments(data), ...sharedHashes(data), ...duplicateHeaders(data)];
}

function* duplicateIds(data: unknown): Generator<Problem> {
  for (const list of ['accounts', 'pools', 'keys', 'operators']) {
    const seen = new Set<string>();
    for (const { path, row } of rowsOf(data, list)) {
      const id = text(row.id);
      if (id === undefined) continue;
      if (seen.has(id)) yield { path: [...path, 'id'], message: `${quoted(id)} stands twice; every id is unique in its list` };
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

/** One secret opens one thing: a hash that two keys share, or a key and an operator (AU3), leaves open which of them was meant. */
function* sharedHashes(data: unknown): Generator<Problem> {
  const owners = new Map<string, string>();
  const hashes = [
    ...rowsOf(data, 'keys').map((key) => ({ ...key, list: 'secret_sha256', owner: 'key' })),
    ...rowsOf(data, 'operators').map((operator) => ({ ...operator, list: 'token_sha256', owner: 'operator' })),
  ];
  for (const { path, row, list, owner } of hashes) {
    const name = `${owner} ${quoted(text(row.id) ?? '')}`;
    for (const hash of textsOf(row, list, path)) {
      const first = owners.get(hash.text);
      if (first !== undefined && first !== name)
        yield { path: hash.path, message: `this secret opens ${first} already; one secret opens one thing` };
      owners.set(hash.text, first ?? name);
    }
  }
}

function* duplicateHeaders(data: unknown): Generator<Problem> {
  for (const { path, row } of rowsOf(data, 'accounts')) {
    const seen = new Set<string>();
    for (const name of Object.keys(mapping(row.headers))) {
      const at: Path = [...path, 'headers', name];
      if (seen.has(name.toLowerCase())) yield { path: at, at: 'key', message: 'this header stands twice; case makes no difference' };
      seen.add(name.toLowerCase());
    }
  }
}

const quoted = (id: string): string => (isWord(id) ? `'${id}'` : 'this one');
