// The edits that change what a key may use. Each setting is edited separately, so that its comments stay.
import { isDeepStrictEqual } from 'node:util';
import { type Mapping, mapping, rowsOf } from '../../checks/config-rows.ts';
import type { Path } from '../../schema/finding.ts';
import type { Edit } from '../edit.ts';
import type { EditInput } from '../file-replacement.ts';
import type { Plain } from '../yaml-render.ts';
import type { Pools } from './edited-pools.ts';
import { checkExpiry, indexOfUsable, type KeyPolicies } from './key-edits.ts';

/** The changes. Null removes a policy or a limit; an absent one stays. */
export type KeyPolicyChanges = { readonly [Name in Exclude<keyof KeyPolicies, 'limits'>]?: KeyPolicies[Name] | null } & {
  readonly limits?: { readonly [Name in keyof NonNullable<KeyPolicies['limits']>]?: number | null } | null;
};

export interface KeyPolicyChange {
  readonly do: 'key.change';
  readonly id: string;
  readonly changes: KeyPolicyChanges;
}

/** @returns the edits; none if the policy is already set @throws InvalidEdit */
export function keyPolicyChange({ config, content }: EditInput, { id, changes }: KeyPolicyChange, owned: Pools): readonly Edit[] {
  checkExpiry(changes.expires_at ?? undefined);
  const index = indexOfUsable(config, id, owned);
  const written = rowsOf(content, 'keys')[index]?.row ?? {};
  return Object.entries(changes).flatMap(([name, to]) => settingEdits(written[name], to, ['keys', index, name]));
}

/** @param now the value in the file, undefined if there is none @param to the new value, null to remove it */
function settingEdits(now: unknown, to: unknown, path: Path): readonly Edit[] {
  if (to === undefined || isDeepStrictEqual(now, to)) return [];
  if (to === null) return now === undefined ? [] : [{ remove: path }];
  if (Array.isArray(to)) return listEdits(now, to as readonly string[], path);
  if (typeof to === 'object') return memberEdits(mapping(now), to as Mapping, path);
  return [{ set: path, to: to as Plain }];
}

/**
 * The edits of a mapping. Named limits are changed, while one effort policy replaces the other. Members are removed last, so that the
 * mapping is never empty in between.
 */
function memberEdits(now: Mapping, to: Mapping, path: Path): readonly Edit[] {
  const isPartial = path.at(-1) === 'limits';
  const gone = Object.keys(now).filter((name) => (isPartial ? to[name] === null : to[name] === undefined));
  const rest = Object.entries(to).filter(([, value]) => value !== null);
  return [
    ...rest.flatMap(([name, value]) => settingEdits(now[name], value, [...path, name])),
    ...gone.map((name): Edit => ({ remove: [...path, name] })),
  ];
}

/** The edits of a list, row by row, so that a list on several lines keeps its comments. */
function listEdits(now: unknown, to: readonly string[], path: Path): readonly Edit[] {
  if (!Array.isArray(now)) return [{ set: path, to }];
  const gone = now.flatMap((row: unknown, i) => (to.includes(row as string) ? [] : [i])).toReversed();
  const added = to.filter((row) => !now.includes(row));
  return [...added.map((row): Edit => ({ append: path, row })), ...gone.map((i): Edit => ({ remove: [...path, i] }))];
}
