// Resolves the names of models that clients send: an exposed id, an alias, or the alias whose star matches (AM20, AM21).

/** `claude-*` matches every name that begins with `claude-`, and `*` every name. */
export type Aliases = Readonly<Record<string, string>>;

export interface ResolvedName {
  readonly id: string;
  /** The alias that resolved the name; undefined for an exposed id. */
  readonly alias: string | undefined;
}

const STAR = '*';

/** Claude Code marks a long context in the name of the model. The gateway promises no context window for it (AM24). */
const LONG_CONTEXT = /(?:\[1m\])+$/i;

export const withoutMarks = (name: string): string => name.replace(LONG_CONTEXT, '');

/** Undefined if no model of the Pool has the name. @param isExposed whether it is an exposed id that the key may use */
export function resolveName(name: string, aliases: Aliases, isExposed: (id: string) => boolean): ResolvedName | undefined {
  const bare = withoutMarks(name);
  return exactly(name, aliases, isExposed) ?? (bare === name ? undefined : exactly(bare, aliases, isExposed)) ?? byStar(bare, aliases);
}

function exactly(name: string, aliases: Aliases, isExposed: (id: string) => boolean): ResolvedName | undefined {
  if (isExposed(name)) return { id: name, alias: undefined };
  const target = !name.includes(STAR) && Object.hasOwn(aliases, name) ? aliases[name] : undefined;
  return target === undefined ? undefined : { id: target, alias: name };
}

/** Of the aliases with a star that match, the one with the most other characters; of several equally long ones the first in the file. */
function byStar(name: string, aliases: Aliases): ResolvedName | undefined {
  let best: ResolvedName | undefined;
  for (const [alias, id] of Object.entries(aliases)) {
    const at = alias.indexOf(STAR);
    if (at === -1 || alias.length <= (best?.alias?.length ?? 0)) continue;
    const [before, after] = [alias.slice(0, at), alias.slice(at + 1)];
    if (name.length >= before.length + after.length && name.startsWith(before) && name.endsWith(after)) best = { id, alias };
  }
  return best;
}
