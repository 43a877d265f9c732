// Finds the differences between two JSON values, two sets of headers or two sequences of events, by place and kind.
import { canonicalJson, isList, isObject, type Json } from '../turn/json/json.ts';

export type DifferenceKind = 'added' | 'removed' | 'changed' | 'order';

export interface Difference {
  /** `request` to the account, or `answer` to the client. */
  readonly side: 'request' | 'answer';
  /**
   * The place: `header accept`, `body input.*.role`, `event response.created response.model`, `status`. `*` replaces a position in a
   * list.
   */
  readonly place: string;
  readonly kind: DifferenceKind;
  /** The recorded and the replayed value, shortened. Both are values of placeholders, so they contain nothing of a conversation. */
  readonly recorded?: string;
  readonly replayed?: string;
}

export type Found = Omit<Difference, 'side'>;

const SHOWN = 80;

const shown = (value: Json | undefined): string => {
  const text = JSON.stringify(value) ?? 'absent';
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
};

/** @param place the place of the value; '' for a whole body */
export function jsonDifferences(recorded: Json | undefined, replayed: Json | undefined, place: string): readonly Found[] {
  if (recorded === undefined && replayed === undefined) return [];
  if (recorded === undefined) return [{ place, kind: 'added', replayed: shown(replayed) }];
  if (replayed === undefined) return [{ place, kind: 'removed', recorded: shown(recorded) }];
  if (isList(recorded) && isList(replayed)) return listDifferences(recorded, replayed, place);
  if (isObject(recorded) && isObject(replayed)) {
    const names = new Set([...Object.keys(recorded), ...Object.keys(replayed)]);
    const found = [...names].flatMap((name) => jsonDifferences(recorded[name], replayed[name], `${place}.${name}`));
    const common = (of: object, other: object): string =>
      Object.keys(of)
        .filter((name) => name in other)
        .join();
    const moved = common(recorded, replayed) !== common(replayed, recorded);
    return moved ? [...found, { place, kind: 'order', recorded: common(recorded, replayed), replayed: common(replayed, recorded) }] : found;
  }
  return recorded === replayed ? [] : [{ place, kind: 'changed', recorded: shown(recorded), replayed: shown(replayed) }];
}

function listDifferences(recorded: readonly Json[], replayed: readonly Json[], place: string): readonly Found[] {
  return aligned(recorded, replayed, [(a, b) => canonicalJson(a) === canonicalJson(b), (a, b) => kindOf(a) === kindOf(b)]).flatMap(
    ([before, after]) => jsonDifferences(before, after, `${place}.*`),
  );
}

/** What identifies an element of a list for a comparison. */
function kindOf(value: Json): string {
  if (!isObject(value)) return typeof value;
  const { type = 'message', role = '', name = '' } = value;
  return `${String(type)} ${String(role)} ${String(name)}`;
}

/**
 * Pairs the elements of two sequences in order. An element without a partner is paired with undefined.
 * @param same comparisons, the strictest first; a partner by a stricter one is preferred
 */
function aligned<T>(
  before: readonly T[],
  after: readonly T[],
  same: readonly ((a: T, b: T) => boolean)[],
): readonly (readonly [T | undefined, T | undefined])[] {
  const pairs: (readonly [T | undefined, T | undefined])[] = [];
  let next = 0;
  for (const one of before) {
    const near = after.slice(next, next + LOOK_AHEAD);
    const ahead = same.map((alike) => near.findIndex((other) => alike(one, other))).find((at) => at !== -1);
    if (ahead === undefined) {
      pairs.push([one, undefined]);
      continue;
    }
    for (const skipped of near.slice(0, ahead)) pairs.push([undefined, skipped]);
    pairs.push([one, near[ahead]]);
    next += ahead + 1;
  }
  return [...pairs, ...after.slice(next).map((rest) => [undefined, rest] as const)];
}

/** The most elements that may have been added at one place. */
const LOOK_AHEAD = 8;

export function headerDifferences(
  recorded: readonly (readonly [string, string])[],
  replayed: readonly (readonly [string, string])[],
): readonly Found[] {
  const before = new Map(recorded.map(([name, value]) => [name.toLowerCase(), value]));
  const after = new Map(replayed.map(([name, value]) => [name.toLowerCase(), value]));
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((name) =>
    jsonDifferences(before.get(name), after.get(name), `header ${name}`),
  );
}

/** Compares events or frames, which are paired by their type. */
export function eventDifferences(recorded: readonly Json[], replayed: readonly Json[]): readonly Found[] {
  return aligned(recorded, replayed, [(a, b) => eventType(a) === eventType(b)]).flatMap(([before, after]) =>
    jsonDifferences(before, after, `event ${eventType(before ?? after ?? null)}`),
  );
}

const eventType = (event: Json): string =>
  isObject(event) ? String(event.type ?? event.object ?? 'without type') : typeof event === 'string' && event.length < 20 ? event : 'text';
