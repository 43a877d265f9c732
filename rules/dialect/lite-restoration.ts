// Undoes the Lite rewrite for accounts of other APIs, which do not know Lite: they get the turn as it was before (AA26).
import type { Json } from '../../proxy/turn/json/json.ts';
import { asList, isObject } from '../../proxy/turn/json/json.ts';
import type { Body, Outgoing } from '../../proxy/turn/turn.ts';

/** What the rewrite replaced. Items that it kept have no entry. */
export interface Replaced {
  readonly members: Pick<Body, 'tools' | 'instructions' | 'parallel_tool_calls' | 'reasoning'>;
  readonly added: Added;
  /** Maps each new item to the item that it replaced; to undefined if the rewrite added it. */
  readonly items: ReadonlyMap<Json, Json | undefined>;
}

/** The items that the rewrite has added. */
export interface Added {
  readonly at: number;
  readonly count: number;
}

/** @param items the original items. @param rewritten the items after the rewrite */
export function replacedBy(before: Body, items: readonly Json[], rewritten: readonly Json[], added: Added): Replaced {
  const { at, count } = added;
  const replaced = new Map<Json, Json | undefined>();
  for (const [i, item] of rewritten.entries()) {
    const came = i < at ? items[i] : i < at + count ? undefined : items[i - count];
    if (came !== item) replaced.set(item, came);
  }
  const { tools, instructions, parallel_tool_calls, reasoning } = before;
  return { members: { tools, instructions, parallel_tool_calls, reasoning }, added, items: replaced };
}

/** Restores the turn. Items that were changed or left out after the rewrite stay so. */
export function restore({ body, places }: Pick<Outgoing, 'body' | 'places'>, { members, added, items }: Replaced): void {
  places?.splice(added.at, added.count, 0);
  const { reasoning, ...others } = members;
  for (const [name, value] of Object.entries(others)) {
    if (value === undefined) delete body[name];
    else body[name] = value;
  }
  if (isObject(body.reasoning)) body.reasoning = reasoning ?? {};
  body.input = asList(body.input).flatMap((item) => {
    if (!items.has(item)) return [item];
    const came = items.get(item);
    return came === undefined ? [] : [came];
  });
}
