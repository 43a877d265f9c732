// Checks the aliases of Pools: a name has at most one star, and its target is a model that the running gateway lists (AM20).
import type { Problem } from '../schema/finding.ts';
import { suggestion } from '../schema/suggestion.ts';
import { mapping, rowsOf } from './config-rows.ts';

/** The exposed ids in a running gateway, by Pool. */
export type ExposedModels = ReadonlyMap<string, readonly string[]>;

export function checkAliases(data: unknown, exposed: ExposedModels = new Map()): readonly Problem[] {
  return rowsOf(data, 'pools').flatMap(({ path, row }) => {
    // A gateway that has not read a catalog yet does not know the Pool's models.
    const ids = (typeof row.id === 'string' && exposed.get(row.id)) || [];
    return Object.entries(mapping(row.aliases)).flatMap(([name, target]): readonly Problem[] => {
      const at = [...path, 'aliases', name];
      if (name.split('*').length > 2) return [{ path: at, message: 'an alias has one `*` at most' }];
      if (ids.length === 0 || typeof target !== 'string' || ids.includes(target)) return [];
      const message = `the running gateway lists no model '${target}' in this Pool${suggestion(target, ids)}`;
      return [{ path: at, message, severity: 'warning' }];
    });
  });
}
