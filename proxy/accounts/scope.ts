// The scope of a turn: the unit for which health and selection keep capacity; and its path, which health cools by itself (RB3, RB4).
import { type AccountPath, dispatchedKind, kindsWhere, type RouteKind } from '../turn/routes/kinds.ts';

export interface ScopedTurn {
  readonly model: { readonly id: string } | undefined;
  readonly route: { readonly kind?: RouteKind | undefined };
}

/**
 * The exposed model id; a path in parentheses on routes without a model; both for a compaction, which may have a path of its own; the model
 * and the kind if the model hosts the request: an account that makes no images can still serve the turns of the model.
 */
export function scopeOf({ model, route: { kind } }: ScopedTurn): string {
  const row = dispatchedKind(kind);
  if (model === undefined) return pathName(row?.path ?? 'route');
  if (row?.model === false) return `${model.id} (${kind})`;
  return row === undefined || row.path === 'responses' ? model.id : `${model.id} ${pathName(row.path)}`;
}

export const isModelless = (scope: string): boolean => scope.startsWith('(');

const pathName = (path: AccountPath | 'route'): string => `(${path})`;

/** The path of ordinary turns, whatever their model is. */
export const TURNS_PATH = pathName('responses');

/** The path of compactions, at accounts that have one. */
export const COMPACT_PATH = pathName('compact');

/** What follows the model in a scope, with the path. */
const SUFFIXES: ReadonlyMap<string, string> = new Map([
  ...kindsWhere((kind) => kind.served === 'dispatch' && !kind.model).flatMap((kind) => {
    const path = dispatchedKind(kind)?.path;
    return path === undefined ? [] : [[` (${kind})`, pathName(path)] as const];
  }),
  [` ${COMPACT_PATH}`, COMPACT_PATH],
]);

const suffixOf = (scope: string): string | undefined =>
  scope.endsWith(')') ? [...SUFFIXES.keys()].find((suffix) => scope.endsWith(suffix)) : undefined;

/** The model of a scope that has one. */
export function modelOf(scope: string): string {
  const suffix = suffixOf(scope);
  return suffix === undefined ? scope : scope.slice(0, -suffix.length);
}

export function pathOf(scope: string): string {
  return isModelless(scope) ? scope : (SUFFIXES.get(suffixOf(scope) ?? '') ?? TURNS_PATH);
}

/** The scope of a model's requests to the path; a path has one such scope. */
export const scopeAt = (path: string, model: string): string => (path === TURNS_PATH ? model : `${model} ${path}`);
