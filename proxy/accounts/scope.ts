// The scope of a turn, which is the unit for which health and selection keep capacity, and the path of a turn, which has its own cooldowns
// (RB3, RB4).
import { type AccountPath, dispatchedKind, kindsWhere, type RouteKind } from '../turn/routes/kinds.ts';

export interface ScopedTurn {
  readonly model: { readonly id: string } | undefined;
  readonly route: { readonly kind?: RouteKind | undefined };
}

/**
 * The scope of a turn is the exposed model id. On routes without a model it is the path in parentheses. For a compaction it is both,
 * because a compaction may have its own path. For a model that hosts the request it is the model and the kind, because an account that
 * makes no images can still serve the turns of the model.
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

/** The path of compactions, for accounts that have one. */
export const COMPACT_PATH = pathName('compact');

/** The suffixes of scopes, after the model, with their paths. */
const SUFFIXES: ReadonlyMap<string, string> = new Map([
  ...kindsWhere((kind) => kind.served === 'dispatch' && !kind.model).flatMap((kind) => {
    const path = dispatchedKind(kind)?.path;
    return path === undefined ? [] : [[` (${kind})`, pathName(path)] as const];
  }),
  [` ${COMPACT_PATH}`, COMPACT_PATH],
]);

const suffixOf = (scope: string): string | undefined =>
  scope.endsWith(')') ? [...SUFFIXES.keys()].find((suffix) => scope.endsWith(suffix)) : undefined;

/** The model of a scope that contains one. */
export function modelOf(scope: string): string {
  const suffix = suffixOf(scope);
  return suffix === undefined ? scope : scope.slice(0, -suffix.length);
}

export function pathOf(scope: string): string {
  return isModelless(scope) ? scope : (SUFFIXES.get(suffixOf(scope) ?? '') ?? TURNS_PATH);
}

/** The scope of a model's requests to the path. There is one for each path. */
export const scopeAt = (path: string, model: string): string => (path === TURNS_PATH ? model : `${model} ${path}`);
