// Checks the aliases of Pools: a name has one star at most (AM20).
import type { Problem } from '../schema/finding.ts';
import { mapping, rowsOf } from './rows.ts';

export function checkAliases(data: unknown): readonly Problem[] {
  return rowsOf(data, 'pools').flatMap(({ path, row }) =>
    Object.keys(mapping(row.aliases))
      .filter((name) => name.split('*').length > 2)
      .map((name) => ({ path: [...path, 'aliases', name], message: 'an alias has one `*` at most' })),
  );
}
