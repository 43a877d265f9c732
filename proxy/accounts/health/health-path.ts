// The path of an account that the turns of a scope go to, as far as its health tells paths apart (RB3, RB4).

/** The path of ordinary turns, whatever their model is. */
export const TURNS_PATH = '(responses)';

/** @param scope a model, a route without a model in parentheses, or both: `model-a (image)` */
export function pathOf(scope: string): string {
  if (!scope.endsWith(')')) return TURNS_PATH;
  const begin = scope.lastIndexOf('(');
  return begin <= 0 ? scope : scope.slice(begin);
}
